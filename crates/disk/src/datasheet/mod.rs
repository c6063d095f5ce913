//! A drive from its data sheet: what the sheet prints is taken as it is, the rest is assumed and said.
//!
//! A sheet prints a dozen numbers; a drive file needs zones, skews, a seek curve and the habits of a controller. Each number
//! made up here is an [`Assumption`] with the least and the most it is likely to be. Sources of the assumptions: the measured
//! drives of the catalogue, and the OEM specifications of nearline drives of 2018 to 2023 that print what sheets leave out (WD
//! Ultrastar DC HC310: one track in 0.23 ms to read, 0.32 ms to write; average seek 7.4 and 8.2 ms).
//!
//! Units: milliseconds, 10^6 bytes/s, blocks of 512 bytes, revolutions.

mod seek;
mod text;
mod tracks;

use crate::{Drive, parse};
use block::{At, BLOCK_BYTES, BadInput};

/// What a data sheet prints of a drive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DataSheet {
    /// What it is, in words.
    pub title: String,
    /// Where the numbers come from.
    pub sources: Vec<String>,
    /// How fast the platters turn: revolutions a minute.
    pub rpm: f64,
    /// Capacity in blocks of 512 bytes.
    pub blocks: u64,
    /// Sustained rate of the outermost zone, 10^6 bytes/s.
    pub outer_mb_s: f64,
    /// The same of the innermost.
    pub inner_mb_s: Option<f64>,
    /// Average seek before a read, ms.
    pub seek_ms: Option<f64>,
    /// Average seek before a write, ms.
    pub write_seek_ms: Option<f64>,
    /// Seek over one track before a read, ms.
    pub track_ms: Option<f64>,
    /// The same before a write, ms.
    pub write_track_ms: Option<f64>,
    /// Seek over the whole stroke, ms.
    pub full_stroke_ms: Option<f64>,
    /// Buffer memory in blocks, where the sheet tells it.
    pub cache: Option<u64>,
    /// Surfaces in use, where the sheet tells them.
    pub heads: Option<u32>,
    /// Rate of the interface, 10^6 bytes/s.
    pub bus_mb_s: Option<f64>,
    /// Random reads of 4 KiB: commands in the drive at once, reads a second. Nothing follows from them; they are what the drive is
    /// held against.
    pub random_reads_s: Option<(u32, f64)>,
}

/// A number that the sheet does not print.
#[derive(Clone, Debug, PartialEq)]
pub struct Assumption {
    /// The number, in words.
    pub what: &'static str,
    /// What is assumed, with its unit.
    pub value: String,
    /// From the least to the most it is likely to be.
    pub range: String,
    /// What the assumption rests on.
    pub basis: &'static str,
}

/// A drive made of a data sheet.
#[derive(Clone, Debug)]
pub struct SheetDrive {
    /// The text of its file.
    pub text: String,
    /// All that the sheet did not print.
    pub assumed: Vec<Assumption>,
    /// The drive that the text describes.
    pub drive: Drive,
}

impl DataSheet {
    /// The drive of this sheet. Errors name the option of `halfturn drive new` that is to blame.
    ///
    /// # Errors
    /// When the numbers are of no drive: each alone, or together.
    pub fn make(&self) -> Result<SheetDrive, BadInput> {
        self.check()?;
        let mut assumed = Assumptions::default();
        let numbers = self.complete(&mut assumed)?;
        let assumed = assumed.0;
        let text = text::write(self, &numbers, &assumed);
        let drive = parse("new", "the drive made of the data sheet", &text)?;
        Ok(SheetDrive { text, assumed, drive })
    }

