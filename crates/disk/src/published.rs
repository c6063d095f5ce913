//! What the sources of a drive print of it besides its parameters: the `[published]` table of a drive file.
//!
//! No parameter follows from it. The tests hold the drive of every file that has one against it, and the page of the
//! catalogue shows it.

use block::BadInput;
use config::{Document, Key, Section};

config::keys! {
    /// What the sources print of it besides, for tests to hold it against.
    pub(crate) fn keys() -> "[published]";

    /// Capacity in blocks of 512 bytes.
    BLOCKS: u64 = whole("blocks", 0, u64::MAX);
    /// Mean seek over all pairs of cylinders.
    MEAN_SEEK: f64 = number("mean_seek_ms", 0.0, f64::MAX);
    /// Seeks of single distances: rows of [cylinders, milliseconds].
    SEEKS: Vec<Vec<f64>> = rows("seeks_ms");
    /// The seek from the first cylinder to the last.
    FULL_STROKE: f64 = number("full_stroke_ms", 0.0, f64::MAX);
    /// How far the pieces of the published seek curve are apart where they meet.
    SEEK_JOINT: f64 = number("seek_joint_us", f64::MIN, f64::MAX);
    /// 10^6 bytes/s within a track: `[outer, inner]`.
    MEDIA: Vec<f64> = numbers("media_mb_s");
    /// The same over many tracks, with all crossings.
    SUSTAINED: Vec<f64> = numbers("sustained_mb_s");
    /// The same of the outermost zone alone.
    OUTER: f64 = number("outer_mb_s", 0.0, f64::MAX);
    /// Random reads of 4 KiB a second: rows of [commands in the drive at once, reads a second].
    RANDOM: Vec<Vec<f64>> = rows("random_reads_s");
}

/// Figures a source prints, or that follow from what it prints.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Published {
    /// Capacity in blocks of 512 bytes.
    pub blocks: Option<u64>,
    /// Mean seek over all pairs of cylinders.
    pub mean_seek_ms: Option<f64>,
    /// Seeks of single distances: cylinders, milliseconds.
    pub seeks_ms: Vec<(u32, f64)>,
    /// The seek from the first cylinder to the last.
    pub full_stroke_ms: Option<f64>,
    /// How far the pieces of the published seek curve are apart where they meet.
    pub seek_joint_us: Option<f64>,
    /// 10^6 bytes/s within a track: outermost, innermost zone.
    pub media_mb_s: Option<[f64; 2]>,
    /// The same over many tracks, with all crossings.
    pub sustained_mb_s: Option<[f64; 2]>,
    /// The same of the outermost zone alone.
    pub outer_mb_s: Option<f64>,
    /// Random reads of 4 KiB: commands in the drive at once, reads a second.
    pub random_reads_s: Vec<(u32, f64)>,
}

impl Published {
    /// Reads the text of a drive file shown as `file` in errors; empty where the file has no such table.
    ///
    /// # Errors
    /// Bad input with file, line and mend.
    pub(crate) fn parse(file: &str, text: &str) -> Result<Published, BadInput> {
        let document = Document::parse(file, text)?;
        document.root().section("published")?.map_or_else(|| Ok(Published::default()), Published::read)
    }

    pub(crate) fn read(section: Section) -> Result<Published, BadInput> {
        let published = Published {
            blocks: section.get(&BLOCKS)?,
            mean_seek_ms: section.get(&MEAN_SEEK)?,
            seeks_ms: pairs(&section, &SEEKS, "a row is no seek", "write rows of [cylinders, milliseconds]")?,
            full_stroke_ms: section.get(&FULL_STROKE)?,
            seek_joint_us: section.get(&SEEK_JOINT)?,
            media_mb_s: rates(&section, &MEDIA)?,
            sustained_mb_s: rates(&section, &SUSTAINED)?,
            outer_mb_s: section.get(&OUTER)?,
            random_reads_s: pairs(
                &section,
                &RANDOM,
                "a row is no rate",
                "write rows of [commands at once, reads a second]",
            )?,
        };
        section.close()?;
        Ok(published)
    }

    /// Each figure in words, for the page of the catalogue.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let mut all = Vec::new();
        all.extend(self.blocks.map(|blocks| format!("{blocks} blocks of 512 bytes")));
        all.extend(self.mean_seek_ms.map(|ms| format!("mean seek {ms} ms")));
        all.extend(self.seeks_ms.iter().map(|(cylinders, ms)| {
            let noun = if *cylinders == 1 { "cylinder" } else { "cylinders" };
            format!("seek of {cylinders} {noun} {ms} ms")
        }));
        all.extend(self.full_stroke_ms.map(|ms| format!("full stroke {ms} ms")));
        all.extend(self.media_mb_s.map(|[outer, inner]| format!("{outer} to {inner} MB/s within a track")));
        all.extend(self.sustained_mb_s.map(|[outer, inner]| format!("{outer} to {inner} MB/s sustained")));
        all.extend(self.outer_mb_s.map(|outer| format!("{outer} MB/s sustained in the outermost zone")));
        all.extend(self.random_reads_s.iter().map(|(depth, rate)| {
            let noun = if *depth == 1 { "command" } else { "commands" };
            format!("{rate} random reads of 4 KiB a second with {depth} {noun} in the drive")
        }));
        all
    }
}

/// Rows of a whole number and another.
fn pairs(section: &Section, key: &Key<Vec<Vec<f64>>>, what: &str, mend: &str) -> Result<Vec<(u32, f64)>, BadInput> {
    let rows = section.get(key)?.unwrap_or_default();
    let pair = |row: &Vec<f64>| match **row {
        [whole, value] if (1.0..=f64::from(u32::MAX)).contains(&whole) => Ok((whole as u32, value)),
        _ => Err(section.error(key.name(), what, mend)),
    };
    rows.iter().map(pair).collect()
}

fn rates(section: &Section, key: &Key<Vec<f64>>) -> Result<Option<[f64; 2]>, BadInput> {
    let pair = |rates: Vec<f64>| {
        <[f64; 2]>::try_from(rates).map_err(|_| {
            section.error(
                key.name(),
                format!("`{}` is not two rates", key.name()),
                "write [outer, inner], in 10^6 bytes/s",
            )
        })
    };
    section.get(key)?.map(pair).transpose()
}
