//! One queue's generator: which frame comes next, and when.

use super::Generate;
use super::flow::{Flow, Template};
use super::pace::Pace;
use super::turns::{Portion, Turns};
use crate::emulated::inspect::Findings;
use crate::emulated::join::Arrival;
use crate::emulated::traffic::Next;
use crate::headers::Parses;
use crate::shares::Share;
use corelane_runtime::Time;
use corelane_runtime::offload::Caps;
use corelane_runtime::packet::Partial;

/// One queue's generator.
#[derive(Debug)]
pub(in crate::emulated) struct Generator {
    plan: Generate,
    templates: Vec<Template>,
    /// Which template comes when, in a flow.
    sizes: Vec<usize>,
    flows: Vec<Flow>,
    turns: Turns,
    pace: Pace,
    left: Option<u64>,
    /// Whether the frame to come is already written.
    ready: bool,
    /// Whether the device looks into the tunnel that frames come in.
    finds_tunnel: bool,
}

impl Generator {
    /// One queue's share, on a device that looks into these tunnels.
    pub(in crate::emulated) fn new(plan: &Generate, share: &Share, parses: &Parses) -> Generator {
        let (index, queues) = share.of_all();
        let lengths = plan.lengths();
        let mut distinct = lengths.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let sizes = lengths.iter().map(|len| distinct.partition_point(|other| other < len));
        let sizes: Vec<usize> = sizes.collect();
        // Each flow goes through the sizes by itself, the next one a size ahead, so that a frame is the same frame on
        // however many queues.
        let begin = |number: u32| {
            let mut flow = Flow::new(plan, number);
            flow.size = number as usize % sizes.len();
            flow
        };
        let own = || (index as u32..plan.flows).step_by(queues.max(1));
        let portion = Portion::of(plan.order, plan.flows, index, queues);
        Generator {
            templates: distinct.iter().map(|&len| Template::new(plan, len)).collect(),
            flows: own().map(begin).collect(),
            sizes,
            turns: Turns::new(plan.order, own(), plan.seed ^ index as u64),
            pace: Pace::new(plan.rate, portion.own),
            left: plan.count.map(|count| portion.of_count(count)),
            ready: false,
            finds_tunnel: plan.tunnel.as_ref().is_some_and(|tunnel| tunnel.is_found(parses)),
            plan: plan.clone(),
        }
    }

    pub(in crate::emulated) fn peek(&mut self, caps: Caps, now: Time) -> Next<'_> {
        let Some(flow) = self.flows.get(self.turns.flow()).filter(|_| self.left != Some(0)) else {
            return Next::End;
        };
        let time = self.pace.due(now);
        if time > now {
            return Next::NotBefore(time);
        }
        let template = &mut self.templates[self.sizes[flow.size]];
        if !self.ready {
            template.write(&self.plan, flow);
            self.ready = true;
        }
        let bytes = &template.frame[..];
        let findings = match (self.plan.partial, &self.plan.tunnel) {
            (true, _) => {
                let (start, field) = (self.plan.l4() as u16, self.plan.field() as u16);
                Findings::of_unfinished(bytes, flow.hash, Partial { start, field })
            }
            (false, None) => Findings::of_made(bytes, flow.hash, caps),
            (false, Some(tunnel)) => {
                let inside = self.finds_tunnel.then(|| self.plan.level());
                let outer = template.datagram.map(|sum| (sum, tunnel.checksum));
                Findings::of_wrapped(bytes, flow.hash, caps, outer.unwrap_or_default(), inside)
            }
        };
        Next::Frame(Arrival { bytes, time, orig_len: bytes.len() as u32, findings })
    }

    pub(in crate::emulated) fn advance(&mut self) {
        let Some(flow) = self.flows.get_mut(self.turns.flow()) else { return };
        let len = self.templates[self.sizes[flow.size]].frame.len();
        flow.seq = flow.seq.wrapping_add((len - flow.header.len()) as u32);
        flow.ip_id = flow.ip_id.wrapping_add(1);
        flow.size = (flow.size + 1) % self.sizes.len();
        self.left = self.left.map(|left| left.saturating_sub(1));
        self.ready = false;
        self.pace.advance(len);
        self.turns.advance();
    }
}
