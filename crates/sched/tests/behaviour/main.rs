//! What a core promises whoever drives it: the order each policy stands for, found by search as by looking at every
//! waiting request; and each request ended exactly once, whatever happens.

mod choices;
mod endings;
mod naive;
mod random;
mod toy;
