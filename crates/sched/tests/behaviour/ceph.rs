//! dmClock against Ceph's library: the queue of ceph/dmclock (`src/dmclock_server.h` at 101775e, delayed tags, soft limits) was given the
//! same clients in virtual time, and who was served when is held by its digest.

use block::{Caps, DiskId, Extent, Op, Outcome, Qos, Request, RequestId, Span, Tag, Time};
use sched::plan::Rules;
use sched::policy::{self, Beside, IopsClaim};
use sched::predict::Distance;
use sched::{Action, Core, Input};

/// A client of dmclock's simulator (`sim/src/sim_client.h`): it asks for so many requests, one each interval, so many of them open at
/// most.
#[derive(Clone, Copy, Debug)]
struct Client {
    claim: IopsClaim,
    wait: Span,
    requests: u32,
    interval: Span,
    most: u32,
}

impl Client {
    /// One that would like so many requests a second.
    fn new(claim: [f64; 3], wait: Span, requests: u32, goal: f64, most: u32) -> Client {
        let [reservation, weight, limit] = claim;
        let claim = IopsClaim { reservation, weight, limit };
        Client { claim, wait, requests, interval: Span((0.5 + 1.0 / goal * 1e6) as u64 * 1_000), most }
    }
}

/// One server that takes as long for each request, and its clients, which begin so long after one another.
struct Scene {
    service: Span,
    clients: Vec<Client>,
    apart: Span,
}

/// A server under way.
struct Server {
    core: Core<Distance>,
    now: Time,
    inside: Option<(Tag, usize, Time)>,
    order: Vec<u8>,
    /// Whose request has which number.
    askers: Vec<u8>,
}

impl Server {
    fn handle(&mut self, input: Input, service: Span) {
        let mut out = Vec::new();
        self.core.handle(self.now, input, &mut out);
        for action in out {
            if let Action::Issue(_, tag, command) = action {
                let client = self.askers[command.at.start.0 as usize];
                self.order.push(client);
                self.inside = Some((tag, usize::from(client), self.now + service));
            }
        }
    }
}

impl Scene {
    /// The clients in the order in which they are served.
    fn play(&self) -> Vec<u8> {
        let beside = Beside { claims: self.clients.iter().map(|client| client.claim).collect(), ..Beside::default() };
        let make = Box::new(move || policy::usual("dmclock").make(&beside));
        let caps = Caps { blocks: 1 << 20, depth: 1, seek: block::SeekBy::Nothing, arms: 1 };
        let core = Core::new(caps, 16_384, Distance::default(), Rules::default(), make);
        let mut server = Server { core, now: Time::ZERO, inside: None, order: Vec::new(), askers: Vec::new() };
        let (mut asked, mut open) = (vec![0; self.clients.len()], vec![0; self.clients.len()]);
        let begins = |(place, client): (usize, &Client)| Time::ZERO + client.wait + Span(self.apart.0 * place as u64);
        let mut due: Vec<Time> = self.clients.iter().enumerate().map(begins).collect();
        loop {
            let may = |at: &usize| asked[*at] < self.clients[*at].requests && open[*at] < self.clients[*at].most;
            let asks = (0..self.clients.len()).filter(may).map(|at| due[at].max(server.now));
            let Some(next) = asks.chain(server.inside.map(|(.., ends)| ends)).min() else { return server.order };
            server.now = next;
            if let Some((tag, client, _)) = server.inside.take_if(|(.., ends)| *ends == next) {
                open[client] -= 1;
                server.handle(Input::Done(DiskId(0), tag, next, Outcome::Ok), self.service);
            }
            for (at, client) in self.clients.iter().enumerate() {
                while asked[at] < client.requests && open[at] < client.most && due[at] <= next {
                    let id = server.askers.len() as u32;
                    server.askers.push(at as u8);
                    let qos = Qos { class: at as u8, priority: 0, deadline: None };
                    let at_block = Extent::new(u64::from(id), 1);
                    let request = Request { id: RequestId(id), op: Op::Read, at: at_block, qos };
                    server.handle(Input::Submit(request), self.service);
                    (asked[at], open[at], due[at]) = (asked[at] + 1, open[at] + 1, next + client.interval);
                }
            }
        }
    }

    /// FNV-1a of the order.
    fn digest(&self) -> u64 {
        let step = |digest: u64, client: &u8| (digest ^ u64::from(*client)).wrapping_mul(0x0000_0100_0000_01b3);
        self.play().iter().fold(0xcbf2_9ce4_8422_2325, step)
    }
}

