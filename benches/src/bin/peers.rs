//! corelane beside DPDK's libraries, in one process: a table, and one JSON line a row.
//!
//!     peers [--rounds N] [--only TEXT] [--out FILE]
//!
//! Without libdpdk, or built without the feature `dpdk`, it says what is missing and ends well.

use std::process::ExitCode;

dpdk_sys::if_available! {{
    use corelane_benches::peers::rivals::run;
} else {
    fn run() -> Result<(), std::convert::Infallible> {
        let missing = match cfg!(feature = "dpdk") {
            true => format!("libdpdk was not found: apt-get install {}", dpdk_sys::PACKAGE),
            false => "built without the feature dpdk".to_owned(),
        };
        println!("skipped: {missing}");
        Ok(())
    }
}}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("peers: {error}");
            ExitCode::FAILURE
        }
    }
}
