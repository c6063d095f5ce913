//! Chance from a seed, the same on every machine.

/// SplitMix64.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.roll() % limit as u64) as usize
    }

    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length.div_ceil(8)).flat_map(|_| self.roll().to_le_bytes()).take(length).collect()
    }
}

/// An image with stretches of noise and of zeroes, each of 64 KiB to 4 MiB.
pub fn image(length: usize, seed: u64) -> Vec<u8> {
    let mut dice = Dice(seed);
    let mut image = Vec::with_capacity(length);
    while image.len() < length {
        let stretch = ((1 + dice.below(64)) << 16).min(length - image.len());
        match dice.below(3) {
            0 => image.resize(image.len() + stretch, 0),
            _ => image.extend(dice.bytes(stretch)),
        }
    }
    image
}
