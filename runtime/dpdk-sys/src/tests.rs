//! The safe face at work: what is put in comes out, and every buffer goes home.
//!
//! One test, since DPDK starts once a process and needs root or memory that may be missing: then it is skipped by name.

use super::ring::{ring, same_core};
use super::sums::{Row, raw_cksum, raw_cksum_chain};
use super::{Eal, Packets, Pool, Registered};

fn start() -> Option<Eal> {
    match Eal::without_devices(0, 64) {
        Ok(eal) => Some(eal),
        Err(error) => {
            corelane_runtime::testing::skip("dpdk-starts", &format!("memory for DPDK: {error}"));
            None
        }
    }
}

#[test]
fn what_goes_in_comes_out() {
    let Some(eal) = start() else { return };
    let pool = Pool::new(eal, "t", 255, 0, 2176).expect("a pool");
    let mut packets = Packets::new(&[&pool], 4);
    packets.receive(b"one").expect("a buffer");
    let pieces: [&[u8]; 3] = [b"ab", b"", b"cdefg"];
    packets.receive_chain(pieces).expect("buffers");
    assert_eq!(packets.frames(), [b"one".to_vec(), b"abcdefg".to_vec()]);
    assert!(packets.receive(&[0; 4000]).is_err(), "longer than a buffer");
    assert_eq!(pool.used(), 4);
    drop(packets);
    assert_eq!(pool.used(), 0);

    let (mut sender, mut receiver) = ring(eal, 64).expect("a ring");
    assert_eq!(same_core(&mut sender, &mut receiver, 2, 10), 10 * (7 + 8));
    let consumer = std::thread::spawn(move || {
        let _here = Registered::here(eal).expect("a number");
        receiver.hop(8, 1000)
    });
    sender.hop(&pool, 8, 1000);
    assert_eq!(consumer.join().expect("it ran"), 18 * 1000);
    assert_eq!(pool.used(), 0);
    assert!(ring(eal, 63).is_err(), "no power of two");

    // The words 0x0102 and 0x0300, as the host reads them.
    let bytes = [1, 2, 3];
    let sum = raw_cksum(&bytes, Row { len: 3, stride: 3, count: 1 }, 1);
    assert_eq!(u16::from_be(sum as u16), 0x0402);
    let mut one = Packets::new(&[&pool], 1);
    one.receive(&bytes).expect("a buffer");
    assert_eq!(raw_cksum_chain(&one, 0, 3).map(u16::from_be), Some(0x0402));
    assert_eq!(raw_cksum_chain(&one, 0, 4), None);
}
