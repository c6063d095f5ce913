//! A drive in the settings of other systems: Ceph, the kernel's io.cost, fio, ZFS, nbdkit.

use super::number;

/// Commands a second, and half the width of the 95 % interval of their mean over replications.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredRate {
    pub a_second: f64,
    pub half: f64,
}

/// What a host gets of a drive: 4 KiB or 1 MiB a command, `depth` outstanding.
pub struct MeasuredDrive {
    pub title: String,
    pub depth: u16,
    /// How many commands in a row were counted.
    pub row: u32,
    pub reads_large: MeasuredRate,
    pub reads_row: MeasuredRate,
    pub reads_anywhere: MeasuredRate,
    pub writes_large: MeasuredRate,
    pub writes_row: MeasuredRate,
    pub writes_anywhere: MeasuredRate,
    /// 1 MiB reads in the middle of the drive, and on its inner sixteenth.
    pub reads_middle: MeasuredRate,
    pub reads_inner: MeasuredRate,
    /// Random reads, one outstanding.
    pub reads_alone: MeasuredRate,
    /// Random writes once the drive's buffer is full.
    pub writes_sustained: MeasuredRate,
}

/// Synchronous reads beside so much of a scrub in the drive.
pub struct ScrubChoice {
    pub count: u32,
    pub reads_ms: f64,
    pub half_ms: f64,
    /// The mean of the same reads with no scrub.
    pub alone_ms: f64,
    pub scrub_mb_s: f64,
    /// Whether that may be asked of the reads.
    pub bearable: bool,
}

const MIB: f64 = 1_048_576.0;
/// What Ceph assumes of a hard disk unless it is told: outside of this range it does not believe its own measurement.
const CEPH_BELIEVES: [f64; 2] = [50.0, 500.0];

impl MeasuredRate {
    /// Bytes a second of 1 MiB commands.
    fn bytes(self) -> f64 {
        self.a_second * MIB
    }

    fn show(self) -> String {
        format!("{} ± {}", number::plain(self.a_second), number::with_decimals(self.half, 2))
    }

    fn show_mb(self) -> String {
        format!("{} ± {}", number::plain(self.bytes() / 1e6), number::with_decimals(self.half * MIB / 1e6, 2))
    }
}

fn header(title: &str, what: &str) -> String {
    format!("# {what} of {}, simulated; ± is half of a 95 % interval over 5 replications.\n", title)
}

/// Settings of an OSD on it.
pub fn for_ceph(drive: &MeasuredDrive) -> String {
    let iops = drive.writes_sustained;
    let whole = [drive.reads_large, drive.reads_middle, drive.reads_inner];
    // The time for all of it counts, so that rates are joined by their inverses.
    let mean = 3.0 / whole.iter().map(|rate| 1.0 / rate.a_second).sum::<f64>() * MIB;
    let mut text = header(&drive.title, "mClock capacities");
    text += &format!(
        "# Random 4 KiB writes, {} outstanding, once the drive's buffer is full: {} a second.\n\
         # Reads in a row: {} MB/s outside, {} in the middle, {} inside; the mean over the drive is set.\n",
        drive.depth,
        iops.show(),
        drive.reads_large.show_mb(),
        drive.reads_middle.show_mb(),
        drive.reads_inner.show_mb()
    );
    if !(CEPH_BELIEVES[0]..=CEPH_BELIEVES[1]).contains(&iops.a_second) {
        text += "# Ceph measures when it starts, and takes no result of less than 50 or more than 500: what is set here counts before that.\n";
    }
    text += &format!("ceph config set osd.ID osd_mclock_max_capacity_iops_hdd {:.0}\n", iops.a_second);
    text + &format!("ceph config set osd.ID osd_mclock_max_sequential_bandwidth_hdd {mean:.0}\n")
}