    /// Refuses numbers that no drive has, each by itself.
    fn check(&self) -> Result<(), BadInput> {
        let within = |option, value: Option<f64>, least: f64, most: f64, unit: &str| match value {
            Some(value) if !(least..=most).contains(&value) => {
                let mend = format!("give what the sheet prints, from {least} to {most}{unit}");
                Err(refuse(option, format!("no drive has {value}{unit}"), mend))
            }
            _ => Ok(()),
        };
        within("--rpm", Some(self.rpm), 1_000.0, 30_000.0, " rpm")?;
        let bytes = self.blocks as f64 * BLOCK_BYTES as f64;
        within("--capacity", Some(bytes / 1e9), 0.01, 1e6, " GB")?;
        within("--outer", Some(self.outer_mb_s), 0.2, 2_000.0, " MB/s")?;
        within("--inner", self.inner_mb_s, self.outer_mb_s * 0.2, self.outer_mb_s, " MB/s")?;
        within("--seek", self.seek_ms, 0.5, 100.0, " ms")?;
        let seek = self.seek_ms.unwrap_or(100.0);
        within("--write-seek", self.write_seek_ms, seek.min(self.seek_of_class()), 200.0, " ms")?;
        within("--track-to-track", self.track_ms, 0.02, 20.0, " ms")?;
        within("--write-track-to-track", self.write_track_ms, self.track_ms.unwrap_or(0.02), 20.0, " ms")?;
        within("--full-stroke", self.full_stroke_ms, 1.0, 400.0, " ms")?;
        within("--heads", self.heads.map(f64::from), 1.0, 64.0, " heads")?;
        within("--cache", self.cache.map(|blocks| blocks as f64 / 2.0), 16.0, 4_194_304.0, " KiB")?;
        let bus_least = self.outer_mb_s * LEAST_BUS;
        within("--interface", self.bus_mb_s, bus_least, 1e5, " MB/s")?;
        within("--random-reads", self.random_reads_s.map(|(_, rate)| rate), 1.0, 10_000.0, " reads/s")?;
        within("--random-reads", self.random_reads_s.map(|(depth, _)| f64::from(depth)), 1.0, 32.0, " commands at once")
    }

    /// The average seek of drives that turn as fast, ms: at 7,200 rpm 8.5, and 7.5 of those for data centres, of 8 TB or 240 MB/s and
    /// more; 6.1 at 10,000, 4.1 at 15,000.
    #[must_use]
    pub fn seek_of_class(&self) -> f64 {
        let nearline = self.blocks > 15_600_000_000 || self.outer_mb_s >= 240.0;
        (if nearline { 7.5 } else { 8.5 }) * 7_200.0 / self.rpm
    }

    /// Everything a drive file needs, with what was assumed for it.
    fn complete(&self, assumed: &mut Assumptions) -> Result<Numbers, BadInput> {
        let inner_mb_s = self.inner_mb_s.unwrap_or_else(|| {
            let (half, basis) = (self.outer_mb_s / 2.0, "half the outermost, as on measured drives");
            assumed.take("innermost rate", half, (half * 0.85, half * 1.2), "MB/s", basis)
        });
        let seeks = self.seeks(assumed)?;
        let skew = self.skew(&seeks, assumed)?;
        let geometry = tracks::lay_out(self, inner_mb_s, skew, assumed)?;
        let curve = seek::fit(self, &seeks, geometry.cylinders, assumed)?;
        let bus_mb_s = self.bus_mb_s.unwrap_or_else(|| {
            let fits = |rate: &&f64| **rate >= self.outer_mb_s * 1.6;
            let rate = BUSES.iter().find(fits).copied().unwrap_or(self.outer_mb_s * 2.0);
            let bounds = (self.outer_mb_s * LEAST_BUS, rate * 2.0);
            assumed.take("interface", rate, bounds, "MB/s", "the slowest of its kind that serves")
        });
        let cache = self.cache.unwrap_or_else(|| {
            let blocks = cache_of_class(self.blocks);
            let mib = blocks as f64 / 2_048.0;
            assumed.take("buffer memory", mib, (mib / 2.0, mib * 2.0), "MiB", "drives of that capacity");
            blocks
        });
        let cache = DividedMemory::divide(cache);
        let mib = cache.write as f64 / 2_048.0;
        let queue_basis = "firmware as tried by openzfs #15270";
        assumed.take("write buffer, a fifth of the memory", mib, (mib / 3.0, mib * 4.0), "MiB", "no sheet tells");
        assumed.take("command overhead", OVERHEAD_MS, (0.1, 0.3), "ms", "interfaces of its kind");
        assumed.take("spread of seeks", NOISE_MS, (0.03, 0.15), "ms", "measured drives");
        assumed.take("longest wait in the drive's queue", AGE_LIMIT_MS, (1_000.0, 4_000.0), "ms", queue_basis);
        Ok(Numbers { geometry, skew, seeks, curve, bus_mb_s, cache })
    }

