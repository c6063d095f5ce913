//! Progress on stderr, and only if that is a terminal.

use indicatif::{HumanCount, ProgressBar, ProgressState, ProgressStyle};
use load::experiment::Case;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const REFRESH: Duration = Duration::from_millis(120);

/// The bar that shows how far the runs of an experiment are.
pub struct Simulating {
    bar: ProgressBar,
    requests: Arc<AtomicU64>,
    /// Whether the bar counts requests, as it can where their number is known; else it counts replications.
    counts_requests: bool,
    replications: AtomicU64,
    all: u64,
    began: Instant,
}

impl Simulating {
    /// Before the first request.
    pub fn new(cases: &[Case]) -> Simulating {
        let replications: u64 = cases.iter().map(|case| u64::from(case.experiment.run.replications)).sum();
        let requests: Option<u64> = cases
            .iter()
            .map(|case| case.experiment.run.requests.map(|n| n * u64::from(case.experiment.run.replications)))
            .sum();
        let counts_requests = requests.is_some();
        let bar = ProgressBar::new(requests.unwrap_or(replications));
        let done = Arc::new(AtomicU64::new(0));
        let (shown, began) = (done.clone(), Instant::now());
        let rate = move |_: &ProgressState, out: &mut dyn Write| {
            let rate = shown.load(Relaxed) as f64 / began.elapsed().as_secs_f64().max(1e-3);
            write!(out, "{}", HumanCount(rate as u64)).unwrap_or_default();
        };
        let style =
            ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}  {done_a_second} requests/s  {eta} to go")
                .expect("the template is valid")
                .with_key("done_a_second", rate);
        bar.set_style(style);
        bar.set_message(format!("0 of {replications} replications"));
        bar.enable_steady_tick(REFRESH);
        Simulating { bar, requests: done, counts_requests, replications: AtomicU64::new(0), all: replications, began }
    }

    /// Takes the bar away and, on a terminal, says how long it took.
    pub fn finish(self) {
        let hidden = self.bar.is_hidden();
        self.bar.finish_and_clear();
        if !hidden {
            let (requests, seconds) = (self.requests.load(Relaxed), self.began.elapsed().as_secs_f64());
            let rate = HumanCount((requests as f64 / seconds.max(1e-9)) as u64);
            eprintln!("{} requests in {seconds:.2} s, {rate} requests/s", HumanCount(requests));
        }
    }
}

impl sim::Watch for Simulating {
    fn requests(&self, count: u64) {
        self.requests.fetch_add(count, Relaxed);
        if self.counts_requests {
            self.bar.inc(count);
        }
    }

    fn replication(&self) {
        let done = self.replications.fetch_add(1, Relaxed) + 1;
        if !self.counts_requests {
            self.bar.inc(1);
        }
        if !self.bar.is_hidden() {
            self.bar.set_message(format!("{done} of {} replications", self.all));
        }
    }
}

/// Follows a search: how many of the trials that are planned so far have ended.
pub struct Searching(ProgressBar);

impl Searching {
    /// Before the first trial.
    pub fn new() -> Searching {
        let bar = ProgressBar::new(0);
        let style = ProgressStyle::with_template("{bar:30} {pos} of {len} trials  {eta} to go");
        bar.set_style(style.expect("the template is valid"));
        bar.enable_steady_tick(REFRESH);
        Searching(bar)
    }

    /// Removes the bar from the screen.
    pub fn finish(self) {
        self.0.finish_and_clear();
    }
}

impl sim::SearchWatch for Searching {
    fn plan(&self, trials: usize) {
        self.0.inc_length(trials as u64);
    }

    fn end_trial(&self) {
        self.0.inc(1);
    }
}

/// Follows the reading of a trace, whose length nobody knows.
pub struct ReadingBar(ProgressBar);

impl ReadingBar {
    /// Before the first request.
    pub fn new() -> ReadingBar {
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("{spinner} {human_pos} requests read, {per_sec}");
        bar.set_style(style.expect("the template is valid"));
        bar.enable_steady_tick(REFRESH);
        ReadingBar(bar)
    }

    /// So many requests have been read.
    pub fn at(&self, requests: u64) {
        self.0.set_position(requests);
    }

    /// Removes the bar from the screen.
    pub fn finish(self) {
        self.0.finish_and_clear();
    }
}

/// Follows a profile: its steps, and how much of the drive is mapped.
pub struct Profiling(ProgressBar);

