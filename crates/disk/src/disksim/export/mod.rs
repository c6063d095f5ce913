//! A drive written as DiskSim's parameters: a `.parv` that holds all, and the seek file that it names. Read back, it is the same
//! drive, but for what DiskSim has no words for, which stands in comments at its head.

mod layout;
mod text;

use super::controller::UNBOUND;
use crate::{After, Ahead, Drain, Drive, FreesAt, LayoutPlan, SeekTable, Sheet, Switches, Truth, Turn, Whole};
use block::{Direction, Span};
use std::fmt::Write as _;
use text::{ParameterBlock, ms, number};

/// A drive in DiskSim's words.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterFiles {
    /// The `.parv`, with everything that a simulation needs but a trace.
    pub parameters: String,
    /// The seek file that they name: distances in cylinders, and milliseconds.
    pub seeks: String,
}

/// How far a seek between two points of the file may be off, ns.
const SEEK_OFF: u64 = 500;

/// The parameters of a drive whose layout is `plan`; they name the seek file `seek_file`.
///
/// # Errors
/// In words, when DiskSim has no such layout, or the seek file's name is none of its words.
pub fn export(drive: &Drive, plan: &LayoutPlan, seek_file: &str) -> Result<ParameterFiles, String> {
    if !seek_file.chars().all(|letter| letter.is_ascii_alphanumeric() || "._-/".contains(letter)) {
        return Err(format!("'{seek_file}' is no name that DiskSim can read: letters, digits, . _ - and / alone"));
    }
    let sheet = &drive.sheet;
    let mut notes = Vec::new();
    if (Truth { rpm_offset: 0.0, ..drive.truth }) != Truth::default() {
        notes.push("times that vary, and whatever else stands in [truth]".into());
    }
    let name = word(&sheet.name);
    let mut model = ParameterBlock::new("dm_disk", &format!("{name}_MODEL"));
    model.set("Number of data surfaces", plan.heads);
    model.set("Number of cylinders", sheet.mechanics.layout.cylinders());
    model.set("Block count", sheet.mechanics.layout.blocks());
    model.set("Mechanical Model", mechanics(sheet, seek_file, &mut notes).inside());
    model.set("Layout Model", layout::block(plan, &mut notes)?.inside());
    let mut disk = ParameterBlock::new("disksim_disk", &name);
    disk.set("Model", model.inside());
    controller(sheet, &mut disk, &mut notes);
    let mut text = format!("# {}, written for DiskSim 4.0\n", sheet.title.escape_debug());
    for note in notes {
        let _ = writeln!(text, "# not said: {note}");
    }
    let [read, write] = [Direction::Read, Direction::Write].map(|way| block_ms(sheet, way));
    text += &text::around(&name, &disk.text(), [read, write], sheet.mechanics.layout.blocks());
    Ok(ParameterFiles { parameters: text, seeks: seeks(sheet) })
}

/// A name as a word of DiskSim's.
fn word(name: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
    format!("DISK_{}", name.chars().map(plain).collect::<String>())
}

fn mechanics(sheet: &Sheet, seek_file: &str, notes: &mut Vec<String>) -> ParameterBlock {
    let mechanics = &sheet.mechanics;
    let switches = mechanics.switches;
    let mut block = ParameterBlock::new("dm_mech_g1", "");
    block.set("Access time type", "trackSwitchPlusRotation");
    block.set("Seek type", "extracted");
    block.set("Full seek curve", seek_file);
    block.set("Add. write settling delay", ms(settle(&switches)));
    block.set("Head switch time", ms(switches.head));
    // It takes whole numbers only, and passes the error over.
    let rpm = 60e9 / mechanics.rotation.period_ns();
    let off = rpm / rpm.round() - 1.0;
    block.set("Rotation speed (in rpms)", rpm.round());
    block.set("Percent error in rpms", number(off * 100.0));
    if off.abs() > 1e-5 {
        notes.push(format!("{rpm:.4} revolutions a minute: {} there", rpm.round()));
    }
    if switches.head > switches.cylinder {
        let time = ms(switches.cylinder);
        notes.push(format!("to the next cylinder in {time} ms: there it takes as long as a head switch"));
    }
    if mechanics.seek.time(1) != switches.cylinder {
        let time = ms(mechanics.seek.time(1));
        notes.push(format!("a seek over one cylinder in {time} ms: there it is the move to the next cylinder"));
    }
    block
}

