//! The few UDP ports behind which a device looks for a tunnel.
//!
//! Devices hold them in a handful of registers, so they are a small fixed list: no order, no port twice, never
//! port 0. A device that is told where a tunnel is needs no list; that is every port. Plain data; which kind of tunnel it is about, whoever holds the list says.

use std::fmt;

/// A small set of UDP ports.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct UdpPorts {
    ports: [u16; UdpPorts::MOST],
    any: bool,
}

impl UdpPorts {
    /// Most ports of one list.
    pub const MOST: usize = 4;
    /// No port: the device looks behind none.
    pub const NONE: UdpPorts = UdpPorts { ports: [0; UdpPorts::MOST], any: false };
    /// Every port: the device is told where the tunnel is, and looks at no port.
    pub const ANY: UdpPorts = UdpPorts { ports: [0; UdpPorts::MOST], any: true };

    /// This port alone; port 0 is none.
    pub const fn one(port: u16) -> UdpPorts {
        let mut ports = [0; UdpPorts::MOST];
        ports[0] = port;
        UdpPorts { ports, any: false }
    }

    /// These ports; `None` if they are more than [`UdpPorts::MOST`], or 0 is among them.
    pub fn of(ports: &[u16]) -> Option<UdpPorts> {
        let mut sorted = ports.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() > UdpPorts::MOST || sorted.first() == Some(&0) {
            return None;
        }
        let mut list = [0; UdpPorts::MOST];
        list[..sorted.len()].copy_from_slice(&sorted);
        Some(UdpPorts { ports: list, any: false })
    }

    /// Whether this port is among them.
    #[inline]
    pub fn contains(&self, port: u16) -> bool {
        self.any || port != 0 && self.ports.contains(&port)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        *self == UdpPorts::NONE
    }

    /// Whether it is every port.
    pub fn is_any(&self) -> bool {
        self.any
    }

    /// The ports that are named, smallest first; of [`UdpPorts::ANY`] none is.
    pub fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        self.ports.iter().copied().filter(|&port| port != 0)
    }
}

impl fmt::Display for UdpPorts {
    /// As in a sentence: `4789, 8472`, or `any`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.any {
            return f.write_str("any");
        }
        for (number, port) in self.iter().enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            write!(f, "{comma}{port}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for UdpPorts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.any { f.write_str("any") } else { f.debug_list().entries(self.iter()).finish() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_a_set_of_few_ports_and_never_holds_port_zero() {
        let ports = UdpPorts::of(&[8472, 4789, 8472]).expect("two of them");
        assert_eq!(ports.iter().collect::<Vec<_>>(), [4789, 8472]);
        assert_eq!(
            (ports.to_string(), format!("{ports:?}")),
            ("4789, 8472".into(), "[4789, 8472]".into())
        );
        assert!(ports.contains(4789) && !ports.contains(6081) && !ports.contains(0));
        assert_eq!(UdpPorts::of(&[4789]), Some(UdpPorts::one(4789)));
        assert_eq!((UdpPorts::of(&[]), UdpPorts::one(0)), (Some(UdpPorts::NONE), UdpPorts::NONE));
        assert_eq!((UdpPorts::of(&[0]), UdpPorts::of(&[1, 2, 3, 4, 5])), (None, None));
        assert!(UdpPorts::NONE.is_empty() && !ports.is_empty());
    }

    #[test]
    fn any_port_is_every_port_and_names_none() {
        let any = UdpPorts::ANY;
        assert!(any.is_any() && !any.is_empty() && any.contains(1) && any.contains(u16::MAX));
        assert_eq!((any.iter().count(), any.to_string()), (0, "any".to_owned()));
        assert!(!UdpPorts::one(1).is_any() && !UdpPorts::NONE.is_any());
    }
}
