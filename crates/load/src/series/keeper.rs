//! The series of one run, while it goes on.

use super::SeriesRow;
use super::cell::SeriesCell;
use crate::experiment::Case;
use crate::requests::{CommandNote, DEVICE, Record, Records, label_case};
use block::{At, BadInput, DiskId, Ending, Span, Time};
use sched::value::Worth;
use std::sync::{Arc, Mutex, PoisonError};

/// Intervals of a run whose length follows from that of the run, at most; half as many at least.
const FITTED: usize = 256;
/// How long such an interval is at first.
const SHORTEST: Span = Span(1_000_000);
/// Rows of a run, at most: some 100 MB.
const MOST_ROWS: usize = 250_000;

/// How long an interval is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// As long as this.
    Span(Span),
    /// 1 ms, or as many times twice that as make at most 256 of a run.
    Fitted,
}

/// The series of a run.
#[derive(Clone, Debug)]
pub struct RunSeries {
    case: String,
    replication: u32,
    classes: Vec<String>,
    disks: u64,
    every: Span,
    fitted: bool,
    end: Time,
    /// Of all together, then of each class: its intervals.
    cells: Vec<Vec<SeriesCell>>,
}

impl RunSeries {
    /// An empty one of a case's replication, from 0 on.
    #[must_use]
    pub fn new(case: &Case, replication: u32, every: Every) -> RunSeries {
        let classes: Vec<String> = case.experiment.classes().into_iter().map(str::to_owned).collect();
        let (every, fitted) = match every {
            Every::Span(span) => (span, false),
            Every::Fitted => (SHORTEST, true),
        };
        RunSeries {
            case: label_case(case),
            replication: replication + 1,
            disks: case.experiment.array.as_ref().map_or(1, |array| u64::from(array.disks)),
            every,
            fitted,
            end: Time::ZERO,
            cells: vec![Vec::new(); classes.len() + 1],
            classes,
        }
    }

    /// The names of its classes.
    #[must_use]
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Its rows by time, of each interval all together first.
    pub fn rows(&self) -> impl Iterator<Item = SeriesRow<'_>> {
        let intervals = self.end.0.div_ceil(self.every.0) as usize;
        (0..intervals).flat_map(move |interval| {
            let from = Time(interval as u64 * self.every.0);
            self.cells.iter().enumerate().map(move |(row, cells)| SeriesRow {
                case: &self.case,
                replication: self.replication,
                class: row.checked_sub(1).map_or("", |class| &self.classes[class]),
                from,
                to: (from + self.every).min(self.end),
                disks: self.disks,
                cell: &cells[interval],
            })
        })
    }

    /// The interval that a time is in, which is made if there is none yet.
    fn interval(&mut self, at: Time) -> Result<usize, BadInput> {
        self.end = self.end.max(at);
        while self.fitted && self.place(at) >= FITTED {
            self.double();
        }
        let interval = self.place(at);
        if interval >= self.cells[0].len() {
            if interval >= MOST_ROWS / self.cells.len() {
                return Err(self.refuse());
            }
            self.cells.iter_mut().for_each(|cells| cells.resize_with(interval + 1, SeriesCell::default));
        }
        Ok(interval)
    }

    fn place(&self, at: Time) -> usize {
        (at.0.saturating_sub(1) / self.every.0) as usize
    }

    fn refuse(&self) -> BadInput {
        let what = format!("more than {MOST_ROWS} rows of one run, at {} ms each", self.every.as_ms());
        BadInput::new(
            "--series-every",
            At::File,
            what,
            "give a longer time, or leave it out: then it follows from the run's",
        )
    }

    /// Intervals become twice as long.
    fn double(&mut self) {
        self.settle();
        for cells in &mut self.cells {
            let mut halves = std::mem::take(cells).into_iter();
            while let Some(mut cell) = halves.next() {
                if let Some(next) = halves.next() {
                    cell.join(next);
                }
                cells.push(cell);
            }
        }
        self.every = self.every + self.every;
    }

    /// Turns what rises and falls between intervals into time.
    fn settle(&mut self) {
        for cells in &mut self.cells {
            let mut level = 0;
            for cell in cells {
                level += std::mem::take(&mut cell.rise);
                cell.outstanding += level as u64 * self.every.0;
            }
        }
    }

    /// A request was in the system from one time to another, however many intervals lie between.
    fn pass(&mut self, row: usize, from: Time, to: Time) -> Result<(), BadInput> {
        if from >= to {
            return Ok(());
        }
        let last = self.interval(to)?;
        let (first, every) = ((from.0 / self.every.0) as usize, self.every.0);
        let cells = &mut self.cells[row];
        if first == last {
            cells[first].outstanding += to.since(from).0;
            return Ok(());
        }
        cells[first].outstanding += (first as u64 + 1) * every - from.0;
        cells[last].outstanding += to.0 - last as u64 * every;
        cells[first + 1].rise += 1;
        cells[last].rise -= 1;
        Ok(())
    }

    /// Splits a time that passes at its intervals, and adds each piece to what `counter` says.
    fn spread(
        &mut self,
        row: usize,
        from: Time,
        to: Time,
        counter: impl Fn(&mut SeriesCell) -> &mut u64,
    ) -> Result<(), BadInput> {
        if from >= to {
            return Ok(());
        }
        let last = self.interval(to)?;
        let mut at = from;
        for place in (from.0 / self.every.0) as usize..=last {
            let next = Time((place as u64 + 1) * self.every.0).min(to);
            *counter(&mut self.cells[row][place]) += next.since(at).0;
            at = next;
        }
        Ok(())
    }

    /// The rows that count for a class: that of all, and its own.
    fn rows_of(class: Option<usize>) -> impl Iterator<Item = usize> {
        [Some(0), class.map(|class| class + 1)].into_iter().flatten()
    }
}

