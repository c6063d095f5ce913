//! How the arm moved for each command: what a system's account says of the disk (004 Table 3).

use block::{Command, Lbn, Span, Tag, Verb};
use disk::Layout;
use drive::Parts;
use load::results::SystemCounts;
use std::sync::Arc;

/// Counts moves on the disk of a layout.
pub(crate) struct Moves {
    layout: Arc<disk::Mechanics>,
    flying: Vec<Option<Command>>,
    /// The cylinder of the last command for which the arm moved.
    cylinder: u32,
    commands: u64,
    hits: u64,
    crossed: u64,
    seeks: Span,
}

fn cylinder(layout: &Layout, block: Lbn) -> u32 {
    layout.locate(block).track.cylinder
}

impl Moves {
    pub(crate) fn new(mechanics: &Arc<disk::Mechanics>) -> Moves {
        Moves {
            layout: Arc::clone(mechanics),
            flying: Vec::new(),
            cylinder: 0,
            commands: 0,
            hits: 0,
            crossed: 0,
            seeks: Span::ZERO,
        }
    }

    pub(crate) fn begin_command(&mut self, tag: Tag, command: Command) {
        let tag = tag.0 as usize;
        if self.flying.len() <= tag {
            self.flying.resize(tag + 1, None);
        }
        self.flying[tag] = Some(command).filter(|command| command.verb.transfers());
    }

    pub(crate) fn end_command(&mut self, tag: Tag, parts: Parts) {
        let Some(command) = self.flying.get_mut(tag.0 as usize).and_then(Option::take) else { return };
        self.commands += 1;
        let still = parts.seek == Span::ZERO && parts.rotation == Span::ZERO;
        self.hits += u64::from(still && command.verb == Verb::Read);
        if still {
            return;
        }
        let layout = &self.layout.layout;
        if parts.seek > Span::ZERO {
            self.crossed += u64::from(cylinder(layout, command.at.start).abs_diff(self.cylinder));
            self.seeks += parts.seek;
        }
        self.cylinder = cylinder(layout, Lbn(command.at.end().0 - 1));
    }

    /// Adds what it counted to a system's account.
    pub(crate) fn tell(&self, system: &mut SystemCounts) {
        let commands = self.commands.max(1) as f64;
        system.buffer_hits = self.hits as f64;
        system.seek_distance = self.crossed as f64 / commands;
        system.seek_ms = self.seeks.as_ms() / commands;
    }
}
