//! DiskSim's parameter files (`.parv`, `.diskspecs`, `.model`) read into drives. What is there and not modelled is
//! listed, never swallowed.

mod controller;
mod layout;
mod lexer;
mod mechanics;
mod params;
mod parse;

use crate::{Access, Bus, Cache, Drive, DrivePlan, Overheads, Queue, Truth};
use block::{At, BadInput, nearest};
use lexer::Lexer;
pub use params::Ignored;
use params::Params;
use parse::{Block, Parsed, parse};
use std::path::Path;

/// A drive read from DiskSim's parameters.
#[derive(Clone, Debug)]
pub struct Import {
    /// Its numbers.
    pub plan: DrivePlan,
    /// The drive they make.
    pub drive: Drive,
    /// What the parameters hold that is not modelled.
    pub ignored: Vec<Ignored>,
    /// What a reader should know.
    pub warnings: Vec<String>,
}

/// Whether a file's name says that it is DiskSim's.
#[must_use]
pub fn is_ours(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    ["parv", "diskspecs", "model"].contains(&ending)
}

/// Reads the drive of a file: the one named, the only one, or the only one that is instantiated.
///
/// # Errors
/// Bad input with file, line and mend.
pub fn load(path: &Path, name: Option<&str>) -> Result<Import, BadInput> {
    let parsed = parse(Lexer::open(path)?)?;
    import(&parsed, &path.display().to_string(), path, name)
}

/// Reads the drive of a text shown as `file` in errors; what it sources is looked for beside `beside`.
///
/// # Errors
/// Bad input with file, line and mend.
pub fn read(file: &str, text: &[u8], beside: &Path, name: Option<&str>) -> Result<Import, BadInput> {
    let parsed = parse(Lexer::text(file, text, beside))?;
    import(&parsed, file, &beside.join(file), name)
}

fn import(parsed: &Parsed, file: &str, path: &Path, name: Option<&str>) -> Result<Import, BadInput> {
    let block = choose(parsed, file, name)?;
    let name = block.name.clone().unwrap_or_default();
    let disk = Params::new(block, &parsed.files);
    let mut warnings = Vec::new();
    let mut ignored = Vec::new();
    let model =
        if block.kind == "disksim_disk" { disk.block("Model")?.ok_or_else(|| disk.missing("Model"))? } else { block };
    let model = disk.inner(model);
    let layout = layout::plan(&model, &mut warnings)?;
    let mechanics = mechanics::plan(&model, &layout, path, &mut ignored, &mut warnings)?;
    let mut plan = DrivePlan {
        title: name.clone(),
        sources: parsed.files.iter().map(|file| format!("DiskSim parameters: {}", base(file))).collect(),
        assumed: Vec::new(),
        rpm: mechanics.rpm,
        layout,
        seek: mechanics.seek,
        seek_write: mechanics.seek_write,
        switches: mechanics.switches,
        access: Access::default(),
        overheads: Overheads::default(),
        bus: Bus::default(),
        cache: Cache::default(),
        queue: Queue::default(),
        truth: Truth::default(),
    };
    if block.kind == "disksim_disk" {
        controller::plan(&disk, &mut plan, parsed, &mut ignored, &mut warnings)?;
    } else {
        warnings.push("the file holds no disksim_disk: no overheads, no cache, no bus".into());
    }
    let drive = plan.drive(&name.to_lowercase()).map_err(|what| model.here(what, "correct the model"))?;
    layout::compare(&model, &drive, &mut warnings)?;
    ignored.extend(model.rest(&[]));
    Ok(Import { plan, drive, ignored, warnings })
}

/// The end of a path.
fn base(file: &str) -> &str {
    Path::new(file).file_name().and_then(|name| name.to_str()).unwrap_or(file)
}

/// The block of the drive that is meant.
fn choose<'a>(parsed: &'a Parsed, file: &str, name: Option<&str>) -> Result<&'a Block, BadInput> {
    let of = |kind: &str| -> Vec<&'a Block> { parsed.blocks.iter().filter(|block| block.kind == kind).collect() };
    let mut disks = of("disksim_disk");
    if disks.is_empty() {
        disks = of("dm_disk");
    }
    let names: Vec<&str> = disks.iter().filter_map(|block| block.name.as_deref()).collect();
    let bad = |what: String, mend: String| BadInput::new(file, At::File, what, mend);
    if let Some(name) = name {
        let found = disks.iter().find(|block| block.name.as_deref() == Some(name));
        return found.copied().ok_or_else(|| {
            let mend = nearest(name, names.iter().copied()).map_or_else(
                || format!("its disks are {}", names.join(", ")),
                |near| format!("did you mean '{near}'?"),
            );
            bad(format!("there is no disk '{name}' in it"), mend)
        });
    }
    let used = |block: &&&Block| parsed.instances.iter().any(|of| Some(of) == block.name.as_ref());
    let instantiated: Vec<&&Block> = disks.iter().filter(used).collect();
    match (&disks[..], &instantiated[..]) {
        ([disk], _) => Ok(disk),
        (_, [disk]) => Ok(disk),
        ([], _) => Err(bad(
            "there is no disk in it: neither disksim_disk nor dm_disk".into(),
            "name a .parv, .diskspecs or .model file of a drive".into(),
        )),
        _ => Err(bad(format!("there are {} disks in it", disks.len()), format!("choose one: {}", names.join(", ")))),
    }
}
