//! What happens to an interface while packets flow: deleted, down and up again, another MTU, nobody reading.

use crate::queue::{Driver, End, drops, open};
use crate::space::space;
use corelane_runtime::packet::Burst;
use corelane_runtime::stage::Progress;
use std::time::{Duration, Instant};

/// Polls until there is something else than nothing.
fn wait(driver: &mut Driver, end: &mut End, burst: &mut Burst) -> Progress {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        match driver.poll(end.rx.as_mut(), burst) {
            Progress::Idle(_) if Instant::now() < until => std::thread::yield_now(),
            progress => return progress,
        }
    }
}

fn send(driver: &mut Driver, end: &mut End, frame: &[u8]) {
    let mut burst = Burst::new();
    burst.push(driver.packet(frame)).expect("room");
    driver.send(end.tx.as_mut(), &mut burst);
}

#[test]
fn a_deleted_interface_ends_reading_with_an_error_and_writing_with_counted_losses() {
    let test =
        "tap_port::a_deleted_interface_ends_reading_with_an_error_and_writing_with_counted_losses";
    let Some(space) = space(test, &["ip"]) else { return };
    let mut end = End::of(open(&space, "tap7", |_| {}));
    let mut driver = Driver::new();
    let mut burst = Burst::new();
    assert!(end.rx.wait_fd().is_some());
    space.ip("link del tap7");
    // What the host sent before comes first.
    while let Progress::Worked(_) = wait(&mut driver, &mut end, &mut burst) {
        driver.release(&mut burst);
    }
    assert_eq!(driver.poll(end.rx.as_mut(), &mut burst), Progress::Done);
    let error = end.rx.report().error.expect("an error").to_string();
    assert_eq!(error, "port port: interface `tap7` is gone: it was deleted during the run");
    assert!(end.rx.wait_fd().is_none());
    send(&mut driver, &mut end, &[0xff; 60]);
    let report = end.tx.report();
    assert_eq!((drops(&report, "interface_gone"), report.packets, report.wire_packets), (1, 1, 0));
    assert!(report.error.is_some());
    driver.end();
}

#[test]
fn a_link_that_is_down_loses_packets_by_name_and_takes_them_again_when_it_is_up() {
    let test =
        "tap_port::a_link_that_is_down_loses_packets_by_name_and_takes_them_again_when_it_is_up";
    let Some(space) = space(test, &["ip"]) else { return };
    let mut end = End::of(open(&space, "tap0", |_| {}));
    let mut driver = Driver::new();
    let received = || -> u64 {
        let counts = space.run("cat /sys/class/net/tap0/statistics/rx_packets");
        counts.trim().parse().expect("a number")
    };
    for turn in 1..=3 {
        send(&mut driver, &mut end, &[0xff; 60]);
        assert_eq!(received(), turn);
        space.ip("link set tap0 down");
        let mut burst = Burst::new();
        while let Progress::Worked(_) = driver.poll(end.rx.as_mut(), &mut burst) {
            driver.release(&mut burst);
        }
        send(&mut driver, &mut end, &[0xff; 60]);
        space.ip("link set tap0 up");
    }
    let report = end.tx.report();
    assert_eq!((drops(&report, "link_down"), report.wire_packets, report.error), (3, 3, None));
    assert_eq!(end.rx.report().error, None);
    driver.end();
}

#[test]
fn what_nobody_reads_is_counted_and_reading_goes_on() {
    let test = "tap_port::what_nobody_reads_is_counted_and_reading_goes_on";
    let Some(space) = space(test, &["ip", "python3"]) else { return };
    let mut end = End::of(open(&space, "tap0", |_| {}));
    space.ip("link set tap0 txqueuelen 20");
    space.ip("addr add 10.9.0.1/24 dev tap0");
    space.ip("neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev tap0");
    let send = "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); \
                [s.sendto(b'x' * 100, ('10.9.0.2', 9)) for _ in range(3000)]";
    let status = space.command("python3").args(["-c", send]).status().expect("python3 runs");
    assert!(status.success());
    let (mut driver, mut burst, mut got) = (Driver::new(), Burst::new(), 0);
    while let Progress::Worked(count) = driver.poll(end.rx.as_mut(), &mut burst) {
        got += count as u64;
        driver.release(&mut burst);
    }
    let report = end.rx.report();
    let lost = drops(&report, "not_read_in_time");
    assert!(lost > 0 && got + lost >= 3000, "{got} came, {lost} lost: {report:?}");
    assert_eq!(report.packets, got);
    driver.end();
}

#[test]
fn where_buffers_are_out_nothing_is_read_and_nothing_lost() {
    let test = "tap_port::where_buffers_are_out_nothing_is_read_and_nothing_lost";
    let Some(space) = space(test, &["ip", "python3"]) else { return };
    let mut end = End::of(open(&space, "tap0", |_| {}));
    space.ip("addr add 10.9.0.1/24 dev tap0");
    space.ip("neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev tap0");
    let send = "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); \
                [s.sendto(b'x' * 100, ('10.9.0.2', 9)) for _ in range(50)]";
    let status = space.command("python3").args(["-c", send]).status().expect("python3 runs");
    assert!(status.success());
    let (mut driver, mut burst) = (Driver::new(), Burst::new());
    let [_, small, large] = driver.buffers.capacity();
    for withheld in [[0, small, 0], [0, 0, large]] {
        driver.buffers.withhold(withheld);
        assert_eq!(driver.poll(end.rx.as_mut(), &mut burst), Progress::Starved);
        assert!(driver.buffers.starved());
        driver.buffers.clear_starved();
    }
    driver.buffers.withhold([0; 3]);
    let mut got = 0;
    while let Progress::Worked(_) = driver.poll(end.rx.as_mut(), &mut burst) {
        got += burst.iter().filter(|packet| packet.len() == 142).count();
        driver.release(&mut burst);
    }
    assert_eq!(got, 50);
    driver.end();
}
