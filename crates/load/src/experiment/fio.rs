//! FioJob files of fio as experiments: what their jobs ask of a drive, without the file system and the page cache in between.
//!
//! Each job is a workload, closed by `iodepth`, or open where it has a rate; each of `numjobs` has a file of its own, one behind the
//! other on the drive, unless jobs name one file or a device. What changes nothing of that is passed over; whatever else an
//! experiment cannot say is refused by name.

#[cfg(test)]
mod options;
#[cfg(test)]
mod tests;

use block::{At, BLOCK_BYTES, BadInput, nearest};
use config::{Document, quote};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// Options that are said here.
const SAID: &str = "\
    rw bs size filesize io_size number_ios offset offset_increment filename directory iodepth numjobs ioengine direct buffered \
    rwmixread rwmixwrite runtime ramp_time time_based thinktime rate_iops rate rate_process prioclass randseed blockalign";

/// Options by other names.
const ALIASES: [(&str, &str); 9] = [
    ("readwrite", "rw"),
    ("blocksize", "bs"),
    ("timeout", "runtime"),
    ("io_limit", "io_size"),
    ("file_offset", "offset"),
    ("ba", "blockalign"),
    ("rate_poisson", "rate_process"),
    ("nr_files", "nrfiles"),
    ("start_delay", "startdelay"),
];

/// Options that change nothing of what a drive is asked: logs, reports, contents, memory, threads, how files come to be, what becomes of
/// errors and of rates that are not reached.
const PASSED_OVER: &str = "\
    name description group_reporting new_group thread gtod_reduce clocksource gtod_cpu disable_lat disable_clat \
    disable_slat disable_bw_measurement disable_bw clat_percentiles lat_percentiles slat_percentiles percentile_list \
    significant_figures unified_rw_reporting write_bw_log write_lat_log write_iops_log write_hist_log log_avg_msec \
    log_hist_msec log_max_value log_offset log_compression log_store_compressed log_unix_epoch per_job_logs \
    bwavgtime iopsavgtime invalidate randrepeat allrandrepeat norandommap softrandommap random_generator \
    refill_buffers scramble_buffers zero_buffers buffer_pattern buffer_compress_percentage buffer_compress_chunk \
    dedupe_percentage create_serialize create_fsync create_on_open create_only_if_missing fallocate fadvise_hint \
    overwrite unlink file_service_type openfiles filename_format fsync_on_close cpus_allowed cpus_allowed_policy \
    numa_cpu_nodes numa_mem_policy nice mem iomem iomem_align hugepage-size lockmem hipri fixedbufs registerfiles \
    sqthread_poll sqthread_poll_cpu nonvectored io_submit_mode log_prio block_error_percentiles dedupe_mode \
    dedupe_working_set_percentage dedupe_global ratemin rate_iops_min exitall exit_what continue_on_error ignore_error \
    error_dump busy_poll";

/// Engines that wait for each request, and those that keep `iodepth` of them outstanding.
const ONE_AT_A_TIME: [&str; 6] = ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"];
const SEVERAL: [&str; 4] = ["libaio", "io_uring", "posixaio", "windowsaio"];

/// Jobs times `numjobs`, at most.
const MOST_JOBS: u64 = 64;

/// An option of a job, or of all behind it.
#[derive(Clone)]
struct JobOption {
    key: String,
    value: String,
    line: u64,
}

/// A job with what it has from `[global]`.
struct FioJob {
    name: String,
    line: u64,
    options: Vec<JobOption>,
}

/// The longest file that is read.
const LONGEST: u64 = 1 << 20;

/// The same of a file.
///
/// # Errors
/// When it cannot be read, and those of [`document`].
pub(super) fn open(path: &Path) -> Result<Document, BadInput> {
    let name = path.display().to_string();
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_string(&mut text));
    if let Err(error) = read {
        return Err(BadInput::new(name, At::File, format!("cannot be read: {error}"), "name a job file of fio"));
    }
    if text.len() as u64 > LONGEST {
        return Err(BadInput::new(name, At::File, "longer than any job file", "name a job file of fio"));
    }
    document(&name, &text)
}

