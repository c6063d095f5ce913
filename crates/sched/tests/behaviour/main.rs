//! What a core promises whoever drives it: the order each policy stands for, found by search as by looking at every
//! waiting request; each request ended exactly once, whatever happens; and served in short commands, each block moved
//! once and never stale. And where a plan takes the head to be, it is.

mod after;
mod buffered;
mod by_cylinder;
mod bytes;
mod cancelled;
mod ceph;
mod choices;
mod claims;
mod counted;
mod drawn_rules;
mod endings;
mod given_up;
mod growing;
mod handing_down;
mod idle;
mod inherited;
mod lines;
mod linux;
mod logged;
mod naive;
mod peers;
mod random;
mod retries;
mod short_commands;
mod stepping_in;
mod ties;
mod toy;
