//! What a command writes: never over what it reads, and under another name first, so that whatever goes wrong, what was there before
//! still is. All verbs write through this, and look whether they can before they begin.

use crate::failure::VerbFailure;
use block::{At, BadInput};
use load::experiment::Case;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Files that name others are looked through up to this length, and so deep.
const LONGEST: u64 = 4 << 20;
const DEEPEST: u32 = 8;
/// Links that lead to one another, at most.
const LINKS: u32 = 40;

/// The files that a command reads, by device and inode, and those it is to write.
#[derive(Default)]
pub struct Inputs {
    files: Vec<(u64, u64)>,
    outputs: Vec<PathBuf>,
}

impl Inputs {
    /// Of a command that reads no files of its user's.
    pub fn none() -> Inputs {
        Inputs::default()
    }

    /// Of one that reads these, and what they name.
    pub fn of<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Inputs {
        let mut inputs = Inputs::none();
        for path in paths {
            let folder = path.as_ref().parent().unwrap_or(Path::new(""));
            inputs.add(path.as_ref(), folder, DEEPEST);
        }
        inputs
    }

    /// Of an experiment file, and what it names.
    pub fn of_cases(file: &Path, cases: &[Case]) -> Inputs {
        let mut inputs = Inputs::of(cases.iter().flat_map(|case| case.experiment.files()));
        inputs.add(file, Path::new(""), 0);
        inputs
    }

    /// A file. Parameters of a drive name others, whatever their syntax: each word counts that is a file beside it, or in a folder.
    fn add(&mut self, path: &Path, folder: &Path, depth: u32) {
        let Ok(about) = path.metadata() else { return };
        let file = (about.dev(), about.ino());
        if self.files.contains(&file) {
            return;
        }
        self.files.push(file);
        let names = ["parv", "diskspecs", "model", "toml"].iter().any(|end| path.extension() == Some(end.as_ref()));
        if depth == 0 || !names || !about.is_file() {
            return;
        }
        let mut text = String::new();
        if File::open(path).is_ok_and(|file| file.take(LONGEST).read_to_string(&mut text).is_ok()) {
            let beside = path.parent().unwrap_or(Path::new(""));
            let said = text.lines().map(|line| line.split('#').next().unwrap_or_default());
            let words = said.flat_map(|line| line.split(|mark: char| " \t\"',;=[](){}".contains(mark)));
            for word in words.filter(|word| !word.is_empty()) {
                for named in [beside.join(word), folder.join(word)].iter().filter(|named| named.is_file()) {
                    self.add(named, folder, depth - 1);
                }
            }
        }
    }

    fn has(&self, path: &Path) -> bool {
        path.metadata().is_ok_and(|about| self.files.contains(&(about.dev(), about.ino())))
    }
}

/// A file that is to be written.
pub struct OutputFile {
    /// As the user named it.
    name: PathBuf,
    /// The file that the path leads to once all links are followed.
    path: PathBuf,
    /// Whether it is a pipe or a terminal, to which everything just goes.
    stream: bool,
}

impl OutputFile {
    /// One at this path, which is not touched yet.
    ///
    /// # Errors
    /// When the command reads it or writes it already, or when it cannot be written.
    pub fn new(name: &Path, inputs: &mut Inputs) -> Result<OutputFile, VerbFailure> {
        let bad = |what, mend| Err(BadInput::new(name.display().to_string(), At::File, what, mend).into());
        let path = resolve(name);
        let about = path.metadata().ok();
        let kind = about.as_ref().map(fs::Metadata::file_type);
        let stream = kind.is_some_and(|kind| kind.is_fifo() || kind.is_char_device());
        if inputs.has(&path) {
            return bad("is read by this very command", "give the new file another name");
        }
        if kind.is_some_and(|kind| !kind.is_file()) && !stream {
            return bad("it is there, and no ordinary file", "name a new file");
        }
        if inputs.outputs.contains(&path) && !stream {
            return bad("is to be written twice", "give each new file a name of its own");
        }
        inputs.outputs.push(path.clone());
        let output = OutputFile { name: name.to_owned(), path, stream };
        // What may not be written is not replaced either.
        let writable = || OpenOptions::new().write(true).open(&output.path).map(drop);
        let tried =
            if stream { Ok(()) } else { about.map_or(Ok(()), |_| writable()).and_then(|()| output.begin().map(drop)) };
        tried.map_err(|error| output.unwritable(&error))?;
        Ok(output)
    }

    /// The same, where one is wanted.
    pub fn if_wanted(name: Option<&PathBuf>, inputs: &mut Inputs) -> Result<Option<OutputFile>, VerbFailure> {
        name.map(|name| OutputFile::new(name, inputs)).transpose()
    }

    /// Writes all of it.
    pub fn write(&self, bytes: impl AsRef<[u8]>) -> Result<(), VerbFailure> {
        let written = if self.stream {
            OpenOptions::new().write(true).open(&self.path).and_then(|mut file| file.write_all(bytes.as_ref()))
        } else {
            self.begin().and_then(|draft| (&draft.file).write_all(bytes.as_ref()).and_then(|()| draft.keep()))
        };
        written.map_err(|error| self.unwritable(&error))
    }