/// The experiment that a job file stands for. The drive is left to whoever asks.
///
/// # Errors
/// What is no job file, and what cannot be said, with its line and the mend.
pub(super) fn document(name: &str, text: &str) -> Result<Document, BadInput> {
    let jobs = jobs(name, text)?;
    let mut written = Written { file: name, text: String::new(), files: BTreeMap::new(), end: 0, count: 0 };
    for job in &jobs {
        written.add(job)?;
    }
    let mut all = format!("title = {}\n[drive]\n[scheduler]\npolicy = \"fcfs\"\n", quote(name));
    all += &written.text;
    all += &run(name, &jobs, written.count)?;
    Document::parse(&format!("{name}, as an experiment"), &all)
}

/// The jobs of a file in order.
fn jobs(name: &str, text: &str) -> Result<Vec<FioJob>, BadInput> {
    let (mut global, mut jobs): (Vec<JobOption>, Vec<FioJob>) = (Vec::new(), Vec::new());
    let mut in_global = true;
    for (line, content) in (1..).zip(text.lines()) {
        let content = without_comment(content);
        if content.is_empty() {
            continue;
        }
        let bad = |what: String, mend: &str| BadInput::new(name, At::Line(line), what, mend);
        if let Some(section) = content.strip_prefix('[') {
            let section =
                section.strip_suffix(']').ok_or_else(|| bad("no `]` ends the heading".into(), "write [NAME]"))?;
            in_global = section == "global";
            if !in_global {
                jobs.push(FioJob { name: section.into(), line, options: global.clone() });
            }
            continue;
        }
        if content.contains("${") {
            return Err(bad("a variable of the environment stands in it".into(), "write its value"));
        }
        let (key, value) = content.split_once('=').map_or((content, "1"), |(key, value)| (key.trim(), value.trim()));
        let key = ALIASES.iter().find(|(alias, _)| *alias == key).map_or(key, |(_, key)| *key);
        let option = JobOption { key: key.into(), value: value.into(), line };
        check(name, &option, jobs.len())?;
        match jobs.last_mut().filter(|_| !in_global) {
            Some(job) => job.options.push(option),
            None => global.push(option),
        }
    }
    if jobs.is_empty() {
        return Err(BadInput::new(name, At::File, "no job in it", "write [NAME] above the options of each"));
    }
    Ok(jobs)
}

/// A line up to its comment.
fn without_comment(line: &str) -> &str {
    let whole = line.trim();
    if whole.starts_with([';', '#']) {
        return "";
    }
    let ends = [" ;", "\t;", " #", "\t#"].iter().filter_map(|mark| whole.find(mark)).min();
    whole[..ends.unwrap_or(whole.len())].trim_end()
}

/// Whether an option is one that is known, of a job after so many.
fn check(name: &str, option: &JobOption, before: usize) -> Result<(), BadInput> {
    let JobOption { key, value, line } = option;
    let bad = |what: String, mend: String| Err(BadInput::new(name, At::Line(*line), what, mend));
    let known = || SAID.split_whitespace().chain(PASSED_OVER.split_whitespace());
    if known().any(|other| other == key) {
        return Ok(());
    }
    match key.as_str() {
        // Of the first job it says nothing.
        "stonewall" | "wait_for_previous" if before <= 1 => Ok(()),
        "stonewall" | "wait_for_previous" | "wait_for" => {
            bad(format!("`{key}`: jobs one after the other are no one run"), "write a file for each".into())
        }
        "nrfiles" | "loops" | "thinktime_blocks" | "iodepth_batch_complete" if value == "1" => Ok(()),
        "fsync" | "fdatasync" | "end_fsync" | "sync" | "startdelay" | "percentage_random" if value == "0" => Ok(()),
        "random_distribution" if value == "random" => Ok(()),
        _ => {
            let like = nearest(key, known()).map_or_else(String::new, |other| format!("did you mean {other}? else "));
            bad(format!("`{key}` cannot be said of a simulated drive"), format!("{like}take it out"))
        }
    }
}

