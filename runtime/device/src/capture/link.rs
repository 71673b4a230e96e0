//! Link types by number and name, so that a refusal can name what it refuses.
//!
//! The names are those of the tcpdump.org registry without `LINKTYPE_`. The table is not the whole
//! registry: an unknown number is printed as a number.

use std::fmt;

/// What the frames of an interface begin with, by its number in the tcpdump.org registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkType(pub u32);

impl LinkType {
    /// Ethernet, the only link type that corelane reads.
    pub const ETHERNET: Self = Self(1);

    /// Its registered name, where the table has it.
    pub fn name(self) -> Option<&'static str> {
        let place = NAMES.binary_search_by_key(&self.0, |&(number, _)| number).ok()?;
        NAMES.get(place).map(|&(_, name)| name)
    }
}

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({})", self.0),
            None => write!(f, "{} (a number without a common name)", self.0),
        }
    }
}

/// Sorted by number. 12 and 14 are not registered, but what BSDs and OpenBSD wrote for RAW.
const NAMES: &[(u32, &str)] = &[
    (0, "NULL"),
    (1, "ETHERNET"),
    (3, "AX25"),
    (6, "IEEE802_5"),
    (7, "ARCNET_BSD"),
    (8, "SLIP"),
    (9, "PPP"),
    (10, "FDDI"),
    (12, "RAW"),
    (14, "RAW"),
    (50, "PPP_HDLC"),
    (51, "PPP_ETHER"),
    (100, "ATM_RFC1483"),
    (101, "RAW"),
    (104, "C_HDLC"),
    (105, "IEEE802_11"),
    (107, "FRELAY"),
    (108, "LOOP"),
    (113, "LINUX_SLL"),
    (114, "LTALK"),
    (117, "PFLOG"),
    (119, "IEEE802_11_PRISM"),
    (122, "IP_OVER_FC"),
    (123, "SUNATM"),
    (127, "IEEE802_11_RADIOTAP"),
    (129, "ARCNET_LINUX"),
    (138, "APPLE_IP_OVER_IEEE1394"),
    (139, "MTP2_WITH_PHDR"),
    (140, "MTP2"),
    (141, "MTP3"),
    (142, "SCCP"),
    (143, "DOCSIS"),
    (144, "LINUX_IRDA"),
    (147, "USER0"),
    (148, "USER1"),
    (149, "USER2"),
    (150, "USER3"),
    (151, "USER4"),
    (152, "USER5"),
    (153, "USER6"),
    (154, "USER7"),
    (155, "USER8"),
    (156, "USER9"),
    (157, "USER10"),
    (158, "USER11"),
    (159, "USER12"),
    (160, "USER13"),
    (161, "USER14"),
    (162, "USER15"),
    (163, "IEEE802_11_AVS"),
    (166, "PPP_PPPD"),
    (169, "GPRS_LLC"),
    (177, "LINUX_LAPD"),
    (182, "MFR"),
    (187, "BLUETOOTH_HCI_H4"),
    (189, "USB_LINUX"),
    (192, "PPI"),
    (195, "IEEE802_15_4_WITHFCS"),
    (196, "SITA"),
    (197, "ERF"),
    (201, "BLUETOOTH_HCI_H4_WITH_PHDR"),
    (202, "AX25_KISS"),
    (203, "LAPD"),
    (204, "PPP_WITH_DIR"),
    (205, "C_HDLC_WITH_DIR"),
    (206, "FRELAY_WITH_DIR"),
    (209, "IPMB_LINUX"),
    (215, "IEEE802_15_4_NONASK_PHY"),
    (220, "USB_LINUX_MMAPPED"),
    (224, "FC_2"),
    (225, "FC_2_WITH_FRAME_DELIMS"),
    (226, "IPNET"),
    (227, "CAN_SOCKETCAN"),
    (228, "IPV4"),
    (229, "IPV6"),
    (230, "IEEE802_15_4_NOFCS"),
    (231, "DBUS"),
    (235, "DVB_CI"),
    (239, "NFLOG"),
    (240, "NETANALYZER"),
    (241, "NETANALYZER_TRANSPARENT"),
    (242, "IPOIB"),
    (243, "MPEG_2_TS"),
    (247, "INFINIBAND"),
    (248, "SCTP"),
    (249, "USBPCAP"),
    (251, "BLUETOOTH_LE_LL"),
    (252, "WIRESHARK_UPPER_PDU"),
    (253, "NETLINK"),
    (254, "BLUETOOTH_LINUX_MONITOR"),
    (256, "BLUETOOTH_LE_LL_WITH_PHDR"),
    (258, "PKTAP"),
    (259, "EPON"),
    (270, "LORATAP"),
    (271, "VSOCK"),
    (272, "NORDIC_BLE"),
    (276, "LINUX_SLL2"),
    (278, "OPENVIZSLA"),
    (281, "DSA_TAG_BRCM"),
    (282, "DSA_TAG_BRCM_PREPEND"),
    (283, "IEEE802_15_4_TAP"),
    (284, "DSA_TAG_DSA"),
    (285, "DSA_TAG_EDSA"),
    (288, "USB_2_0"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_so_that_it_can_be_searched() {
        assert!(NAMES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for &(number, name) in NAMES {
            assert_eq!(LinkType(number).name(), Some(name));
        }
    }

    #[test]
    fn the_names_are_those_another_reader_knows() {
        // The last one it still calls by its older name.
        let others = [12, 14, 195];
        for &(number, name) in NAMES.iter().filter(|(number, _)| !others.contains(number)) {
            assert_eq!(format!("{:?}", pcap_file::DataLink::from(number)), name);
        }
    }

    #[test]
    fn an_unknown_number_is_printed_as_a_number() {
        assert_eq!(LinkType(113).to_string(), "LINUX_SLL (113)");
        assert_eq!(LinkType(65000).to_string(), "65000 (a number without a common name)");
    }
}
