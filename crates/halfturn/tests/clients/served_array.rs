//! An array of eight small emulated drives, in a folder of its own: served, told of faults, killed, and started anew with the disks
//! that are in it by then.

use crate::server::{Folder, patient};
use crate::tool::{output, run};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const HALFTURN: &str = env!("CARGO_BIN_EXE_halfturn");
/// How often it is asked whether a rebuild or a scrub has ended, and how many times. While all of the machine stands still nobody asks.
const ASKED_EVERY: Duration = Duration::from_millis(50);
const MOST_ASKED: u32 = 6000;
pub const DISKS: u16 = 8;

/// How an array is scheduled that lets users interrupt its rebuild, which asks for much at once and has a floor.
pub const INTERRUPTED_REBUILD: &str = "policy = \"c-look\"\nio = \"semi-preemptible\"\npreemption = \"always\"\nplan = { last_chunk_fua = false }\n\
                                       [scheduler.class.rebuild]\npreempts = false\nfloor = 0.1\n[scheduler.class.data]\npreempts = true";
pub const DEEP_REBUILD: &str = "[[workload]]\nname = \"rebuild\"\nkind = \"rebuild\"\nsize = \"512KiB\"\ndepth = 16\n";

/// A drive of the NL20's kind with so many cylinders, two heads and a sixteenth of its sectors on a track: 20 to 10 MB/s, 0.25 MB a cylinder.
pub fn write_small_drive(path: &Path, cylinders: u32) {
    let zones = [40, 36, 32, 28, 24, 20];
    let bound = |zone: u32| cylinders * zone / zones.len() as u32;
    let zones = (0..).zip(zones).fold(String::new(), |mut text, (zone, sectors)| {
        let _ = writeln!(text, "    [{}, {}, {sectors}, 0.1, 0.1],", bound(zone), bound(zone + 1) - 1);
        text
    });
    let scale = 489_400.0 / f64::from(cylinders);
    let text = format!(
        "title = \"A small drive of the NL20's kind\"\n[rotation]\nrpm = 7200\n[geometry]\nheads = 2\norder = \"band-serpentine\"\n\
         band = 16\nsector = \"4KiB\"\nskew = \"revolutions\"\nzones = [\n{zones}]\n[seek]\nsingle_ms = 0.25\na_ms = 1.551\nb_ms = {}\n\
         knee = {}\nc_ms = 4.82\ne_ms = {}\n[switch]\nhead = \"0.25ms\"\nhead_write = \"0.35ms\"\ncylinder = \"0.25ms\"\n\
         cylinder_write = \"0.35ms\"\nwrite_settle = \"0.8ms\"\n[overhead]\nread = \"0.20ms\"\nwrite = \"0.20ms\"\nhit = \"0.05ms\"\n\
         queued = \"0.03ms\"\nbus_mb_s = 550.0\n[cache]\nsegments = 96\nsegment = \"128KiB\"\nwrite_buffer = \"3MiB\"\n[queue]\n\
         depth = 32\nage_limit = \"500ms\"\n[truth]\nseek_noise = \"0.08ms\"\n",
        0.016685 * scale.sqrt(),
        (154_650.0 / scale) as u32,
        2.131e-5 * scale
    );
    std::fs::write(path, text).expect("a drive");
}

/// What an array is made and served with.
pub struct ArrayPlan {
    /// The lines of `[array]`, of `[scheduler]`, of `[serve]`, and tables besides.
    pub array: String,
    pub scheduler: &'static str,
    pub serve: &'static str,
    pub tables: String,
    pub cylinders: u32,
    /// How many times as fast the clock goes.
    pub time_scale: f64,
}

/// The service, and the files of its disks in their order.
pub struct ServedArray {
    plan: ArrayPlan,
    child: Option<Child>,
    disks: Vec<String>,
    made: u32,
    folder: Folder,
}

impl ServedArray {
    /// Makes an array, and serves it.
    pub fn new(plan: ArrayPlan) -> ServedArray {
        ServedArray::with_files(plan, &[])
    }

    /// The same, with files of zeros beside it, of so many bytes.
    pub fn with_files(plan: ArrayPlan, files: &[(&str, u64)]) -> ServedArray {
        let folder = Folder::new();
        for (name, bytes) in files {
            std::fs::File::create(folder.0.join(name)).and_then(|file| file.set_len(*bytes)).expect("a file");
        }
        write_small_drive(&folder.0.join("drive.toml"), plan.cylinders);
        let disks = (0..DISKS).map(|disk| format!("disk.{disk}")).collect();
        let mut array = ServedArray { plan, child: None, disks, made: 0, folder };
        array.write_file();
        run(array.path(), HALFTURN, &["array", "create", "array.toml"]);
        array.serve();
        array
    }

    pub fn path(&self) -> &Path {
        &self.folder.0
    }

    pub fn disk(&self, disk: u16) -> PathBuf {
        self.path().join(&self.disks[usize::from(disk)])
    }

    pub fn uri(&self) -> String {
        format!("nbd+unix:///data?socket={}", self.path().join("nbd.sock").display())
    }