impl Profiling {
    /// Before the first command; `of` says of what the share is.
    pub fn new(of: &str) -> Profiling {
        let bar = ProgressBar::new(1000);
        let style = ProgressStyle::with_template("{bar:30} {percent:>3} % {prefix}  {msg}  {eta} to go");
        bar.set_style(style.expect("the template is valid"));
        bar.set_prefix(of.to_owned());
        bar.enable_steady_tick(REFRESH);
        Profiling(bar)
    }

    /// So much is done, of 1.
    pub fn share(&self, done: f64) {
        self.0.set_position((done * 1000.0) as u64);
    }

    /// Removes the bar from the screen.
    pub fn finish(self) {
        self.0.finish_and_clear();
    }
}

/// Follows a scan: what of the device was read, and when the rest will have been.
#[cfg(feature = "linux")]
pub struct Scanning(ProgressBar);

#[cfg(feature = "linux")]
impl Scanning {
    /// Before the first command, of so many bytes.
    pub fn new(bytes: u64) -> Scanning {
        let bar = ProgressBar::new(bytes);
        let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {bytes} of {total_bytes}  {msg}");
        bar.set_style(style.expect("the template is valid"));
        bar.enable_steady_tick(REFRESH);
        Scanning(bar)
    }

    /// So far it has come. The bar's own estimate takes the rate for steady, which finds are not.
    pub fn at(&self, progress: &load::ScanProgress) {
        let all = self.0.length().unwrap_or(0);
        let done = ((1.0 - progress.share_left()) * all as f64) as u64;
        let told = done * 1000 / all.max(1) > self.0.position() * 1000 / all.max(1);
        self.0.set_position(done);
        if told && let Some(left) = progress.remaining() {
            self.0.set_message(format!("{} to go", indicatif::HumanDuration(Duration::from_nanos(left.0))));
        }
    }

    /// Removes the bar from the screen.
    pub fn finish(self) {
        self.0.finish_and_clear();
    }
}

impl profile::ProgressWatcher for Profiling {
    fn step(&mut self, step: profile::ProfileStep) {
        self.0.set_message(step.to_string());
    }

    fn on_mapped(&mut self, done: u64, all: u64) {
        self.0.set_position((u128::from(done) * 1000 / u128::from(all.max(1))) as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::Watch;

    /// Two cases of three replications, so long.
    fn cases(length: &str) -> Vec<Case> {
        let text = format!(
            "[drive]\nmodel = \"st318437lw\"\n[scheduler]\npolicy = [\"fcfs\", \"satf\"]\n[[workload]]\nname = \"r\"\nkind = \"closed\"\ndepth = 2\n\
             size = \"4KiB\"\n[run]\nreplications = 3\n{length}\n"
        );
        load::experiment::parse("f.toml", &text, &[], None).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_bar_is_full_when_all_has_ended_and_not_before() {
        for (length, all) in [("requests = 10", 60), ("duration = \"1s\"", 6)] {
            let bar = Simulating::new(&cases(length));
            assert_eq!((bar.bar.length(), bar.bar.position()), (Some(all), 0), "{length}");
            for ended in 1..=6 {
                bar.requests(7);
                bar.requests(3);
                bar.replication();
                assert_eq!(bar.bar.position(), all / 6 * ended, "{length}");
                assert_eq!((bar.replications.load(Relaxed), bar.requests.load(Relaxed)), (ended, 10 * ended));
            }
            bar.finish();
        }
    }

    #[test]
    fn every_bar_stands_where_it_is_told_to() {
        use profile::ProgressWatcher;
        use sim::SearchWatch;
        let searching = Searching::new();
        searching.plan(3);
        searching.end_trial();
        searching.plan(2);
        assert_eq!((searching.0.length(), searching.0.position()), (Some(5), 1));
        searching.finish();
        let reading = ReadingBar::new();
        reading.at(7);
        assert_eq!(reading.0.position(), 7);
        reading.finish();
        let mut profiling = Profiling::new("the drive");
        for (done, all, position) in [(0, 0, 0), (1, 4, 250), (u64::MAX / 2, u64::MAX, 499), (4, 4, 1000)] {
            profiling.on_mapped(done, all);
            assert_eq!(profiling.0.position(), position);
        }
        profiling.share(0.5);
        assert_eq!((profiling.0.length(), profiling.0.position()), (Some(1000), 500));
        profiling.finish();
    }
}
