//! Words of drive files for what layouts have a choice of.

use super::Sparing;

/// What skews are given in.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Skew {
    Sectors,
    Revolutions,
}

impl Skew {
    /// How many of it make a revolution of a track of so many sectors.
    pub(crate) fn unit(self, sectors: u32) -> f64 {
        match self {
            Skew::Sectors => f64::from(sectors.max(1)),
            Skew::Revolutions => 1.0,
        }
    }
}

/// Words for the schemes.
pub(crate) const fn sparings(range: u32) -> [(&'static str, Sparing); 11] {
    [
        ("zone", Sparing::Zone),
        ("zone-slipping", Sparing::ZoneSlipping),
        ("none", Sparing::None),
        ("tracks", Sparing::Tracks),
        ("cylinder", Sparing::Cylinder),
        ("cylinder-slipping", Sparing::CylinderSlipping),
        ("cylinder-front", Sparing::CylinderFront),
        ("cylinder-front-slipping", Sparing::CylinderFrontSlipping),
        ("track", Sparing::Track),
        ("end-of-disk", Sparing::EndOfDisk),
        ("range", Sparing::Range(range)),
    ]
}
