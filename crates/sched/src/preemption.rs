//! Whose requests interrupt others: the rules there are, and what each needs and says of itself.

use crate::predict::Tells;
use config::{About, Word, Words};

config::keys! {
    /// How many times as much the request that steps in must yield.
    pub HYSTERESIS: f64 = number("hysteresis", 1.0, 1e6).usually("1");
}

/// What users are told of a rule of preemption.
#[derive(Clone, Copy, Debug)]
pub struct Manual {
    /// What it is called in a file.
    pub name: &'static str,
    /// Whose requests interrupt others.
    pub text: &'static str,
    /// Its keys in `[scheduler]`.
    pub keys: &'static [About],
    /// Lines of `[scheduler]` that ask for it.
    pub example: &'static str,
    /// What a predictor must tell for it to be of use; with one that tells nothing of times it may mean nothing at all.
    pub needs: Tells,
}

/// Makes of the rules one type, [`Preemption`], and the list of all.
macro_rules! rules {
    ($($(#[$doc:meta])* $rule:ident = $manual:expr;)*) => {
        /// Whose requests go before whose, and interrupt them.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum Preemption {
            $($(#[$doc])* $rule,)*
        }

        impl Preemption {
            /// What users are told of it.
            #[must_use]
            pub const fn manual(self) -> Manual {
                match self { $(Preemption::$rule => $manual,)* }
            }
        }

        /// What users are told of each rule, in the order in which they are explained.
        pub const ALL: &[Manual] = &[$(Preemption::$rule.manual()),*];

        impl Words for Preemption {
            const WORDS: &'static [Word<Preemption>] = &[
                $(Word::new(Preemption::$rule.manual().name, Preemption::$rule, Preemption::$rule.manual().text)),*
            ];
        }
    };
}

rules! {
    /// Nobody's.
    #[default]
    Never = Manual {
        name: "never",
        text: "Nobody interrupts.",
        keys: &[],
        example: "preemption = \"never\"",
        needs: Tells::Order,
    };
    /// Those of the classes that preempt.
    Always = Manual {
        name: "always",
        text: "Classes of more than the lowest priority interrupt; where all have the same, classes whose requests are all shorter than the longest.",
        keys: &[],
        example: "preemption = \"always\"",
        needs: Tells::Order,
    };
    /// Those of a higher priority, if their class preempts.
    Priority = Manual {
        name: "priority",
        text: "Requests of a higher priority interrupt.",
        keys: &[],
        example: "preemption = \"priority\"",
        needs: Tells::Order,
    };
    /// One that has come, if serving it first and then the rest of the other yields more a second than the other way round
    /// (Preemptive RAID scheduling, Eq. 5).
    Conservative = Manual {
        name: "conservative",
        text: "A request that has just come interrupts if serving it first yields more once both are done (Preemptive RAID Scheduling, Equation 5).",
        keys: &[HYSTERESIS.about],
        example: "io = \"semi-preemptible\"\npreemption = \"conservative\"",
        needs: Tells::Way,
    };
    /// One that has come, if it yields more a second than the rest of the other (Section 3.3.2).
    Aggressive = Manual {
        name: "aggressive",
        text: "A request that has just come interrupts if it yields more for its time than the rest of the other (Preemptive RAID Scheduling, Section 3.3.2).",
        keys: &[HYSTERESIS.about],
        example: "io = \"semi-preemptible\"\npreemption = \"aggressive\"\nhysteresis = 1.2",
        needs: Tells::Way,
    };
    /// One that waits, if then whole schedules of the best few that wait yield more than when the other goes first.
    Lookahead = Manual {
        name: "lookahead",
        text: "Whoever waits interrupts if whole schedules of the best few that wait then yield more.",
        keys: &[HYSTERESIS.about],
        example: "io = \"semi-preemptible\"\npreemption = \"lookahead\"",
        needs: Tells::Times,
    };
    /// Those of classes that something is promised, when else the promise would not be kept.
    Slo = Manual {
        name: "slo",
        text: "Classes with a `p99` interrupt, and only when the promise would not be kept otherwise.",
        keys: &[],
        example: "io = \"semi-preemptible\"\npreemption = \"slo\"\nclass.interactive.p99 = \"50ms\"",
        needs: Tells::Way,
    };
}

impl Preemption {
    /// Whether it ranks requests, those of one rank before all of another.
    #[must_use]
    pub fn ranks(self) -> bool {
        matches!(self, Preemption::Always | Preemption::Priority | Preemption::Slo)
    }

    /// Whether each one that comes is asked about by itself.
    #[must_use]
    pub fn weighs(self) -> bool {
        matches!(self, Preemption::Conservative | Preemption::Aggressive | Preemption::Lookahead | Preemption::Slo)
    }
}
