//! What a file of a drive gives and what it leaves out: trees of DiskSim, habits that are not said, values at their bounds.

use block::{Direction, Extent, Lbn, Span, Time};
use disk::{
    Cache, Child, Elsewhere, EntryPlan, Large, Layout, Model, Order, Overheads, Passage, SeekCurve, TrackPlan,
    TreePlan, Unmeasured, WriteStages, catalogue, disksim, parse, write,
};
use std::path::{Path, PathBuf};

const SMALL: &str = include_str!("fixtures/small.diskspecs");

/// A tree of two kinds of tracks: two cylinders of two heads, three times over, then one of the second kind.
const TREE: &str = "dm_layout_g4 {
    TP = [ 0, 9, 10,  1, 7, 9 ],
    IDX = [
        [ 0, 0, 0.0, 10, 1, 0.25, 20, 1, TRACK, 0, 0,  20, 1, 0.5, 10, 1, 0.125, 20, -1, TRACK, 0, 1 ],
        [ 0, 0, 0.0, 40, 2, 0.0, 120, 1, IDX, 0,  120, 6, 0.75, 7, 1, 0.0, 7, 1, TRACK, 1, 0 ]
    ],
    Slips = [ 13, 2 ],
    Remaps = [ 5, 1, 6, 0, 8, 9 ]
}";

fn tree() -> TreePlan {
    let entry = |first, cylinder, offset, each, cylinders, turn, blocks, descends, child| EntryPlan {
        first,
        cylinder,
        offset,
        each,
        cylinders,
        turn,
        blocks,
        descends,
        child,
    };
    TreePlan {
        tracks: vec![TrackPlan { low: 0, high: 9, sectors: 10 }, TrackPlan { low: 1, high: 7, sectors: 9 }],
        lists: vec![
            vec![
                entry(0, 0, 0.0, 10, 1, 0.25, 20, false, Child::Track(0, 0)),
                entry(20, 1, 0.5, 10, 1, 0.125, 20, true, Child::Track(0, 1)),
            ],
            vec![
                entry(0, 0, 0.0, 40, 2, 0.0, 120, false, Child::List(0)),
                entry(120, 6, 0.75, 7, 1, 0.0, 7, false, Child::Track(1, 0)),
            ],
        ],
        slips: vec![(13, 2)],
        remaps: vec![Elsewhere { first: 5, blocks: 1, cylinder: 6, head: 0, sector: 8 }],
    }
}

/// The small drive with another layout.
fn with_layout(layout: &str) -> Result<disksim::Import, block::BadInput> {
    let from = SMALL.find("dm_layout_g1 {").unwrap();
    let to = SMALL.find("Mechanical Model").unwrap();
    let text = format!("{}{layout},\n{}", &SMALL[..from], &SMALL[to..]).replace("Block count = 999", "Block count = 0");
    disksim::read("tree.diskspecs", text.as_bytes(), Path::new("."), None)
}