impl FioJob {
    fn find(&self, key: &str) -> Option<&JobOption> {
        self.options.iter().rev().find(|option| option.key == key)
    }

    fn value(&self, key: &str) -> Option<&str> {
        self.find(key).map(|option| option.value.as_str())
    }

    /// What is wrong with an option, or with the job where it has none of that name.
    fn error(&self, file: &str, key: &str, what: impl Into<String>, mend: impl Into<String>) -> BadInput {
        let line = self.find(key).map_or(self.line, |option| option.line);
        BadInput::new(file, At::Line(line), format!("[{}] {}", self.name, what.into()), mend)
    }

    fn number(&self, file: &str, key: &str, usually: u64) -> Result<u64, BadInput> {
        let Some(text) = self.value(key) else { return Ok(usually) };
        text.parse().map_err(|_| self.error(file, key, format!("`{key}={text}` is no whole number"), "write one"))
    }

    /// A size in bytes, or a share of the drive in per cent.
    fn size(&self, file: &str, key: &str) -> Result<Option<JobSize>, BadInput> {
        let Some(text) = self.value(key) else { return Ok(None) };
        let size = JobSize::parse(text);
        let mend = "write one such as 4k, 10g or 50%";
        size.map(Some).ok_or_else(|| self.error(file, key, format!("`{key}={text}` is no size"), mend))
    }

    /// Where in its file, or on its device, the clone of this number begins.
    fn offset(&self, file: &str, clone: u64) -> Result<JobSize, BadInput> {
        let offset = self.size(file, "offset")?.unwrap_or(JobSize::Bytes(0));
        match (offset, self.size(file, "offset_increment")?) {
            (offset, None) => Ok(offset),
            (JobSize::Bytes(first), Some(JobSize::Bytes(each))) => {
                Ok(JobSize::Bytes(first.saturating_add(each.saturating_mul(clone))))
            }
            _ => Err(self.error(file, "offset_increment", "a share of a file", "write offset and increment in bytes")),
        }
    }

    /// A time in ns, of numbers alone in this unit.
    fn span(&self, file: &str, key: &str, unit: u64) -> Result<Option<u64>, BadInput> {
        let Some(text) = self.value(key) else { return Ok(None) };
        let split = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
        let scale = match text[split..].trim().to_ascii_lowercase().as_str() {
            "" => Some(unit),
            "d" => Some(86_400_000_000_000),
            "h" => Some(3_600_000_000_000),
            "m" => Some(60_000_000_000),
            "s" => Some(1_000_000_000),
            "ms" | "msec" => Some(1_000_000),
            "us" | "usec" => Some(1_000),
            "ns" | "nsec" => Some(1),
            _ => None,
        };
        let ns = scale.and_then(|scale| text[..split].parse::<u64>().ok()?.checked_mul(scale));
        ns.map(Some).ok_or_else(|| self.error(file, key, format!("`{key}={text}` is no time"), "write one such as 60s"))
    }

    /// The share of reads, and whether the next place is behind the last.
    fn direction(&self, file: &str) -> Result<(f64, bool), BadInput> {
        let word = self.value("rw").unwrap_or("read");
        let mixed = || -> Result<f64, BadInput> {
            let writes = self.number(file, "rwmixwrite", 50)?;
            let reads = self.number(file, "rwmixread", 100_u64.saturating_sub(writes))?;
            if reads > 100 {
                return Err(self.error(file, "rwmixread", "more than 100 % of reads", "give 0 to 100"));
            }
            Ok(reads as f64 / 100.0)
        };
        match word {
            "read" => Ok((1.0, true)),
            "write" => Ok((0.0, true)),
            "randread" => Ok((1.0, false)),
            "randwrite" => Ok((0.0, false)),
            "randrw" => Ok((mixed()?, false)),
            "rw" | "readwrite" => {
                let mend = "write a job of reads and one of writes, or rw=randrw";
                Err(self.error(file, "rw", "`rw=rw` goes forwards in two places at once", mend))
            }
            _ => {
                let mend = "there are read, write, randread, randwrite and randrw";
                Err(self.error(file, "rw", format!("`rw={word}` cannot be said"), mend))
            }
        }
    }

