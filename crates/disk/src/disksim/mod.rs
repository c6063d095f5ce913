//! DiskSim's parameter files (`.parv`, `.diskspecs`, `.model`) read into drives. What is there and not modelled is
//! listed, never swallowed.

mod controller;
mod export;
mod files;
mod layout;
mod lexer;
mod list;
mod mechanics;
mod params;
mod parse;
mod path;

use crate::{
    Access, Bus, Cache, Confidence, Drive, DrivePlan, Layout, Overheads, Queue, SectorRun, SeekCurve, Truth, Unmeasured,
};
use block::{At, BadInput, nearest};
pub use export::{ParameterFiles, export};
use lexer::Lexer;
pub use params::Ignored;
use params::Params;
use parse::{Block, Parsed, parse};
use std::path::Path;

/// A drive read from DiskSim's parameters.
#[derive(Clone, Debug)]
pub struct Import {
    /// The drive with every number, from which a sheet is made.
    pub plan: DrivePlan,
    /// The drive they make.
    pub drive: Drive,
    /// What the parameters hold that is not modelled.
    pub ignored: Vec<Ignored>,
    /// What a reader should know.
    pub warnings: Vec<String>,
}

impl Import {
    /// The text of a drive file: what is not modelled as comments, then the drive.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for warning in &self.warnings {
            text += &format!("# note: {}\n", warning.escape_debug());
        }
        for it in self.ignored.iter().filter(|it| !it.neutral) {
            let line = format!("{}:{}: {} = {}", base(&it.file), it.line, it.parameter, it.value);
            text += &format!("# not modelled: {}\n", line.escape_debug());
        }
        text + &crate::write(&self.plan)
    }
}

/// Whether a file's name says that it is DiskSim's.
#[must_use]
pub fn is_ours(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    ["parv", "diskspecs", "model"].iter().any(|known| ending.eq_ignore_ascii_case(known))
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

/// Reads the text of a seek file shown as `file` in errors: the curve, and that before writes if it is another.
///
/// # Errors
/// Bad input with file, line and mend.
pub fn seeks(file: &str, text: &[u8]) -> Result<(SeekCurve, Option<SeekCurve>), BadInput> {
    mechanics::points(file, &String::from_utf8_lossy(text))
}

/// Reads the text of a map file, shown as `file` in errors, of a drive of so many heads.
///
/// # Errors
/// Bad input with file, line and mend.
pub fn runs(file: &str, text: &[u8], heads: u32) -> Result<Vec<SectorRun>, BadInput> {
    list::runs(file, text, heads)
}

fn import(parsed: &Parsed, file: &str, path: &Path, name: Option<&str>) -> Result<Import, BadInput> {
    let block = choose(parsed, file, name)?;
    let name = block.name.clone().unwrap_or_default();
    let disk = Params::new(block, &parsed.files);
    let mut warnings = parsed.warnings.clone();
    let mut ignored = Vec::new();
    let model =
        if block.kind == "disksim_disk" { disk.block("Model")?.ok_or_else(|| disk.missing("Model"))? } else { block };
    let model = disk.inner(model);
    let layout = layout::plan(&model, path, &mut warnings)?;
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
        unmeasured: Unmeasured::default(),
        truth: Truth { rpm_offset: mechanics.rpm_offset, ..Truth::default() },
        confidence: Confidence::default(),
    };
    if block.kind == "disksim_disk" {
        controller::plan(&disk, &mut plan, parsed, &mut ignored, &mut warnings)?;
    } else {
        warnings.push("the file holds no disksim_disk: no overheads, no cache, no bus".into());
    }
    let drive = plan.drive(&name.to_lowercase()).map_err(|what| wrong(&model, &plan, what))?;
    layout::compare(&model, &drive, &mut warnings)?;
    ignored.extend(model.rest(&[]));
    Ok(Import { plan, drive, ignored, warnings })
}

/// An error at the part of the model that makes no drive.
fn wrong(model: &Params, plan: &DrivePlan, what: String) -> BadInput {
    let (part, parameter, mend) = match Layout::new(&plan.layout) {
        Err(_) if plan.layout.list.is_some() => ("Layout Model", "Layout Map File", "correct the zones or the map"),
        Err(_) => ("Layout Model", "Zones", "correct the zones"),
        Ok(_) => ("Mechanical Model", "Seek type", "give seeks of 0 to 4000 ms over the whole stroke"),
    };
    match model.block(part) {
        Ok(Some(block)) => model.inner(block).error(parameter, what, mend),
        _ => model.here(what, mend),
    }
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
        // An instance stands for what it is one of.
        let wanted = if names.contains(&name) { name } else { parsed.instances.get(name).map_or(name, String::as_str) };
        let found = disks.iter().find(|block| block.name.as_deref() == Some(wanted));
        return found.copied().ok_or_else(|| {
            let mend = nearest(name, names.iter().copied()).map_or_else(
                || format!("its disks are {}", names.join(", ")),
                |near| format!("did you mean '{near}'?"),
            );
            bad(format!("there is no disk '{name}' in it"), mend)
        });
    }
    let used = |block: &&&Block| parsed.instances.values().any(|of| Some(of) == block.name.as_ref());
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