/// A device that has so many commands of a row, since when.
#[derive(Clone, Copy, Debug, Default)]
struct DiskRow {
    flying: u32,
    since: Time,
}

/// What follows a run for its series, and hands records on.
pub(super) struct SeriesKeeper {
    series: RunSeries,
    worths: Vec<Worth>,
    /// The class whose scan is read for free.
    scan: Option<usize>,
    /// By disk, and in it by row.
    disk_rows: Vec<Vec<DiskRow>>,
    to: Arc<Mutex<Option<RunSeries>>>,
    then: Option<Box<dyn Records>>,
}

impl SeriesKeeper {
    pub(super) fn new(
        case: &Case,
        series: RunSeries,
        to: Arc<Mutex<Option<RunSeries>>>,
        then: Option<Box<dyn Records>>,
    ) -> SeriesKeeper {
        let worths = (0..series.classes.len()).map(|class| case.experiment.scheduler.rules.class(class as u8).worth);
        let scan =
            case.experiment.scan().and_then(|(_, of)| series.classes.iter().position(|class| *class == of.class));
        SeriesKeeper { worths: worths.collect(), series, scan, disk_rows: Vec::new(), to, then }
    }

    fn disk_row(&mut self, disk: DiskId, row: usize) -> &mut DiskRow {
        let (disk, rows) = (usize::from(disk.0), self.series.cells.len());
        if disk >= self.disk_rows.len() {
            self.disk_rows.resize_with(disk + 1, || vec![DiskRow::default(); rows]);
        }
        &mut self.disk_rows[disk][row]
    }

    /// A device has no command of a row any more.
    fn rest(&mut self, disk: DiskId, row: usize, now: Time) -> Result<(), BadInput> {
        let since = self.disk_row(disk, row).since;
        self.series.spread(row, since, now, |cell| &mut cell.busy)
    }

    fn count(&mut self, it: &Record) -> Result<(), BadInput> {
        let class = self.series.classes.iter().position(|class| class == it.class);
        let interval = self.series.interval(it.end)?;
        for row in RunSeries::rows_of(class) {
            self.series.pass(row, it.arrival, it.end)?;
        }
        let Some(ending) = it.ending else { return Ok(()) };
        for row in RunSeries::rows_of(class) {
            let cell = &mut self.series.cells[row][interval];
            cell.counted += u64::from(it.counted);
            if ending != Ending::Finished {
                cell.lost += 1;
                continue;
            }
            cell.requests += 1;
            cell.bytes += it.at.bytes();
            cell.times.add(it.end.since(it.arrival));
            if let Some(worth) = class.map(|class| &self.worths[class]).filter(|_| it.counted) {
                cell.worth += worth.at(it.at.blocks, &it.qos, it.arrival, it.end);
            }
        }
        Ok(())
    }

