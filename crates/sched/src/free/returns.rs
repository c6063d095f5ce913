//! How long there has to be no request before time counts as idle.
//!
//! Who asks again once answered does so at once, and would find the arm gone. Who comes at any time seldom comes just then, and whoever waits
//! for that one loses the wait each time there is nothing to do. So what is done depends on how many of the last came soon.

use block::{Span, Time};

/// The average where all of them come soon.
const ALL: u32 = 1 << 16;
/// Of the average, the last has this part.
const PART: u32 = 16;
/// It is waited where at least so many come soon.
const WORTH_IT: u32 = ALL / 8;

/// Who comes back how soon.
#[derive(Debug)]
pub(super) struct Returns {
    /// Since when there has been no request.
    since: Option<Time>,
    /// How many of those who ended such a time came before it was idle.
    soon: u32,
}

impl Default for Returns {
    fn default() -> Returns {
        Returns { since: Some(Time::ZERO), soon: ALL }
    }
}

impl Returns {
    /// There is no request: how long it is waited for one.
    pub(super) fn wait(&mut self, now: Time, patience: Span) -> Span {
        self.since.get_or_insert(now);
        if self.soon >= WORTH_IT { patience } else { Span::ZERO }
    }

    /// There is one: whether it came soon counts.
    pub(super) fn end(&mut self, now: Time, patience: Span) {
        if let Some(since) = self.since.take() {
            let came = if now.since(since) < patience { ALL } else { 0 };
            self.soon = self.soon - self.soon / PART + came / PART;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long it is waited after so many that come each so long after there was none.
    fn wait_after(returns: &mut Returns, count: u32, gap: Span) -> Span {
        let patience = Span(1000);
        for i in 0..u64::from(count) {
            let now = Time(1_000_000 * (i + 1));
            returns.wait(now, patience);
            returns.end(now + gap, patience);
        }
        returns.wait(Time::ZERO, patience)
    }

    #[test]
    fn it_is_waited_only_where_some_come_soon() {
        let mut returns = Returns::default();
        assert_eq!(returns.wait(Time::ZERO, Span(1000)), Span(1000), "nobody knows at first");
        assert_eq!(wait_after(&mut returns, 60, Span(1000)), Span::ZERO);
        assert_eq!(wait_after(&mut returns, 3, Span(999)), Span(1000), "soon learned");
        assert_eq!(wait_after(&mut returns, 60, Span(5000)), Span::ZERO);
    }
}
