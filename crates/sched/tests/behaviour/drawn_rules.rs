//! Rules of short commands, drawn at random: what a file may ask for.

use block::Span;
use proptest::prelude::*;
use sched::plan::{
    ClassRule, LastFua, LatePlan, Plan, PreemptAt, Preemption, Prefetch, Rules, Short, Split, WriteChunk,
};

fn plans() -> impl Strategy<Value = Plan> {
    let chunk = prop_oneof![1..9u32, 16..64u32, Just(400u32)];
    let offset = prop_oneof![Just(None), Just(Some(Span::ZERO)), (0..9_000_000u64).prop_map(|ns| Some(Span(ns)))];
    let short = prop::sample::select(vec![Short::AtOnce, Short::NextRevolution]);
    let split = prop::sample::select(vec![Split::Never, Split::Always, Split::Masked]);
    let prefetch = prop::sample::select(vec![Prefetch::Never, Prefetch::Streams, Prefetch::Always]);
    let splitting = (split, prop::sample::select(vec![0.0, 0.2, 0.5]), 2..5u32);
    (
        chunk,
        any::<bool>(),
        offset,
        short,
        splitting,
        (prefetch, 1..6u32, prop::sample::select(vec![None, Some(LatePlan::USUAL)])),
        prop_oneof![Just(LastFua::Never), Just(LastFua::Always), Just(LastFua::Auto)],
    )
        .prop_map(
            |(
                chunk,
                jit,
                offset,
                short,
                (split, split_beyond, split_parts),
                (prefetch, prefetch_most, late),
                last_fua,
            )| {
                Plan {
                    chunk,
                    late,
                    write_chunk: WriteChunk::AsRead,
                    jit,
                    offset,
                    short,
                    split,
                    split_beyond,
                    split_parts,
                    prefetch,
                    prefetch_most,
                    prefetch_margin: Span(500_000),
                    last_fua,
                }
            },
        )
}

pub fn rules() -> impl Strategy<Value = Rules> {
    let preemption = prop::sample::select(vec![
        Preemption::Never,
        Preemption::Always,
        Preemption::Priority,
        Preemption::Conservative,
        Preemption::Aggressive,
        Preemption::Lookahead,
    ]);
    let preempt_at = prop::sample::select(vec![PreemptAt::Command, PreemptAt::Jit]);
    let class = (any::<bool>(), prop::bool::weighted(0.8));
    let class = class.prop_map(|(preempts, preemptible)| ClassRule { preempts, preemptible, ..ClassRule::USUAL });
    (plans(), preemption, preempt_at, prop::collection::vec(class, 0..4)).prop_map(
        |(plan, preemption, preempt_at, classes)| Rules {
            plan: Some(plan),
            preemption,
            preempt_at,
            classes,
            ..Rules::default()
        },
    )
}
