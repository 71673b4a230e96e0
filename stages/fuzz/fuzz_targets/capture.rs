//! Any bytes as a capture file: records, then at most one fault, then the end.
#![no_main]

use corelane_device::capture::CaptureFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let path = std::env::temp_dir().join(format!("corelane-fuzz-{}.pcap", std::process::id()));
    std::fs::write(&path, data).expect("a temporary file");
    if let Ok(mut file) = CaptureFile::open(&path) {
        let mut faults = 0;
        let mut records = file.records();
        while let Some(record) = records.next_record() {
            match record {
                Ok(record) => assert!(faults == 0 && record.data.len() <= data.len()),
                Err(fault) => {
                    assert!(fault.is_damage(), "{fault}");
                    faults += 1;
                }
            }
        }
        assert!(faults <= 1);
    }
    std::fs::remove_file(&path).expect("the file is ours");
});
