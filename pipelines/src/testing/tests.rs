//! Every stage there is passes, and a stage that breaks a rule is found out.

use super::{check_spec, check_stage};
use crate::prelude::*;
use corelane_runtime::stage::spec::Role;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicU64, Ordering};

#[test]
fn every_stage_of_corelane_passes() {
    let registry = Registry::standard();
    let mut tried = 0;
    for spec in registry.iter().filter(|spec| spec.info().subject != Some("port")) {
        check_spec(spec, spec.example());
        tried += 1;
    }
    assert!(tried >= 6, "only {tried}");
    let middle = registry.iter().filter(|spec| spec.info().role == Role::Middle).count();
    assert!(tried >= middle, "every stage in the middle of a chain can be tried");
}

#[test]
fn stages_pass_with_other_arguments_too() {
    let registry = Registry::standard();
    for written in [
        "ChecksumValidate(on_bad: Drop, on_partial: Drop, on_unverifiable: Drop)",
        "ChecksumValidate(on_bad: Output(\"a\"), on_partial: Output(\"b\"), on_unverifiable: Output(\"a\"))",
        "ChecksumValidate(on_partial: Finish)",
        "Gro(hold: \"50us\")",
        "Gro(max_segments: 2, flows: 2)",
        "Drop(\"label\")",
    ] {
        let name = written.split('(').next().expect("a name");
        check_spec(registry.get(name).expect("a stage"), written);
    }
}

/// What is said of a stage that breaks a rule.
fn complaint<S: Declared + 'static>(written: &'static str) -> String {
    let panic = catch_unwind(|| check_stage::<S>(written)).expect_err("it breaks a rule");
    panic.downcast_ref::<String>().expect("a message").clone()
}

/// Declares a stage that does this with each burst.
macro_rules! broken {
    ($name:ident [$($clauses:tt)*] |$stage:ident, $burst:ident, $out:ident, $ctx:ident| $body:block) => {
        stage! {
            /// Breaks a rule.
            pub(crate) struct $name {}
            $($clauses)*
        }
        impl Stage for $name {
            fn process(&mut self, $burst: &mut Burst, $out: &mut Outputs, $ctx: &mut StageContext) {
                let $stage = self;
                let _ = (&$stage, &$ctx);
                $body
            }
        }
    };
}

broken!(LetsFall [] |_stage, burst, out, ctx| {
    for packet in burst.drain() {
        if packet.len() != 61 { out.next(packet) }
    }
});

broken!(Forgets [] |_stage, burst, out, ctx| {
    for packet in burst.drain() {
        if packet.len() == 61 { std::mem::forget(packet) } else { out.next(packet) }
    }
});

broken!(Duplicates [] |_stage, burst, out, ctx| {
    let one = burst.pop();
    let copy = one.as_ref().and_then(|packet| ctx.buffers.receive(packet.data()));
    one.into_iter().chain(copy).for_each(|packet| out.next(packet));
});

broken!(Splits [] |_stage, burst, out, ctx| {
    // The last of each burst goes first.
    let mut packets: Vec<Packet> = burst.drain().collect();
    packets.reverse();
    packets.into_iter().for_each(|packet| out.next(packet));
});

broken!(Trusts [] |_stage, burst, out, ctx| {
    for packet in burst.drain() {
        assert_ne!(packet.data()[13], 0x99);
        out.next(packet);
    }
});

broken!(
    Overflows[traits { multiplies }] | _stage,
    burst,
    out,
    ctx | {
        burst.drain().for_each(|packet| out.next(packet));
    }
);

broken!(Refuses [] |_stage, burst, out, ctx| {
    if burst.len() > 1 { burst.drain().for_each(|packet| out.next(packet)) }
});

static SHARED: AtomicU64 = AtomicU64::new(0);

broken!(
    Shares[counters { SEEN }] | _stage,
    burst,
    out,
    ctx | {
        for packet in burst.drain() {
            ctx.count(Self::SEEN, SHARED.fetch_add(1, Ordering::Relaxed));
            out.next(packet);
        }
    }
);

broken!(Edits [] |_stage, burst, out, ctx| {
    for mut packet in burst.drain() {
        packet.edit_payload(ctx, 0, |_, bytes| bytes.fill(0));
        out.next(packet);
    }
});

stage! {
    /// Keeps the last packet for ever.
    pub(crate) struct Keeps {}
    state { last: Option<Packet> = None }
}

impl Stage for Keeps {
    fn process(&mut self, burst: &mut Burst, out: &mut Outputs, _: &mut StageContext) {
        for packet in burst.drain() {
            self.last.replace(packet).into_iter().for_each(|packet| out.next(packet));
        }
    }
    fn held(&self) -> Units {
        self.last.as_ref().map_or(Units::default(), Packet::units)
    }
}

#[test]
fn a_stage_that_breaks_a_rule_is_found_out() {
    let told = [
        (complaint::<LetsFall>("LetsFall"), "does not balance"),
        (complaint::<Forgets>("Forgets"), "does not balance"),
        (complaint::<Duplicates>("Duplicates"), "does not balance"),
        (complaint::<Splits>("Splits"), "`Splits` does not always do the same: output 0"),
        (complaint::<Trusts>("Trusts"), "index out of bounds"),
        (complaint::<Overflows>("Overflows"), "sent beyond the room it was told"),
        (complaint::<Refuses>("Refuses"), "it takes none of the packets it is shown"),
        (complaint::<Shares>("Shares"), "does not always count the same"),
        (complaint::<Edits>("Edits"), "traits { edits_payload }"),
        (complaint::<Keeps>("Keeps"), "buffers are still out"),
    ];
    for (message, part) in told {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
}

#[test]
fn a_message_shows_the_packets() {
    let message = complaint::<Trusts>("Trusts");
    assert!(message.starts_with("`Trusts`, one packet at a time: "), "{message}");
    assert!(message.contains("the last packets it got:\n  "), "{message}");
    assert!(message.contains(" bytes, 1 segments: "), "{message}");
}

#[test]
fn arguments_that_are_wrong_are_told() {
    let message = complaint::<Keeps>("Keeps(a: 1)");
    assert!(message.contains("there is no key `a`"), "{message}");
    assert!(complaint::<Keeps>("Count").contains("is no `Keeps`"));
    assert!(complaint::<Keeps>("Keeps(").contains("is no stage"));
}
