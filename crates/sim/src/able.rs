//! What this world can do.

use load::schedule::Ability;

/// All but serve from a device whose times nobody tells it.
pub const ABLE: &[Ability] = &[
    Ability::Arrays,
    Ability::Growth,
    Ability::Processes,
    Ability::Perfection,
    Ability::Trials,
    Ability::Profiling,
    Ability::Angles,
    Ability::Probing,
    Ability::LateHost,
];
