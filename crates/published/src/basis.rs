//! What a published number is: not all of them say as much.

use block::BadInput;
use config::Section;

/// What a target's published number rests on: `basis`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Basis {
    /// `published`: the paper prints it, and nothing here was chosen by it.
    Published,
    /// `fitted`: the paper prints it, and a constant of the model was chosen so as to meet it: which one. Agreement shows
    /// consistency, and is no prediction.
    Fitted(String),
    /// `derived`: it follows from what the paper prints: how.
    Derived(String),
    /// `construction`: the model cannot but meet it: why.
    Construction(String),
    /// `repeat`: another target holds the same figure against the same measure: its id.
    Repeat(String),
    /// `own`: no paper says it; an aim, or a comparison of our own.
    Own,
}

/// All words of `basis`, in the order in which they are counted.
pub const BASES: [&str; 6] = ["published", "fitted", "derived", "construction", "repeat", "own"];

impl Basis {
    /// The word that a file states it with.
    #[must_use]
    pub fn word(&self) -> &'static str {
        BASES[match self {
            Basis::Published => 0,
            Basis::Fitted(_) => 1,
            Basis::Derived(_) => 2,
            Basis::Construction(_) => 3,
            Basis::Repeat(_) => 4,
            Basis::Own => 5,
        }]
    }

    /// How it was derived, on what it was fitted, why it holds by construction, what it repeats.
    #[must_use]
    pub fn how(&self) -> Option<&str> {
        match self {
            Basis::Fitted(how) | Basis::Derived(how) | Basis::Construction(how) | Basis::Repeat(how) => Some(how),
            Basis::Published | Basis::Own => None,
        }
    }

    /// Whether its number counts among those a paper prints.
    #[must_use]
    pub fn is_printed(&self) -> bool {
        matches!(self, Basis::Published | Basis::Fitted(_))
    }

    /// The same with another `how`.
    #[must_use]
    pub(crate) fn with(self, change: impl Fn(&str) -> String) -> Basis {
        match self {
            Basis::Fitted(how) => Basis::Fitted(change(&how)),
            Basis::Derived(how) => Basis::Derived(change(&how)),
            Basis::Construction(how) => Basis::Construction(change(&how)),
            Basis::Repeat(how) => Basis::Repeat(change(&how)),
            plain @ (Basis::Published | Basis::Own) => plain,
        }
    }

    /// Reads `basis` and `how`.
    pub(crate) fn read(section: &Section) -> Result<Basis, BadInput> {
        let choices: Vec<(&str, &str)> = BASES.iter().map(|word| (*word, *word)).collect();
        let word = section.need("basis", section.choice("basis", &choices)?)?;
        let how = section.string("how")?;
        let of: fn(String) -> Basis = match word {
            "fitted" => Basis::Fitted,
            "derived" => Basis::Derived,
            "construction" => Basis::Construction,
            "repeat" => Basis::Repeat,
            plain => {
                let basis = if plain == "own" { Basis::Own } else { Basis::Published };
                let spare = || section.error("how", format!("`how` beside basis = \"{plain}\""), "write it as `note`");
                return how.map_or(Ok(basis), |_| Err(spare()));
            }
        };
        section.need("how", how).map(of)
    }
}
