//! A drive that manages shingled tracks by itself, as its file describes it.
//!
//! The model and its words are those of Skylight (A. Aghayev, P. Desnoyers, FAST 2015): a persistent cache at the outer edge of the
//! disk takes what is written at random; tracks are shingled in bands, each of which can only be written anew from its beginning; a
//! band is cleaned by reading it, merging what the cache holds of it, and writing it back.

use super::keys::time;
use super::{Form, Kind};
use crate::Drive;
use block::{BadInput, Span};
use config::Section;
use std::path::Path;

config::keys! {
    /// The disk with the same mechanics: a name of the catalogue, or the path of a drive file. Its outermost blocks are the media cache.
    ON: String = text("on").required();
    /// Size of the media cache.
    MEDIA_CACHE: u64 = size("media_cache").usually("20GiB");
    /// The most extents that the media cache holds, whatever their size.
    EXTENTS: u32 = within("extents", 1, 1 << 24).usually("180000");
    /// Size of a band.
    BAND: u64 = size("band").usually("30MiB");
    /// How long nothing must come before bands are cleaned.
    CLEANS_AFTER: Span = span("cleans_after").usually("1s");
    /// The least time of a write into the media cache, which keeps its own records beside the data.
    APPEND: Span = span("append").usually("1.8ms");
}

pub(super) static FORM: Form = Form {
    word: "smr",
    what: "a drive of shingled tracks",
    keys: &[ON.about, MEDIA_CACHE.about, EXTENTS.about, BAND.about, CLEANS_AFTER.about, APPEND.about],
    example: "kind = \"smr\"
title = \"shingled, and managed by the drive\"
on = \"exos-x18\"
media_cache = \"20GiB\"
band = \"30MiB\"",
    text: "Shingled tracks that the drive manages by itself: random writes go to a media cache at the outer edge and from there, when nothing comes or it is full, into their bands, each of which is read and written whole; a stream over a band's beginning goes straight to it. One command at a time, in the order they come.",
    least_depth: 1,
    read,
};

/// A drive of shingled tracks; sizes in blocks.
#[derive(Clone, Debug)]
pub struct Smr {
    /// The disk, without regard to shingles.
    pub drive: Drive,
    /// Size of the media cache, the outermost blocks of the disk; at least two bands.
    pub media_cache: u64,
    /// The most extents in it.
    pub extents: u32,
    /// Size of a band.
    pub band: u64,
    /// How long nothing must come before bands are cleaned.
    pub cleans_after: Span,
    /// The least time of a write into the media cache.
    pub append: Span,
}

impl Smr {
    /// Blocks that a host may address; the last band may be shorter.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.drive.sheet.mechanics.layout.blocks() - self.media_cache
    }
}

fn read(root: &Section, folder: &Path) -> Result<Kind, BadInput> {
    let drive = super::inner(root, &ON, folder)?;
    let smr = Smr {
        media_cache: root.value(&MEDIA_CACHE)?,
        extents: root.value(&EXTENTS)?,
        band: root.value(&BAND)?,
        cleans_after: time(root, &CLEANS_AFTER)?,
        append: time(root, &APPEND)?,
        drive,
    };
    let blocks = smr.drive.sheet.mechanics.layout.blocks();
    if !(8..=1 << 24).contains(&smr.band) {
        return Err(root.error("band", "no band has this size", "give one from 4KiB to 8GiB, e.g. 30MiB"));
    }
    if smr.media_cache < 2 * smr.band || smr.media_cache > blocks / 2 || smr.media_cache + smr.band > blocks {
        let what = format!("a media cache of {} blocks does not go with this band and disk", smr.media_cache);
        return Err(root.error("media_cache", what, "give at least two bands, and at most half of the disk"));
    }
    Ok(Kind::Smr(Box::new(smr)))
}
