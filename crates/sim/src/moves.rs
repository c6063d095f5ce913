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
    /// Commands for which the arm or the platter had something to do.
    served: u64,
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
            served: 0,
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
        let still = parts.seek == Span::ZERO && parts.rotation == Span::ZERO;
        self.hits += u64::from(still && command.verb == Verb::Read);
        if still {
            return;
        }
        self.served += 1;
        let layout = &self.layout.layout;
        if parts.seek > Span::ZERO {
            self.crossed += u64::from(cylinder(layout, command.at.start).abs_diff(self.cylinder));
            self.seeks += parts.seek;
        }
        self.cylinder = cylinder(layout, Lbn(command.at.end().0 - 1));
    }

    /// Adds what it counted to a system's account. Of seeks it is the mean over what was not answered from the buffer: were Table 4's
    /// 11.22 ms of seek over all of its 26,145 requests, of which 8,913 are hits, the others would seek for 17.0 ms each, and of
    /// their 21 ms of access time less would be left than their transfer and half a turn take, 10.5 ms.
    pub(crate) fn tell(&self, system: &mut SystemCounts) {
        let served = self.served.max(1) as f64;
        system.buffer_hits = self.hits as f64;
        system.seek_distance = self.crossed as f64 / served;
        system.seek_ms = self.seeks.as_ms() / served;
    }
}
