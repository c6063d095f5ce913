//! What was read ahead in slack: a bounded number of frames, each a chunk long.

use block::{Extent, FrameId, Lbn, Outcome};

/// Frames of a disk at most.
pub(crate) const FRAMES: u32 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrameState {
    Free,
    /// Being read; of no use if a write met it meanwhile.
    Loading {
        stale: bool,
    },
    Loaded,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    at: Extent,
    state: FrameState,
}

/// The frames of a core.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frames {
    frames: Vec<Frame>,
    /// The one taken last: the oldest comes next.
    last: usize,
    /// How many are loaded.
    loaded: u32,
}

impl Frames {
    /// A frame to read `at` into: a free one, else the oldest.
    pub(crate) fn take(&mut self, at: Extent) -> FrameId {
        let frame = Frame { at, state: FrameState::Loading { stale: false } };
        if self.frames.len() < FRAMES as usize {
            self.frames.push(frame);
            return FrameId(self.frames.len() as u32 - 1);
        }
        let free = self.frames.iter().position(|frame| frame.state == FrameState::Free);
        self.last = free.unwrap_or((self.last + 1) % self.frames.len());
        self.loaded -= u32::from(self.frames[self.last].state == FrameState::Loaded);
        self.frames[self.last] = frame;
        FrameId(self.last as u32)
    }

    /// Notes that a frame's blocks were read, or not. Says whether they are of use.
    pub(crate) fn complete(&mut self, id: FrameId, outcome: Outcome) -> bool {
        let frame = &mut self.frames[id.0 as usize];
        let good = outcome == Outcome::Ok && frame.state == FrameState::Loading { stale: false };
        frame.state = if good { FrameState::Loaded } else { FrameState::Free };
        self.loaded += u32::from(good);
        good
    }

    /// `at` is written: what is held of it is stale.
    pub(crate) fn invalidate(&mut self, at: Extent) {
        for frame in &mut self.frames {
            if frame.at.start < at.end() && at.start < frame.at.end() {
                match frame.state {
                    FrameState::Loaded => {
                        frame.state = FrameState::Free;
                        self.loaded -= 1;
                    }
                    FrameState::Loading { .. } => frame.state = FrameState::Loading { stale: true },
                    FrameState::Free => {}
                }
            }
        }
    }

    /// Where block `from` is held, and how many blocks from there on, at most `most`.
    pub(crate) fn holds(&self, from: Lbn, most: u32) -> Option<(FrameId, u32, u32)> {
        if self.loaded == 0 {
            return None;
        }
        let held = |frame: &Frame| frame.state == FrameState::Loaded && frame.at.start <= from && from < frame.at.end();
        let at = self.frames.iter().position(held)?;
        let frame = self.frames[at].at;
        let into = (from.0 - frame.start.0) as u32;
        Some((FrameId(at as u32), into, (frame.blocks - into).min(most)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_come_is_held_until_it_is_written_or_the_oldest() {
        let mut frames = Frames::default();
        let id = frames.take(Extent::new(100, 50));
        assert_eq!(frames.holds(Lbn(100), 8), None);
        frames.complete(id, Outcome::Ok);
        assert_eq!(frames.holds(Lbn(120), 50), Some((id, 20, 30)));
        assert_eq!(frames.holds(Lbn(150), 1), None);
        frames.invalidate(Extent::new(149, 1));
        assert_eq!(frames.holds(Lbn(120), 50), None);
        let id = frames.take(Extent::new(200, 50));
        frames.invalidate(Extent::new(200, 1));
        frames.complete(id, Outcome::Ok);
        assert_eq!(frames.holds(Lbn(200), 8), None);
        for i in 0..2 * u64::from(FRAMES) {
            let id = frames.take(Extent::new(1000 + 50 * i, 50));
            frames.complete(id, Outcome::Ok);
        }
        assert_eq!(frames.holds(Lbn(1000), 1), None);
        assert!(frames.holds(Lbn(1000 + 50 * 127), 1).is_some());
        assert_eq!(frames.loaded, FRAMES);
    }
}
