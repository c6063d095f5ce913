//! Those who ask a service over a socket of their own, many at once: each in a thread, so that nobody waits for who says nothing.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// So many are answered at once. Whoever comes then finds the connection closed: it is not worth a thread.
const MOST: usize = 256;

/// Answers whoever comes, until nobody can come any more.
///
/// # Errors
/// When there is no thread to be had.
pub(crate) fn attend<S: Send + 'static>(
    name: &'static str,
    come: impl FnMut() -> io::Result<S> + Send + 'static,
    answer: impl Fn(S) + Send + Sync + 'static,
) -> io::Result<()> {
    std::thread::Builder::new().name(name.into()).spawn(move || let_in(name, come, answer)).map(drop)
}

fn let_in<S: Send + 'static>(
    name: &'static str,
    mut come: impl FnMut() -> io::Result<S>,
    answer: impl Fn(S) + Send + Sync + 'static,
) {
    let (answer, here) = (Arc::new(answer), Arc::new(AtomicUsize::new(0)));
    loop {
        let asker = match come() {
            Ok(asker) => asker,
            // Who went before being let in; or there are no descriptors left, and it is tried again.
            Err(_) => {
                std::thread::sleep(std::time::Duration::from_millis(10));
                continue;
            }
        };
        if here.fetch_add(1, Ordering::Relaxed) >= MOST {
            here.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (answer, mine) = (Arc::clone(&answer), Arc::clone(&here));
        let spawned = std::thread::Builder::new().name(name.into()).spawn(move || {
            answer(asker);
            mine.fetch_sub(1, Ordering::Relaxed);
        });
        // Without a thread nobody is answered.
        if spawned.is_err() {
            here.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
