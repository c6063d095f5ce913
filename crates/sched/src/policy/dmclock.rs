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
        Box::new(DmClock { claims: beside.claims.clone(), clients: Vec::new() })
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

struct DmClock {
    /// By class; a class past the end has the usual.
    claims: Vec<IopsClaim>,
    clients: Vec<Claimant>,
}

impl Claimant {
    fn new(class: u8, claim: IopsClaim) -> Claimant {
        Claimant { class, claim, waiting: Fcfs::new(), count: 0, tag: ClientTag::NONE, ready: false, lag: 0.0 }
    }

    /// When its first is due by weight, beside those of others.
    fn due(&self) -> f64 {
        self.tag.weight + self.lag
    }
}

/// Of those it holds for, the one of the least key, and of several the first.
fn least(clients: &[Claimant], holds: impl Fn(&Claimant) -> bool, key: impl Fn(&Claimant) -> f64) -> Option<usize> {
    let waiting = (0..clients.len()).filter(|at| clients[*at].count > 0 && holds(&clients[*at]));
    waiting.min_by(|one, other| key(&clients[*one]).total_cmp(&key(&clients[*other])))
}

impl DmClock {
    /// The client of a class. One that comes late begins level with the least of those that are there.
    fn client(&mut self, class: u8, now: f64) -> &mut Claimant {
        let at = match self.clients.iter().position(|client| client.class == class) {
            Some(at) => at,
            None => {
                let mut client = Claimant::new(class, self.claims.get(usize::from(class)).copied().unwrap_or_default());
                let least = self.clients.iter().map(Claimant::due).fold(f64::INFINITY, f64::min);
                client.lag = if least.is_finite() { least - now } else { 0.0 };
                self.clients.push(client);
                self.clients.len() - 1
            }
        };
        &mut self.clients[at]
    }

    /// The client whose turn it is, and whether by its weight.
    fn choose(&mut self, now: f64) -> Option<(usize, bool)> {
        if let Some(at) = least(&self.clients, |client| client.tag.reservation <= now, |client| client.tag.reservation) {
            return Some((at, false));
        }
        for client in &mut self.clients {
            client.ready |= client.tag.limit <= now;
        }
        let weighs = |client: &Claimant| client.tag.weight.is_finite();
        least(&self.clients, |client| client.ready && weighs(client), Claimant::due)
            .or_else(|| least(&self.clients, weighs, Claimant::due))
            .map(|at| (at, true))
            .or_else(|| Some((least(&self.clients, |_| true, |client| client.tag.reservation)?, false)))
    }
}

impl<P: Predictor> Policy<P> for DmClock {
    fn add(&mut self, id: JobId, job: &Job<P::Spot>, _: &P) {
        let now = job.arrived.as_secs();
        let client = self.client(job.qos.class, now);
        if client.count == 0 {
            (client.tag, client.ready) = (ClientTag::of_next(&client.tag, &client.claim, now), false);
        }
        client.waiting.push(id, job);
        client.count += 1;
    }

    fn remove(&mut self, _: JobId, job: &Job<P::Spot>, _: &P) {
        self.client(job.qos.class, job.arrived.as_secs()).count -= 1;
    }

    fn take(&mut self, now: Time, jobs: &Jobs<P::Spot>, _: &P) -> Option<JobId> {
        let (at, by_weight) = self.choose(now.as_secs())?;
        let client = &mut self.clients[at];
        let here = |class: u8| move |job: &Job<P::Spot>| job.qos.class == class;
        let id = client.waiting.front(jobs, here(client.class))?;
        client.waiting.pop();
        client.count -= 1;
        if client.count > 0 {
            let arrived = client.waiting.front(jobs, here(client.class)).and_then(|id| jobs.get(id)).map(|job| job.arrived);
            let arrived = arrived.unwrap_or(now).as_secs();
            (client.tag, client.ready) = (ClientTag::of_next(&client.tag, &client.claim, arrived), false);
        }
        if by_weight && client.claim.reservation > 0.0 {
            // It was none of those that were reserved.
            client.tag.reservation -= 1.0 / client.claim.reservation;
        }
        Some(id)
    }
}
