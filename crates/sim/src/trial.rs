//! A plan picked from the sheet and tried on the drive: how often seeks come too late, only the drive can tell.

use block::{At, BadInput, Span};
use disk::Sheet;
use load::Meter;
use load::experiment::{AddressPattern, ClosedPlan, Experiment, Kind, Pattern, Region, RunPlan, Sizes, Workload};
use sched::plan::{Plan, Rules, Split};
use sched::planner::{Pick, Wish, pick as by_sheet};

/// Requests of a trial, and trials at most.
const REQUESTS: u64 = 1500;
const TRIALS: u32 = 6;

/// Plays an experiment, and measures it.
type Measure<'a> = &'a dyn Fn(&Experiment) -> Result<Meter, BadInput>;

/// Picks a plan that keeps the wait wanted, on the sheet's word; tries it on a stream of random reads as long as the
/// longest request that can be interrupted; and where the drive needs longer than its sheet says, wishes for less.
pub(crate) fn pick(
    experiment: &Experiment,
    sheet: &Sheet,
    base: Plan,
    wish: Wish,
    measure: Measure,
) -> Result<(Plan, String), BadInput> {
    let blocks = experiment.longest();
    let whole = try_plan(experiment, None, blocks, measure)?.mb_s;
    let (mut best, mut used): (Option<(Pick, f64)>, f64) = (None, 1.0);
    for _ in 0..TRIALS {
        let mut pick = by_sheet(sheet, base, blocks, wish.scale(used));
        let tried = try_plan(experiment, Some(pick.plan), blocks, measure)?;
        pick.loss = 1.0 - tried.mb_s / whole;
        let measured = match wish {
            Wish::Expected(_) => tried.expected_ms,
            // Late seeks apart, what is longest is so by the sheet.
            Wish::Longest(_) => pick.longest_ms,
        };
        if best.is_none_or(|(_, least)| measured < least) {
            best = Some((pick, measured));
        }
        let wanted = wish.span().as_ms();
        if measured <= wanted || !pick.met {
            break;
        }
        used *= (wanted / measured).min(0.97);
    }
    let (pick, measured) = best.expect("there is a trial");
    Ok((pick.plan, story(&pick, wish, measured)))
}

/// What a trial came to.
struct Tried {
    /// What an arrival would wait for a command of the stream.
    expected_ms: f64,
    mb_s: f64,
}

/// A stream served by this plan, or in single commands, measured.
fn try_plan(experiment: &Experiment, plan: Option<Plan>, blocks: u32, measure: Measure) -> Result<Tried, BadInput> {
    let pattern =
        Pattern { blocks, sizes: Sizes::Fixed, read: 1.0, at: AddressPattern::Random, region: Region::WHOLE, align: 1 };
    let stream = Workload {
        volume: None,
        at: At::File,
        name: "trial".into(),
        class: "trial".into(),
        priority: 0,
        deadline: None,
        kind: Kind::Closed(ClosedPlan { depth: 1, think: Span::ZERO, pattern, cascade: 1 }),
    };
    let mut trial = experiment.clone();
    trial.workloads = vec![stream];
    trial.scheduler.rules = Rules { plan, ..Rules::default() };
    trial.scheduler.wish = None;
    trial.run = RunPlan {
        duration: None,
        requests: Some(REQUESTS),
        warmup: Span(10_000_000_000),
        settles: false,
        replications: 1,
        seed: experiment.run.seed,
        host: experiment.run.host,
    };
    let meter = measure(&trial)?;
    Ok(Tried { expected_ms: meter.expected_wait_ms(), mb_s: meter.throughput_mb_s() })
}

/// What was picked, and why.
fn story(pick: &Pick, wish: Wish, measured: f64) -> String {
    let Plan { chunk, split, split_beyond, split_parts, .. } = pick.plan;
    let beyond = split_beyond * 100.0;
    let seeks = match split {
        Split::Never => "no seek split".into(),
        Split::Masked => format!("seeks over {beyond} % of the cylinders in {split_parts} parts where slack hides it"),
        Split::Always => format!("seeks over {beyond} % of the cylinders in {split_parts} parts"),
    };
    let wanted = wish.span().as_ms();
    let what = match wish {
        Wish::Expected(_) => format!("an expected wait of {wanted} ms; {measured:.2} ms in a trial"),
        Wish::Longest(_) => {
            format!("a longest command of {wanted} ms but for late seeks; {measured:.2} ms by the sheet")
        }
    };
    let met = if measured <= wanted { "for" } else { "this drive cannot do it: nearest to" };
    let (kib, loss) = (f64::from(chunk) / 2.0, pick.loss * 100.0);
    // Where the drive handles long commands badly, short ones gain.
    let (word, share) = if loss < -0.05 { ("gain", -loss) } else { ("loss", loss.max(0.0)) };
    format!("picked {met} {what}: commands of at most {kib} KiB, {seeks}, at a {word} of {share:.1} % of throughput")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_story_tells_the_chunk_in_kib_and_the_loss_in_percent() {
        let tell = |loss, wanted, measured| {
            let plan = Plan { split: Split::Never, ..Plan::of_chunk(256) };
            let pick = Pick { plan, expected_ms: 3.0, longest_ms: 9.0, loss, met: true };
            story(&pick, Wish::Expected(Span(wanted)), measured)
        };
        let told = tell(0.0625, 3_000_000, 2.5);
        let wanted = "picked for an expected wait of 3 ms; 2.50 ms in a trial: commands of at most 128 KiB, no seek split, at a loss of \
                      6.2 % of throughput";
        assert_eq!(told, wanted);
        assert!(tell(-0.02, 3_000_000, 2.5).ends_with("at a gain of 2.0 % of throughput"));
        assert!(tell(-0.0004, 3_000_000, 3.5).contains("this drive cannot do it: nearest to an expected wait"));
        assert!(tell(-0.0004, 3_000_000, 3.0).ends_with("at a loss of 0.0 % of throughput"));
    }
}
