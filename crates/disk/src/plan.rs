//! A drive as plain numbers: what a drive file holds, before anything is worked out.

use crate::{
    Access, Bus, Cache, Drive, Layout, LayoutPlan, Mechanics, Overheads, Queue, Rotation, SeekCurve, SeekTable, Sheet,
    Switches, Truth, Unmeasured,
};
use std::sync::Arc;

/// A drive as plain numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct DrivePlan {
    /// What it is, in words.
    pub title: String,
    /// Where the numbers come from.
    pub sources: Vec<String>,
    /// Numbers no source prints, and what was left out.
    pub assumed: Vec<String>,
    /// Spindle speed in revolutions a minute.
    pub rpm: f64,
    /// Where blocks lie, before it is worked out.
    pub layout: LayoutPlan,
    /// Seek times by distance in cylinders.
    pub seek: SeekCurve,
    /// Seek times before a random write, where they are another curve.
    pub seek_write: Option<SeekCurve>,
    /// Moves that are not seeks.
    pub switches: Switches,
    /// What is taken on arrival.
    pub access: Access,
    /// Time a command takes outside the mechanics.
    pub overheads: Overheads,
    /// The way to the host.
    pub bus: Bus,
    /// The buffer memory and what it is used for.
    pub cache: Cache,
    /// Commands in the drive at once.
    pub queue: Queue,
    /// What of all that nobody measured.
    pub unmeasured: Unmeasured,
    /// What nobody outside knows.
    pub truth: Truth,
    /// How well what was measured is known.
    pub confidence: Confidence,
}

/// How well a drive is known that was measured: intervals that hold what they name in 95 of 100 cases. Nothing is made of
/// them but to be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Confidence {
    /// From the least to the most, by the keys of `[confidence]` in a drive file.
    pub intervals: Vec<(&'static str, [f64; 2])>,
    /// Seeks: cylinders, and from the least to the most, ms.
    pub seeks: Vec<(u32, [f64; 2])>,
}

impl DrivePlan {
    /// The drive, worked out.
    ///
    /// # Errors
    /// In words, when the layout or the seek curve is none.
    pub fn drive(&self, name: &str) -> Result<Drive, String> {
        let layout = Layout::new(&self.layout)?;
        let cylinders = layout.cylinders();
        let table = |curve: &SeekCurve| match (1..cylinders).find(|d| !(0.0..=4000.0).contains(&curve.ms(*d))) {
            None => Ok(SeekTable::new(curve, cylinders)),
            Some(distance) => Err(format!("a seek over {distance} cylinders comes to {} ms", curve.ms(distance))),
        };
        let mechanics = Mechanics {
            seek: table(&self.seek)?,
            seek_write: self.seek_write.as_ref().map(table).transpose()?,
            rotation: Rotation::from_rpm(self.rpm),
            switches: self.switches,
            access: self.access,
            layout,
        };
        let sheet = Sheet {
            name: name.into(),
            title: self.title.clone(),
            sources: self.sources.clone(),
            assumed: self.assumed.clone(),
            mechanics: Arc::new(mechanics),
            overheads: self.overheads,
            bus: self.bus,
            cache: self.cache,
            queue: self.queue,
            seek_by: block::SeekBy::Command,
            unmeasured: self.unmeasured,
        };
        Ok(Drive { sheet, truth: self.truth })
    }
}
