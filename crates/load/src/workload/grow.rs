//! An array that grows by a disk, or with copies by one for each: its rows move, one request after the other, until all of them lie on
//! the new disks, too.
//!
//! **A move is a load,** as a rebuild is: `Op::Move` reads some of the next rows and writes them to where they lie from then on.

use super::kind::{Manual, Recipe};
use super::sweep::{show_pace, show_share};
use super::{Draft, Workload, misfit, open};
use crate::draw::Draw;
use block::{BadInput, Extent, Op, Span, Time, units};
use config::Section;
use sched::array::{Geometry, Level};
use std::path::Path;

config::keys! {
    /// Size of each request at most; a row of stripe units, where that is more.
    SIZE: u32 = blocks("size").usually("4MiB");
    /// When the first request arrives.
    START: Span = span("start").usually("0s");
    /// Most requests in a given time.
    RATE: f64 = rate("rate").else_told("no cap");
}

/// The rows of an array move to a layout of more disks.
#[derive(Clone, Debug, PartialEq)]
pub struct GrowPlan {
    /// Blocks of a request at most; at least 1.
    pub blocks: u32,
    /// The time at which it begins.
    pub start: Span,
    /// Requests a second at most, where there is a cap.
    pub rate: Option<f64>,
    /// The array before: its level, disks and stripe unit in blocks; once that is known.
    pub former: Option<(Level, u16, u32)>,
}

impl Recipe for GrowPlan {
    const MANUALS: &'static [Manual] = &[Manual {
        name: "grow",
        text: "An `[array]` grows by a disk like its others, or with mirroring by one for each copy: row by row, what it holds moves to where it lies then. A service's array grows so by `halfturn array grow`.",
        keys: &[SIZE.about, START.about, RATE.about],
        only: &[],
        example: "kind = \"grow\"\nsize = \"4MiB\"",
        processes: false,
    }];

    fn read(_: &str, section: &Section, _: &Path) -> Result<GrowPlan, BadInput> {
        Ok(GrowPlan {
            blocks: section.value(&SIZE)?,
            start: section.value(&START)?,
            rate: open::rate(section, &RATE)?,
            former: None,
        })
    }

    fn build(&self, name: &str, blocks: u64, _: Draw) -> Result<Box<dyn Workload>, BadInput> {
        let wrong = |(what, mend): (String, String)| misfit(name, what, &mend);
        let (level, disks, unit) = self.former.ok_or_else(|| misfit(name, "there is no array", "add [array]"))?;
        // As large as a disk must be to hold its part of so many blocks.
        let columns = Geometry::new(level, disks, unit, unit.into()).map_err(wrong)?.columns();
        let geometry = Geometry::new(level, disks, unit, blocks / u64::from(columns)).and_then(Geometry::grow);
        Ok(Box::new(Growth::new(self, geometry.map_err(wrong)?)))
    }

    fn longest(&self) -> u32 {
        self.blocks
    }

    fn is_endless(&self) -> bool {
        false
    }

    fn grows(&self) -> bool {
        true
    }

    fn lie_on(&mut self, level: Level, disks: u16, unit: u32) {
        self.former = Some((level, disks, unit));
    }
}

struct Growth {
    /// Where blocks lie by now, and where they lay before the last request.
    geometry: Geometry,
    before: Geometry,
    /// Blocks of a request at most.
    blocks: u32,
    /// The least time between requests, where there is a cap.
    apart: Span,
    /// When the next request arrives; nothing while one is outstanding, and once nothing is to be moved.
    due: Option<Time>,
    /// Rows that the outstanding request moves.
    moving: u64,
    /// When the last was made, and ended.
    made: Time,
    ended: Time,
    began: Time,
    /// Whether rows could not be moved.
    is_stuck: bool,
}

impl Growth {
    fn new(plan: &GrowPlan, geometry: Geometry) -> Growth {
        let began = Time::ZERO + plan.start;
        Growth {
            geometry,
            before: geometry,
            blocks: plan.blocks,
            apart: plan.rate.map_or(Span::ZERO, |rate| Span((1e9 / rate) as u64)),
            due: Some(began),
            moving: 0,
            made: began,
            ended: began,
            began,
            is_stuck: false,
        }
    }
}

impl Workload for Growth {
    fn due(&self) -> Option<Time> {
        self.due
    }

    fn make(&mut self) -> Result<Draft, BadInput> {
        let arrives = self.due.take().unwrap_or(Time::NEVER);
        self.made = arrives;
        let at = self.geometry.next_move(self.blocks);
        (self.before, self.moving) = (self.geometry, u64::from(at.blocks) / self.geometry.row_blocks());
        Ok(Draft { arrives, op: Op::Move, at })
    }

