//! The rows of a sweep's shards as those of the whole.

use block::{At, BadInput};
use serde::Deserialize;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// What of a row says where it belongs.
#[derive(Deserialize)]
struct RowHead {
    sweep: String,
    points: usize,
    number: usize,
    point: String,
}

/// Where a row stands: which file, its place, and how long it is.
struct Place {
    file: usize,
    at: u64,
    bytes: usize,
    hash: String,
}

/// The rows of a whole sweep, in files of its shards.
pub struct MergedRows {
    files: Vec<File>,
    rows: Vec<Place>,
}

impl MergedRows {
    /// Those in these files.
    ///
    /// # Errors
    /// When one of them is not of rows, they are of several sweeps, or some points are in none of them.
    pub fn open(names: &[PathBuf]) -> Result<MergedRows, BadInput> {
        let (mut files, mut rows, mut sweep) = (Vec::new(), Vec::<Option<Place>>::new(), None::<String>);
        for (number, name) in names.iter().enumerate() {
            let bad = |at, what: String, mend| BadInput::new(name.display().to_string(), at, what, mend);
            let unread = |error: io::Error| {
                let mend = "run the sweep of that shard to its end: it goes on where it was";
                bad(At::File, format!("cannot be read: {error}"), mend)
            };
            let file = File::open(name).map_err(unread)?;
            let (mut reader, mut text, mut at) = (BufReader::new(&file), String::new(), 0);
            for line in 1.. {
                text.clear();
                let bytes = reader.read_line(&mut text).map_err(unread)?;
                if bytes == 0 {
                    break;
                }
                let head: RowHead = serde_json::from_str(&text).map_err(|error| {
                    bad(
                        At::Line(line),
                        format!("is not a row of a sweep: {error}"),
                        "give a folder of `halfturn sweep`",
                    )
                })?;
                if sweep.get_or_insert_with(|| head.sweep.clone()) != &head.sweep || head.number >= head.points {
                    let mend = "give the shards of one sweep, made by one program";
                    return Err(bad(At::Line(line), format!("is of another sweep than {}", names[0].display()), mend));
                }
                rows.resize_with(head.points, || None);
                rows[head.number].get_or_insert(Place { file: number, at, bytes, hash: head.point });
                at += bytes as u64;
            }
            files.push(file);
        }
        let absent = rows.iter().filter(|row| row.is_none()).count();
        if absent > 0 || rows.is_empty() {
            let first = rows.iter().position(Option::is_none).unwrap_or(0);
            let what =
                format!("{absent} of {} points are in none of the folders, the first number {first}", rows.len());
            return Err(BadInput::new("merge", At::File, what, "give the folders of all shards"));
        }
        Ok(MergedRows { files, rows: rows.into_iter().flatten().collect() })
    }

    /// How many points there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// The hash of each point, and the number of the file that its row is in.
    pub fn hashes(&self) -> impl Iterator<Item = (&str, usize)> {
        self.rows.iter().map(|row| (row.hash.as_str(), row.file))
    }

    /// Writes all rows, in their order.
    ///
    /// # Errors
    /// When they cannot be read or written.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut text = Vec::new();
        for Place { file, at, bytes, .. } in &self.rows {
            text.resize(*bytes, 0);
            self.files[*file].read_exact_at(&mut text, *at)?;
            out.write_all(&text)?;
        }
        Ok(())
    }
}