/// What a write adds to a move there: what it adds to a head switch. The rest stands in the seeks before writes.
fn settle(switches: &Switches) -> Span {
    if switches.head > Span::ZERO { switches.head_write.less(switches.head) } else { switches.write_settle }
}

/// The seek file: enough points that nothing between them is off by more than half a microsecond.
fn seeks(sheet: &Sheet) -> String {
    let mechanics = &sheet.mechanics;
    let switches = mechanics.switches;
    // To the next cylinder: what comes there as a seek is a crossing far more often.
    let table = |table: &SeekTable, next: Span, more: Span, less: Span| -> Vec<u64> {
        let ns = table.ns().iter().map(|ns| (Span(u64::from(*ns)) + more).less(less).0);
        ns.enumerate().map(|(distance, ns)| if distance == 1 { next.0 } else { ns }).collect()
    };
    let settle = settle(&switches);
    let read = table(&mechanics.seek, switches.cylinder, Span::ZERO, Span::ZERO);
    let before_write = mechanics.seek_write.as_ref().unwrap_or(&mechanics.seek);
    let write = table(before_write, switches.cylinder_write.less(settle), switches.write_settle, settle);
    let mut points: Vec<usize> = (1..read.len().min(11)).collect();
    bend(&[&read, &write], 10.min(read.len() - 1), read.len() - 1, &mut points);
    points.sort_unstable();
    points.dedup();
    let mut text = format!("Seek distances measured: {}\n", points.len());
    for distance in points {
        let of = |table: &[u64]| ms(Span(table[distance]));
        match read == write {
            true => _ = writeln!(text, "{distance}, {}", of(&read)),
            false => _ = writeln!(text, "{distance}, {}, 0.000000, {}", of(&read), of(&write)),
        }
    }
    text
}

/// Adds the end of a stretch, and what lies between where straight lines would be off.
fn bend(tables: &[&[u64]], from: usize, to: usize, points: &mut Vec<usize>) {
    let mut open = vec![(from, to)];
    while let Some((from, to)) = open.pop() {
        points.extend((to > from).then_some(to));
        let off = |at: usize, table: &[u64]| {
            let share = (at - from) as f64 / (to - from) as f64;
            let line = table[from] as f64 + share * (table[to] as f64 - table[from] as f64);
            (line - table[at] as f64).abs() as u64
        };
        let worst = (from + 1..to)
            .map(|at| (tables.iter().map(|table| off(at, table)).max().unwrap_or(0), at))
            .max_by_key(|(off, at)| (*off, usize::MAX - at));
        if let Some((_, at)) = worst.filter(|(off, _)| *off > SEEK_OFF) {
            open.extend([(from, at), (at, to)]);
        }
    }
}

/// What a block takes over the bus, ms; nothing where there is no limit.
fn block_ms(sheet: &Sheet, direction: Direction) -> f64 {
    sheet.bus.rate(direction).filter(|rate| *rate < UNBOUND).map_or(0.0, |rate| 0.512 / rate)
}