    fn end_request(&mut self, now: Time, _: Extent) {
        self.geometry = self.geometry.moved_to(self.geometry.moved_rows() + self.moving);
        self.ended = now;
        self.due = self.geometry.is_growing().then(|| now.max(self.made + self.apart));
    }

    fn note_failed(&mut self, _: Extent) {
        self.geometry = self.before;
        (self.due, self.is_stuck) = (None, true);
    }

    fn notes(&self) -> Vec<String> {
        let (rows, moved) = (self.geometry.rows(), self.geometry.moved_rows());
        if moved == 0 {
            return vec!["nothing of it was moved".into()];
        }
        let took = self.ended.since(self.began).as_secs();
        let pace = (moved * self.geometry.row_blocks()) as f64 / took.max(1e-9);
        let (disks, told) = (self.geometry.disks(), show_pace(pace));
        let share = show_share(moved as f64 / rows as f64);
        vec![match () {
            () if !self.geometry.is_growing() => format!("it lies on {disks} disks after {took:.1} s, at {told}"),
            () if self.is_stuck => format!("{share} lies on {disks} disks; the next rows could not be moved"),
            () => {
                let whole = units::show_long(Span(((rows * self.geometry.row_blocks()) as f64 / pace * 1e9) as u64));
                format!("{share} lies on {disks} disks, at {told}: at this load all of it takes {whole}")
            }
        }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Rows are asked for one request after the other, none left out, and none before what lay there has moved.
    #[test]
    fn every_row_is_moved_once_and_none_before_its_place_is_free() {
        for (level, disks) in [
            (Level::Striped, 1),
            (Level::Striped, 4),
            (Level::Parity, 3),
            (Level::DoubleParity, 7),
            (Level::Mirrored { copies: 2 }, 4),
            (Level::Mirrored { copies: 3 }, 3),
        ] {
            for size in [1, 256, 4096] {
                let former = Some((level, disks, 128));
                let plan = GrowPlan { blocks: size, start: Span(SECOND), rate: None, former };
                let before = Geometry::new(level, disks, 128, 128 * 5000).expect("it can be");
                let mut geometry = before.grow().expect("it grows");
                let mut growth = plan.build("grow", before.blocks(), Draw::new(1, 0)).expect("it fits");
                let (mut now, mut next) = (Time::ZERO, 0);
                while let Some(due) = growth.due() {
                    now = now.max(due);
                    let draft = growth.make().expect("it makes one");
                    assert_eq!((draft.op, draft.at.start.0), (Op::Move, next), "{level:?} {size}");
                    assert_eq!(growth.due(), None, "one at a time");
                    let rows = u64::from(draft.at.blocks) / geometry.row_blocks();
                    assert!(rows == 1 || rows <= geometry.free_rows(), "{level:?} {size}: {rows}");
                    assert!(rows == 1 || draft.at.blocks <= size, "{level:?} {size}: {rows}");
                    next = draft.at.end().0;
                    geometry = geometry.moved_to(next / geometry.row_blocks());
                    now += Span(SECOND / 100);
                    growth.end_request(now, draft.at);
                }
                assert!(!geometry.is_growing());
                assert_eq!(next, geometry.blocks());
                let told = growth.notes().remove(0);
                assert!(told.starts_with(&format!("it lies on {} disks after ", disks + before.copies())), "{told}");
            }
        }
    }

    #[test]
    fn what_is_left_and_what_is_stuck_is_told() {
        let plan = GrowPlan {
            blocks: 1,
            start: Span(0),
            rate: Some(0.5),
            former: Some((Level::Striped, 3, 2048)),
        };
        let mut growth = plan.build("grow", 3 * 2048 * 100, Draw::new(1, 0)).expect("it fits");
        assert_eq!(growth.notes(), ["nothing of it was moved"]);
        for moved in 0..10 {
            let draft = growth.make().expect("it makes one");
            assert_eq!(draft.arrives, Time(moved * 2 * SECOND));
            growth.end_request(draft.arrives + Span(SECOND), draft.at);
        }
        assert_eq!(growth.notes(), ["10.0 % lies on 4 disks, at 2.21 MB/s: at this load all of it takes 3.2 min"]);
        let draft = growth.make().expect("it makes one");
        growth.end_request(draft.arrives + Span(SECOND), draft.at);
        growth.note_failed(draft.at);
        assert_eq!((growth.due(), growth.notes()), (None, vec!["10.0 % lies on 4 disks; the next rows could not be moved".into()]));
    }
}
