//! How late the host was.

use live::Lateness;

/// How late what an emulated drive had done was noticed; nothing where there is none.
pub fn lateness(lateness: &Lateness) -> Option<String> {
    let us = |share| lateness.quantile(share).0 as f64 / 1e3;
    let (all, in_time) = lateness.rms_ms();
    (lateness.count() > 0).then(|| {
        format!(
            "host late: {:.2} % of {} commands by more than 50 us and 1 %; p50 {:.1} us, p99 {:.1} us, at most {:.1} us; \
             demerit against the model at most {all:.4} ms, {in_time:.4} ms without those",
            100.0 * lateness.late_share(),
            lateness.count(),
            us(0.5),
            us(0.99),
            lateness.worst().0 as f64 / 1e3,
        )
    })
}