/// `disksim_disk` but for its model.
fn controller(sheet: &Sheet, disk: &mut ParameterBlock, notes: &mut Vec<String>) {
    let (bus, cache) = (&sheet.bus, &sheet.cache);
    let fast = cache.write_buffer > 0;
    disk.set("Per-request overhead time", number(0.0));
    disk.set("Time scale for overheads", number(1.0));
    let slowest_common = block_ms(sheet, Direction::Read).min(block_ms(sheet, Direction::Write));
    disk.set("Bulk sector transfer time", number(slowest_common));
    disk.set("Hold bus entire read xfer", u8::from(bus.holds_reading));
    disk.set("Hold bus entire write xfer", 0);
    disk.set("Allow almost read hits", u8::from(cache.almost_hits));
    disk.set("Allow sneaky full read hits", u8::from(!cache.hits_wait));
    disk.set("Allow sneaky partial read hits", 0);
    disk.set("Allow sneaky intermediate read hits", 0);
    disk.set("Allow read hits on write data", u8::from(cache.written_hits));
    disk.set("Allow write prebuffering", u8::from(cache.accepts_busy));
    let level = match sheet.queue.frees_at {
        FreesAt::Completion => 0,
        FreesAt::Message => 1,
        FreesAt::Medium => 2,
    };
    disk.set("Preseeking level", level);
    disk.set("Never disconnect", 0);
    disk.set("Print stats", 1);
    disk.set(
        "Avg sectors per cylinder",
        sheet.mechanics.layout.blocks() / u64::from(sheet.mechanics.layout.cylinders()),
    );
    disk.set("Max queue length", sheet.queue.depth);
    disk.set("Scheduler", scheduler(sheet.queue.order, notes).inside());
    buffer(sheet, disk, notes);
    disk.set("Low (write) water mark", number(bus.write_watermark));
    disk.set("High (read) water mark", number(bus.watermark));
    disk.set("Set watermark by reqsize", u8::from(bus.watermark_of == Whole::Request));
    disk.set("Calc sector by sector", 1);
    disk.set("Fast write level", 2 * u8::from(fast));
    let access = sheet.mechanics.access;
    disk.set("Read any free blocks", u8::from(access.free));
    disk.set("Immediate buffer read", u8::from(access.reads));
    disk.set("Immediate buffer write", u8::from(access.writes));
    disk.set("Disconnect write if seek", 0);
    disk.set("Write hit stop prefetch", 1);
    disk.set("Read directly to buffer", 1);
    disk.set("Immed transfer partial hit", 1);
    overheads(sheet, disk, notes);
    if access.writes && !fast {
        notes.push("writes to the medium that begin wherever the head lands".into());
    }
    if sheet.queue.depth > 1 && sheet.queue.age_limit < crate::Queue::AGELESS {
        notes.push(format!("no command in the queue waits more than {} ms", ms(sheet.queue.age_limit)));
    }
    if !bus.exclusive && slowest_common > 0.0 && sheet.queue.depth > 1 {
        notes.push("commands and data of others that pass on the bus at once".into());
    }
}

/// Segments, reading ahead and buffered writes.
fn buffer(sheet: &Sheet, disk: &mut ParameterBlock, notes: &mut Vec<String>) {
    let cache = &sheet.cache;
    let segment = if cache.segment > 0 { cache.segment } else { cache.write_buffer.max(1) };
    let writes = cache.write_buffer.div_ceil(segment).max(1);
    // A buffer of one segment for writes alone, or so many of all.
    let separate = !cache.shared && writes == 1;
    let segments = if cache.shared { cache.segments } else { cache.segments + writes };
    disk.set("Number of buffer segments", segments.max(1));
    disk.set("Maximum number of write segments", writes);
    disk.set("Segment size (in blks)", segment);
    disk.set("Use separate write segment", u8::from(separate));
    if !cache.shared && !separate && cache.write_buffer > 0 {
        notes.push(format!("a buffer for writes alone: {writes} of its {segments} segments may be of writes"));
    }
    if !cache.write_buffer.is_multiple_of(segment) {
        notes.push(format!("a write buffer of {} blocks: it is of whole segments", cache.write_buffer));
    }
    if cache.write_buffer > 0 && cache.drain != Drain::InOrder {
        notes.push("buffered writes by where the arm is: they go to the medium in the order they came".into());
    }
    disk.set("Enable caching in buffer", u8::from(cache.segments > 0));
    let ahead = match cache.ahead {
        _ if cache.segments == 0 => 0,
        Ahead::Nowhere => 0,
        Ahead::Track => 1,
        Ahead::Cylinder => 2,
        Ahead::Most => 3,
        Ahead::NextTrack => 4,
    };
    disk.set("Buffer continuous read", ahead);
    disk.set("Minimum read-ahead (blks)", cache.least_ahead);
    disk.set("Maximum read-ahead (blks)", cache.read_ahead);
    disk.set("Read-ahead over requested", if cache.forgets { -1 } else { 1 });
    disk.set("Read-ahead on idle hit", u8::from(cache.resumes));
    disk.set("Combine seq writes", u8::from(cache.joins_writes));
    disk.set("Stop prefetch in sector", u8::from(cache.stops_in_sector));
    if cache.merges_sectors {
        notes.push("writes that begin or end inside a sector, and read it first".into());
    }
}

