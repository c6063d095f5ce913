//! dmClock on one server, as Ceph's library has it (ceph/dmclock, `PullPriorityQueue` with delayed tags and soft limits); mClock is
//! that algorithm: Gulati, Merchant, Varman, OSDI 2010.
//!
//! Each class has a reservation, a weight and a limit, in requests a second. Its first waiting request has a tag for each: when it
//! is due by the reservation, by the weight, and when the limit lets it go. What is due by its reservation goes first; else, of
//! those within their limits, the least by weight; else, since a disk that could work should, the least by weight of all.

use super::fcfs::Fcfs;
use super::{Beside, IopsClaim, Kind, Manual, Needs, Policy};
use crate::predict::Predictor;
use crate::{Job, JobId, Jobs};
use block::{BadInput, Time};
use config::Section;

/// The policy has no keys of its own: `[scheduler.class.NAME.dmclock]` says what a class may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings;

impl Kind for Settings {
    const MANUAL: Manual = Manual {
        name: "dmclock",
        text: "What Ceph's OSDs do (mClock, OSDI 2010; the library ceph/dmclock, one server, soft limits): each class has a reservation, a weight and a limit in requests a second, in its `[scheduler.class.NAME.dmclock]`. Within a class it is first come, first served. It counts requests, not the time they take.",
        keys: &[],
        example: "policy = \"dmclock\"",
        needs: Needs::Nothing,
    };

    const SHARES_OUT: bool = true;

    fn read(_: &Section) -> Result<Settings, BadInput> {
        Ok(Settings)
    }

    fn make<P: Predictor + 'static>(&self, beside: &Beside) -> Box<dyn Policy<P>> {
        Box::new(DmClock {
            claims: beside.claims.clone(),
            clients: Vec::new(),
            by_reservation: ClientHeap::new(ClientOrder::Reservation),
            by_limit: ClientHeap::new(ClientOrder::Limit),
            by_weight: ClientHeap::new(ClientOrder::Weight),
        })
    }
}

/// When a request is due, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ClientTag {
    reservation: f64,
    weight: f64,
    limit: f64,
}

impl ClientTag {
    /// Of what has never asked.
    const NONE: ClientTag = ClientTag { reservation: 0.0, weight: 0.0, limit: 0.0 };

    /// That of a request that came at `now`, `before` being the one before it of its class.
    fn of_next(before: &ClientTag, claim: &IopsClaim, now: f64) -> ClientTag {
        let due = |before: f64, rate: f64, none: f64| if rate > 0.0 { now.max(before + 1.0 / rate) } else { none };
        ClientTag {
            reservation: due(before.reservation, claim.reservation, f64::INFINITY),
            weight: due(before.weight, claim.weight, f64::INFINITY),
            limit: due(before.limit, claim.limit, f64::NEG_INFINITY),
        }
    }
}

struct Claimant {
    class: u8,
    claim: IopsClaim,
    waiting: Fcfs,
    /// How many of its requests wait.
    count: u32,
    /// That of the first that waits or, if none does, of the last that did.
    tag: ClientTag,
    /// Whether the first has once been within its limit: it then stays ready.
    ready: bool,
    /// By how much its weights are off from those who came before it.
    lag: f64,
}

impl Claimant {
    fn new(class: u8, claim: IopsClaim) -> Claimant {
        Claimant { class, claim, waiting: Fcfs::new(), count: 0, tag: ClientTag::NONE, ready: false, lag: 0.0 }
    }

    /// When its first is due by weight, beside those of others.
    fn due(&self) -> f64 {
        self.tag.weight + self.lag
    }

    /// What a client that comes now begins level with: of one without a weight that has nothing waiting, only how far it was off.
    fn level(&self) -> f64 {
        if self.count == 0 && self.tag.weight.is_infinite() { self.lag } else { self.due() }
    }
}

/// By what a heap has its clients in order.
#[derive(Clone, Copy)]
enum ClientOrder {
    /// When they are due by what is reserved.
    Reservation,
    /// When their limits let them go; those that may go already come last.
    Limit,
    /// When they are due by weight; those that may go come first.
    Weight,
}

impl ClientOrder {
    /// Whether a client must be before another. One with nothing waiting is before none.
    fn precedes(self, one: &Claimant, other: &Claimant) -> bool {
        if one.count == 0 || other.count == 0 {
            return one.count > 0;
        }
        match self {
            ClientOrder::Reservation => one.tag.reservation < other.tag.reservation,
            ClientOrder::Limit if one.ready != other.ready => other.ready,
            ClientOrder::Limit => one.tag.limit < other.tag.limit,
            ClientOrder::Weight if one.ready != other.ready => one.ready,
            ClientOrder::Weight => one.due() < other.due(),
        }
    }
}

/// Clients, by their places among all: the first of an order on top.
struct ClientHeap {
    order: ClientOrder,
    clients: Vec<usize>,
    /// Where each client lies in it.
    places: Vec<usize>,
}

impl ClientHeap {
    fn new(order: ClientOrder) -> ClientHeap {
        ClientHeap { order, clients: Vec::new(), places: Vec::new() }
    }

    /// Takes in a client that has nothing waiting, and is the last of all.
    fn push(&mut self, client: usize) {
        self.places.push(self.clients.len());
        self.clients.push(client);
    }

