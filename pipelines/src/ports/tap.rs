//! `Tap("tap0")`, `Tap(name: "tap0", namespace: "blue", persist: true, ..)`: an interface of this host, whose other end
//! is the port.
//!
//! The common keys `mac`, `addresses` and `gateway` are of this end; the host's end has a link-layer address of its
//! own. `caps` narrows what is used of what the kernel can do, and never widens it: with `None` the host finishes
//! checksums and cuts before we see a packet, and everything is finished here before it goes out. A plan asks no
//! device: it is made for a tap of a current kernel, and what this one lacks is found, and told, when it is opened.

use super::{PortConfig, too_many_queues, wrong};
use crate::spec::Common;
use corelane_device::{Tap, TapConfig};
use corelane_runtime::Error;
use corelane_runtime::offload::{Answer, Caps, Facts, Reason};
use corelane_runtime::port::Port;
use corelane_runtime::stage::{Args, ConfigError};
use corelane_stages::config;
use serde::Deserialize;

/// Longest name of an interface, bytes.
const NAME_MAX: usize = 15;
/// MTU of an interface that is made without saying one.
const USUAL_MTU: u32 = 1500;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Spec {
    name: String,
    namespace: Option<String>,
    up: bool,
    persist: bool,
    must_exist: bool,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec { name: String::new(), namespace: None, up: true, persist: false, must_exist: false }
    }
}

struct Config {
    device: TapConfig,
    facts: Facts,
    /// What may be used of what it can do.
    allowed: Caps,
}

pub(super) fn configure(
    args: Args<'_>,
    common: &Common,
) -> Result<Box<dyn PortConfig>, Vec<ConfigError>> {
    let spec: Spec = config::parse(args)?;
    let mut mistakes = check_name(&spec.name);
    if spec.namespace.as_deref() == Some("") {
        mistakes.extend(wrong(
            "namespace",
            "`namespace` is empty; name one that `ip netns` lists, or leave it out",
        ));
    }
    if common.verify {
        let message = "a tap is tried on the kernel whenever it is opened; take `verify` off";
        mistakes.extend(wrong("verify", message));
    }
    let allowed = allowed(common);
    let mut device = TapConfig::new("", spec.name);
    device.namespace = spec.namespace;
    device.mtu = common.mtu;
    (device.up, device.persist, device.must_exist) = (spec.up, spec.persist, spec.must_exist);
    device.offloads = allowed.contains(Caps::RX_PARTIAL);
    let mut facts = narrowed(Tap::facts(&device), allowed);
    facts.limits.mtu = Some(common.mtu.or_else(|| mtu_of(&device)).unwrap_or(USUAL_MTU));
    mistakes.extend(too_many_queues(common, &facts));
    facts.queues = common.queues.or(facts.queues);
    match mistakes.is_empty() {
        true => Ok(Box::new(Config { device, facts, allowed })),
        false => Err(mistakes),
    }
}

/// What may be used. `All` is all there is, also what is the doing of senders.
fn allowed(common: &Common) -> Caps {
    match &common.record {
        Some(record) if record.name != "All" => record.facts.granted,
        _ => Caps::all(),
    }
}

/// What the kernel says of names of interfaces, before it is asked.
fn check_name(name: &str) -> Vec<ConfigError> {
    let message = match name {
        "" => "it names no interface; write `Tap(\"tap0\")`".to_owned(),
        "." | ".." => format!("no interface can be called `{name}`"),
        _ if name.len() > NAME_MAX => {
            format!(
                "`{name}` has {} bytes, and the name of an interface has at most {NAME_MAX}",
                name.len()
            )
        }
        _ if name
            .contains(|c: char| c == '/' || c == ':' || c.is_whitespace() || c.is_control()) =>
        {
            format!("`{name}` is no name of an interface: it has no blanks, `/` or `:` in it")
        }
        _ if name.contains('%') && !is_pattern(name) => {
            format!("`{name}` is no pattern: it has one `%d`, for a number that the kernel picks")
        }
        _ => return Vec::new(),
    };
    wrong("name", message)
}

fn is_pattern(name: &str) -> bool {
    name.matches('%').count() == 1 && name.contains("%d")
}