    /// How many of its requests are outstanding.
    fn depth(&self, file: &str) -> Result<u64, BadInput> {
        let depth = self.number(file, "iodepth", 1)?;
        match self.value("ioengine").unwrap_or("psync") {
            engine if ONE_AT_A_TIME.contains(&engine) => Ok(1),
            engine if SEVERAL.contains(&engine) => Ok(depth.max(1)),
            engine => {
                let mend = "there are sync, psync and libaio, io_uring, posixaio";
                Err(self.error(file, "ioengine", format!("`ioengine={engine}` is no way to a disk"), mend))
            }
        }
    }

    /// What it reads or writes at a time, in blocks.
    fn block_size(&self, file: &str, read: f64) -> Result<u64, BadInput> {
        let text = self.value("bs").unwrap_or("4k");
        // Of reads, writes and trims.
        let sizes: Vec<Option<JobSize>> = text.split(',').map(JobSize::parse).collect();
        let size = match (&sizes[..], read) {
            ([one], _) | ([one, ..], 1.0) => *one,
            ([_, other, ..], 0.0) => *other,
            ([one, other, ..], _) if one == other => *one,
            _ => return Err(self.error(file, "bs", "reads and writes differ in size", "write a job for each")),
        };
        match size {
            Some(JobSize::Bytes(bytes)) if bytes > 0 && bytes.is_multiple_of(BLOCK_BYTES) => Ok(bytes / BLOCK_BYTES),
            _ => Err(self.error(
                file,
                "bs",
                format!("`bs={text}` is no size of requests"),
                "give whole sectors of 512 bytes",
            )),
        }
    }

    /// Requests a second, where they come at a rate of their own.
    fn rate(&self, file: &str, blocks: u64) -> Result<Option<f64>, BadInput> {
        if self.find("rate_iops").is_some() {
            return Ok(Some(self.number(file, "rate_iops", 0)? as f64));
        }
        match self.size(file, "rate")? {
            None => Ok(None),
            Some(JobSize::Bytes(bytes)) => Ok(Some(bytes as f64 / (blocks * BLOCK_BYTES) as f64)),
            Some(JobSize::Percent(_)) => Err(self.error(file, "rate", "a share is no rate", "write bytes a second")),
        }
    }

    /// Whether it passes by the page cache.
    fn is_direct(&self) -> bool {
        self.value("direct").is_some_and(|value| value != "0") || self.value("buffered") == Some("0")
    }
}

/// A size as fio takes it: k is 1,024 and ki 1,000, unless told otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
enum JobSize {
    Bytes(u64),
    Percent(u64),
}

impl JobSize {
    fn parse(text: &str) -> Option<JobSize> {
        let text = text.trim();
        if let Some(percent) = text.strip_suffix('%') {
            return percent.parse().ok().filter(|percent| *percent <= 100).map(JobSize::Percent);
        }
        let split = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = (text[..split].parse::<u64>().ok()?, text[split..].to_ascii_lowercase());
        let prefix = unit.trim_end_matches('b');
        let base: u64 = if prefix.ends_with('i') { 1000 } else { 1024 };
        let power = match prefix.trim_end_matches('i') {
            "" if prefix.is_empty() => 0,
            "k" => 1,
            "m" => 2,
            "g" => 3,
            "t" => 4,
            _ => return None,
        };
        number.checked_mul(base.checked_pow(power)?).map(JobSize::Bytes)
    }
}

/// The workloads written so far.
struct Written<'a> {
    file: &'a str,
    text: String,
    /// Where files that have a name lie, in blocks.
    files: BTreeMap<String, (u64, u64)>,
    /// The block behind the last file.
    end: u64,
    /// How many workloads there are.
    count: u64,
}