    fn write_file(&self) {
        let ArrayPlan { array, scheduler, serve, tables, .. } = &self.plan;
        let disks = self.disks.iter().fold(String::new(), |mut text, disk| {
            let _ = write!(
                text,
                "[[disk]]\npath = \"emulated:drive.toml\"\ncontents = \"sparse\"\nfile = \"{}\"\n",
                self.path().join(disk).display()
            );
            text
        });
        let text = format!(
            "{disks}[array]\n{array}\n[scheduler]\n{scheduler}\n[serve]\nsocket = \"nbd.sock\"\ncontrol = \"control.sock\"\n{serve}\n\
             [[volume]]\nname = \"data\"\n{tables}"
        );
        std::fs::write(self.path().join("array.toml"), text).expect("a file in a new folder");
    }

    /// Serves it, as it is by now.
    pub fn serve(&mut self) {
        self.write_file();
        let said = std::fs::File::options().create(true).append(true).open(self.path().join("said")).expect("a file");
        let mut command = Command::new(HALFTURN);
        command.args(["serve", "array.toml", "--time-scale", &self.plan.time_scale.to_string()]);
        command.current_dir(self.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
        self.child = Some(command.spawn().expect("the service starts"));
        patient("the service does not answer", || {
            let ended = self.child.as_mut().and_then(|child| child.try_wait().ok().flatten());
            assert!(ended.is_none(), "the service ends at once: {}", self.read_messages());
            self.try_to_ask(&json!({ "verb": "array" })).is_ok()
        });
    }

    /// Writes all of it, at a quick pace of the clock.
    pub fn fill(&mut self) {
        let usual = self.plan.time_scale;
        self.serve_at(20.0);
        let uri = format!("--uri={}", self.uri());
        let size = format!("--size={}", self.status()["bytes"]);
        let fio = ["--name=fill", "--ioengine=nbd", "--rw=write", "--bs=1m", "--iodepth=16", &uri, &size];
        run(self.path(), "fio", &fio);
        self.serve_at(usual);
    }

    /// What the service wrote for its user in all its lives.
    pub fn read_messages(&self) -> String {
        std::fs::read_to_string(self.path().join("said")).unwrap_or_default()
    }

    /// Serves it anew at another pace of the clock from now on; what runs is ended in good order.
    pub fn serve_at(&mut self, time_scale: f64) {
        if self.child.is_some() {
            self.end();
        }
        self.plan.time_scale = time_scale;
        self.serve();
    }

    /// Ends it in good order.
    pub fn end(&mut self) {
        let mut child = self.child.take().expect("it runs");
        run(self.path(), "kill", &["-TERM", &child.id().to_string()]);
        patient("the service does not end", || child.try_wait().expect("a child can be asked").is_some());
    }

    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Whether the service refuses to be started.
    pub fn is_refused(&self) -> bool {
        !output(self.path(), HALFTURN, &["array", "assemble", "array.toml"]).status.success()
    }

    /// Asks for what may be refused.
    pub fn try_to_ask(&self, question: &Value) -> Result<Value, String> {
        live::control::ask(&self.path().join("control.sock"), question)
    }

    #[track_caller]
    pub fn ask(&self, question: &Value) -> Value {
        let answer = self.try_to_ask(question);
        answer.unwrap_or_else(|error| panic!("{question}: {error}\n{}\n{:#}", self.read_messages(), self.status()))
    }

    pub fn fault(&self, disk: u16, fault: &Value) {
        let mut question = fault.clone();
        (question["verb"], question["disk"]) = ("fault".into(), disk.into());
        self.ask(&question);
    }

    /// What the array is.
    pub fn status(&self) -> Value {
        self.ask(&json!({ "verb": "array" }))["array"].take()
    }

    pub fn state(&self, disk: u16) -> String {
        self.status()["disks"][usize::from(disk)]["state"].as_str().expect("a state").to_owned()
    }

    /// A new file takes the place of a disk, and is its file from now on.
    pub fn replace(&mut self, disk: u16) {
        self.made += 1;
        let name = format!("new.{}", self.made);
        let path = self.path().join(&name);
        self.ask(&json!({ "verb": "array", "replace": disk, "path": path }));
        let former = std::mem::replace(&mut self.disks[usize::from(disk)], name);
        let _ = std::fs::remove_file(self.path().join(former));
    }

    /// Waits until the array is so; what it is then.
    #[track_caller]
    pub fn wait_until(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..MOST_ASKED {
            let status = self.status();
            if is_so(&status) {
                return status;
            }
            std::thread::sleep(ASKED_EVERY);
        }
        panic!("not {what} in time: {:#}\n{}", self.status(), self.read_messages());
    }

    /// Reads all of it and compares: blocks that did not agree, and that could not be read.
    #[track_caller]
    pub fn scrub(&self) -> [u64; 2] {
        self.ask(&json!({ "verb": "array", "scrub": "start" }));
        let status = self.wait_until("scrubbed", |array| array["scrub"]["state"] == "done");
        ["unlike_blocks", "unreadable_blocks"].map(|key| status["scrub"][key].as_u64().expect("a number"))
    }
}

pub fn is_sound(array: &Value) -> bool {
    let disks = array["disks"].as_array().expect("disks");
    disks.iter().all(|disk| disk["state"] == "sound") && array["rebuild"].is_null()
}

impl Drop for ServedArray {
    fn drop(&mut self) {
        self.kill();
    }
}
