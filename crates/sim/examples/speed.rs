use load::experiment::parse;
struct W;
impl sim::Watch for W {
    fn requests(&self, _: u64) {}
    fn replication(&self) {}
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&a[1]).unwrap();
    let cases = parse(&a[1], &text, &a[2..], None).unwrap();
    for c in &cases {
        let t = std::time::Instant::now();
        let r = sim::replicate(&c.experiment, 0, &|_| ()).unwrap();
        let dt = t.elapsed().as_secs_f64();
        let n = r.meter.requests();
        let secs = r.meter.measured().as_secs();
        println!(
            "{:?} n={} {:.3} M/s  IOPS {:.2} thr {:.3} MB/s mean resp {:.3} ms cand/dec {:.1} busy parts {:?} {:?}",
            c.labels,
            n,
            n as f64 / dt / 1e6,
            n as f64 / secs,
            r.meter.throughput_mb_s(),
            r.meter.classes().next().unwrap().1.response_ms.mean,
            r.effort.examined as f64 / r.effort.decisions as f64,
            r.account
                .parts
                .named()
                .map(|(n, s)| (n, (s.as_ms() / r.account.commands as f64 * 1000.0).round() / 1000.0)),
            r.notes
        );
    }
}