#[test]
fn a_tree_of_disksim_is_taken_over_entry_by_entry_and_written_so_that_it_reads_the_same() {
    let import = with_layout(TREE).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(import.plan.layout.tree, Some(tree()));
    let text = write(&import.plan);
    let back = parse("x", "x.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let (old, new) = (&import.drive.sheet.mechanics.layout, &back.sheet.mechanics.layout);
    assert_eq!((old.blocks(), new.blocks()), (125, 125), "127 sectors, of which two are slipped");
    for lbn in (0..125).map(Lbn) {
        assert_eq!(old.locate(lbn), new.locate(lbn));
    }
    assert_eq!(old.order(), None, "a tree says itself where each track lies");
}

#[test]
fn a_tree_that_names_neither_a_track_nor_a_list_is_refused() {
    let error = with_layout(&TREE.replace("IDX, 0,", "TRACKS, 0,")).unwrap_err();
    assert!(error.what.contains("neither TRACK nor IDX"), "{error}");
    assert!(with_layout(&TREE.replace("[ 0, 0, 0.0, 40", "[ 0, 0, 0.0, 40.5")).is_err(), "half a sector");
}

#[test]
fn files_of_disksim_are_known_by_their_ending() {
    let ours = ["a.parv", "a.diskspecs", "a.model", "A.PARV"].map(|name| disksim::is_ours(Path::new(name)));
    let others = ["a.toml", "a", "parv", "a.parv.gz"].map(|name| disksim::is_ours(Path::new(name)));
    assert_eq!((ours, others), ([true; 4], [false; 4]));
}

/// The map of the fixture with one more line, read as a drive's.
fn with_line(line: &str) -> Result<disksim::Import, block::BadInput> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let folder: PathBuf = std::env::temp_dir().join(format!("disk-given-{}-{}", std::process::id(), line.len()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(fixtures.join("g2.diskspecs"), folder.join("g2.diskspecs")).unwrap();
    let map = std::fs::read_to_string(fixtures.join("g2.raw")).unwrap();
    std::fs::write(folder.join("g2.raw"), map.replacen("lbn 0 ", &format!("{line}\nlbn 0 "), 1)).unwrap();
    let import = disksim::load(&folder.join("g2.diskspecs"), None);
    std::fs::remove_dir_all(&folder).unwrap();
    import
}

#[test]
fn a_defect_of_a_map_changes_nothing_and_one_that_is_none_is_told() {
    with_line("Defect at cyl 0, head 1, sect 4").expect("a defect is read over");
    let error = with_line("Defect at cyl 0, head x, sect 4").unwrap_err();
    assert!(error.what.contains("this is no defect"), "{error}");
}

#[test]
fn what_is_no_file_of_disksims_is_told_so_and_one_with_a_slip_is_told_where() {
    let mend = |text: &str| disksim::read("a.parv", text.as_bytes(), Path::new("."), None).unwrap_err().mend;
    assert!(mend("= 3").contains("begins with a block"), "{}", mend("= 3"));
    let slip = SMALL.replacen("Print stats = 1", "Print stats 1 2", 1);
    assert!(mend(&slip).contains("see whether a ','"), "{}", mend(&slip));
}

#[test]
fn seeks_of_lees_form_are_its_three_terms() {
    let curve = SeekCurve::Lee { a: 0.5, b: 0.01, c: 2.0 };
    let ms = [0, 1, 2, 5, 101].map(|distance| curve.ms(distance));
    let expected = [0.0, 2.0, 2.51, 0.5 * 2.0 + 0.04 + 2.0, 0.5 * 10.0 + 1.0 + 2.0];
    assert!(ms.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{ms:?}");
}

#[test]
fn only_commands_above_the_bound_are_slowed_down_by_firmware() {
    let large = Some(Large { above: 64, read: 0.5, write: 0.25 });
    let overheads = Overheads { large, ..Overheads::default() };
    let passage = Passage { transfer: Span(1000), crossing: Span(200), ..passage() };
    let stalls = [(64, Direction::Read), (65, Direction::Read), (64, Direction::Write), (65, Direction::Write)]
        .map(|(n, direction)| overheads.stall(n, direction, &passage));
    assert_eq!(stalls, [Span(0), Span(1200), Span(0), Span(3600)], "so much longer than the medium takes");
}

#[test]
fn buffered_writes_are_fast_at_first_then_slower_and_now_and_then_slow() {
    let (mid, slow) = (Span(20), Span(12_000));
    let stages = WriteStages { fast: 32, mid, between: 24, slow, rest: Span(1) };
    // Of eight blocks each: the one that fills what is taken in between is the slow one, however it is cut.
    let stage = |i: u64| match stages.longer(8 * i, 8) {
        Span(0) => 'F',
        longer if longer == mid => 'M',
        longer if longer == slow => 'S',
        longer => panic!("{longer:?}"),
    };
    assert_eq!((0..13).map(stage).collect::<String>(), "FFFFMMSMMSMMS");
    assert_eq!(stages.longer(31, 1000), Span(0), "it begins as a fast one");
    assert_eq!(stages.longer(32, 23), mid);
    assert_eq!(stages.longer(32, 100), slow, "one write is slow once, however many it fills");
    assert_eq!(WriteStages { between: 0, ..stages }.longer(1 << 40, 1), mid);
}

fn passage() -> Passage {
    let drive = catalogue::find("mimic-base").unwrap();
    let mechanics = &drive.sheet.mechanics;
    mechanics.pass(&mechanics.rotation, Time::ZERO, mechanics.layout.locate(Lbn(0)), Extent::new(0, 1), Direction::Read)
}

#[test]
fn what_a_sheet_does_not_say_of_its_cache_is_no_habit() {
    let (cache, said) = (Cache::default(), catalogue::find("mimic-base").unwrap().sheet);
    assert_eq!((cache.forgets, cache.resumes, cache.hits_wait, cache.shared), (false, false, false, false));
    assert_eq!((said.cache.forgets, said.bus.watermark, said.bus.write_watermark), (false, 0.0, 0.0));
}

#[test]
fn the_depth_of_a_model_is_that_of_its_queue_or_its_own() {
    let mut drive = catalogue::find("nl20").unwrap();
    for depth in [1, 32] {
        drive.sheet.queue.depth = depth;
        assert_eq!(Model::Disk(Box::new(drive.clone())).depth(), depth);
    }
}

#[test]
fn an_interval_of_a_measured_drive_runs_from_the_least_to_the_most() {
    let drive = |lines: &str| {
        let text = write(&disksim::read("s.parv", SMALL.as_bytes(), Path::new("."), None).unwrap().plan);
        parse("x", "x.toml", &format!("{text}\n[confidence]\n{lines}\n")).map(|_| ())
    };
    assert_eq!(drive("rpm = [7199.0, 7201.0]"), Ok(()));
    assert_eq!(drive("rpm = [7200.0, 7200.0]"), Ok(()));
    for bad in ["rpm = [7201.0, 7199.0]", "rpm = [7199.0]", "seeks_ms = [[10, 2.0, 1.0]]", "strange = 1"] {
        assert!(drive(bad).is_err(), "{bad}");
    }
}

#[test]
fn stages_of_buffered_writes_are_read_back_as_they_were_written() {
    let mut plan = disksim::read("s.parv", SMALL.as_bytes(), Path::new("."), None).unwrap().plan;
    for (fast, between) in [(0, 0), (32_768, 8192)] {
        let (mid, slow, rest) = (Span(20_000), Span(12_000_000), Span(70_000_000));
        plan.overheads.stages = Some(WriteStages { fast, mid, between, slow, rest });
        let sheet = parse("x", "x.toml", &write(&plan)).unwrap_or_else(|error| panic!("{error}")).sheet;
        assert_eq!(sheet.overheads.stages, plan.overheads.stages);
    }
}

#[test]
fn a_sector_is_written_down_where_it_is_more_than_a_block() {
    let plan = disksim::read("s.parv", SMALL.as_bytes(), Path::new("."), None).unwrap().plan;
    assert!(!write(&plan).contains("\nsector ="), "{}", write(&plan));
}

#[test]
fn midway_is_the_first_block_of_the_cylinder_a_part_of_the_way() {
    let layout: &Layout = &catalogue::find("mimic-base").unwrap().sheet.mechanics.layout;
    assert!(matches!(layout.order(), Some(Order::HeadsFirst | Order::Serpentine(_))), "{:?}", layout.order());
    let cylinder = |lbn: Lbn| layout.locate(lbn).track.cylinder;
    for (here, there, parts, expected) in
        [(100, 500, 4, 200), (500, 100, 4, 400), (100, 500, 1, 500), (7, 7, 3, 7), (0, 9, 2, 4)]
    {
        let at = layout.midway(here, there, parts);
        assert_eq!(cylinder(at), expected, "{here} to {there} in {parts}");
        assert!(at.0 == 0 || cylinder(Lbn(at.0 - 1)) < expected, "the first block there");
    }
}

/// Each of the values that may be unknown comes back as such, and by itself; in its place stands what a read takes, and no buffer.
#[test]
fn what_was_not_measured_is_unknown_in_the_file_and_when_it_is_read_back() {
    let plan = disksim::read("s.parv", SMALL.as_bytes(), Path::new("."), None).unwrap().plan;
    for bits in 0..8u32 {
        let [write_buffer, write_overhead, write_settle] = [1, 2, 4].map(|bit| bits & bit > 0);
        let unmeasured = Unmeasured { write_buffer, write_overhead, write_settle };
        let text = write(&disk::DrivePlan { unmeasured, ..plan.clone() });
        assert_eq!(text.matches("\"unknown\"").count(), bits.count_ones() as usize, "{text}");
        let sheet = parse("x", "x.toml", &text).unwrap_or_else(|error| panic!("{error}")).sheet;
        assert_eq!(sheet.unmeasured, unmeasured);
        assert!(!write_buffer || sheet.cache.write_buffer == 0);
        assert!(!write_overhead || sheet.overheads.write == sheet.overheads.read);
        assert!(!write_settle || sheet.mechanics.switches.write_settle == block::Span::ZERO);
    }
}

#[test]
fn a_value_that_is_not_known_may_be_given_by_whoever_knows_it() {
    let known = parse("atlas10k", "a.toml", include_str!("../catalogue/atlas10k.toml")).unwrap().sheet;
    assert_eq!(known.unmeasured, Unmeasured::default());
    let changed = |text: &str| {
        let changes = config::Document::parse("f.toml", text).unwrap();
        let Ok(Model::Disk(drive)) = disk::change::read_changed("atlas10k", &changes) else { panic!("no disk") };
        drive.sheet
    };
    assert!(changed("write_buffer = \"unknown\"").unmeasured.write_buffer);
    assert_eq!(changed("write_buffer = \"1MiB\"").cache.write_buffer, 2048);
    let error = parse("x", "x.toml", "title = \"x\"\n[switch]\nwrite_settle = \"unkown\"").unwrap_err();
    assert!(error.to_string().contains("x.toml"), "{error}");
}