impl Written<'_> {
    /// Adds each of the jobs that one stands for.
    fn add(&mut self, job: &FioJob) -> Result<(), BadInput> {
        let file = self.file;
        if !job.is_direct() {
            let what = "goes through the page cache, which is not simulated";
            return Err(job.error(file, "direct", what, "add direct=1"));
        }
        let clones = job.number(file, "numjobs", 1)?;
        self.count += clones;
        if clones == 0 || self.count > MOST_JOBS {
            let what = format!("more than {MOST_JOBS} jobs in all, or none");
            return Err(job.error(file, "numjobs", what, "give fewer, with a greater iodepth"));
        }
        for clone in 0..clones {
            let name = if clone == 0 { job.name.clone() } else { format!("{} {}", job.name, clone + 1) };
            let region = self.region(job, clone)?;
            self.text += &workload(file, job, &name, &region)?;
        }
        Ok(())
    }

    /// The part of the drive that the file of a clone takes up, as an experiment has it.
    fn region(&mut self, job: &FioJob, clone: u64) -> Result<String, BadInput> {
        let file = self.file;
        let (size, offset) = (job.size(file, "size")?, job.offset(file, clone)?);
        let path = job.value("filename").or_else(|| Some(job.name.as_str()).filter(|name| name.starts_with('/')));
        let device = path.is_some_and(|path| path.starts_with("/dev/"));
        let whole = |bytes: u64| bytes / BLOCK_BYTES;
        match (size, offset) {
            (Some(JobSize::Percent(size)), JobSize::Percent(offset)) if device => {
                Ok(format!("{offset}%..{}%", (offset + size).min(100)))
            }
            (Some(JobSize::Percent(size)), JobSize::Bytes(0)) if device => Ok(format!("0%..{size}%")),
            (None, JobSize::Percent(offset)) if device => Ok(format!("{offset}%..100%")),
            (None, JobSize::Bytes(offset)) if device => Ok(format!("{} blocks..100%", whole(offset))),
            (Some(JobSize::Bytes(size)), JobSize::Bytes(offset)) if device => {
                Ok(format!("{} blocks..{} blocks", whole(offset), whole(offset.saturating_add(size))))
            }
            _ if device => Err(job.error(
                file,
                "offset",
                "one of size and offset is a share, the other is not",
                "write both alike",
            )),
            (size, JobSize::Bytes(offset)) => {
                let length = job.size(file, "filesize")?.or(size);
                let Some(JobSize::Bytes(length)) = length else {
                    let mend = "add size=..., or name a device by filename=/dev/...";
                    return Err(job.error(file, "size", "nothing says how large its file is", mend));
                };
                let own = format!("{} {clone}", job.name);
                let (from, to) = self.place(path.map_or(own, Into::into), whole(length));
                Ok(format!("{} blocks..{to} blocks", from + whole(offset)))
            }
            _ => Err(job.error(file, "offset", "a share of a file", "write the offset in bytes")),
        }
    }

    /// Where a file of so many blocks lies: where it lay before, or behind all others.
    fn place(&mut self, name: String, blocks: u64) -> (u64, u64) {
        if let Some((from, to)) = self.files.get(&name).filter(|(from, to)| to - from >= blocks) {
            return (*from, (from + blocks).min(*to));
        }
        // On a page of its own.
        let from = self.end.next_multiple_of(8);
        self.end = from.saturating_add(blocks);
        self.files.insert(name, (from, self.end));
        (from, self.end)
    }
}

