//! The data sheet of a device that is not a disk.

use super::number;
use super::sheet::{SheetRow, list_lines};
use block::{Span, units};
use disk::Other;
use disk::other::{Flash, HostManaged, Kind, Smr, Store, Tape};

/// What `drive show` prints of it.
pub fn device(other: &Other) -> String {
    let blocks = other.blocks();
    let mut lines = vec![
        ("capacity", format!("{} ({} blocks of 512 B)", units::show_blocks(blocks), number::count(blocks))),
        ("commands in it", format!("up to {}", other.depth)),
    ];
    match &other.kind {
        Kind::Mirror(drive) => lines.push(("two of", format!("{}: {}", drive.sheet.name, drive.sheet.title))),
        Kind::Dual(half) => lines.push(("each arm has", format!("{}: {}", half.sheet.name, half.sheet.title))),
        Kind::Smr(smr) => lines.extend(shingles(smr)),
        Kind::HostManaged(drive) => lines.extend(zones(drive)),
        Kind::Flash(flash) => lines.extend(memory(flash)),
        Kind::Store(store) => lines.extend(network(store)),
        Kind::Tape(tape) => lines.extend(reels(tape)),
    }
    let lines: String = lines.iter().map(|(name, value)| format!(" {name:<18}  {value}\n")).collect();
    let title = format!(" {}\n\n{lines}\n", other.title);
    title + &list_lines("sources", &other.sources) + &list_lines("assumed: no source prints these", &other.assumed)
}

fn shingles(smr: &Smr) -> Vec<SheetRow> {
    let band = units::show_blocks(smr.band);
    let cache = units::show_blocks(smr.media_cache);
    let extents = number::count(u64::from(smr.extents));
    vec![
        ("on", format!("{}: {}", smr.drive.sheet.name, smr.drive.sheet.title)),
        (
            "media cache",
            format!("{cache} at the outer edge, up to {extents} extents, {} a write at least", time(smr.append)),
        ),
        ("bands", format!("{band} each, cleaned when nothing came for {}", time(smr.cleans_after))),
    ]
}

fn zones(drive: &HostManaged) -> Vec<SheetRow> {
    let (zone, all) = (units::show_blocks(drive.zone), number::count(drive.zones()));
    let anywhere = number::count(drive.conventional);
    vec![
        ("on", format!("{}: {}", drive.drive.sheet.name, drive.drive.sheet.title)),
        (
            "zones",
            format!("{all} of {zone}; the first {anywhere} take writes anywhere, the others at their write pointers"),
        ),
        ("open zones", format!("at most {}", number::count(u64::from(drive.open_zones)))),
    ]
}

fn memory(flash: &Flash) -> Vec<SheetRow> {
    vec![
        ("channels", number::count(u64::from(flash.channels))),
        ("latency", format!("read {}, write {}, wherever", time(flash.read), time(flash.write))),
        ("bus", rate(flash.mb_s)),
    ]
}

fn network(store: &Store) -> Vec<SheetRow> {
    let mut lines = vec![("latency", format!("{}, wherever", time(store.latency)))];
    if store.jitter > Span::ZERO {
        let spread = format!("longer by a log-normal time, median {}, sigma {}", time(store.jitter), store.sigma);
        lines.push(("jitter (not known)", spread));
    }
    if store.tail_share > 0.0 {
        let tail = format!("{} of commands {} longer", number::percent(store.tail_share), time(store.tail));
        lines.push(("tail (not known)", tail));
    }
    lines.push(("network", rate(store.mb_s)));
    lines
}

fn reels(tape: &Tape) -> Vec<SheetRow> {
    let wrap = units::show_blocks(tape.wrap_blocks());
    vec![
        ("wraps", format!("{} of {wrap}, to and fro", number::count(u64::from(tape.wraps)))),
        ("locate", format!("{} from end to end, {} to another wrap", time(tape.full_length), time(tape.wrap_change))),
        ("start", format!("{}; goes on for {} when nothing comes", time(tape.start), time(tape.stops_after))),
        ("streams at", rate(tape.mb_s)),
    ]
}

fn rate(mb_s: f64) -> String {
    format!("{} MB/s", number::plain(mb_s))
}

fn time(span: Span) -> String {
    number::seconds(span.as_secs())
}
