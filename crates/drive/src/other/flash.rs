//! Flash memory: a command has a channel for a time that knows no place, and its data the bus.

use super::Timing;
use super::link::Link;
use crate::account::Parts;
use block::{Command, Span, Time, Verb};
use disk::other;

/// Flash memory, each channel with its own queue.
pub(super) struct Flash {
    /// When each channel is free.
    channels: Vec<Time>,
    read: Span,
    write: Span,
    bus: Link,
}

impl Flash {
    pub(super) fn new(flash: &other::Flash) -> Flash {
        Flash {
            channels: vec![Time::ZERO; usize::from(flash.channels)],
            read: flash.read,
            write: flash.write,
            bus: Link::new(flash.mb_s),
        }
    }
}

impl Timing for Flash {
    fn serve(&mut self, now: Time, Command { verb, at, .. }: Command) -> Parts {
        let channel = self.channels.iter_mut().min().expect("there is one");
        let mut parts = Parts::default();
        match verb {
            Verb::Read => {
                let began = now.max(*channel);
                let ready = began + self.read;
                let (from, to) = self.bus.carry(now, ready, at.blocks);
                (parts.queued, parts.overhead) = (began.since(now), self.read);
                (parts.bus, parts.transfer) = (from.since(ready), to.since(from));
                *channel = to;
            }
            Verb::Write { .. } => {
                let (from, to) = self.bus.carry(now, now, at.blocks);
                let began = to.max(*channel);
                (parts.bus, parts.transfer) = (from.since(now), to.since(from));
                (parts.queued, parts.overhead) = (began.since(to), self.write);
                *channel = began + self.write;
            }
            // What is complete is kept.
            Verb::Flush | Verb::Seek | Verb::Discard(_) => {}
        }
        parts
    }
}