const SECOND: u64 = 1_000_000_000;

/// `sim/dmc_sim_example.conf`, with soft limits.
fn example(apart: Span) -> Scene {
    let client = |weight, limit, wait| Client::new([0.0, weight, limit], Span(wait * SECOND), 2_000, 200.0, 32);
    let clients = vec![client(1.0, 0.0, 0), client(1.0, 40.0, 5), client(2.0, 50.0, 10)];
    Scene { service: Span(SECOND / 160), clients, apart }
}

/// The clients of `sim/dmc_sim_100th.conf`, on one server that is as fast as its hundred.
fn hundred(apart: Span) -> Scene {
    let wait = |place: u32| Span(if place < 99 { 0 } else { 10 * SECOND });
    let clients = (0..100).map(|place| Client::new([20.0, 1.0, 60.0], wait(place), 1_000, 50.0, 100)).collect();
    Scene { service: Span(SECOND / 4_000), clients, apart }
}

/// What the harness of the library draws from, too.
struct Lcg(u64);

impl Lcg {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Two to six clients, some of which reserve nothing, have no weight or no limit.
fn draw_scene(seed: u64) -> Scene {
    let mut draw = Lcg(seed);
    for _ in 0..8 {
        draw.below(2);
    }
    let service = Span(SECOND / (100 + draw.below(900)));
    let count = 2 + draw.below(5);
    let client = |_| {
        let reservation = (draw.below(3) * (20 + draw.below(180))) as f64;
        let weight = draw.below(5) as f64;
        let weight = if reservation == 0.0 && weight == 0.0 { 1.0 } else { weight };
        let limit = if draw.below(2) == 1 { reservation + (1 + draw.below(200)) as f64 } else { 0.0 };
        let wait = Span(draw.below(3) * draw.below(4_000) * 1_000_003);
        let requests = 200 + draw.below(400) as u32;
        let goal = (20 + draw.below(600)) as f64;
        Client::new([reservation, weight, limit], wait, requests, goal, 1 + draw.below(40) as u32)
    };
    Scene { service, clients: (0..count).map(client).collect(), apart: Span(1_009) }
}

/// What the library came to, of the scenes of these seeds.
const DRAWN: [u64; 32] = [
    0x2f16_be30_7c78_9e35,
    0x7570_2953_6eff_202b,
    0x566c_2e7f_32a9_cd97,
    0xabb3_f564_663f_3388,
    0x52a4_a8e5_5889_dd33,
    0xee61_0fa4_b0de_ec9d,
    0x41fb_317f_fcee_d781,
    0x4f78_e1a9_14f4_f369,
    0xc93d_cf42_bb0d_82a6,
    0xf829_3a5a_566f_fd7e,
    0x3266_1306_2f3e_6817,
    0x1f4e_036c_6166_5d22,
    0x46ec_d94e_3575_f6ec,
    0xd4f1_6d10_9a34_22df,
    0x64c3_253b_72dd_3930,
    0x704b_7cf6_487e_34bc,
    0x2e67_093f_efb2_7ef0,
    0x8694_2928_c08e_d8f1,
    0x0d15_5557_b589_fa7f,
    0x8689_938f_38cf_4353,
    0x3821_2809_b26e_bf1d,
    0x813e_698f_b523_1199,
    0xb17a_d722_1511_d630,
    0x914f_71cd_737e_2e54,
    0xf61b_5304_2c3b_6471,
    0x029d_8c6d_1623_e8b8,
    0xe5b2_b649_4450_82bb,
    0xbe45_a7ad_e188_7655,
    0xf509_29a4_6d78_ce90,
    0x098b_f769_f8b6_e027,
    0xffdf_1813_bd64_ab75,
    0x4a7c_6947_33fe_bc5b,
];

#[test]
fn clients_are_served_in_the_order_of_cephs_library() {
    // Beginning at once, clients of equal weight have equal tags; else hardly any have.
    for (what, scene, digest) in [
        ("example", example(Span(0)), 0xd6a2_623a_8fed_7789),
        ("example, apart", example(Span(1_000)), 0x6624_1068_a0ad_6bdb),
        ("hundred", hundred(Span(0)), 0xc7ef_a505_5067_5319),
        ("hundred, apart", hundred(Span(1_000)), 0x7238_899c_3d69_b7f3),
    ] {
        assert_eq!(scene.digest(), digest, "{what}");
    }
    for (seed, digest) in DRAWN.iter().enumerate() {
        assert_eq!(draw_scene(seed as u64).digest(), *digest, "scene {seed}");
    }
}
