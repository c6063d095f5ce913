//! What a trace is like, gathered in one pass and constant memory.

use block::{Extent, Lbn, Op, Span, Time};

use crate::reader::TraceRecord;
use crate::summary::{DeviceSummary, MeasuredResponses, TraceSummary, Windows};

/// Sizes counted one by one; larger ones only in powers of two.
const EXACT_BLOCKS: usize = 8192;
/// How many sizes are told apart in the end.
const COMMON_SIZES: usize = 8;

/// Gathers the statistics of a trace, request by request.
pub struct TraceSurvey {
    summary: TraceSummary,
    /// Latest arrival so far; arrivals behind it count as if they came at it.
    latest: Time,
    first_seen: Time,
    sizes: Vec<u64>,
    gaps: Moments,
    tenths: Counting,
    seconds: Counting,
    /// End of the last transfer, for each device.
    ends: Vec<Option<Lbn>>,
    responses: u64,
    response_sum: u128,
    response_max: Span,
}

impl Default for TraceSurvey {
    fn default() -> TraceSurvey {
        TraceSurvey::new()
    }
}

impl TraceSurvey {
    /// A survey before the first request.
    #[must_use]
    pub fn new() -> TraceSurvey {
        TraceSurvey {
            summary: TraceSummary::default(),
            latest: Time::ZERO,
            first_seen: Time::ZERO,
            sizes: vec![0; EXACT_BLOCKS + 1],
            gaps: Moments::default(),
            tenths: Counting::new(Span(100_000_000)),
            seconds: Counting::new(Span(1_000_000_000)),
            ends: Vec::new(),
            responses: 0,
            response_sum: 0,
            response_max: Span::ZERO,
        }
    }

    /// Takes one request, in the order of the trace.
    pub fn add(&mut self, record: &TraceRecord) {
        self.arrival(record.time);
        let index = record.device.0 as usize;
        if index >= self.ends.len() {
            self.ends.resize(index + 1, None);
            self.summary.devices.resize_with(index + 1, DeviceSummary::default);
        }
        let device = &mut self.summary.devices[index];
        device.requests += 1;
        self.summary.requests += 1;
        let bytes = record.at.bytes();
        match record.op {
            Op::Read | Op::Repair => {
                device.reads += 1;
                self.summary.reads += 1;
                self.summary.read_bytes = self.summary.read_bytes.saturating_add(bytes);
            }
            Op::Write { .. } | Op::Discard(_) | Op::Move => {
                device.writes += 1;
                self.summary.writes += 1;
                self.summary.write_bytes = self.summary.write_bytes.saturating_add(bytes);
            }
            Op::Flush => {
                device.flushes += 1;
                self.summary.flushes += 1;
            }
        }
        if record.at.blocks > 0 {
            device.bytes = device.bytes.saturating_add(bytes);
            self.transfer(index, record.at);
        }
        if let Some(response) = record.response {
            self.responses += 1;
            self.response_sum += u128::from(response.0);
            self.response_max = self.response_max.max(response);
        }
    }

    fn arrival(&mut self, time: Time) {
        let summary = &mut self.summary;
        if summary.requests == 0 {
            (summary.first, summary.last, self.latest, self.first_seen) = (time, time, time, time);
        } else {
            if time < self.latest {
                summary.behind += 1;
                summary.furthest_behind = summary.furthest_behind.max(self.latest.since(time));
            }
            self.gaps.add(time.since(self.latest).as_secs());
            summary.first = summary.first.min(time);
            self.latest = self.latest.max(time);
            summary.last = self.latest;
        }
        let since = self.latest.since(self.first_seen);
        self.tenths.add(since);
        self.seconds.add(since);
    }

    fn transfer(&mut self, index: usize, at: Extent) {
        let device = &mut self.summary.devices[index];
        if let Some(end) = self.ends[index] {
            let distances = &mut device.distances;
            match at.start.0.abs_diff(end.0) {
                0 => distances.sequential += 1,
                ahead if at.start > end => distances.forward[ahead.ilog2() as usize] += 1,
                back => distances.backward[back.ilog2() as usize] += 1,
            }
        }
        self.ends[index] = Some(at.end());
        device.end = device.end.max(at.end());
        self.summary.end = self.summary.end.max(at.end());
        self.summary.sizes[at.blocks.ilog2() as usize] += 1;
        if let Some(count) = self.sizes.get_mut(at.blocks as usize) {
            *count += 1;
        }
    }