    /// Writes it bit by bit.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_with(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), VerbFailure> {
        let written = self.begin().and_then(|draft| {
            let mut out = BufWriter::new(&draft.file);
            write(&mut out).and_then(|()| out.flush())?;
            drop(out);
            draft.keep()
        });
        written.map_err(|error| self.unwritable(&error))
    }

    /// Begins to write it, bit by bit.
    pub fn draft(&self) -> Result<PendingFile, VerbFailure> {
        if self.stream {
            let what = "it is there, and no ordinary file";
            return Err(BadInput::new(self.name.display().to_string(), At::File, what, "name a new file").into());
        }
        self.begin().map_err(|error| self.unwritable(&error))
    }

    /// Goes on with what was written of it, or begins: it stays as it is where the command is stopped. Says whether there was any.
    #[cfg(feature = "linux")]
    pub fn lasting_draft(&self) -> Result<(PendingFile, bool), VerbFailure> {
        let mut draft = self.path.clone().into_os_string();
        draft.push(".part");
        let draft = PathBuf::from(draft);
        let there = draft.exists();
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&draft);
        let file = file.map_err(|error| self.unwritable(&error))?;
        Ok((PendingFile { file, draft, path: self.path.clone(), stays: true }, there))
    }

    /// Where it will be.
    #[cfg(feature = "linux")]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn begin(&self) -> io::Result<PendingFile> {
        let mut draft = self.path.clone().into_os_string();
        draft.push(format!(".part{}", std::process::id()));
        let draft = PathBuf::from(draft);
        let file = File::create_new(&draft)?;
        drafts().push(draft.clone());
        Ok(PendingFile { file, draft, path: self.path.clone(), stays: false })
    }

    /// It cannot be written.
    pub fn unwritable(&self, error: &io::Error) -> VerbFailure {
        VerbFailure::unwritable(&self.name, error)
    }
}

/// Where a path leads. A link stays one: what it points to is written, also when that is not there yet.
fn resolve(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        let Ok(to) = fs::read_link(&path) else { break };
        // Streams of a process are links to what has no name.
        if fs::metadata(&path).is_ok_and(|about| !about.is_file()) {
            break;
        }
        path = path.parent().unwrap_or(Path::new("")).join(to);
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return path };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    folder.canonicalize().map_or(path.clone(), |folder| folder.join(name))
}

/// A file being written. Unless it is kept, it goes away again.
pub struct PendingFile {
    file: File,
    draft: PathBuf,
    path: PathBuf,
    /// Whether it is there when the command has ended.
    stays: bool,
}

impl PendingFile {
    /// Opens the file that is written to.
    pub fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// The name of a file beside it, for a part of it.
    pub fn beside(&self, number: usize) -> PathBuf {
        let mut part = self.draft.clone().into_os_string();
        part.push(format!(".{number}"));
        let part = PathBuf::from(part);
        drafts().push(part.clone());
        part
    }

    /// Gives it its name, once all of it is on the disk, and the permissions of what was there.
    pub fn keep(mut self) -> io::Result<()> {
        if let Ok(about) = self.path.metadata() {
            self.file.set_permissions(Permissions::clone(&about.permissions()))?;
        }
        match self.file.sync_all() {
            Err(error) if error.kind() != ErrorKind::InvalidInput => return Err(error),
            // There are file systems without.
            _ => {}
        }
        // Whoever clears drafts away waits until it has its name.
        let mut drafts = drafts();
        fs::rename(&self.draft, &self.path)?;
        drafts.retain(|draft| *draft != self.draft);
        self.stays = true;
        Ok(())
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        if !self.stays {
            // Nothing more can be done about it.
            let _ = fs::remove_file(&self.draft);
            drafts().retain(|draft| *draft != self.draft);
        }
    }
}

/// Makes a folder for what a command writes, unless it is there.
///
/// # Errors
/// When it cannot be made.
pub fn make_folder(folder: &Path) -> Result<(), VerbFailure> {
    if !folder.is_dir() {
        drafts().push(folder.to_owned());
        fs::create_dir_all(folder).map_err(|error| VerbFailure::unwritable(folder, &error))?;
    }
    Ok(())
}

/// What is being written, and folders that were made for it, to be cleared away when the user has had enough.
static DRAFTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn drafts() -> MutexGuard<'static, Vec<PathBuf>> {
    DRAFTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on an interrupt (Ctrl-C) ends the program as it does otherwise, but clears away what is not written whole. It is for verbs
/// that do not end by themselves on an interrupt.
///
/// # Errors
/// When the signal cannot be waited for.
#[cfg(feature = "linux")]
pub fn clear_on_interrupt() -> Result<(), VerbFailure> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let bad =
        |error: io::Error| BadInput::new("Ctrl-C", At::File, format!("cannot be waited for: {error}"), "try again");
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]).map_err(bad)?;
    std::thread::spawn(move || {
        for signal in signals.forever() {
            let drafts = drafts();
            for draft in drafts.iter() {
                // Of folders those that are empty. Nothing more can be done about it.
                let _ = fs::remove_file(draft).or_else(|_| fs::remove_dir(draft));
            }
            // It ends the program while the list is held, so that no other draft is begun.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    });
    Ok(())
}

/// Elsewhere drafts stay when the program is interrupted.
#[cfg(not(feature = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "it can fail where there are signals")]
pub fn clear_on_interrupt() -> Result<(), VerbFailure> {
    Ok(())
}