    /// Each part of a command passes in its turn; what is left over is the device's.
    fn spread_parts(&mut self, row: usize, ended: Time, command: &CommandNote) -> Result<(), BadInput> {
        let mut at = command.issued;
        for (part, span) in command.parts.iter().enumerate() {
            let to = (at + *span).min(ended);
            self.series.spread(row, at, to, |cell| &mut cell.parts[part].0)?;
            at = to;
        }
        self.series.spread(row, at, ended, |cell| &mut cell.parts[DEVICE].0)
    }
}

impl Records for SeriesKeeper {
    fn put(&mut self, record: &Record) -> Result<(), BadInput> {
        self.count(record)?;
        self.then.as_mut().map_or(Ok(()), |then| then.put(record))
    }

    fn begin_command(&mut self, now: Time, disk: DiskId, class: Option<u8>) {
        self.series.end = self.series.end.max(now);
        for row in RunSeries::rows_of(class.map(usize::from)) {
            let its = self.disk_row(disk, row);
            if its.flying == 0 {
                its.since = now;
            }
            its.flying += 1;
        }
        self.then.iter_mut().for_each(|then| then.begin_command(now, disk, class));
    }

    fn end_command(&mut self, now: Time, command: &CommandNote) -> Result<(), BadInput> {
        for row in RunSeries::rows_of(command.class.map(usize::from)) {
            let its = self.disk_row(command.disk, row);
            its.flying -= 1;
            if its.flying == 0 {
                self.rest(command.disk, row, now)?;
            }
            self.spread_parts(row, now, command)?;
        }
        self.then.as_mut().map_or(Ok(()), |then| then.end_command(now, command))
    }

    fn add_free(&mut self, now: Time, bytes: u64) -> Result<(), BadInput> {
        let interval = self.series.interval(now)?;
        for row in RunSeries::rows_of(self.scan) {
            self.series.cells[row][interval].free_bytes += bytes;
        }
        self.then.as_mut().map_or(Ok(()), |then| then.add_free(now, bytes))
    }

    fn end_run(&mut self, now: Time) {
        self.series.end = self.series.end.max(now);
        self.then.iter_mut().for_each(|then| then.end_run(now));
    }

    fn close(&mut self) -> Result<(), BadInput> {
        let end = self.series.end;
        if end > Time::ZERO {
            self.series.interval(end)?;
        }
        for disk in 0..self.disk_rows.len() {
            for row in 0..self.disk_rows[disk].len() {
                if self.disk_rows[disk][row].flying > 0 {
                    self.rest(DiskId(disk as u16), row, end)?;
                }
            }
        }
        self.series.settle();
        *self.to.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.series.clone());
        self.then.as_mut().map_or(Ok(()), |then| then.close())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An interval is after its beginning and up to its end: what happens where two meet is of the earlier.
    #[test]
    fn what_ends_with_an_interval_is_of_that_interval() {
        let mut series = RunSeries {
            case: String::new(),
            replication: 1,
            classes: Vec::new(),
            disks: 1,
            every: Span(10),
            fitted: false,
            end: Time::ZERO,
            cells: vec![Vec::new()],
        };
        for (at, interval) in [(0, 0), (1, 0), (10, 0), (11, 1), (20, 1)] {
            assert_eq!(series.interval(Time(at)).expect("there is room"), interval, "{at}");
        }
        for (from, to) in [(0, 10), (10, 20), (5, 20)] {
            series.pass(0, Time(from), Time(to)).expect("there is room");
            series.spread(0, Time(from), Time(to), |cell| &mut cell.busy).expect("there is room");
        }
        series.settle();
        let cells = series.cells[0].iter().map(|cell| (cell.outstanding, cell.busy));
        assert_eq!(cells.collect::<Vec<_>>(), [(15, 15), (20, 20)]);
        assert_eq!(series.rows().map(|row| (row.from.0, row.to.0)).collect::<Vec<_>>(), [(0, 10), (10, 20)]);
    }
}
