//! Namespaces for these tests, and programs run inside them.

use corelane_runtime::testing::namespace::{Namespace, missing};
use corelane_runtime::testing::skip;
use std::io::Read;
use std::process::{Child, Stdio};

/// A namespace; `None`, with a skip by name, where the machine lacks one of these programs or the driver.
pub(crate) fn space(test: &str, programs: &[&str]) -> Option<Namespace> {
    let tun = std::path::Path::new("/dev/net/tun").exists();
    let lacks = missing(programs).or((!tun).then(|| "there is no /dev/net/tun".to_owned()));
    if let Some(lacks) = lacks {
        skip(test, &lacks);
        return None;
    }
    Namespace::new(test)
}

/// Two of them.
pub(crate) fn pair(test: &str, programs: &[&str]) -> Option<(Namespace, Namespace)> {
    Some((space(test, programs)?, space(test, programs)?))
}

/// Starts a Python program with arguments inside; what it prints is kept.
pub(crate) fn python(space: &Namespace, program: &str, arguments: &[&str]) -> Child {
    let mut command = space.command("python3");
    command.args(["-c", program]).args(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("python3 runs")
}

/// Starts one that says `ready` before it does anything that another one waits for, and waits for that.
pub(crate) fn serving(space: &Namespace, program: &str, arguments: &[&str]) -> Child {
    let mut child = python(space, program, arguments);
    let mut said = [0; b"ready\n".len()];
    // No more than that: what follows is for who waits for its end.
    child.stdout.as_mut().expect("piped").read_exact(&mut said).expect("it gets that far");
    assert_eq!(&said, b"ready\n");
    child
}
