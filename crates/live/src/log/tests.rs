//! Each record as it was written, logs cut off anywhere, and what is no record.

use super::*;

fn head() -> LogHead {
    let caps = vec![
        Caps { blocks: 1 << 40, depth: 300, seek: block::SeekBy::Command, arms: 1 },
        Caps { blocks: 7, depth: 1, seek: block::SeekBy::Nothing, arms: 1 },
        Caps { blocks: 9, depth: u16::MAX, seek: block::SeekBy::Read, arms: 2 },
        Caps { blocks: 1 << 30, depth: 2, seek: block::SeekBy::Command, arms: u16::MAX },
    ];
    LogHead { name: "a/b.toml".into(), text: "[drive]\n".into(), sets: vec!["a=b".into()], caps }
}

fn records() -> Vec<LogRecord> {
    let qos = Qos { class: 3, priority: 255, deadline: Some(Time(1 << 50)) };
    let at = Extent::new((1 << 36) + 5, u32::MAX);
    let request = |op| Request { id: RequestId(9), op, at, qos };
    let (frame, place) = (Place::Frame(FrameId(63), 12), Place::Request(RequestId(u32::MAX), 1 << 20));
    let inputs = [
        Input::Wake,
        Input::Done(DiskId(7), Tag(300), Time(90), Outcome::Failed(5)),
        Input::Done(DiskId(0), Tag(0), Time(100), Outcome::Ok),
        Input::Amend(RequestId(4), Change::Cancel),
        Input::Amend(RequestId(4), Change::Qos(Qos { deadline: None, ..qos })),
        Input::Disk(DiskId(2), Health::Failed),
        Input::Claim(3, Claim { share: 2.5, floor: 0.1, limit: 0.9, window: Span(1 << 40) }),
        Input::Disk(DiskId(2), Health::Replaced),
        Input::Disk(DiskId(2), Health::Filled(1 << 45)),
        Input::Disk(DiskId(2), Health::Holds(at)),
        Input::Disk(DiskId(2), Health::Known),
        Input::Disk(DiskId(2), Health::JoinsForParity),
        Input::Disk(DiskId(2), Health::LeavesWithParity),
        Input::Disk(DiskId(2), Health::TradesCopies),
        Input::Compared(1 << 20, 65, Likeness::Unlike),
        Input::Log(LogNews::Failed),
        Input::Log(LogNews::GivenUp),
    ];
    let given_up = [Discarded::Anything, Discarded::Zeros, Discarded::KeptZeros];
    let ops = [Op::Read, Op::Write { fua: false }, Op::Write { fua: true }, Op::Flush, Op::Repair];
    let ops = ops.into_iter().chain(given_up.map(Op::Discard));
    let verbs = [Verb::Read, Verb::Write { fua: false }, Verb::Write { fua: true }, Verb::Seek, Verb::Flush];
    let verbs = verbs.into_iter().chain(given_up.map(Verb::Discard));
    let mark = |code| Mark::from_code(code).expect("there are so many");
    let issue = |(code, verb)| Action::Issue(DiskId(1), Tag(2), Command { verb, at, place, mark: mark(code) });
    let actions = [
        Action::Begin(RequestId(1)),
        Action::Copy { from: frame, to: place, blocks: 77 },
        Action::Compare { number: 9, slot: 3, one: frame, other: place, blocks: 4 },
        Action::Xor { from: place, into: Place::Nowhere, blocks: 0, times: Factor(7) },
        Action::Copy { from: Place::Scan, to: frame, blocks: 1 },
        Action::Record { place: frame, start: 1 << 40, blocks: 255, slot: 31, written: u64::MAX, kept: 5 },
        Action::Forget(31),
        Action::Log(LogOrder::Write { number: 1 << 50, request: RequestId(9), at, place: frame }),
        Action::Log(LogOrder::Settled(1 << 50)),
        Action::Log(LogOrder::Drained),
        Action::Log(LogOrder::Stuck),
        Action::GiveUp(DiskId(300)),
        Action::Complete(DiskId(2)),
        Action::Finish(RequestId(8), Ending::Finished),
        Action::Finish(RequestId(8), Ending::Dropped),
        Action::Finish(RequestId(8), Ending::Failed(125)),
    ];
    let inputs = inputs.into_iter().chain(ops.map(|op| Input::Submit(request(op))));
    let inputs = inputs.enumerate().map(|(i, input)| LogRecord::Input(Time(100 + 1000 * i as u64), input));
    inputs.chain(actions.into_iter().chain((0..).zip(verbs).map(issue)).map(LogRecord::Action)).collect()
}

fn written() -> Vec<u8> {
    let mut writer = LogWriter::new(&head());
    for record in records() {
        match record {
            LogRecord::Input(now, input) => writer.input(now, &input),
            LogRecord::Action(action) => writer.action(&action),
        }
    }
    writer.end();
    writer.take()
}

fn read(bytes: &[u8]) -> Result<Vec<LogRecord>, BadInput> {
    let (read, mut reader) = LogReader::new(Path::new("a.log"), bytes)?;
    assert_eq!(read, head());
    let mut records = Vec::new();
    while let Some(record) = reader.read()? {
        records.push(record);
    }
    assert_eq!(reader.is_whole(), bytes == written());
    Ok(records)
}

#[test]
fn what_was_written_is_read() {
    assert_eq!(read(&written()), Ok(records()));
}

#[test]
fn a_log_cut_off_anywhere_has_what_comes_before() {
    let bytes = written();
    let head = LogWriter::new(&head()).len();
    for end in 0..bytes.len() {
        match read(&bytes[..end]) {
            Ok(some) => assert!(end >= head && records().starts_with(&some), "cut at {end}"),
            Err(error) => assert!(end < head, "cut at {end}: {error}"),
        }
    }
}

#[test]
fn what_is_no_record_is_said_with_its_number() {
    let mut bytes = written();
    let head = LogWriter::new(&head()).len();
    bytes[head] = 99;
    let error = read(&bytes).expect_err("it is none").to_string();
    assert!(error.starts_with("a.log: record 1: this is no record"), "{error}");
    let error = read(b"something else").expect_err("it is none").to_string();
    assert!(error.contains("no log of a run"), "{error}");
}
