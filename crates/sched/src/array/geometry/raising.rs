//! A RAID 5 that becomes a RAID 6 by a disk with the second parity of all rows, and such a one that does without it again. Neither moves
//! anything: every slot of a row of the one lies where it does in the other.

use super::{Geometry, Level};

impl Geometry {
    /// The same with a second parity, on a further disk.
    ///
    /// # Errors
    /// Why it cannot, and the mend.
    pub fn raise(self) -> Result<Geometry, (String, String)> {
        match self.level() {
            Level::Parity => self.change_level(Level::SecondOnLast, self.disks() + 1),
            Level::DoubleParity | Level::SecondOnLast => {
                Err(("the array is of level 6 already".into(), "leave it so".into()))
            }
            Level::Striped | Level::Mirrored { .. } => {
                let what =
                    format!("the array is of level {}, and a RAID 5 alone becomes a RAID 6", self.level().number());
                Err((what, "make an array of level 6, and copy".into()))
            }
        }
    }

    /// The same without its second parity, where that lies on the last disk.
    ///
    /// # Errors
    /// Why it cannot, and the mend.
    pub fn lower(self) -> Result<Geometry, (String, String)> {
        match self.level() {
            Level::SecondOnLast => self.change_level(Level::Parity, self.disks() - 1),
            Level::DoubleParity => {
                let what = "the second parity of this RAID 6 lies on all of its disks, and none can be let go";
                Err((what.into(), "make an array of level 5, and copy".into()))
            }
            Level::Parity => Err(("the array is of level 5 already".into(), "leave it so".into())),
            Level::Striped | Level::Mirrored { .. } => {
                let what =
                    format!("the array is of level {}, and a RAID 6 alone becomes a RAID 5", self.level().number());
                Err((what, "make an array of level 5, and copy".into()))
            }
        }
    }

    fn change_level(self, level: Level, disks: u16) -> Result<Geometry, (String, String)> {
        self.refuse_moving()?;
        let changed = Geometry::new(level, disks, self.unit, self.rows * u64::from(self.unit))?;
        Ok(Geometry { first: self.first, ..changed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_a_row_of_raid_5_lies_there_in_the_raid_6_that_it_becomes() {
        for disks in 3..9 {
            let former = Geometry::within(Level::Parity, disks, 4, 100, (16, 5)).expect("a geometry");
            let raised = former.raise().expect("it becomes a RAID 6");
            assert_eq!((raised.disks(), raised.columns(), raised.parities()), (disks + 1, former.columns(), 2));
            assert_eq!((raised.blocks(), raised.rows_on_disk()), (former.blocks(), former.rows_on_disk()));
            assert_eq!(raised.lower(), Ok(former));
            for row in 0..former.rows() {
                for slot in 0..disks {
                    let disk = former.disk_of_slot(row, slot);
                    assert_eq!((raised.disk_of_slot(row, slot), raised.slot(row, disk)), (disk, slot));
                    assert_eq!(raised.column(row, disk), former.column(row, disk));
                }
                let last = block::DiskId(disks);
                assert_eq!((raised.disk_of_slot(row, disks), raised.slot(row, last)), (last, disks));
                assert_eq!(raised.column(row, last), None);
            }
        }
    }

    #[test]
    fn an_array_that_cannot_change_its_level_is_refused() {
        let made = |level, disks| Geometry::new(level, disks, 8, 8000).expect("a geometry");
        let mirrored = Level::Mirrored { copies: 2 };
        let refused = |it: Result<Geometry, (String, String)>| it.unwrap_err().0;
        assert!(refused(made(mirrored, 4).raise()).contains("level 0/1"));
        assert!(refused(made(Level::DoubleParity, 4).raise()).contains("level 6 already"));
        assert_eq!(refused(made(Level::Parity, 64).raise()), "RAID 6 of 65 disks");
        assert!(refused(made(Level::DoubleParity, 4).lower()).contains("on all of its disks"));
        assert!(refused(made(Level::Parity, 4).lower()).contains("level 5 already"));
        assert!(refused(made(Level::Striped, 4).lower()).contains("level 0"));
        let growing = made(Level::Parity, 4).grow().expect("it grows");
        assert_eq!(refused(growing.raise()), "the array is growing already");
    }
}
