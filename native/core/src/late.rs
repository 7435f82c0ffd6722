//! Large tables are built in another thread, while the program reads something else.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;

/// A value that is computed in another thread; the first use waits for it. Clones share it.
pub struct Late<Value>(Arc<Lazy<Value>>);

type Lazy<Value> = LazyLock<Value, Box<dyn FnOnce() -> Value + Send>>;

impl<Value: Send + Sync + 'static> Late<Value> {
    /// Compute a value, in another thread or at once. Its first uses are faster on the processor that computed it.
    pub fn start(in_background: bool, compute: impl FnOnce() -> Value + Send + 'static) -> Self {
        let late = Self(Arc::new(LazyLock::new(Box::new(compute))));
        if !in_background {
            LazyLock::force(&late.0);
            return late;
        }
        let (lazy, running) = (late.0.clone(), Running::start());
        let work = move || {
            let _running = running;
            LazyLock::force(&lazy);
        };
        // If the system has no more threads, the value is computed on its first use.
        drop(thread::Builder::new().spawn(work));
        late
    }
}

impl<Value> Deref for Late<Value> {
    type Target = Value;

    #[inline]
    fn deref(&self) -> &Value {
        &self.0
    }
}

impl<Value> Clone for Late<Value> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<Value: fmt::Debug> fmt::Debug for Late<Value> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

static RUNNING: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

fn running() -> MutexGuard<'static, usize> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts as running until it is dropped.
struct Running;

impl Running {
    fn start() -> Self {
        *running() += 1;
        Self
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        *running() -= 1;
        ENDED.notify_all();
    }
}

/// Wait until no value is being computed, as a process must before it forks: a child has none of its other threads.
pub fn wait_for_all() {
    drop(ENDED.wait_while(running(), |count| *count > 0));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;
    use std::time::Duration;

    #[test]
    fn the_first_use_waits_for_the_value() {
        for in_background in [false, true] {
            let late = Late::start(in_background, || {
                sleep(Duration::from_millis(20));
                5
            });
            assert_eq!((*late, *late.clone()), (5, 5));
        }
    }

    #[test]
    fn waiting_for_all_ends_after_the_last_one() {
        let lates = [1, 2, 3].map(|number| {
            Late::start(true, move || {
                sleep(Duration::from_millis(10 * number));
                number
            })
        });
        wait_for_all();
        assert!(lates.iter().all(|late| LazyLock::get(&late.0).is_some()));
    }
}
