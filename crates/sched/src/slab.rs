//! Numbered slots that are used again.

#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Puts a thing into a free slot. One place writes it, so that it is made where it stays.
    #[inline]
    pub(crate) fn insert(&mut self, it: T) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| self.grow());
        self.slots[slot as usize] = Some(it);
        slot
    }

    /// One more slot, which is empty.
    #[cold]
    fn grow(&mut self) -> u32 {
        self.slots.push(None);
        self.slots.len() as u32 - 1
    }

    #[inline]
    pub(crate) fn get(&self, slot: u32) -> Option<&T> {
        self.slots.get(slot as usize)?.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut T> {
        self.slots.get_mut(slot as usize)?.as_mut()
    }

    /// Frees a slot; what was in it.
    pub(crate) fn remove(&mut self, slot: u32) -> Option<T> {
        let it = self.slots.get_mut(slot as usize)?.take();
        if it.is_some() {
            self.free.push(slot);
        }
        it
    }

    /// Frees a slot, without a copy of what was in it.
    #[inline]
    pub(crate) fn clear(&mut self, slot: u32) {
        if let Some(it) = self.slots.get_mut(slot as usize)
            && it.is_some()
        {
            *it = None;
            self.free.push(slot);
        }
    }

    pub(crate) fn len(&self) -> u32 {
        (self.slots.len() - self.free.len()) as u32
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.slots.iter().enumerate().filter_map(|(slot, it)| Some((slot as u32, it.as_ref()?)))
    }
}
