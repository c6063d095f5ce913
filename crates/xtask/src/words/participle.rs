//! Whether a name is a past participle and nothing else. Judged by its ending and a list of irregular verbs; words that only look
//! like one are listed.

/// End in `ed` and are none; `required` is what builders of options call it (clap).
const NOT: [&str; 15] = [
    "bed", "embed", "exceed", "feed", "hundred", "indeed", "need", "proceed", "red", "required", "seed", "shed",
    "speed", "succeed", "weed",
];

/// Of irregular verbs: preterite and participle. What is also a noun of the field (`bound`, `set`, `read`, `put`) is not here.
const IRREGULAR: [&str; 72] = [
    "came",
    "gone",
    "went",
    "left",
    "held",
    "kept",
    "sent",
    "told",
    "took",
    "taken",
    "gave",
    "given",
    "began",
    "begun",
    "did",
    "done",
    "lost",
    "made",
    "meant",
    "met",
    "paid",
    "said",
    "saw",
    "seen",
    "shown",
    "slept",
    "spent",
    "stood",
    "taught",
    "thought",
    "threw",
    "thrown",
    "understood",
    "woke",
    "woken",
    "won",
    "wrote",
    "written",
    "drew",
    "drawn",
    "drove",
    "driven",
    "fell",
    "fallen",
    "felt",
    "forgot",
    "forgotten",
    "found",
    "froze",
    "frozen",
    "got",
    "grew",
    "grown",
    "heard",
    "hid",
    "hidden",
    "knew",
    "known",
    "laid",
    "led",
    "built",
    "bought",
    "brought",
    "broke",
    "broken",
    "born",
    "caught",
    "chose",
    "chosen",
    "dealt",
    "fed",
    "swept",
];

pub fn is(name: &str) -> bool {
    IRREGULAR.contains(&name) || name.ends_with("ed") && !name.contains('_') && !NOT.contains(&name)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_participle_is_told_from_a_verb_a_noun_and_a_phrase() {
        assert!(["came", "left", "asked", "served"].iter().all(|name| super::is(name)));
        assert!(!["feed", "seed", "bound", "is_served", "take", "served_at"].iter().any(|name| super::is(name)));
    }
}
