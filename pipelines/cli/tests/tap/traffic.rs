//! Traffic between two namespaces, and what became of it: `ping`, `iperf3`, and bytes over HTTP.
//!
//! It promises limits of time for all of it, and that every byte of a transfer was compared.

use crate::running::wait_for;
use corelane_runtime::testing::namespace::{Namespace, run};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

/// Sends some echo requests and wants every answer.
#[track_caller]
pub(crate) fn ping(from: &Namespace, to: &str, bytes: usize) {
    from.run(&format!("ping -n -c 3 -i 0.05 -W 3 -s {bytes} {to}"));
}

/// A server of `iperf3` for one client, gone with the value.
struct Server(Child);

impl Server {
    #[track_caller]
    fn start(inside: &Namespace) -> Server {
        let mut command = inside.command("iperf3");
        command.args(["-s", "--forceflush"]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("iperf3 starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let ready = lines.by_ref().map_while(Result::ok).any(|line| line.contains("listening"));
        assert!(ready, "iperf3 does not listen");
        // It may not be stopped by a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Server(child)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs `iperf3` from one side to an address of the other and gives its results. Its own control connection fails now
/// and then on a loaded machine: then both ends begin anew.
#[track_caller]
pub(crate) fn iperf3(from: &Namespace, to: (&Namespace, &str), flows: u32, more: &str) -> Value {
    let line = format!("-c {} -P {flows} --json --connect-timeout 5000 {more}", to.1);
    let mut errors = Vec::new();
    for _ in 0..3 {
        let _server = Server::start(to.0);
        let mut command = from.command("iperf3");
        let output = run(command.args(line.split_whitespace()), PATIENCE);
        let result: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        if output.status.success() && result["error"].is_null() {
            return result;
        }
        errors.push(result["error"].to_string());
    }
    panic!("iperf3 {line}: {errors:?}");
}

/// TCP: what arrived, in bytes.
#[track_caller]
pub(crate) fn tcp(from: &Namespace, to: (&Namespace, &str), flows: u32, more: &str) -> u64 {
    let result = iperf3(from, to, flows, more);
    let bytes = result["end"]["sum_received"]["bytes"].as_u64().unwrap_or(0);
    assert!(bytes > 100_000, "{flows} flows to {}, {more}: {bytes} bytes", to.1);
    bytes
}

/// UDP at a rate that any machine forwards: nearly all of it arrives, on one of three attempts where the machine has
/// other things to do.
#[track_caller]
pub(crate) fn udp(from: &Namespace, to: (&Namespace, &str), flows: u32, more: &str) {
    let mut lost = Vec::new();
    for _ in 0..3 {
        let result = iperf3(from, to, flows, &format!("-u -b 5M -l 1200 {more}"));
        let sum = &result["end"]["sum"];
        assert!(sum["packets"].as_u64().is_some_and(|packets| packets > 50), "{sum}");
        lost.push(sum["lost_percent"].as_f64().expect("a share"));
        if lost.last().is_some_and(|lost| *lost < 5.0) {
            return;
        }
    }
    panic!("{flows} flows to {}: {lost:?} % lost", to.1);
}

/// The byte at a place of every transfer: any mix-up of segments shows.
fn byte(at: usize) -> u8 {
    (at ^ (at >> 8).wrapping_mul(31) ^ (at >> 16).wrapping_mul(17)) as u8
}

/// Fetches so many bytes over HTTP and compares every one.
#[track_caller]
pub(crate) fn http(client: &Namespace, server: &Namespace, address: &str, bytes: usize) {
    let address: IpAddr = address.parse().expect("an address");
    let content: Vec<u8> = (0..bytes).map(byte).collect();
    let listener = server.within(|| TcpListener::bind(SocketAddr::new(address, 0)));
    let listener = listener.expect("the address is this side's");
    let at = listener.local_addr().expect("it is bound");
    std::thread::scope(|scope| {
        scope.spawn(|| serve(&listener, &content));
        let body = client.within(|| fetch(at));
        assert_eq!(body.len(), content.len(), "length");
        let wrong = body.iter().zip(&content).position(|(a, b)| a != b);
        assert_eq!(wrong, None, "the first byte that differs");
    });
}

/// Answers one request.
fn serve(listener: &TcpListener, content: &[u8]) {
    listener.set_nonblocking(true).expect("a listener");
    let mut stream = None;
    wait_for(PATIENCE, || {
        stream = listener.accept().ok();
        stream.is_some()
    });
    let Some((mut stream, _)) = stream else { panic!("nobody came") };
    stream.set_nonblocking(false).expect("a stream");
    limit(&stream);
    let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
    let mut line = String::new();
    while reader.read_line(&mut line).expect("a request") > 2 {
        line.clear();
    }
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        content.len()
    );
    stream.write_all(head.as_bytes()).expect("a head is sent");
    stream.write_all(content).expect("a body is sent");
}

fn fetch(from: SocketAddr) -> Vec<u8> {
    let mut stream = TcpStream::connect_timeout(&from, PATIENCE).expect("a connection");
    limit(&stream);
    let request = format!("GET /bytes HTTP/1.1\r\nHost: {from}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("a request is sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    let head = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"));
    answer.split_off(head + 4)
}

fn limit(stream: &TcpStream) {
    stream.set_read_timeout(Some(PATIENCE)).expect("a stream");
    stream.set_write_timeout(Some(PATIENCE)).expect("a stream");
}