    /// The times of the arm.
    fn seeks(&self, assumed: &mut Assumptions) -> Result<Seeks, BadInput> {
        let average = self.seek_ms.unwrap_or_else(|| {
            let class = self.seek_of_class();
            assumed.take(
                "average seek",
                class,
                (class * 0.85, class * 1.15),
                "ms",
                "drives of that capacity and spindle speed",
            )
        });
        let dense = tracks::is_dense(self.outer_mb_s * self.revolution_ms());
        let track = self.track_ms.unwrap_or_else(|| {
            let track = if dense { 0.25_f64.min(average / 4.0) } else { average * 0.12 };
            let track = track.min(self.write_track_ms.unwrap_or(track));
            let bounds = (track * 0.7, track * 2.0);
            assumed.take("seek over one track", track, bounds, "ms", "drives of that density of tracks")
        });
        let write_track = self.write_track_ms.unwrap_or_else(|| {
            let (write, basis) = (track * 1.4, "Ultrastar DC HC310: 0.32 to 0.23");
            assumed.take("the same before a write", write, (track, track * 2.0), "ms", basis)
        });
        let settle = match self.write_seek_ms {
            Some(write) => write - average,
            None => {
                let (settle, basis) = (average * 0.1, "Ultrastar DC HC310: 8.2 to 7.4 ms");
                assumed.take("settling before a random write", settle, (0.0, settle * 2.0), "ms", basis)
            }
        };
        if settle < 0.0 {
            let what = format!("a write seeks in {} ms, a read in {average} ms", settle + average);
            return Err(refuse("--write-seek", what, "give both as the sheet has them: a write never seeks faster"));
        }
        let lead = if dense { f64::max(track, average * 0.19) } else { track };
        Ok(Seeks { average, track, write_track, settle, lead, dense })
    }

    /// By how much each track is turned against the one before it, in revolutions.
    fn skew(&self, seeks: &Seeks, assumed: &mut Assumptions) -> Result<f64, BadInput> {
        let revolution_ms = self.revolution_ms();
        let skew = f64::max(0.10, (seeks.write_track * 1.1 + 0.1) / revolution_ms);
        if skew > 0.6 {
            let what =
                format!("a track is changed in {} ms, of {revolution_ms:.2} ms that a turn takes", seeks.write_track);
            let option = if self.track_ms.is_some() { "--track-to-track" } else { "--seek" };
            return Err(refuse(option, what, "give the seek over one track, which takes less than half a turn"));
        }
        let basis = "what a change of tracks takes, or a tenth";
        Ok(assumed.take("skew of a track", skew, (skew * 0.7, skew * 1.3), "revolutions", basis))
    }

    fn revolution_ms(&self) -> f64 {
        60e3 / self.rpm
    }
}

/// What was assumed so far.
#[derive(Default)]
struct Assumptions(Vec<Assumption>);

impl Assumptions {
    /// Notes a value and gives it back; a count where it has no unit.
    fn take(
        &mut self,
        what: &'static str,
        value: f64,
        (least, most): (f64, f64),
        unit: &str,
        basis: &'static str,
    ) -> f64 {
        let show = |value: f64| if unit.is_empty() { format!("{value:.0}") } else { show(value) };
        let range = format!("{} to {}", show(least), show(most));
        self.0.push(Assumption { what, value: format!("{} {unit}", show(value)).trim_end().into(), range, basis });
        value
    }
}

/// Times of the arm, ms.
struct Seeks {
    /// On average, before a read.
    average: f64,
    /// Over one track, before a read and before a write.
    track: f64,
    write_track: f64,
    /// What a random write takes longer.
    settle: f64,
    /// Over a few tracks.
    lead: f64,
    /// Whether tracks are so dense that one is a nudge, and no seek.
    dense: bool,
}

/// What a bus must carry beyond the medium for the medium to be what bounds.
const LEAST_BUS: f64 = 1.05;
/// Rates that interfaces have had, 10^6 bytes/s: SCSI, ATA, SATA, SAS.
const BUSES: [f64; 12] = [5.0, 10.0, 20.0, 33.0, 66.0, 100.0, 150.0, 300.0, 550.0, 1_200.0, 2_400.0, 4_800.0];
/// Before the arm moves.
const OVERHEAD_MS: f64 = 0.2;
/// Standard deviation of a seek.
const NOISE_MS: f64 = 0.08;
/// How long a command may be passed over in the drive.
const AGE_LIMIT_MS: f64 = 2_000.0;

/// Everything that a drive file needs beyond the sheet.
struct Numbers {
    geometry: tracks::SheetGeometry,
    skew: f64,
    seeks: Seeks,
    curve: seek::Fitted,
    bus_mb_s: f64,
    cache: DividedMemory,
}

/// Buffer memory, divided; blocks.
struct DividedMemory {
    segments: u64,
    segment: u64,
    write: u64,
}

impl DividedMemory {
    /// A fifth for writes; the rest in segments of at most 2 MiB and a sixteenth of the whole.
    fn divide(blocks: u64) -> DividedMemory {
        let write = blocks / 5;
        let segment = 4_096.min(blocks / 16).max(1);
        DividedMemory { segments: ((blocks - write) / segment).clamp(1, 128), segment, write }
    }
}

