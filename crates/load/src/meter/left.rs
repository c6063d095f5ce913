//! What still waits when a run is given up.

use super::{Meter, Served};

impl Meter {
    /// A request of the sample is given up while it waits: what it has waited counts, as the least it would have taken.
    pub fn give_up(&mut self, it: &Served) {
        let class = &mut self.classes[usize::from(it.qos.class)];
        self.awaited = self.awaited.saturating_sub(1);
        self.requests += 1;
        class.requests += 1;
        class.still_waiting += 1;
        class.missed += u64::from(it.qos.deadline.is_some_and(|deadline| it.ended > deadline));
        class.add_times(it);
    }

    /// What a reader of the response times must know, where some had not ended.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let left = self.classes.iter().filter(|class| class.still_waiting > 0);
        let names: Vec<&str> = left.map(|class| class.name.as_str()).collect();
        let what = "some requests still waited when the run was given up: they count with what they had waited, so that times are";
        (!names.is_empty()).then(|| format!("{}: {what} too short", names.join(", ")))
    }
}
