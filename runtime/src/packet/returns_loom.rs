//! Model of the way buffers go home, over every interleaving and every value an atomic may yield: what
//! several cores push, the owner takes exactly once, with its contents. Run by `.ci/loom.sh`.

use super::{Linked, ReturnStack};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicPtr, Ordering};
use loom::thread;
use std::ptr;

struct Node {
    next: UnsafeCell<*mut Node>,
    value: UnsafeCell<u32>,
}

// SAFETY: writes the one link; loom reports any access that is not ordered.
unsafe impl Linked for Node {
    unsafe fn set_next(this: *mut Node, next: *mut Node) {
        // SAFETY: the caller owns `this`.
        unsafe { (*this).next.with_mut(|link| *link = next) };
    }
}

fn node() -> *mut Node {
    let node = Node { next: UnsafeCell::new(ptr::null_mut()), value: UnsafeCell::new(0) };
    Box::into_raw(Box::new(node))
}

/// Writes the nodes, as a core that used the buffers, and links the first to the second.
fn used(first: *mut Node, second: *mut Node, value: u32) {
    // SAFETY: the calling thread owns both until it pushes them.
    unsafe {
        (*first).value.with_mut(|v| *v = value);
        (*second).value.with_mut(|v| *v = value + 1);
        Node::set_next(first, second);
    }
}

/// Reads and frees a chain.
fn values(mut chain: *mut Node) -> Vec<u32> {
    let mut found = Vec::new();
    while !chain.is_null() {
        // SAFETY: `take` made us the owner.
        let node = unsafe { Box::from_raw(chain) };
        // SAFETY: as above.
        found.push(node.value.with(|v| unsafe { *v }));
        // SAFETY: as above.
        chain = node.next.with(|link| unsafe { *link });
    }
    found
}

struct Chain(*mut Node, *mut Node);
// SAFETY: moved to the one thread that uses it.
unsafe impl Send for Chain {}

#[test]
fn loom_returns_come_home_exactly_once_with_their_contents() {
    loom::model(|| {
        let stack = Arc::new(ReturnStack::new());
        let pushers: Vec<_> = [10, 20]
            .into_iter()
            .map(|value| {
                let (stack, chain) = (Arc::clone(&stack), Chain(node(), node()));
                thread::spawn(move || {
                    let chain = chain;
                    used(chain.0, chain.1, value);
                    // SAFETY: this thread owns the chain and gives it up.
                    unsafe { stack.push(chain.0, chain.1) };
                })
            })
            .collect();
        let mut found = values(stack.take());
        pushers.into_iter().for_each(|pusher| pusher.join().expect("joined"));
        found.extend(values(stack.take()));
        found.sort_unstable();
        assert_eq!(found, [10, 11, 20, 21]);
    });
}

/// The same with the Release of the push taken away: the model must see it.
#[test]
#[should_panic]
fn loom_returns_without_release_are_caught() {
    loom::model(|| {
        let head = Arc::new(AtomicPtr::new(ptr::null_mut()));
        let (other, chain) = (Arc::clone(&head), Chain(node(), node()));
        let pusher = thread::spawn(move || {
            let chain = chain;
            used(chain.0, chain.1, 1);
            other.store(chain.0, Ordering::Relaxed);
        });
        values(head.swap(ptr::null_mut(), Ordering::Acquire));
        pusher.join().expect("joined");
        values(head.swap(ptr::null_mut(), Ordering::Acquire));
    });
}