    /// The first that has something waiting, if any has.
    fn top(&self, all: &[Claimant]) -> Option<usize> {
        self.clients.first().copied().filter(|client| all[*client].count > 0)
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.clients.swap(one, other);
        self.places[self.clients[one]] = one;
        self.places[self.clients[other]] = other;
    }

    fn is_before(&self, one: usize, other: usize, all: &[Claimant]) -> bool {
        self.order.precedes(&all[self.clients[one]], &all[self.clients[other]])
    }

    /// Puts right a client that may have come too low; says whether it had.
    fn promote(&mut self, client: usize, all: &[Claimant]) -> bool {
        let (from, mut at) = (self.places[client], self.places[client]);
        while at > 0 && self.is_before(at, (at - 1) / 2, all) {
            self.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
        at < from
    }

    /// Puts right a client that may have come too high.
    fn demote(&mut self, client: usize, all: &[Claimant]) {
        let mut at = self.places[client];
        while 2 * at + 1 < self.clients.len() {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let least = if right < self.clients.len() && self.is_before(right, left, all) { right } else { left };
            if !self.is_before(least, at, all) {
                return;
            }
            self.swap(at, least);
            at = least;
        }
    }

    /// Puts right a client that may have come too low or too high.
    fn adjust(&mut self, client: usize, all: &[Claimant]) {
        if !self.promote(client, all) {
            self.demote(client, all);
        }
    }
}

struct DmClock {
    /// By class; a class past the end has the usual.
    claims: Vec<IopsClaim>,
    /// In the order in which they first asked.
    clients: Vec<Claimant>,
    by_reservation: ClientHeap,
    by_limit: ClientHeap,
    by_weight: ClientHeap,
}

impl DmClock {
    /// The place of the client of a class. One that comes late begins level with the least of those that are there.
    fn client(&mut self, class: u8, now: f64) -> usize {
        if let Some(at) = self.clients.iter().position(|client| client.class == class) {
            return at;
        }
        let at = self.clients.len();
        let mut client = Claimant::new(class, self.claims.get(usize::from(class)).copied().unwrap_or_default());
        let least = self.clients.iter().map(Claimant::level).fold(f64::INFINITY, f64::min);
        client.lag = if least.is_finite() { least - now } else { 0.0 };
        self.clients.push(client);
        for heap in [&mut self.by_reservation, &mut self.by_limit, &mut self.by_weight] {
            heap.push(at);
        }
        at
    }

    /// The client whose turn it is, and whether by its weight.
    fn choose(&mut self, now: f64) -> Option<(usize, bool)> {
        let reserved = self.by_reservation.top(&self.clients)?;
        if self.clients[reserved].tag.reservation <= now {
            return Some((reserved, false));
        }
        while let Some(next) = self.by_limit.top(&self.clients).map(|at| &mut self.clients[at])
            && !next.ready
            && next.tag.limit <= now
        {
            next.ready = true;
            let at = self.by_limit.clients[0];
            self.by_weight.promote(at, &self.clients);
            self.by_limit.demote(at, &self.clients);
        }
        // Within its limit or not: a disk that could work should.
        let first = self.by_weight.top(&self.clients)?;
        let weighs = self.clients[first].tag.weight.is_finite();
        Some(if weighs { (first, true) } else { (reserved, false) })
    }
}

impl<P: Predictor> Policy<P> for DmClock {
    fn add(&mut self, id: JobId, job: &Job<P::Spot>, _: &P) {
        let now = job.arrived.as_secs();
        let at = self.client(job.qos.class, now);
        let client = &mut self.clients[at];
        if client.count == 0 {
            (client.tag, client.ready) = (ClientTag::of_next(&client.tag, &client.claim, now), false);
        }
        client.waiting.push(id, job);
        client.count += 1;
        for heap in [&mut self.by_reservation, &mut self.by_limit, &mut self.by_weight] {
            heap.adjust(at, &self.clients);
        }
    }

    fn remove(&mut self, _: JobId, job: &Job<P::Spot>, _: &P) {
        let at = self.client(job.qos.class, job.arrived.as_secs());
        self.clients[at].count -= 1;
        for heap in [&mut self.by_reservation, &mut self.by_limit, &mut self.by_weight] {
            heap.adjust(at, &self.clients);
        }
    }

    fn take(&mut self, now: Time, jobs: &Jobs<P::Spot>, _: &P) -> Option<JobId> {
        let (at, by_weight) = self.choose(now.as_secs())?;
        let client = &mut self.clients[at];
        let here = |class: u8| move |job: &Job<P::Spot>| job.qos.class == class;
        let id = client.waiting.front(jobs, here(client.class))?;
        client.waiting.pop();
        client.count -= 1;
        if client.count > 0 {
            let next = client.waiting.front(jobs, here(client.class)).and_then(|id| jobs.get(id));
            let arrived = next.map_or(now, |job| job.arrived).as_secs();
            (client.tag, client.ready) = (ClientTag::of_next(&client.tag, &client.claim, arrived), false);
        }
        self.by_reservation.demote(at, &self.clients);
        self.by_limit.adjust(at, &self.clients);
        self.by_weight.demote(at, &self.clients);
        let client = &mut self.clients[at];
        if by_weight && client.claim.reservation > 0.0 {
            // It was none of those that were reserved.
            client.tag.reservation -= 1.0 / client.claim.reservation;
            self.by_reservation.promote(at, &self.clients);
        }
        Some(id)
    }
}
