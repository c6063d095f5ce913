//! What is said of a run: a table, a crate a row, and who survived.

use super::gate::{Gate, Survivors};
use super::site::Site;
use super::trial::Fate;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// A mutant that was tried.
pub struct TriedMutant {
    pub site: Site,
    pub fate: Fate,
    pub took: Duration,
}

#[derive(Default)]
struct CrateRow {
    drawn: usize,
    unreached: usize,
    caught: usize,
    survived: usize,
    equivalent: usize,
    took: Duration,
}

pub struct Report<'a> {
    pub gate: &'a Gate,
    pub survivors: &'a Survivors,
    pub tried: &'a [TriedMutant],
}

impl Report<'_> {
    /// The table; `survived` counts the unreached too, and neither those that are equivalent.
    pub fn table(&self) -> String {
        let mut rows: BTreeMap<&str, CrateRow> = BTreeMap::new();
        let mut all = CrateRow::default();
        for tried in self.tried {
            for row in [rows.entry(tried.site.krate()).or_default(), &mut all] {
                self.count(row, tried);
            }
        }
        let mut out = format!(
            "{:<10} {:>6} {:>10} {:>9} {:>7} {:>9} {:>8} {:>8}\n",
            "crate", "drawn", "equivalent", "unreached", "caught", "survived", "caught %", "seconds"
        );
        let of_gate = self.gate.crates.iter().filter_map(|name| rows.get_key_value(&**name));
        for (name, row) in of_gate.map(|(name, row)| (*name, row)).chain([("all", &all)]) {
            let _ = writeln!(
                out,
                "{name:<10} {:>6} {:>10} {:>9} {:>7} {:>9} {:>8.1} {:>8.1}",
                row.drawn,
                row.equivalent,
                row.unreached,
                row.caught,
                row.survived,
                row.share(),
                row.took.as_secs_f64()
            );
        }
        out
    }

    fn count(&self, row: &mut CrateRow, tried: &TriedMutant) {
        row.drawn += 1;
        row.took += tried.took;
        match tried.fate {
            Fate::Caught(_) => row.caught += 1,
            _ if self.survivors.of(&tried.site).is_some_and(|known| known.equivalent.is_some()) => row.equivalent += 1,
            Fate::Unreached => (row.unreached, row.survived) = (row.unreached + 1, row.survived + 1),
            Fate::Survived(_) => row.survived += 1,
        }
    }

    /// The share caught, in percent.
    pub fn share(&self) -> f64 {
        let mut all = CrateRow::default();
        self.tried.iter().for_each(|tried| self.count(&mut all, tried));
        all.share()
    }

    /// Survivors that are not listed.
    pub fn unlisted_survivors(&self) -> Vec<&TriedMutant> {
        let lives = |tried: &&TriedMutant| tried.lives() && self.survivors.of(&tried.site).is_none();
        self.tried.iter().filter(lives).collect()
    }

    /// Mutants that are listed as survivors, and were caught.
    pub fn outdated_survivors(&self) -> Vec<&TriedMutant> {
        let caught = |tried: &&TriedMutant| !tried.lives() && self.survivors.of(&tried.site).is_some();
        self.tried.iter().filter(caught).collect()
    }
}

impl CrateRow {
    fn share(&self) -> f64 {
        100.0 * self.caught as f64 / (self.drawn - self.equivalent).max(1) as f64
    }
}

impl TriedMutant {
    /// Whether no test has found it.
    pub fn lives(&self) -> bool {
        !matches!(self.fate, Fate::Caught(_))
    }

    /// Where, what, and how it fared.
    pub fn describe(&self) -> String {
        let fate = match &self.fate {
            Fate::Caught(by) => format!("caught by {by}"),
            Fate::Survived(tests) => format!("{tests} tests passed it"),
            Fate::Unreached => "no test reaches it".into(),
        };
        describe(&self.site, &fate)
    }
}

/// Where a mutant is, what it is, and what became of it.
pub fn describe(site: &Site, fate: &str) -> String {
    let Site { file, line, function, before, after, operator, .. } = site;
    format!("{file}:{line}: {function}: {operator}: {fate}\n  - {before}\n  + {after}\n")
}

/// A mutant as an entry of `survivors.toml`, its reason to be written.
pub fn entry(site: &Site) -> String {
    // What JSON escapes in a string, TOML does too.
    let quoted = |text: &String| serde_json::Value::String(text.clone()).to_string();
    let [file, function, before, after] = [&site.file, &site.function, &site.before, &site.after].map(quoted);
    format!("[[survivor]]\nfile = {file}\nfunction = {function}\nline = {before}\nbecomes = {after}\n")
}