/// Buffer memory of drives of so many blocks: from 512 KiB below 10 GB to 256 MiB from 4 TB on.
fn cache_of_class(blocks: u64) -> u64 {
    let gigabytes = blocks / 2_000_000;
    let classes = [(4_000, 256 << 11), (1_000, 64 << 11), (200, 16 << 11), (10, 2 << 11)];
    classes.iter().find(|(least, _)| gigabytes >= *least).map_or(1 << 10, |(_, blocks)| *blocks)
}

/// The blocks that a drive sold as so many whole gigabytes has: IDEMA LBA1-03 from 50 GB to 8 TB, SFF-8447 beyond that. Any
/// other capacity is what it says.
#[must_use]
pub fn blocks_sold_as(blocks: u64) -> u64 {
    let bytes = u128::from(blocks) * u128::from(BLOCK_BYTES);
    let gigabytes = (bytes / 1_000_000_000) as u64;
    match bytes.is_multiple_of(1_000_000_000) {
        true if gigabytes > 8_000 => blocks.next_multiple_of(1 << 21),
        true if gigabytes >= 50 => 97_696_368 + 1_953_504 * (gigabytes - 50),
        _ => blocks,
    }
}

fn refuse(option: &str, what: impl Into<String>, mend: impl Into<String>) -> BadInput {
    BadInput::new(option, At::File, what, mend)
}

/// Three digits, or all of a whole number.
fn show(value: f64) -> String {
    match value.abs() {
        magnitude if magnitude >= 100.0 || value == 0.0 => format!("{value:.0}"),
        magnitude if magnitude >= 10.0 => format!("{value:.1}"),
        magnitude if magnitude >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A drive of 20 TB, of which the sheet prints the seeks, ms.
    fn sheet(seek: f64, write_seek: f64) -> DataSheet {
        let (seek_ms, write_seek_ms) = (Some(seek), Some(write_seek));
        let blocks = blocks_sold_as(20_000_000_000_000 / BLOCK_BYTES);
        DataSheet { rpm: 7200.0, blocks, outer_mb_s: 285.0, seek_ms, write_seek_ms, ..DataSheet::default() }
    }

    #[test]
    fn a_write_seeks_no_faster_than_a_read() {
        let Err(refusal) = sheet(8.0, 7.5).make() else { panic!("a write seeks faster") };
        assert!(refusal.to_string().contains("--write-seek"), "{refusal}");
        assert!(sheet(8.0, 8.0).make().is_ok() && sheet(8.0, 9.0).make().is_ok());
    }

    #[test]
    fn the_first_tracks_of_a_dense_drive_take_a_share_of_the_average_seek() {
        let seeks = sheet(10.0, 11.0).seeks(&mut Assumptions::default()).expect("it is a sheet");
        assert!(seeks.dense && (seeks.lead - 1.9).abs() < 1e-9, "{}", seeks.lead);
    }

    #[test]
    fn memory_grows_with_the_class() {
        let blocks = [19_999_999, 20_000_000, 399_999_999, 400_000_000, 7_999_999_999, 8_000_000_000];
        let mib = |mib: u64| mib << 11;
        assert_eq!(blocks.map(cache_of_class), [1 << 10, mib(2), mib(2), mib(16), mib(64), mib(256)]);
    }

    #[test]
    fn tracks_are_changed_in_less_than_half_a_turn() {
        let skew = |write_track| {
            let seeks = Seeks { average: 8.0, track: 0.5, write_track, settle: 1.0, lead: 0.5, dense: false };
            sheet(8.0, 9.0).skew(&seeks, &mut Assumptions::default())
        };
        // Of a turn of 8.33 ms, 0.6 are 5 ms: with a tenth more and 0.1 ms, what is over 4.45 ms.
        assert!((skew(4.4).unwrap() - (4.84 + 0.1) / (60e3 / 7200.0)).abs() < 1e-12);
        let refusal = skew(4.5).unwrap_err().to_string();
        assert!(refusal.contains("--seek") && refusal.contains("8.33 ms"), "{refusal}");
        assert_eq!(skew(0.1).unwrap(), 0.1, "at least a tenth");
    }

    #[test]
    fn memory_that_is_assumed_is_told_in_mib() {
        let mut assumed = Assumptions::default();
        let numbers = sheet(8.0, 9.0).complete(&mut assumed).unwrap();
        let of = |what: &str| assumed.0.iter().find(|it| it.what.starts_with(what)).unwrap().value.clone();
        let whole = cache_of_class(sheet(8.0, 9.0).blocks) >> 11;
        assert_eq!(of("buffer memory"), format!("{whole} MiB"));
        assert_eq!(of("write buffer"), format!("{} MiB", show(numbers.cache.write as f64 / 2_048.0)));
    }
}