fn scheduler(order: Turn, notes: &mut Vec<String>) -> ParameterBlock {
    if order == Turn::Look {
        notes.push("a queue in which the arm turns round: DiskSim's elevator never learns that it did".into());
    }
    let policy = match order {
        Turn::Fcfs => 1,
        Turn::Ascending | Turn::Look => 2,
        Turn::CLook => 3,
        Turn::Sstf => 4,
        Turn::Soonest => 8,
    };
    text::queue(policy)
}

fn overheads(sheet: &Sheet, disk: &mut ParameterBlock, notes: &mut Vec<String>) {
    let (of, fast) = (&sheet.overheads, sheet.cache.write_buffer > 0);
    let mut after = |kind: &str, time: After| {
        disk.set(&format!("{kind} after read"), ms(time.read));
        disk.set(&format!("{kind} after write"), ms(time.write));
    };
    after("Read hit over.", of.hit);
    after("Read miss over.", of.read);
    after("Write hit over.", of.buffered);
    after("Write miss over.", of.write);
    let first = of.reselect.less(of.prepare);
    // A write that is not reported early comes back to the bus when it is on the medium.
    let back = if fast { Span::ZERO } else { first };
    disk.set("Read completion overhead", ms(of.done.read));
    disk.set("Write completion overhead", ms(of.done.write.less(back)));
    disk.set("Data preparation overhead", ms(of.prepare));
    disk.set("First reselect overhead", ms(first));
    let extra = of.disconnect.unwrap_or_default();
    disk.set("Other reselect overhead", ms(extra.reselect));
    disk.set("Read disconnect afterread", ms(of.release_read.read));
    disk.set("Read disconnect afterwrite", ms(of.release_read.write));
    disk.set("Write disconnect overhead", ms(of.release_write));
    disk.set("Extra write disconnect", u8::from(of.disconnect.is_some()));
    disk.set("Extradisc command overhead", ms(extra.command));
    disk.set("Extradisc disconnect overhead", ms(extra.data.less(first).less(of.prepare)));
    disk.set("Extradisc inter-disconnect delay", number(0.0));
    disk.set("Extradisc 2nd disconnect overhead", number(0.0));
    disk.set("Extradisc seek delta", ms(extra.seek));
    disk.set("Minimum seek delay", ms(of.least_seek));
    if fast && of.write != of.buffered {
        notes.push(format!(
            "{} ms before a write that completes on the medium, {} into the buffer",
            ms(of.write.read),
            ms(of.buffered.read)
        ));
    }
    if let Some(queued) = of.queued {
        notes.push(format!("{} ms in place of the overhead of a command that waited in the drive", ms(queued)));
    }
    if let Some(large) = of.large {
        notes.push(format!("commands of more than {} blocks that transfer more slowly", large.above));
    }
    if of.stages.is_some() {
        notes.push("buffered writes that take longer once many came".into());
    }
}