    /// The statistics of all that was taken.
    #[must_use]
    pub fn finish(mut self) -> TraceSummary {
        let mut common: Vec<(u32, u64)> = (0..).zip(self.sizes).filter(|(_, count)| *count > 0).collect();
        common.sort_by_key(|(blocks, count)| (std::cmp::Reverse(*count), *blocks));
        common.truncate(COMMON_SIZES);
        self.summary.common_sizes = common;
        self.summary.gap_mean = self.gaps.mean;
        self.summary.gap_scv = self.gaps.scv();
        self.summary.tenths = self.tenths.finish();
        self.summary.seconds = self.seconds.finish();
        self.summary.responses = (self.responses > 0).then(|| MeasuredResponses {
            count: self.responses,
            mean: Span((self.response_sum / u128::from(self.responses)) as u64),
            max: self.response_max,
        });
        self.summary
    }
}

/// Mean and variance in one pass (Welford).
#[derive(Default)]
struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, value: f64) {
        self.count += 1;
        let off = value - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (value - self.mean);
    }

    /// Variance over the square of the mean.
    fn scv(&self) -> f64 {
        if self.mean > 0.0 { self.squares / self.count as f64 / (self.mean * self.mean) } else { 0.0 }
    }
}

/// Counts arrivals in consecutive windows.
struct Counting {
    length: Span,
    /// The window counted now, and its end.
    window: u64,
    end: u64,
    now: u64,
    total: u64,
    squares: u128,
    peak: u64,
}

impl Counting {
    fn new(length: Span) -> Counting {
        Counting { length, window: 0, end: length.0, now: 0, total: 0, squares: 0, peak: 0 }
    }

    /// An arrival this long after the first; never less than before.
    fn add(&mut self, since: Span) {
        if since.0 >= self.end {
            self.close();
            self.window = since.0 / self.length.0;
            self.end = (self.window + 1).saturating_mul(self.length.0);
        }
        self.now += 1;
        self.total += 1;
    }

    fn close(&mut self) {
        self.squares += u128::from(self.now).pow(2);
        self.peak = self.peak.max(self.now);
        self.now = 0;
    }

