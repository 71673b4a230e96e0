//! Behind `Rx`: what neighbours ask about the addresses of the port is answered, what they tell is learned.
//!
//! It promises that what is for the port itself ends here, and that everything else passes untouched. ARP by
//! RFC 826 with the probes of RFC 5227; ND by RFC 4861, sections 7.1 and 7.2: only messages with hop limit 255, a
//! right checksum and sound options are believed. Frames with VLAN tags are nothing to it: the addresses are
//! those of the port itself.

use super::config::{ANSWERED, AnswerTo, CONFLICTS, INVALID, LEARNED, TABLE_FULL, UNANSWERED};
use super::me::{Mac, Me, is_host, multicast_v6, solicited_node};
use super::message;
use super::table::{Heard, Table};
use corelane_runtime::packet::{L4, Packet};
use corelane_runtime::stage::{Outputs, StageContext};
use corelane_sum::Sum;
use corelane_wire::arp::{self, ArpPacket};
use corelane_wire::ethernet::{EthernetHeader, ethertype};
use corelane_wire::icmp::{self, NeighbourMessage, v6};
use corelane_wire::ipv6::Ipv6Header;
use corelane_wire::{protocol, view};
use std::net::{Ipv4Addr, Ipv6Addr};

/// All nodes on the link.
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// EtherTypes as they stand in a frame.
const ARP: &[u8] = &ethertype::ARP.to_be_bytes();
const IPV6: &[u8] = &ethertype::IPV6.to_be_bytes();

/// The answering half.
#[derive(Debug)]
pub(super) struct Answering {
    me: Me,
    table: Table,
    /// The port; packets that came in by another are not from its link.
    number: u16,
    to: AnswerTo,
    key: u64,
}

/// What becomes of a packet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// It was for the port itself.
    Here,
    /// It is somebody else's.
    Elsewhere,
}

impl Answering {
    pub(super) fn new(me: Me, table: Table, number: u16, to: AnswerTo, key: u64) -> Answering {
        Answering { me, table, number, to, key }
    }

    /// Whether a packet may be ARP or ND; quick, since most are not.
    #[inline]
    pub(super) fn concerns(&self, packet: &Packet) -> bool {
        let meta = packet.meta();
        let layers = &meta.layers;
        let settled = layers.count > 0 && matches!(layers.levels[0].l4_kind, L4::Tcp | L4::Udp);
        if settled || meta.port != self.number {
            return false;
        }
        match packet.data().get(12..14) {
            Some(ARP) => true,
            Some(IPV6) => packet.data().get(20) == Some(&protocol::ICMP6),
            _ => false,
        }
    }

    /// Answers and learns; gives the packet back where it is somebody else's.
    pub(super) fn take(
        &self,
        packet: Packet,
        out: &mut Outputs<'_>,
        ctx: &mut StageContext<'_>,
    ) -> Option<Packet> {
        let frame = packet.data();
        let end = match frame.get(12..14) {
            Some(ARP) => self.arp(frame, out, ctx),
            _ => self.nd(frame, packet.len(), out, ctx),
        };
        match end {
            End::Elsewhere => Some(packet),
            End::Here => {
                ctx.consume(packet);
                None
            }
        }
    }