/// The MTU of an interface that is there already, where that can be seen from here.
fn mtu_of(device: &TapConfig) -> Option<u32> {
    let name = device.namespace.is_none().then_some(&device.interface)?;
    let text = std::fs::read_to_string(format!("/sys/class/net/{name}/mtu")).ok()?;
    text.trim().parse().ok()
}

/// The same device, of which no more than this is used.
fn narrowed(mut facts: Facts, allowed: Caps) -> Facts {
    let unused = facts.granted - (facts.granted & allowed).without_orphans();
    if !unused.is_empty() {
        facts.granted -= unused;
        let why = "the description takes it away (`caps`)".to_owned();
        facts.reasons.insert(0, Reason { caps: unused, answer: Answer::No, why });
    }
    facts
}

impl PortConfig for Config {
    fn receives(&self) -> bool {
        true
    }

    fn transmits(&self) -> bool {
        true
    }

    fn goes_by(&self) -> Option<&'static str> {
        Some("tap")
    }

    fn drop_reasons(&self) -> Vec<&'static str> {
        corelane_device::tap::DROPS.to_vec()
    }

    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn open(&self, name: &str, queues: usize) -> Result<Box<dyn Port>, Error> {
        let device = TapConfig { name: name.to_owned(), queues, ..self.device.clone() };
        let tap = Tap::open(device)?;
        let caps = tap.caps();
        caps.withhold(caps.facts.granted - self.allowed);
        let lacking = self.facts.granted - caps.facts.granted;
        if !lacking.is_empty() {
            let lacking = lacking.names();
            tracing::warn!(
                port = name,
                lacking,
                "this kernel does less than was planned with; it is done here"
            );
        }
        Ok(Box::new(tap))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configured(text: &str, common: &Common) -> Result<Box<dyn PortConfig>, Vec<ConfigError>> {
        configure(Args { text }, common)
    }

    fn as_if(caps: &str) -> Common {
        let record = super::super::record(caps, std::path::Path::new("")).ok();
        Common { record, ..Common::default() }
    }

    #[test]
    fn names_that_no_interface_can_have_are_told_before_the_kernel_is_asked() {
        let cases = [
            ("(name: \"\")", "names no interface"),
            ("(name: \"a23456789012345b\")", "has 16 bytes"),
            ("(name: \"a/b\")", "no blanks"),
            ("(name: \"a b\")", "no blanks"),
            ("(name: \"..\")", "can be called"),
            ("(name: \"a%s\")", "no pattern"),
            ("(name: \"t\", namespace: \"\")", "`namespace` is empty"),
        ];
        for (text, expected) in cases {
            let errors = configured(text, &Common::default()).err().unwrap();
            assert_eq!(errors.len(), 1, "{text}: {errors:?}");
            assert!(errors[0].message.contains(expected), "{text}: {errors:?}");
        }
        for text in ["(name: \"tap%d\")", "(name: \"a2345678901234b\")"] {
            assert!(configured(text, &Common::default()).is_ok(), "{text}");
        }
    }

    #[test]
    fn caps_take_away_and_add_nothing() {
        let whole = configured("(name: \"no-such\")", &Common::default()).unwrap().facts();
        assert!(whole.granted.contains(Caps::TSO4 | Caps::RX_PARTIAL));
        assert_eq!(whole.limits.mtu, Some(USUAL_MTU));
        let none = configured("(name: \"no-such\")", &as_if("None")).unwrap().facts();
        assert_eq!(none.granted, Caps::empty());
        assert_eq!(none.why(Caps::TSO4), Some("the description takes it away (`caps`)"));
        let all = configured("(name: \"no-such\")", &as_if("All")).unwrap().facts();
        assert_eq!(all.granted, whole.granted);
        let nic = configured("(name: \"no-such\")", &as_if("i40e-like")).unwrap().facts();
        assert!(!nic.granted.contains(Caps::RX_PARTIAL), "a NIC hands over nothing unfinished");
    }

    #[test]
    fn more_queues_than_the_kernel_gives_are_refused() {
        let common = Common { queues: Some(257), ..Common::default() };
        let errors = configured("(name: \"t\")", &common).err().unwrap();
        assert!(errors[0].message.contains("has 256"), "{errors:?}");
    }
}