/// The line of its cost model.
pub fn for_iocost(drive: &MeasuredDrive) -> String {
    let mut text = header(&drive.title, "io.cost.model");
    text += &format!(
        "# As tools/cgroup/iocost_coef_gen.py measures: 120 s from rest, {} outstanding; bytes in a row from block 0 on.\n\
         # A row is simulated for {} commands; small ones are of 4 KiB, and lie anywhere on the drive.\n",
        drive.depth,
        number::count(u64::from(drive.row))
    );
    for (name, rate, is_bytes) in coefficients(drive) {
        let shown = if is_bytes { format!("{} MB/s", rate.show_mb()) } else { format!("{} a second", rate.show()) };
        text += &format!("# {name:<10} {shown}\n");
    }
    text +=
        "# Replace MAJ:MIN by the device's numbers (lsblk), and write the line into /sys/fs/cgroup/io.cost.model.\n";
    let values: Vec<String> = coefficients(drive)
        .iter()
        .map(|(name, rate, is_bytes)| format!("{name}={:.0}", if *is_bytes { rate.bytes() } else { rate.a_second }))
        .collect();
    text + &format!("MAJ:MIN ctrl=user model=linear {}\n", values.join(" "))
}

/// The coefficients of the linear model in the kernel's order, and whether each is bytes.
fn coefficients(drive: &MeasuredDrive) -> [(&'static str, MeasuredRate, bool); 6] {
    [
        ("rbps", drive.reads_large, true),
        ("rseqiops", drive.reads_row, false),
        ("rrandiops", drive.reads_anywhere, false),
        ("wbps", drive.writes_large, true),
        ("wseqiops", drive.writes_row, false),
        ("wrandiops", drive.writes_anywhere, false),
    ]
}

/// A job that measures a real drive by reads, beside what this one gives.
pub fn for_fio(drive: &MeasuredDrive) -> String {
    let job = |name: &str, expected: &str, keys: &str| format!("\n; expected: {expected}\n[{name}]\nstonewall\n{keys}");
    let mut text = header(&drive.title, "What fio should find").replace('#', ";");
    text += "; It only reads. Replace /dev/sdX by the device.\n[global]\nfilename=/dev/sdX\ndirect=1\nioengine=libaio\ntime_based\n\
             runtime=120\ngroup_reporting\n";
    let row = |offset: &str| format!("rw=read\nbs=1m\niodepth={}\noffset={offset}\n", drive.depth);
    text += &job("row-outside", &format!("{} MB/s", drive.reads_large.show_mb()), &row("0"));
    text += &job("row-in-the-middle", &format!("{} MB/s", drive.reads_middle.show_mb()), &row("50%"));
    text += &job("row-inside", &format!("{} MB/s", drive.reads_inner.show_mb()), &row("93%"));
    let anywhere = |depth: u16| format!("rw=randread\nbs=4k\nnorandommap\niodepth={depth}\n");
    text += &job("random-1", &format!("{} IOPS", drive.reads_alone.show()), &anywhere(1));
    text + &job(
        &format!("random-{}", drive.depth),
        &format!("{} IOPS", drive.reads_anywhere.show()),
        &anywhere(drive.depth),
    )
}

/// A command by which nbdkit keeps its clients waiting as long.
pub fn for_nbdkit(drive: &MeasuredDrive) -> String {
    let delay_ms = |rate: MeasuredRate| 1e3 / rate.a_second;
    let (reads, writes) = (drive.reads_alone, drive.writes_sustained);
    let mut text = header(&drive.title, "Delays for nbdkit");
    text += &format!(
        "# Random 4 KiB reads, one outstanding: {} a second. Random 4 KiB writes once the drive's buffer is full: {} a second.\n\
         # Reads in a row, outside: {} MB/s.\n\
         # nbdkit waits as long before a request in a row as before one far away, and knows no queue. The drive itself, in real time, is\n\
         # what `halfturn serve` shows as path = \"emulated:NAME\".\n",
        reads.show(),
        writes.show(),
        drive.reads_large.show_mb()
    );
    // It takes whole milliseconds, and bits.
    text + &format!(
        "nbdkit --filter=noparallel --filter=delay --filter=rate file FILE serialize=requests rdelay={:.0}ms wdelay={:.0}ms rate={:.0}\n",
        delay_ms(reads),
        delay_ms(writes),
        8.0 * drive.reads_large.bytes()
    )
}

/// Module parameters for a pool of such drives.
pub fn for_zfs(title: &str, choices: &[ScrubChoice]) -> String {
    let mut text = header(title, "Parameters of ZFS");
    let alone = choices.first().map_or(0.0, |choice| choice.alone_ms);
    text += &format!(
        "# 20 synchronous random reads a second of 16 KiB take {} ms; beside a scrub in a row by 1 MiB:\n",
        number::plain(alone)
    );
    for choice in choices {
        text += &format!(
            "# zfs_vdev_scrub_max_active={:<2}  reads {} ± {} ms, scrub {} MB/s\n",
            choice.count,
            number::plain(choice.reads_ms),
            number::with_decimals(choice.half_ms, 2),
            number::plain(choice.scrub_mb_s)
        );
    }
    let best = choices
        .iter()
        .filter(|choice| choice.bearable)
        .max_by(|one, other| one.scrub_mb_s.total_cmp(&other.scrub_mb_s));
    let count = best.map_or(1, |choice| choice.count);
    text += match best {
        Some(_) => "# Of those that make reads wait no more than twice as long, the fastest scrub:\n",
        None => "# With any of these reads wait more than twice as long; the least:\n",
    };
    text + &format!("options zfs zfs_vdev_scrub_max_active={count} zfs_vdev_nia_credit={count}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive() -> MeasuredDrive {
        let rate = |a_second: f64| MeasuredRate { a_second, half: 0.5 };
        MeasuredDrive {
            title: "A drive".into(),
            depth: 32,
            row: 20_000,
            reads_large: rate(300.0),
            reads_row: rate(50_000.0),
            reads_anywhere: rate(210.0),
            writes_large: rate(290.0),
            writes_row: rate(40_000.0),
            writes_anywhere: rate(400.0),
            reads_middle: rate(200.0),
            reads_inner: rate(100.0),
            reads_alone: rate(80.0),
            writes_sustained: rate(350.0),
        }
    }

    #[test]
    fn each_system_gets_lines_in_its_own_units() {
        insta::assert_snapshot!("ceph", for_ceph(&drive()));
        insta::assert_snapshot!("iocost", for_iocost(&drive()));
        insta::assert_snapshot!("fio", for_fio(&drive()));
        insta::assert_snapshot!("nbdkit", for_nbdkit(&drive()));
    }

    #[test]
    fn the_fastest_scrub_that_reads_bear_is_set() {
        let choice = |count: u32, scrub_mb_s: f64, bearable: bool| ScrubChoice {
            count,
            reads_ms: 10.0,
            half_ms: 0.1,
            alone_ms: 8.0,
            scrub_mb_s,
            bearable,
        };
        let text = for_zfs("A drive", &[choice(1, 50.0, true), choice(2, 90.0, true), choice(3, 95.0, false)]);
        assert!(
            text.ends_with("the fastest scrub:\noptions zfs zfs_vdev_scrub_max_active=2 zfs_vdev_nia_credit=2\n"),
            "{text}"
        );
        let none = for_zfs("A drive", &[choice(1, 50.0, false), choice(2, 90.0, false)]);
        assert!(
            none.ends_with("the least:\noptions zfs zfs_vdev_scrub_max_active=1 zfs_vdev_nia_credit=1\n"),
            "{none}"
        );
    }

    #[test]
    fn ceph_is_told_where_it_would_not_believe_itself() {
        let warned = |a_second| {
            let rate = MeasuredRate { a_second, half: 0.0 };
            for_ceph(&MeasuredDrive { writes_sustained: rate, ..drive() }).contains("takes no result")
        };
        assert_eq!([49.0, 50.0, 500.0, 501.0].map(warned), [true, false, false, true]);
        // Thirds of a drive at 300, 200 and 100 MiB/s take 11/600 s a MiB and third.
        let expected = format!("bandwidth_hdd {:.0}\n", 3.0 * MIB * 600.0 / 11.0);
        assert!(for_ceph(&drive()).contains(&expected), "{expected}");
    }
}
