//! Block status: what is told of the parts of a volume.
//!
//! `base:allocation` is asked of the device, at the moment; `halfturn:rate` is what is known of its zones, so that whoever
//! lays data out can put where it is fast what is read from end to end.

use super::Front;
use super::client::ClientLine;
use super::line::{PendingReply, ReplyHeader, SocketLine};
use crate::unit::LiveDevice;
use crate::world::Hands;
use block::{BLOCK_BYTES, Extent, Lbn};
use disk::Sheet;
use nbd::limits::MAX_EXTENTS;
use nbd::reply::{Chunk, StatusExtent};
use nbd::{ClientRequest, Context, Contexts, State};

/// How fast the parts of a device are read from end to end: the byte behind each, and its rate in KiB/s.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rates(Vec<(u64, u32)>);

impl Rates {
    /// As the data sheet of a disk has its zones.
    #[must_use]
    pub fn of(sheet: &Sheet) -> Rates {
        let layout = &sheet.mechanics.layout;
        let turn = sheet.mechanics.rotation.period().0.max(1);
        let zone = |zone: u32| {
            let track = (u64::from(layout.track_sectors(zone)) << layout.sector_shift()) * BLOCK_BYTES;
            let rate = u128::from(track) * 1_000_000_000 / (u128::from(turn) << 10);
            ((layout.zone_blocks(zone).1.0 + 1) * BLOCK_BYTES, rate as u32)
        };
        Rates((0..layout.zones()).map(zone).collect())
    }

    /// From a byte on: where the part that it lies in ends, and its rate; 0 where nothing is known.
    fn at(&self, from: u64) -> (u64, u32) {
        let part = self.0.partition_point(|(end, _)| *end <= from);
        self.0.get(part).copied().unwrap_or((u64::MAX, 0))
    }
}

impl Front {
    /// A block status with a payload.
    pub(super) fn query(&mut self, number: u32, request: &ClientRequest, payload: &[u8], hands: &mut Hands) {
        let Some(line) = self.nbd_line(number) else { return };
        match line.session.query(request, payload) {
            Ok((request, wanted)) => self.tell_status(number, &request, wanted, hands),
            Err((errno, message)) => {
                let mut bytes = Vec::new();
                line.session.error((request.cookie, request.offset), errno, message, &mut bytes);
                line.answer(PendingReply { head: ReplyHeader::Long(bytes), data: None });
            }
        }
    }

    /// A block status that asks for what was agreed on in the handshake.
    pub(super) fn tell_agreed_status(&mut self, number: u32, request: &ClientRequest, hands: &mut Hands) {
        let Some(wanted) = self.nbd_line(number).map(|line| line.session.contexts) else { return };
        self.tell_status(number, request, wanted, hands);
    }

    /// The line of a client, if it is one of NBD.
    fn nbd_line(&mut self, number: u32) -> Option<&mut SocketLine> {
        self.clients[number as usize].as_mut()?.line.nbd()
    }

    /// Says what is wanted of a part of a volume.
    fn tell_status(&mut self, number: u32, request: &ClientRequest, wanted: Contexts, hands: &mut Hands) {
        let Some(client) = self.clients[number as usize].as_mut() else { return };
        let base = self.volumes[client.volume].from * BLOCK_BYTES;
        let Some(line) = client.line.nbd() else { return };
        if self.hangs {
            return line.fail(request, block::errno::ETIMEDOUT);
        }
        tell(line, request, wanted, (base, &self.rates), hands.unit);
    }
}

fn tell(
    line: &mut SocketLine,
    request: &ClientRequest,
    wanted: Contexts,
    (base, rates): (u64, &Rates),
    unit: &mut dyn LiveDevice,
) {
    let mut bytes = Vec::new();
    let last = wanted.iter().last();
    let (from, end) = (base + request.offset, base + request.offset + request.length);
    for context in wanted.iter() {
        let extents = match context {
            Context::Allocation => extents(from, end, |from| allocation(unit, from, end)),
            Context::Rate => extents(from, end, |from| rates.at(from)),
        };
        let chunk = if Some(context) == last { Chunk::Last } else { Chunk::More };
        line.session.status(request, context, extents, chunk, &mut bytes);
    }
    line.answer(PendingReply { head: ReplyHeader::Long(bytes), data: None });
}

/// Extents of bytes, of which each is told by where it ends and what is so until then.
fn extents(mut from: u64, end: u64, mut next: impl FnMut(u64) -> (u64, u32)) -> Vec<StatusExtent> {
    let mut extents: Vec<StatusExtent> = Vec::new();
    while from < end && extents.len() < MAX_EXTENTS {
        let (to, state) = next(from);
        let length = to.clamp(from + 1, end) - from;
        match extents.last_mut() {
            Some(last) if last.state == state => last.length += length,
            _ => extents.push(StatusExtent { length, state }),
        }
        from += length;
    }
    extents
}

/// Where what is alike from a byte on ends, and what it is.
fn allocation(unit: &mut dyn LiveDevice, from: u64, end: u64) -> (u64, u32) {
    let first = from / BLOCK_BYTES;
    let blocks = (end.div_ceil(BLOCK_BYTES) - first).min(u32::MAX.into());
    let (alike, data) = unit.alike(Extent { start: Lbn(first), blocks: blocks as u32 });
    let state = if data { State::default() } else { State::HOLE.with(State::ZERO) };
    ((first + alike.clamp(1, blocks)) * BLOCK_BYTES, state.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outer_zones_of_a_disk_are_faster() {
        let disk::Drive { sheet, .. } = disk::catalogue::find("st318437lw").expect("it is in the catalogue");
        let rates = Rates::of(&sheet);
        assert_eq!(rates.0.last().map(|(end, _)| *end), Some(sheet.mechanics.layout.blocks() * BLOCK_BYTES));
        assert!(rates.0.is_sorted_by(|(end, rate), (later, slower)| end < later && rate >= slower));
        let (first, fastest) = rates.at(0);
        assert!((20_000..80_000).contains(&fastest), "{fastest} KiB/s");
        assert_eq!(rates.at(first - 1), (first, fastest));
        assert_ne!(rates.at(first), (first, fastest));
        let told = extents(first - 512, first + 512, |from| rates.at(from));
        assert_eq!(told.iter().map(|extent| extent.length).collect::<Vec<_>>(), [512, 512]);
        assert_eq!(extents(0, 1 << 40, |from| Rates::default().at(from)), [StatusExtent { length: 1 << 40, state: 0 }]);
    }
}