    fn finish(mut self) -> Windows {
        self.close();
        let count = if self.total == 0 { 0 } else { self.window + 1 };
        let mean = if count == 0 { 0.0 } else { self.total as f64 / count as f64 };
        let variance = if count == 0 { 0.0 } else { (self.squares as f64 / count as f64 - mean * mean).max(0.0) };
        let dispersion = if mean > 0.0 { variance / mean } else { 0.0 };
        Windows { length: self.length, count, mean, peak: self.peak, dispersion }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::TraceDevice;

    fn survey(requests: &[(u64, u32, Op, Extent)]) -> TraceSummary {
        let mut survey = TraceSurvey::new();
        for (ms, device, op, at) in requests {
            let time = Time(ms * 1_000_000);
            survey.add(&TraceRecord {
                time,
                device: TraceDevice(*device),
                op: *op,
                at: *at,
                response: Some(Span(ms * 10)),
            });
        }
        survey.finish()
    }

    const WRITE: Op = Op::Write { fua: false };

    #[test]
    fn counts_sizes_and_distances() {
        let summary = survey(&[
            (1000, 0, Op::Read, Extent::new(100, 8)),
            (1001, 1, WRITE, Extent::new(50, 3)),
            (1002, 0, Op::Flush, Extent::default()),
            (1003, 0, Op::Read, Extent::new(108, 8)),
            (1004, 0, WRITE, Extent::new(100, 8)),
            (1005, 0, Op::Read, Extent::new(1000, 20_000)),
        ]);
        assert_eq!((summary.requests, summary.reads, summary.writes, summary.flushes), (6, 3, 2, 1));
        assert_eq!((summary.read_bytes, summary.write_bytes), (512 * 20_016, 512 * 11));
        assert_eq!(summary.common_sizes, [(8, 3), (3, 1)]);
        assert_eq!((summary.sizes[3], summary.sizes[1], summary.sizes[14]), (3, 1, 1));
        let distances = &summary.devices[0].distances;
        // From 116 back to 100, then from 108 on to 1000.
        assert_eq!((distances.sequential, distances.backward[4], distances.forward[9]), (1, 1, 1));
        assert_eq!(distances.sequential_share(), 1.0 / 3.0);
        assert_eq!((summary.devices[1].end, summary.end), (Lbn(53), Lbn(21_000)));
        assert_eq!((summary.read_share(), summary.span()), (0.6, Span(5_000_000)));
        assert_eq!(summary.responses.unwrap().max, Span(10_050));
    }

    #[test]
    fn each_device_has_its_own_counts_and_they_add_up_to_the_traces() {
        let summary = survey(&[
            (0, 0, Op::Read, Extent::new(0, 8)),
            (2, 1, WRITE, Extent::new(0, 3)),
            (4, 1, Op::Flush, Extent::default()),
            (6, 1, Op::Read, Extent::new(3, 5)),
        ]);
        let counts = |n: usize| {
            let device = &summary.devices[n];
            (device.requests, device.reads, device.writes, device.flushes, device.bytes)
        };
        assert_eq!((counts(0), counts(1)), ((1, 1, 0, 0, 8 * 512), (3, 1, 1, 1, 8 * 512)));
        assert_eq!((summary.gap_mean, summary.devices[1].distances.sequential), (0.002, 1));
        let responses = summary.responses.unwrap();
        assert_eq!((responses.mean, responses.max), (Span(30), Span(60)), "of 0, 20, 40 and 60 ns");
    }

    #[test]
    fn even_arrivals_disperse_nothing_and_bursts_much() {
        let at = |ms| (ms, 0, Op::Read, Extent::new(0, 1));
        let even: Vec<_> = (0..100).map(|i| at(i * 100)).collect();
        let even = survey(&even);
        assert_eq!((even.seconds.count, even.seconds.mean, even.seconds.peak), (10, 10.0, 10));
        assert_eq!((even.seconds.dispersion, even.tenths.dispersion), (0.0, 0.0));
        assert!(even.gap_scv < 1e-9);
        // 50 at once, then 9 empty seconds, then 50 more: mean 10 a second, variance 400.
        let bursts: Vec<_> = (0..50).map(|_| at(0)).chain((0..50).map(|_| at(9500))).collect();
        let bursts = survey(&bursts);
        assert_eq!((bursts.seconds.count, bursts.seconds.peak, bursts.seconds.dispersion), (10, 50, 40.0));
        assert!(bursts.gap_scv > 50.0);
    }

    #[test]
    fn steps_back_are_counted_against_the_latest() {
        let at = |ms| (ms, 0, Op::Read, Extent::new(0, 1));
        let summary = survey(&[at(5000), at(4000), at(4500), at(6000)]);
        assert_eq!((summary.behind, summary.furthest_behind), (2, Span(1_000_000_000)));
        assert_eq!((summary.first, summary.last), (Time(4_000_000_000), Time(6_000_000_000)));
    }

    #[test]
    fn nothing_at_all_is_no_division_by_zero() {
        let summary = survey(&[]);
        assert_eq!((summary.read_share(), summary.gap_scv, summary.seconds.mean), (0.0, 0.0, 0.0));
        assert!(summary.responses.is_none());
    }

    #[test]
    fn absurd_records_do_not_overflow() {
        let far = Extent::new((1 << 54) - u64::from(u32::MAX), u32::MAX);
        let mut survey = TraceSurvey::new();
        for time in [0, u64::MAX, 0, u64::MAX] {
            let response = Some(Span(u64::MAX));
            survey.add(&TraceRecord { time: Time(time), device: TraceDevice(0), op: Op::Read, at: far, response });
        }
        assert_eq!(survey.finish().requests, 4);
    }
}
