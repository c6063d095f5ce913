//! The counts that the next ones are compared with, and the compiler they hold for.

use super::callgrind::Layers;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Where they are, of the workspace.
pub const FILE: &str = "tests/budget.toml";

/// By how much a count may exceed its budget: what another machine's `memcpy` and the like differ by is well below.
const SLACK: f64 = 0.02;

const ABOUT: &str = "\
# Instructions a command by scene, drive and layer: what `cargo xtask budget --write` counted. Raise a line only with a
# reason beside it in the commit.

";

/// Counts of one scene on one drive.
pub type SceneCounts = BTreeMap<String, Layers>;

/// The counts that the repository holds.
#[derive(Default, Serialize, Deserialize)]
pub struct Baseline {
    /// The compiler; another one's counts are not comparable.
    pub rustc: String,
    /// By drive or table of costs, scene and layer.
    #[serde(flatten)]
    pub groups: BTreeMap<String, SceneCounts>,
}

impl Baseline {
    /// The one of the workspace; an empty one where there is none yet.
    pub fn load(root: &Path) -> Result<Baseline, String> {
        match std::fs::read_to_string(root.join(FILE)) {
            Ok(text) => toml::from_str(&text).map_err(|error| format!("{FILE}: {error}")),
            Err(_) => Ok(Baseline::default()),
        }
    }

    /// Writes the baseline's file.
    pub fn save(&self, root: &Path) -> Result<(), String> {
        let mut text = format!("{ABOUT}rustc = \"{}\"\n", self.rustc);
        for (drive, scenes) in &self.groups {
            let quote = if drive.contains(' ') { "\"" } else { "" };
            text += &format!("\n[{quote}{drive}{quote}]\n");
            for (scene, layers) in scenes {
                let layers: Vec<String> = layers.iter().map(|(layer, count)| format!("{layer} = {count}")).collect();
                text += &format!("\"{scene}\" = {{ {} }}\n", layers.join(", "));
            }
        }
        std::fs::write(root.join(FILE), text).map_err(|error| format!("{FILE}: {error}"))
    }

    /// What is to be said of these counts of a scene: nothing where they are within the budget.
    pub fn excess_of(&self, drive: &str, scene: &str, counted: &Layers) -> Option<String> {
        let budget = self.groups.get(drive)?.get(scene)?;
        let (now, then): (i64, i64) = (counted.values().sum(), budget.values().sum());
        let most = then as f64 * SLACK;
        // A layer is below zero where code that the compiler shares counted for another one in the longer run: it cost nothing.
        let more = |layer: &str, count: i64| (count - budget.get(layer).copied().unwrap_or(0).max(0)) as f64;
        // One layer's gain does not pay for another's loss.
        let grown = |least: f64| counted.iter().filter(move |(layer, count)| more(layer, **count) > least);
        if now as f64 - then as f64 <= most && grown(most).next().is_none() {
            return None;
        }
        let told =
            |(layer, count): (&String, &i64)| format!("{layer} {} -> {count}", budget.get(layer).copied().unwrap_or(0));
        let grown: Vec<String> = grown(most / 4.0).map(told).collect();
        Some(format!("{scene}, {drive}: {then} -> {now}; {}", grown.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers(of: &[(&str, i64)]) -> Layers {
        of.iter().map(|(layer, count)| ((*layer).to_owned(), *count)).collect()
    }

    fn baseline() -> Baseline {
        let scenes = SceneCounts::from([("fcfs@1".to_owned(), layers(&[("core", 600), ("drive", 400)]))]);
        Baseline { rustc: "1".into(), groups: BTreeMap::from([("catalogue".to_owned(), scenes)]) }
    }

    #[test]
    fn two_per_cent_are_within_the_budget_and_three_are_not() {
        let excess_of = |of: &[(&str, i64)]| baseline().excess_of("catalogue", "fcfs@1", &layers(of));
        assert_eq!(excess_of(&[("core", 610), ("drive", 410)]), None);
        assert_eq!(excess_of(&[("core", 100), ("drive", 400)]), None);
        let told = excess_of(&[("core", 631), ("drive", 400)]).unwrap();
        assert_eq!(told, "fcfs@1, catalogue: 1000 -> 1031; core 600 -> 631");
    }

    #[test]
    fn a_layer_below_zero_cost_nothing() {
        let mut baseline = baseline();
        let scenes = SceneCounts::from([("fcfs@1".to_owned(), layers(&[("core", 1010), ("rest", -10)]))]);
        baseline.groups.insert("catalogue".into(), scenes);
        let excess_of = |of: &[(&str, i64)]| baseline.excess_of("catalogue", "fcfs@1", &layers(of));
        assert_eq!(excess_of(&[("core", 985), ("rest", 15)]), None);
        assert!(excess_of(&[("core", 985), ("rest", 25)]).is_some());
    }

    #[test]
    fn what_one_layer_saves_does_not_pay_for_another() {
        let told = baseline().excess_of("catalogue", "fcfs@1", &layers(&[("core", 400), ("drive", 500)]));
        assert_eq!(told.unwrap(), "fcfs@1, catalogue: 1000 -> 900; drive 400 -> 500");
    }

    #[test]
    fn a_scene_without_a_budget_exceeds_none() {
        assert_eq!(baseline().excess_of("catalogue", "satf@50", &layers(&[("core", 631)])), None);
    }
}
