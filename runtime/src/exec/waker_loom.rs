//! Model of the sleep protocol: whatever the interleaving, a sleeper that decided to block has either seen
//! the publication or is rung. The ring is a stand-in with rtrb's orderings (release store of the tail,
//! acquire load), since rtrb's own atomics cannot run in a model. Run by `.ci/loom.sh`.

use super::Waker;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use loom::thread;

/// The protocol under test, with either fence left out on demand.
trait Bell: Send + Sync + 'static {
    fn prepare(&self);
    fn wake(&self);
    fn is_sleeping(&self) -> bool;
}

impl Bell for Waker {
    fn prepare(&self) {
        Waker::prepare(self);
    }
    fn wake(&self) {
        Waker::wake(self);
    }
    fn is_sleeping(&self) -> bool {
        Waker::is_sleeping(self)
    }
}

struct Broken {
    sleeping: AtomicBool,
    sleeper_fence: bool,
    publisher_fence: bool,
}

impl Bell for Broken {
    fn prepare(&self) {
        self.sleeping.store(true, Ordering::Relaxed);
        if self.sleeper_fence {
            fence(Ordering::SeqCst);
        }
    }
    fn wake(&self) {
        if self.publisher_fence {
            fence(Ordering::SeqCst);
        }
        if self.sleeping.load(Ordering::Relaxed) {
            self.sleeping.swap(false, Ordering::AcqRel);
        }
    }
    fn is_sleeping(&self) -> bool {
        self.sleeping.load(Ordering::Acquire)
    }
}

/// A publisher pushes twice and rings each time; the sleeper prepares, looks again, and blocks.
fn no_wakeup_is_lost<B: Bell>(make: impl Fn() -> B + Send + Sync + 'static) {
    loom::model(move || {
        let bell = Arc::new(make());
        let tail = Arc::new(AtomicUsize::new(0));
        let publisher = {
            let (bell, tail) = (Arc::clone(&bell), Arc::clone(&tail));
            thread::spawn(move || {
                for published in 1..=2 {
                    tail.store(published, Ordering::Release);
                    bell.wake();
                }
            })
        };
        bell.prepare();
        let blocks = tail.load(Ordering::Acquire) == 0;
        publisher.join().expect("joined");
        assert!(!blocks || !bell.is_sleeping(), "asleep, with packets in the ring, for ever");
    });
}

#[test]
fn loom_sleep_protocol_loses_no_wakeup() {
    no_wakeup_is_lost(Waker::new);
}

fn broken(sleeper_fence: bool, publisher_fence: bool) -> impl Fn() -> Broken + Send + Sync {
    move || Broken { sleeping: AtomicBool::new(false), sleeper_fence, publisher_fence }
}

#[test]
#[should_panic(expected = "for ever")]
fn loom_sleep_protocol_needs_the_sleepers_fence() {
    no_wakeup_is_lost(broken(false, true));
}

#[test]
#[should_panic(expected = "for ever")]
fn loom_sleep_protocol_needs_the_publishers_fence() {
    no_wakeup_is_lost(broken(true, false));
}
