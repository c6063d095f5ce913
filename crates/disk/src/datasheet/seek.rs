//! A seek curve through what a sheet prints: the seek over one track, the average, the full stroke.
//!
//! Two pieces that meet smoothly at the distance k: a + b·√d up to k, then c + e·d, with b = 2e√k and c = a + e·k. Over all
//! pairs of C cylinders, with κ = k/C, the mean is a + e·C·(1/3 + κ − κ²/3 + κ³/15), and the full stroke a + e·C·(1 + κ).

use super::{Assumptions, DataSheet, Seeks, refuse};
use block::BadInput;

/// Where the pieces meet, as a share of the stroke, where no full stroke is printed: that of the measured shape of `nl20`.
const KNEE: f64 = 0.316;

/// The curve of a drive file, ms and cylinders.
pub(super) struct Fitted {
    pub(super) a: f64,
    pub(super) b: f64,
    pub(super) knee: u32,
    pub(super) c: f64,
    pub(super) e: f64,
}

/// The mean beyond a, in units of e·C.
fn mean(knee: f64) -> f64 {
    1.0 / 3.0 + knee - knee * knee / 3.0 + knee * knee * knee / 15.0
}

/// What the full stroke takes beyond a, by what the mean does.
fn stretch(knee: f64) -> f64 {
    (1.0 + knee) / mean(knee)
}

/// The curve of a drive with so many cylinders.
pub(super) fn fit(
    sheet: &DataSheet,
    seeks: &Seeks,
    cylinders: u32,
    assumed: &mut Assumptions,
) -> Result<Fitted, BadInput> {
    let stroke = f64::from(cylinders);
    // Pairs on one cylinder take nothing, and count in the mean.
    let average = seeks.average / (1.0 - 1.0 / stroke);
    let (track, lead) = (seeks.track, seeks.lead);
    if average < track * 1.05 {
        let what = format!("one track takes {track:.2} ms, and the average seek {average:.2} ms");
        let option = if sheet.track_ms.is_some() { "--track-to-track" } else { "--seek" };
        return Err(refuse(option, what, "give the average seek, which is longer than that over one track"));
    }
    let (a, knee) = match sheet.full_stroke_ms {
        None => {
            let full = lead + (average - lead) * stretch(KNEE);
            let bounds = (lead + (average - lead) * 1.9, lead + (average - lead) * 2.6);
            assumed.take("full stroke", full, bounds, "ms", "the measured shape of a seek curve");
            (lead, KNEE)
        }
        Some(full) => [lead, track]
            .into_iter()
            .find_map(|a| Some((a, knee_of((full - a) / (average - a))?)))
            .ok_or_else(|| {
                let [least, most] = [1.0, 0.0].map(|knee| track + (average - track) * stretch(knee));
                let what = format!("a full stroke of {full} ms does not go with an average seek of {average:.2} ms");
                refuse("--full-stroke", what, format!("give one from {least:.1} to {most:.1} ms, or leave it out"))
            })?,
    };
    if a > track {
        assumed.take(
            "seek over a few tracks",
            a,
            (track, a * 1.3),
            "ms",
            "settling takes a fifth of the average, as on nl20",
        );
    }
    let e = (average - a) / (stroke * mean(knee));
    let knee = (knee * stroke).round();
    Ok(Fitted { a, b: 2.0 * e * knee.sqrt(), knee: knee as u32, c: a + e * knee, e })
}

/// Where the pieces must meet for the full stroke to be so many times the mean.
fn knee_of(wanted: f64) -> Option<f64> {
    if !(stretch(1.0)..=stretch(0.0)).contains(&wanted) {
        return None;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        // The later they meet, the less the full stroke stands out.
        if stretch(middle) > wanted { low = middle } else { high = middle }
    }
    Some(low)
}
