//! `--report` and `--window`: the page with what went on, and which part of it.

use super::outputs::{Inputs, OutputFile};
use crate::failure::VerbFailure;
use crate::report::{Panoramas, Pictured, RunsSummary};
use block::{At, BadInput, Span, Time, units};
use clap::Args;
use flow::PictureScope;
use std::path::PathBuf;

/// So many bars a page may have; some eight of them take a kilobyte, and a page is to open at once.
const MOST: usize = 8_000;

/// Where to write a page with a timeline, and of what.
#[derive(Args)]
pub struct PageArgs {
    /// Also write a page into this file (HTML, opens offline): where runs are compared, which won, by how much and how sure that
    /// is, and figures that compare them; what is printed; and a zoomable timeline: of each process when it ran, could run, and
    /// waited for which request; of each disk which request it had and what it did for it. Of a block trace: what it asks for,
    /// where and how often over time
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// The part of a run that the timeline shows, e.g. 2s..2.5s [default: from the beginning, as much as a page holds]
    #[arg(long, value_name = "FROM..TO", requires = "report")]
    window: Option<String>,
}

impl PageArgs {
    /// Whether one is wanted.
    pub fn is_wanted(&self) -> bool {
        self.report.is_some()
    }

    /// Whether a part of a run is asked for.
    pub fn has_window(&self) -> bool {
        self.window.is_some()
    }

    /// What is kept of each of so many runs.
    ///
    /// # Errors
    /// When the window is none.
    pub fn scope(&self, runs: usize) -> Result<PictureScope, BadInput> {
        let most = MOST / runs.max(1);
        let Some(text) = &self.window else { return Ok(PictureScope { from: Time::ZERO, to: Time::NEVER, most }) };
        let bad = |what: String| BadInput::new("--window", At::File, what, "write FROM..TO, such as 2s..2.5s or 10s..");
        let (from, to) =
            text.split_once("..").ok_or_else(|| bad(format!("'{text}' is not from one time to another")))?;
        let time = |side: &str, open| match side.trim() {
            "" => Ok(open),
            side => units::span(side).map(|Span(span)| Time(span)).map_err(bad),
        };
        let (from, to) = (time(from, Time::ZERO)?, time(to, Time::NEVER)?);
        if from >= to {
            return Err(bad(format!("'{text}' ends where it begins, or before")));
        }
        Ok(PictureScope { from, to, most })
    }

    /// Where the page goes, if one is wanted, for a command that reads this.
    ///
    /// # Errors
    /// When it cannot be written there.
    pub fn output(&self, inputs: &mut Inputs) -> Result<Option<PageFile>, VerbFailure> {
        Ok(OutputFile::if_wanted(self.report.as_ref(), inputs)?.map(PageFile))
    }
}

/// A page that is to be written.
pub struct PageFile(OutputFile);

impl PageFile {
    /// Writes it: what comes first where runs are compared, what was printed, and pictures with their headings.
    ///
    /// # Errors
    /// When a picture has nothing in it, since the run had ended by then, or the file cannot be written.
    pub fn write(
        &self,
        title: &str,
        summary: Option<&RunsSummary>,
        text: &str,
        pictures: &[(String, Pictured)],
    ) -> Result<(), VerbFailure> {
        if let Some((_, empty)) = pictures.iter().find(|(_, picture)| picture.is_empty()) {
            let what = format!("the run had ended by then, after {:.3} ms", empty.run_length().as_ms());
            return Err(BadInput::new("--window", At::File, what, "choose an earlier part of it").into());
        }
        self.0.write(Panoramas { title, summary, text, pictures }.page())
    }

    /// Writes a page that has no timeline.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_html(&self, html: String) -> Result<(), VerbFailure> {
        self.0.write(html)
    }
}
