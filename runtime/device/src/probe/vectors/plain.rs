//! Packets of one level: every checksum, and every kind of cut.

use super::{Asks, Back, Sent};
use corelane_runtime::offload::Caps;
use corelane_runtime::packet::{SegFlags, SegKind};

/// What a transmit unit is asked.
pub(super) const PLAIN: &[Sent] = &[
    // TCP over IPv4.
    Sent {
        bit: Caps::TX_TCP4,
        with: Caps::empty(),
        asks: Asks::outermost(34, 50),
        cut: None,
        header: "02000000000202000000000108004500008d1234400040063c00c0000201c633\
             6402c00001bb000003e81122334450182000ecb60000",
        payload: 101,
        back: &[Back {
            header: "02000000000202000000000108004500008d1234400040063c00c0000201c633\
             6402c00001bb000003e811223344501820002f1c0000",
            payload: 101,
            padding: 0,
        }],
    },
    // TCP over IPv6.
    Sent {
        bit: Caps::TX_TCP6,
        with: Caps::empty(),
        asks: Asks::outermost(54, 70),
        cut: None,
        header: "02000000000202000000000186dd600000000078064020010db8000000000000\
             00000000000120010db8000100000000000000000002c00001bb000003e81122\
             3344501820005bf40000",
        payload: 100,
        back: &[Back {
            header: "02000000000202000000000186dd600000000078064020010db8000000000000\
             00000000000120010db8000100000000000000000002c00001bb000003e81122\
             3344501820007edf0000",
            payload: 100,
            padding: 0,
        }],
    },
    // UDP over IPv4.
    Sent {
        bit: Caps::TX_UDP4,
        with: Caps::empty(),
        asks: Asks::outermost(34, 40),
        cut: None,
        header: "02000000000202000000000108004500003d1234400040113c45c0000201c633\
             6402c00011510029ec71",
        payload: 33,
        back: &[Back {
            header: "02000000000202000000000108004500003d1234400040113c45c0000201c633\
             6402c0001151002997db",
            payload: 33,
            padding: 0,
        }],
    },
    // UDP over IPv4 whose sum comes out as 0, which is sent as 0xffff.
    Sent {
        bit: Caps::TX_UDP4,
        with: Caps::empty(),
        asks: Asks::outermost(34, 40),
        cut: None,
        header: "02000000000202000000000108004500003c1234400040113c46c0000201c633\
             64023adf11510028ec70",
        payload: 32,
        back: &[Back {
            header: "02000000000202000000000108004500003c1234400040113c46c0000201c633\
             64023adf11510028ffff",
            payload: 32,
            padding: 0,
        }],
    },
    // UDP over IPv6.
    Sent {
        bit: Caps::TX_UDP6,
        with: Caps::empty(),
        asks: Asks::outermost(54, 60),
        cut: None,
        header: "02000000000202000000000186dd600000000029114020010db8000000000000\
             00000000000120010db8000100000000000000000002c000115100295bb0",
        payload: 33,
        back: &[Back {
            header: "02000000000202000000000186dd600000000029114020010db8000000000000\
             00000000000120010db8000100000000000000000002c00011510029289d",
            payload: 33,
            padding: 0,
        }],
    },
    // UDP over IPv6 whose sum comes out as 0.
    Sent {
        bit: Caps::TX_UDP6,
        with: Caps::empty(),
        asks: Asks::outermost(54, 60),
        cut: None,
        header: "02000000000202000000000186dd600000000028114020010db8000000000000\
             00000000000120010db8000100000000000000000002cba0115100285baf",
        payload: 32,
        back: &[Back {
            header: "02000000000202000000000186dd600000000028114020010db8000000000000\
             00000000000120010db8000100000000000000000002cba011510028ffff",
            payload: 32,
            padding: 0,
        }],
    },
    // A protocol that no device knows (RFC 3692).
    Sent {
        bit: Caps::TX_GENERIC,
        with: Caps::empty(),
        asks: Asks::outermost(34, 42),
        cut: None,
        header: "02000000000202000000000108004500003f1234400040fd3b57c0000201c633\
             6402deadbeef01020304ed5f0506",
        payload: 31,
        back: &[Back {
            header: "02000000000202000000000108004500003f1234400040fd3b57c0000201c633\
             6402deadbeef01020304a59b0506",
            payload: 31,
            padding: 0,
        }],
    },
    // TCP over IPv4, IDs counting up over 0xffff, PSH on the last.
    Sent {
        bit: Caps::TSO4,
        with: Caps::empty(),
        asks: Asks::outermost(34, 50),
        cut: Some((SegKind::Tcp4, 512, SegFlags::empty())),
        header: "020000000002020000000001080045000475fffe400040064a4dc0000201c633\
             6402c00001bb00001b581122334450182000f09e0000",
        payload: 1101,
        back: &[
            Back {
                header: "020000000002020000000001080045000228fffe400040064c9ac0000201c633\
             6402c00001bb00001b58112233445010200000a30000",
                payload: 512,
                padding: 0,
            },
            Back {
                header: "020000000002020000000001080045000228ffff400040064c99c0000201c633\
             6402c00001bb00001d581122334450102000fea20000",
                payload: 512,
                padding: 0,
            },
            Back {
                header: "0200000000020200000000010800450000750000400040064e4cc0000201c633\
             6402c00001bb00001f58112233445018200070cd0000",
                payload: 77,
                padding: 0,
            },
        ],
    },
    // TCP over IPv6.
    Sent {
        bit: Caps::TSO6,
        with: Caps::empty(),
        asks: Asks::outermost(54, 70),
        cut: Some((SegKind::Tcp6, 512, SegFlags::empty())),
        header: "02000000000202000000000186dd600000000461064020010db8000000000000\
             00000000000120010db8000100000000000000000002c00001bb00001b581122\
             3344501820005fdd0000",
        payload: 1101,
        back: &[
            Back {
                header: "02000000000202000000000186dd600000000214064020010db8000000000000\
             00000000000120010db8000100000000000000000002c00001bb00001b581122\
             33445010200091640000",
                payload: 512,
                padding: 0,
            },
            Back {
                header: "02000000000202000000000186dd600000000214064020010db8000000000000\
             00000000000120010db8000100000000000000000002c00001bb00001d581122\
             3344501020008f640000",
                payload: 512,
                padding: 0,
            },
            Back {
                header: "02000000000202000000000186dd600000000061064020010db8000000000000\
             00000000000120010db8000100000000000000000002c00001bb00001f581122\
             334450182000018f0000",
                payload: 77,
                padding: 0,
            },
        ],
    },
    // TCP over IPv4 with one ID.
    Sent {
        bit: Caps::TSO_FIXED_ID,
        with: Caps::empty(),
        asks: Asks::outermost(34, 50),
        cut: Some((SegKind::Tcp4, 512, SegFlags::FIXED_ID)),
        header: "020000000002020000000001080045000475fffe400040064a4dc0000201c633\
             6402c00001bb00001b581122334450182000f09e0000",
        payload: 1101,
        back: &[
            Back {
                header: "020000000002020000000001080045000228fffe400040064c9ac0000201c633\
             6402c00001bb00001b58112233445010200000a30000",
                payload: 512,
                padding: 0,
            },
            Back {
                header: "020000000002020000000001080045000228fffe400040064c9ac0000201c633\
             6402c00001bb00001d581122334450102000fea20000",
                payload: 512,
                padding: 0,
            },
            Back {
                header: "020000000002020000000001080045000075fffe400040064e4dc0000201c633\
             6402c00001bb00001f58112233445018200070cd0000",
                payload: 77,
                padding: 0,
            },
        ],
    },
    // TCP with CWR and ECE: CWR on the first only.
    Sent {
        bit: Caps::TSO_ECN,
        with: Caps::empty(),
        asks: Asks::outermost(34, 50),
        cut: Some((SegKind::Tcp4, 512, SegFlags::empty())),
        header: "020000000002020000000001080045000475fffe400040064a4dc0000201c633\
             6402c00001bb00001b581122334450d82000f09e0000",
        payload: 1101,
        back: &[
            Back {
                header: "020000000002020000000001080045000228fffe400040064c9ac0000201c633\
             6402c00001bb00001b581122334450d02000ffe20000",
                payload: 512,
                padding: 0,
            },
            Back {
                header: "020000000002020000000001080045000228ffff400040064c99c0000201c633\
             6402c00001bb00001d581122334450502000fe620000",
                payload: 512,
                padding: 0,
            },
            Back {
                header: "0200000000020200000000010800450000750000400040064e4cc0000201c633\
             6402c00001bb00001f581122334450582000708d0000",
                payload: 77,
                padding: 0,
            },
        ],
    },
    // TCP with CWR and ECE: CWR on all.
    Sent {
        bit: Caps::TSO_CWR_ALL,
        with: Caps::empty(),
        asks: Asks::outermost(34, 50),
        cut: Some((SegKind::Tcp4, 512, SegFlags::CWR_ALL)),
        header: "020000000002020000000001080045000475fffe400040064a4dc0000201c633\
             6402c00001bb00001b581122334450d82000f09e0000",
        payload: 1101,
        back: &[
            Back {
                header: "020000000002020000000001080045000228fffe400040064c9ac0000201c633\
             6402c00001bb00001b581122334450d02000ffe20000",
                payload: 512,
                padding: 0,
            },
            Back {
                header: "020000000002020000000001080045000228ffff400040064c99c0000201c633\
             6402c00001bb00001d581122334450d02000fde20000",
                payload: 512,
                padding: 0,
            },
            Back {
                header: "0200000000020200000000010800450000750000400040064e4cc0000201c633\
             6402c00001bb00001f581122334450d82000700d0000",
                payload: 77,
                padding: 0,
            },
        ],
    },
    // TCP whose last segment is padded to 60 bytes.
    Sent {
        bit: Caps::TSO_PAD,
        with: Caps::empty(),
        asks: Asks::outermost(34, 50),
        cut: Some((SegKind::Tcp4, 512, SegFlags::PAD_LAST)),
        header: "020000000002020000000001080045000429fffe400040064a99c0000201c633\
             6402c00001bb00001b581122334450182000f0520000",
        payload: 1025,
        back: &[
            Back {
                header: "020000000002020000000001080045000228fffe400040064c9ac0000201c633\
             6402c00001bb00001b58112233445010200000a30000",
                payload: 512,
                padding: 0,
            },
            Back {
                header: "020000000002020000000001080045000228ffff400040064c99c0000201c633\
             6402c00001bb00001d581122334450102000fea20000",
                payload: 512,
                padding: 0,
            },
            Back {
                header: "0200000000020200000000010800450000290000400040064e98c0000201c633\
             6402c00001bb00001f5811223344501820007b1a0000",
                payload: 1,
                padding: 5,
            },
        ],
    },
    // UDP over IPv4, IDs counting up.
    Sent {
        bit: Caps::USO4,
        with: Caps::empty(),
        asks: Asks::outermost(34, 40),
        cut: Some((SegKind::Udp4, 512, SegFlags::empty())),
        header: "020000000002020000000001080045000469fffe400040114a4ec0000201c633\
             6402c00011510455f09d",
        payload: 1101,
        back: &[
            Back {
                header: "02000000000202000000000108004500021cfffe400040114c9bc0000201c633\
             6402c00011510208bed4",
                payload: 512,
                padding: 0,
            },
            Back {
                header: "02000000000202000000000108004500021cffff400040114c9ac0000201c633\
             6402c00011510208bed4",
                payload: 512,
                padding: 0,
            },
            Back {
                header: "0200000000020200000000010800450000690000400040114e4dc0000201c633\
             6402c0001151005534ba",
                payload: 77,
                padding: 0,
            },
        ],
    },
    // UDP over IPv6.
    Sent {
        bit: Caps::USO6,
        with: Caps::empty(),
        asks: Asks::outermost(54, 60),
        cut: Some((SegKind::Udp6, 512, SegFlags::empty())),
        header: "02000000000202000000000186dd600000000455114020010db8000000000000\
             00000000000120010db8000100000000000000000002c000115104555fdc",
        payload: 1101,
        back: &[
            Back {
                header: "02000000000202000000000186dd600000000208114020010db8000000000000\
             00000000000120010db8000100000000000000000002c000115102084f96",
                payload: 512,
                padding: 0,
            },
            Back {
                header: "02000000000202000000000186dd600000000208114020010db8000000000000\
             00000000000120010db8000100000000000000000002c000115102084f96",
                payload: 512,
                padding: 0,
            },
            Back {
                header: "02000000000202000000000186dd600000000055114020010db8000000000000\
             00000000000120010db8000100000000000000000002c00011510055c57b",
                payload: 77,
                padding: 0,
            },
        ],
    },
];