    fn arp(&self, frame: &[u8], out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> End {
        let packet = view::<ArpPacket>(frame, EthernetHeader::LEN);
        let Some(packet) = packet.filter(|packet| packet.is_ethernet_ipv4()) else {
            return End::Elsewhere;
        };
        let (sender, target) = (Ipv4Addr::from(packet.sender_ip), Ipv4Addr::from(packet.target_ip));
        let mine = self.me.owns_v4(target);
        let question = packet.operation.get() == arp::REQUEST && mine;
        if self.me.owns_v4(sender) {
            // Somebody else has an address of ours; our own frames may come back too.
            ctx.count(CONFLICTS, u64::from(packet.sender_mac != self.me.mac));
            return End::Elsewhere;
        }
        if !sender.is_unspecified() && is_host(&packet.sender_mac) {
            let (address, mac) = (sender.into(), &packet.sender_mac);
            let heard = match question {
                true => self.table.asker(address, mac, ctx.now),
                false => self.table.answered(address, mac, true, ctx.now),
            };
            note(heard, ctx);
        }
        if question && is_host(&packet.sender_mac) {
            let reply = packet.reply(self.me.mac);
            self.send(&message::arp(packet.sender_mac, self.me.mac, &reply), out, ctx);
        }
        let known = matches!(packet.operation.get(), arp::REQUEST | arp::REPLY);
        if mine && known { End::Here } else { End::Elsewhere }
    }

    fn nd(&self, frame: &[u8], len: u32, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> End {
        let kind = frame.get(message::ND_AT).copied();
        if !matches!(kind, Some(v6::NEIGHBOUR_SOLICITATION | v6::NEIGHBOUR_ADVERTISEMENT)) {
            return End::Elsewhere;
        }
        let Some(heard) = Message::of(frame, len) else {
            ctx.count(INVALID, 1);
            return End::Elsewhere;
        };
        match kind {
            Some(v6::NEIGHBOUR_SOLICITATION) => self.solicited(&heard, out, ctx),
            _ => self.advertised(&heard, ctx),
        }
    }

    fn solicited(&self, heard: &Message, out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) -> End {
        let probe = heard.src.is_unspecified();
        // A host that looks whether an address is free has none yet, and asks everybody who could have it.
        let sound = !probe || (heard.dst == solicited_node(heard.target) && heard.link.is_none());
        if !sound {
            ctx.count(INVALID, 1);
            return End::Elsewhere;
        }
        if !self.me.owns_v6(heard.target) {
            return End::Elsewhere;
        }
        if self.me.owns_v6(heard.src) {
            ctx.count(CONFLICTS, u64::from(heard.from != self.me.mac));
            return End::Elsewhere;
        }
        let (me, target) = (self.me.mac, heard.target);
        if probe {
            let flags = NeighbourMessage::OVERRIDE;
            let to = multicast_v6(ALL_NODES);
            let answer = message::advertisement(to, me, ALL_NODES, target, flags);
            self.send(&answer, out, ctx);
            return End::Here;
        }
        if let Some(mac) = heard.link {
            note(self.table.asker(heard.src.into(), &mac, ctx.now), ctx);
        }
        let flags = NeighbourMessage::SOLICITED | NeighbourMessage::OVERRIDE;
        let to = heard.link.unwrap_or(heard.from);
        self.send(&message::advertisement(to, me, heard.src, target, flags), out, ctx);
        End::Here
    }

    fn advertised(&self, heard: &Message, ctx: &mut StageContext<'_>) -> End {
        let solicited = heard.flags & NeighbourMessage::SOLICITED != 0;
        if solicited && heard.dst.is_multicast() {
            ctx.count(INVALID, 1);
            return End::Elsewhere;
        }
        if self.me.owns_v6(heard.target) {
            ctx.count(CONFLICTS, u64::from(heard.from != self.me.mac));
            return End::Elsewhere;
        }
        let overrides = heard.flags & NeighbourMessage::OVERRIDE != 0;
        match heard.link {
            Some(mac) => {
                let heard = self.table.answered(heard.target.into(), &mac, overrides, ctx.now);
                note(heard, ctx);
            }
            None if solicited => self.table.confirmed(heard.target.into(), ctx.now),
            None => {}
        }
        if self.me.owns_v6(heard.dst) { End::Here } else { End::Elsewhere }
    }

    fn send(&self, frame: &[u8], out: &mut Outputs<'_>, ctx: &mut StageContext<'_>) {
        let sent = self.to.is_some_and(|to| message::send(frame, to, self.key, out, ctx));
        ctx.count(if sent { ANSWERED } else { UNANSWERED }, 1);
    }
}

fn note(heard: Heard, ctx: &mut StageContext<'_>) {
    match heard {
        Heard::Learned => ctx.count(LEARNED, 1),
        Heard::Full => ctx.count(TABLE_FULL, 1),
        Heard::Kept | Heard::Unasked => {}
    }
}

/// A solicitation or advertisement that may be believed.
struct Message {
    from: Mac,
    src: Ipv6Addr,
    dst: Ipv6Addr,
    target: Ipv6Addr,
    flags: u32,
    /// The link address it tells: of the sender in a solicitation, of the target in an advertisement.
    link: Option<Mac>,
}

impl Message {
    /// `None` where it breaks a rule of RFC 4861, section 7.1. The message must be contiguous.
    fn of(frame: &[u8], len: u32) -> Option<Message> {
        let ip = view::<Ipv6Header>(frame, EthernetHeader::LEN)?;
        let end = message::ND_AT + usize::from(ip.payload_length.get());
        let bytes = frame.get(message::ND_AT..end).filter(|_| end <= len as usize)?;
        let message = view::<NeighbourMessage>(bytes, 0)?;
        let sum = message::pseudo_sum(ip, bytes.len() as u32) + Sum::of(bytes);
        let target = Ipv6Addr::from(message.target);
        let kind = match message.header.kind {
            v6::NEIGHBOUR_SOLICITATION => icmp::SOURCE_LINK_ADDRESS,
            _ => icmp::TARGET_LINK_ADDRESS,
        };
        let mut link = None;
        for option in icmp::options(&bytes[NeighbourMessage::LEN..]) {
            let (found, data) = option?;
            if found == kind {
                link = data.first_chunk().copied().filter(is_host);
            }
        }
        let sound = ip.hop_limit == message::HOP_LIMIT
            && message.header.code == 0
            && sum.is_valid()
            && !target.is_multicast();
        sound.then_some(Message {
            from: view::<EthernetHeader>(frame, 0)?.src,
            src: Ipv6Addr::from(ip.src),
            dst: Ipv6Addr::from(ip.dst),
            target,
            flags: message.header.rest.get(),
            link,
        })
    }
}
