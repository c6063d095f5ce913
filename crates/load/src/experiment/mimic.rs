//! `[scheduler.mimic]`: how the Disk Mimic learns the device.

use block::{BLOCK_BYTES, BadInput, Span};
use config::{Key, Section};
use sched::policy::{BaseOrder, Learn};
use sched::predict::mimic::{Idle, Learning, Probing, Summary, points};
use std::path::{Path, PathBuf};

const BASE: Key<BaseOrder> =
    Key::<BaseOrder>::word("base").usually("sstf").about("What orders requests while little is known.");

/// The margin, where a mean counts for what it is worth. What the curve leaves unsure is less; but a tenth costs nothing where
/// distance tells more than the seek, and elsewhere keeps to the base.
const MARGIN: f64 = 0.1;

/// How the Disk Mimic is used.
#[derive(Clone, Debug, PartialEq)]
pub struct MimicChoice {
    /// What it knows before it begins.
    pub before: Before,
    /// Whether the second key is learned besides, where on its track a request begins: by a profile of another drive of the
    /// same make, made before the run. Where nothing turns, there is none.
    pub angle: bool,
    /// How it learns while it is used.
    pub learning: Learning,
    /// What is done about requests whose time is not known.
    pub learn: Learn,
    /// The policy it learns under.
    pub base: BaseOrder,
    /// By what share of its time another request must be better than what the base would pick.
    pub margin: f64,
}

/// What is known of a device before it is used.
#[derive(Clone, Debug, PartialEq)]
pub enum Before {
    /// Nothing.
    Nothing,
    /// What is learned from probes of another device of the same make.
    Probed(Probing),
    /// What a file says, written by `halfturn profile --mimic`.
    Table(PathBuf),
}

impl Default for MimicChoice {
    fn default() -> MimicChoice {
        MimicChoice {
            before: Before::Nothing,
            angle: false,
            learning: Learning::default(),
            learn: Learn::Set,
            base: BaseOrder::default(),
            margin: MARGIN,
        }
    }
}

pub(super) fn read(section: &Section, folder: &Path) -> Result<MimicChoice, BadInput> {
    let learns = [("online-set", Some(Learn::Set)), ("online-priority", Some(Learn::Priority)), ("off-line", None)];
    let learn = section.choice("learn", &learns)?.unwrap_or(Some(Learn::Set));
    let summaries = [
        ("mean", Summary::Mean),
        ("median", Summary::Median),
        ("maximum", Summary::Maximum),
        ("minimum", Summary::Minimum),
        ("probabilistic", Summary::Probabilistic),
    ];
    let interpolate = section.bool("interpolate")?.unwrap_or(true);
    let smooth = section.bool("smooth")?.unwrap_or(true);
    let grain = section.size("grain")?.unwrap_or(2);
    if !grain.is_power_of_two() || grain > 2048 {
        return Err(section.error("grain", format!("a grain of {grain} blocks"), "give a power of two up to 1 MiB"));
    }
    let grain = grain as u32;
    let memory = section.size("memory")?.unwrap_or(2048);
    if !(16..=1 << 21).contains(&memory) {
        return Err(section.error("memory", "the memory is below 8 KiB or above 1 GiB", "1MiB is the default"));
    }
    let most = points(memory * BLOCK_BYTES);
    let known = Probing::default();
    let probing = Probing {
        samples: section.within("samples", 1, 100_000)?.unwrap_or(known.samples),
        summary: section.choice("summary", &summaries)?.unwrap_or(known.summary),
        interpolate,
        smooth,
        grain,
        most,
        reach: section.size("reach")?.unwrap_or(known.reach),
        blocks: section.size("probe")?.map_or(known.blocks, |blocks| blocks as u32),
        ..known
    };
    if !(1..=2048).contains(&probing.blocks) {
        return Err(section.error("probe", "a probe reads from one block up to 1 MiB", "1KiB is what the paper took"));
    }
    let idle = section.span("probe_after")?.map(|after| Idle {
        after,
        enough: probing.samples.min(255) as u8,
        blocks: probing.blocks,
    });
    let usual = Learning::default();
    let choice = MimicChoice {
        before: match section.string("table")? {
            Some(table) => Before::Table(folder.join(table)),
            None if learn.is_none() => Before::Probed(probing),
            None => Before::Nothing,
        },
        angle: section.choice("second_key", &[("none", false), ("angle", true)])?.unwrap_or(false),
        learning: Learning {
            on: learn.is_some(),
            interpolate,
            smooth,
            grain,
            most,
            fewest: section.within("fewest", 1, 255)?.unwrap_or(u32::from(usual.fewest)) as u8,
            apart: section.bool("apart")?.unwrap_or(usual.apart),
            pause: section.span("pause")?.unwrap_or(usual.pause).max(Span(1)),
            idle,
        },
        learn: learn.unwrap_or_default(),
        base: section.value(&BASE)?,
        margin: section.share("margin")?.unwrap_or(if smooth { MARGIN } else { 0.0 }),
    };
    section.close()?;
    Ok(choice)
}