/// A workload of an experiment, as its file has it.
fn workload(file: &str, job: &FioJob, name: &str, region: &str) -> Result<String, BadInput> {
    let (read, forwards) = job.direction(file)?;
    let (blocks, depth) = (job.block_size(file, read)?, job.depth(file)?);
    let mut text = format!("\n[[workload]]\nname = {}\nclass = {}\n", quote(name), quote(&job.name));
    let at = if forwards { "sequential" } else { "random" };
    let _ = write!(text, "size = \"{blocks} blocks\"\nread = {read:?}\nat = \"{at}\"\nregion = \"{region}\"\n");
    if let Some(JobSize::Bytes(align)) = job.size(file, "blockalign")? {
        let _ = writeln!(text, "align = \"{} blocks\"", (align / BLOCK_BYTES).max(1));
    }
    let think = job.span(file, "thinktime", 1_000)?;
    match job.rate(file, blocks)? {
        Some(rate) => {
            if think.is_some() {
                return Err(job.error(file, "thinktime", "a rate, and time to think, too", "keep one of them"));
            }
            let arrivals = match job.value("rate_process") {
                None | Some("linear" | "0") => "constant",
                Some("poisson" | "1") => "poisson",
                Some(other) => {
                    return Err(job.error(
                        file,
                        "rate_process",
                        format!("`{other}` is no process"),
                        "there are linear and poisson",
                    ));
                }
            };
            let _ = write!(text, "kind = \"open\"\nrate = \"{rate:?}/s\"\narrivals = \"{arrivals}\"\n");
        }
        None => {
            let _ = write!(text, "kind = \"closed\"\ndepth = {depth}\n");
            if let Some(think) = think {
                let _ = writeln!(text, "think = \"{think}ns\"");
            }
        }
    }
    if let Some(class) = job.value("prioclass") {
        // As the I/O classes of Linux: real-time, best-effort, idle.
        let priority = match class {
            "1" => 2,
            "0" | "2" => 1,
            "3" => 0,
            _ => return Err(job.error(file, "prioclass", format!("`prioclass={class}` is none"), "there are 0 to 3")),
        };
        let _ = writeln!(text, "priority = {priority}");
    }
    Ok(text)
}

/// How long it runs: for the runtime of its jobs or, where a single one has none, until it has done its size.
fn run(file: &str, jobs: &[FioJob], workloads: u64) -> Result<String, BadInput> {
    let mut text = String::from("\n[run]\n");
    let first = &jobs[0];
    let runtime = first.span(file, "runtime", 1_000_000_000)?.filter(|runtime| *runtime > 0);
    let ramp = first.span(file, "ramp_time", 1_000_000_000)?.unwrap_or(0);
    for job in jobs {
        for (key, value) in [("runtime", runtime.unwrap_or(0)), ("ramp_time", ramp)] {
            if job.span(file, key, 1_000_000_000)?.unwrap_or(0) != value {
                return Err(job.error(
                    file,
                    key,
                    format!("its `{key}` is another than that of [{}]", first.name),
                    "give all the same",
                ));
            }
        }
    }
    if let Some(job) = jobs.iter().find(|job| runtime.is_some() && job.find("number_ios").is_some()) {
        return Err(job.error(file, "number_ios", "it ends by a count and by a time", "keep one of them"));
    }
    let _ = writeln!(text, "warmup = \"{ramp}ns\"");
    match runtime {
        Some(runtime) => _ = writeln!(text, "duration = \"{}ns\"", ramp.saturating_add(runtime)),
        None if workloads > 1 => {
            return Err(first.error(
                file,
                "runtime",
                "nothing says how long several jobs run together",
                "add runtime=60",
            ));
        }
        None => _ = writeln!(text, "requests = {}", requests(file, first)?),
    }
    Ok(text + &seed(file, first)?)
}

/// How many requests a job has that ends by itself: those of its size, and no more than it was given.
fn requests(file: &str, job: &FioJob) -> Result<u64, BadInput> {
    let (read, _) = job.direction(file)?;
    let bytes = job.size(file, "io_size")?.or(job.size(file, "size")?);
    let block = job.block_size(file, read)? * BLOCK_BYTES;
    let most = job.number(file, "number_ios", u64::MAX)?;
    match bytes {
        Some(JobSize::Bytes(bytes)) => Ok(bytes.div_ceil(block).min(most).max(1)),
        _ if most < u64::MAX => Ok(most.max(1)),
        _ => Err(job.error(file, "runtime", "nothing says how long it runs", "add runtime=60, or size=1g")),
    }
}

/// The seed of a job, as an experiment has it.
fn seed(file: &str, job: &FioJob) -> Result<String, BadInput> {
    if job.find("randseed").is_none() {
        return Ok(String::new());
    }
    Ok(format!("seed = {}\n", job.number(file, "randseed", 1)? & i64::MAX as u64))
}
