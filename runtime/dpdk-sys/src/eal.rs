//! Starting DPDK: once a process, without devices.
//!
//! It promises that [`Eal`] exists only after `rte_eal_init` has succeeded. It does not stop DPDK again: pools and rings
//! outlive every handle that could be given up, and the process ends soon.

use super::ffi;
use std::ffi::{CStr, CString, c_char};
use std::marker::PhantomData;
use std::sync::OnceLock;

/// What DPDK said of a call that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub String);

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl Error {
    /// `what` failed, for the reason that DPDK keeps for this thread.
    pub(crate) fn last(what: &str) -> Error {
        // SAFETY: the shim gives a string that DPDK keeps for this thread, and it is copied at once.
        let reason = unsafe { CStr::from_ptr(ffi::cl_error()) };
        Error(format!("{what}: {}", reason.to_string_lossy()))
    }
}

/// The proof that DPDK runs in this process.
#[derive(Clone, Copy, Debug)]
pub struct Eal(());

static STARTED: OnceLock<Result<Eal, Error>> = OnceLock::new();

impl Eal {
    /// Starts DPDK with these arguments, as its programs take them, the program's name left out; the first call
    /// counts. It pins the calling thread to the first core it is given.
    ///
    /// # Errors
    /// What `rte_eal_init` said; it says more on standard error.
    pub fn init(arguments: &[&str]) -> Result<Eal, Error> {
        STARTED.get_or_init(|| start(arguments)).clone()
    }

    /// Starts DPDK on one core with no devices and so many MiB: in huge pages where that many are free, else in
    /// ordinary ones. Leaves no files.
    ///
    /// # Errors
    /// As [`Eal::init`].
    pub fn without_devices(core: usize, mib: u32) -> Result<Eal, Error> {
        let (core, mib) = (core.to_string(), mib.to_string());
        let memory = if free_huge(&mib) { "--in-memory" } else { "--no-huge" };
        let quiet = ["--no-telemetry", "--log-level=lib.eal:4"];
        Eal::init(&["-l", &core, "--no-pci", memory, "-m", &mib, quiet[0], quiet[1]])
    }
}

/// Whether so many MiB are free in huge pages of 2 MiB.
fn free_huge(mib: &str) -> bool {
    const FREE: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages";
    let free = std::fs::read_to_string(FREE).ok().and_then(|text| text.trim().parse::<u32>().ok());
    let wanted = mib.parse::<u32>().unwrap_or(u32::MAX);
    free.is_some_and(|pages| pages >= wanted.div_ceil(2))
}

fn start(arguments: &[&str]) -> Result<Eal, Error> {
    let all = ["corelane"].iter().chain(arguments).map(|argument| CString::new(*argument));
    let all: Result<Vec<CString>, _> = all.collect();
    let all = all.map_err(|_| Error("an argument of DPDK contains a zero byte".to_owned()))?;
    let count = all.len() as i32;
    // DPDK keeps pointers to its arguments and may reorder them: they live as long as the process.
    let mut argv: Vec<*mut c_char> = all.into_iter().map(CString::into_raw).collect();
    argv.push(std::ptr::null_mut());
    let argv = Box::leak(argv.into_boxed_slice());
    // SAFETY: `argv` has `count` strings and a null behind them, all of which stay where they are for ever.
    let code = unsafe { ffi::cl_eal_init(count, argv.as_mut_ptr()) };
    if code < 0 { Err(Error::last("DPDK does not start")) } else { Ok(Eal(())) }
}

/// DPDK's own name for its version.
pub fn version() -> String {
    // SAFETY: the shim gives a string that DPDK keeps for ever.
    unsafe { CStr::from_ptr(ffi::cl_version()) }.to_string_lossy().into_owned()
}

/// A thread that DPDK knows: its pools give it a cache of its own. For threads that DPDK did not start.
#[derive(Debug)]
pub struct Registered {
    /// It stays with the thread.
    here: PhantomData<*const ()>,
}

impl Registered {
    /// Registers the calling thread until this is dropped.
    ///
    /// # Errors
    /// Where DPDK has no number left for it.
    pub fn here(_: Eal) -> Result<Registered, Error> {
        // SAFETY: DPDK runs, as the argument proves.
        match unsafe { ffi::cl_thread_register() } {
            0 => Ok(Registered { here: PhantomData }),
            _ => Err(Error::last("DPDK does not register this thread")),
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // SAFETY: registered by `here`, on this thread, which it cannot have left.
        unsafe { ffi::cl_thread_unregister() };
    }
}
