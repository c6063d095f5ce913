//! Whole experiments: the same bytes from the same seed, the same drive for every scheduler, belief that is worth its
//! name, traces replayed as their mode says, searches that do not look at everything, and short commands that change
//! nothing but who may step in; all this on what is not a disk, as far as it can be; and a device learned in use, and in idle time.

mod accounts;
mod arrays;
mod belief;
mod believed;
mod bills;
mod bulk;
mod depths;
mod determinism;
mod effort;
mod exported;
mod faults;
mod files;
mod filmed;
mod free;
mod idle;
mod in_use;
mod late_host;
mod learning;
mod lookahead;
mod marks;
mod members;
mod mimicry;
mod mixes;
mod moving;
mod other;
mod pairs;
mod panorama;
mod parts;
mod plans;
mod prefetching;
mod promise;
mod rebuilds;
mod remedies;
mod replay;
mod requests;
mod scans;
mod schedules;
mod script;
mod shares;
mod short_commands;
mod sums;
mod told;
mod worth;
mod writes;
