// SPDX-License-Identifier: ISC
//! A Rust future that records itself, through the C functions of libthrum. `Recorded` stands around any
//! future: it is a task from its making to its end, and it runs while it is polled.
//!
//!     rustc future.rs -L build/src && thrum record --no-preload -o run.thrum -- ./future
//!
//! thrum.h defines most calls inline. These here are the exported functions behind them, which return at
//! once while nothing is recorded.
use std::ffi::CString;
use std::future::Future;
use std::os::raw::{c_char, c_int};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// struct thrum_site: the place of a call. It must live as long as the program.
#[repr(C)]
struct Site {
    file: *const c_char,
    function: *const c_char,
    line: u32,
    id: u32,
}

#[link(name = "thrum")]
extern "C" {
    fn thrum__create(site: *mut Site, kind: c_int, label: *const c_char) -> u64;
    fn thrum__current() -> u64;
    fn thrum__enter(task: u64) -> u64;
    fn thrum__switch(task: u64);
    fn thrum__wait(waiter: u64, source: u64);
    fn thrum__read(reader: u64, source: u64);
    fn thrum__resolve(task: u64);
    fn thrum__cancel(task: u64);
}

const KIND_FIBER: c_int = 21;
const KIND_TIMER: c_int = 19;

fn create(kind: c_int, label: &str, line: u32) -> u64 {
    let site = Box::leak(Box::new(Site {
        file: b"future.rs\0".as_ptr().cast(),
        function: b"create\0".as_ptr().cast(),
        line,
        id: 0,
    }));
    let label = CString::new(label).expect("a label has no NUL");
    unsafe { thrum__create(site, kind, label.as_ptr()) }
}

struct Recorded<F> {
    task: u64,
    inner: Pin<Box<F>>,
}

impl<F: Future> Recorded<F> {
    fn new(label: &str, inner: F) -> Self {
        Recorded { task: create(KIND_FIBER, label, line!()), inner: Box::pin(inner) }
    }
}

impl<F: Future> Future for Recorded<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let before = unsafe { thrum__enter(self.task) };
        let result = self.inner.as_mut().poll(context);
        if result.is_ready() {
            unsafe { thrum__resolve(self.task) };
            self.task = 0;
        }
        unsafe { thrum__switch(before) };
        result
    }
}

impl<F> Drop for Recorded<F> {
    /// A future that is dropped before its end is cancelled.
    fn drop(&mut self) {
        unsafe { thrum__cancel(self.task) };
    }
}

/// A timer for the example: it is due when it is polled for the third time.
struct Timer {
    task: u64,
    polls: u32,
}

impl Future for Timer {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.polls += 1;
        if self.polls < 3 {
            unsafe { thrum__wait(thrum__current(), self.task) };
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        unsafe {
            thrum__resolve(self.task);
            thrum__read(thrum__current(), self.task);
        }
        Poll::Ready(())
    }
}

struct Awake(AtomicBool);

impl Wake for Awake {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn main() {
    let awake = Arc::new(Awake(AtomicBool::new(true)));
    let waker = Waker::from(awake.clone());
    let mut context = Context::from_waker(&waker);
    let timer = create(KIND_TIMER, "pause", line!());
    let mut work = Box::pin(Recorded::new("work", async move {
        println!("before the pause");
        Timer { task: timer, polls: 0 }.await;
        println!("after the pause");
    }));

    while awake.0.swap(false, Ordering::Relaxed) {
        if work.as_mut().poll(&mut context).is_ready() {
            return;
        }
    }
}
