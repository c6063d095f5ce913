//! Whether what was found may be believed: a profile of a device that does not hold still, or of a host that is late, says so.

use crate::profile::DriveKnowledge;
use block::{BadInput, NS_PER_MS};
use disk::Drive;

/// Shares of fresh requests that may come a revolution or more off, beyond those whose seeks fail to settle: of a good profile, and
/// of one that is of any use.
const OFF: (f64, f64) = (0.05, 0.25);

/// How far a profile may be believed.
#[derive(Clone, Debug, PartialEq)]
pub enum Grade {
    /// It predicts what the drive does.
    Good,
    /// It does with the intervals it has, for this reason.
    Usable(String),
    /// It does not, for this reason.
    Refused(String),
}

impl DriveKnowledge {
    /// How far this may be believed, as the drive that its file gives when it is read back.
    #[must_use]
    pub fn judge(&self, read_back: &Result<Drive, BadInput>) -> Grade {
        let period = self.clock.mean_period() / NS_PER_MS;
        if let Err(error) = read_back {
            return Grade::Refused(format!("what was found is no drive: {}", error.what));
        }
        let overhead = self.moves.overhead();
        if !(0.0..period).contains(&overhead) {
            return Grade::Refused(format!(
                "an overhead of {overhead:.2} ms was found, and a turn takes {period:.2} ms"
            ));
        }
        let longest = self.moves.curve().iter().map(|(_, ms)| *ms).fold(0.0, f64::max);
        if longest <= 0.0 && self.geometry.all_cylinders() > 1 {
            return Grade::Refused("no move of the arm was found to take any time".into());
        }
        let tried = self.validation.pairs.len();
        let off = self.validation.late - self.late.share;
        let told =
            format!("{:.1} % of {tried} fresh requests came a revolution or more off", 100.0 * self.validation.late);
        match off {
            _ if tried == 0 => Grade::Usable("no fresh request could be asked to try it".into()),
            off if off > OFF.1 => Grade::Refused(told),
            off if off > OFF.0 => Grade::Usable(told),
            _ => Grade::Good,
        }
    }
}
