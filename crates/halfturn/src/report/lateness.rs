//! How late the host was.

use live::Lateness;

/// A line on how late what an emulated drive had done was noticed; nothing where there is none.
pub fn lateness(of: &str, lateness: &Lateness) -> String {
    if lateness.count() == 0 {
        return String::new();
    }
    let us = |share| lateness.quantile(share).0 as f64 / 1e3;
    format!(
        " host late  {}{:.2} % of {} commands by more than 50 us and 1 %; p50 {:.1} us, p99 {:.1} us, at most {:.0} us\n",
        of,
        100.0 * lateness.late_share(),
        lateness.count(),
        us(0.5),
        us(0.99),
        lateness.worst().0 as f64 / 1e3
    )
}
