//! What may be set, how a load is cut, and what is told of it.

use super::*;

const TEXT: &str = "[drive]\nmodel = \"nl20\"\nqueue = 1\n[scheduler]\npolicy = \"asatf\"\nage_weight = 6.0\n\
    [[workload]]\nname = \"a\"\nkind = \"open\"\nrate = \"10/s\"\nsize = \"4KiB\"\n[[workload]]\nname = \"b\"\nkind = \"closed\"\ndepth = 2\n\
    size = \"1MiB\"\n[run]\nduration = \"50s\"\nwarmup = \"10s\"\nseed = 3\n";

fn space(text: &str, goal: &str) -> SearchSpace {
    let document = Document::parse("it.toml", text).unwrap();
    let space = SearchSpace::of(document, Path::new("it.toml"), &[], None).unwrap();
    let goal = SettingGoal::parse(goal, &space.experiment.classes()).unwrap();
    space.with_knobs(&goal)
}

fn place(space: &SearchSpace, knob: &str, choice: &str) -> (usize, usize) {
    let at = space.knobs.iter().position(|it| it.name == knob).unwrap_or_else(|| panic!("no {knob}"));
    let with = |it: &KnobChoice| it.sets.iter().any(|set| set.ends_with(choice));
    (at, space.knobs[at].choices.iter().position(with).unwrap_or_else(|| panic!("no {choice}")))
}

#[test]
fn every_policy_and_every_rule_is_a_choice_and_nought_is_today() {
    let space = space(TEXT, "p99(a) <= 30ms, then throughput");
    assert_eq!(space.knobs[0].choices.len(), policy::ALL.len() + 1);
    assert_eq!(space.knobs[1].choices.len(), preemption::ALL.len() + 2);
    let today = space.case(&space.today(), LoadPart::Whole).unwrap().experiment;
    assert_eq!(today.scheduler, space.experiment.scheduler);
    assert!(space.tell(&space.today()).is_empty());
}

#[test]
fn keys_of_another_policy_go_with_it() {
    let space = space(TEXT, "mean");
    let mut candidate = space.today();
    let (knob, choice) = place(&space, "scheduler.policy", "\"satf\"");
    candidate[knob] = choice;
    let text = space.text(&candidate).unwrap();
    assert!(!text.contains("age_weight") && space.case(&candidate, LoadPart::Whole).is_ok(), "{text}");
}

#[test]
fn lengths_of_commands_are_of_use_in_short_commands_only() {
    let space = space(TEXT, "p99(a) <= 30ms, then throughput");
    let mut candidate = space.today();
    let (chunk, long) = place(&space, CHUNK, "\"1MiB\"");
    candidate[chunk] = long;
    assert_eq!(space.text(&candidate).unwrap(), space.text(&space.today()).unwrap());
    assert!(space.tell(&candidate).is_empty());
    let (knob, rule) = place(&space, "scheduler.preemption", "\"priority\"");
    candidate[knob] = rule;
    let (knob, first) = place(&space, "workload.0.priority=1", "priority=1");
    candidate[knob] = first;
    let experiment = space.case(&candidate, LoadPart::Whole).unwrap().experiment;
    assert_eq!(
        (experiment.workloads[0].priority, experiment.scheduler.rules.plan.map(|plan| plan.chunk)),
        (1, Some(2048))
    );
    assert_eq!(space.tell(&candidate).len(), 4, "{:?}", space.tell(&candidate));
    let service = space.service(&candidate).unwrap();
    assert!(service.contains("path = \"emulated:nl20\"") && service.matches("[[volume]]").count() == 2, "{service}");
}

#[test]
fn who_has_a_bound_may_go_before_all_others() {
    let text = TEXT
        .replace("name = \"b\"", "name = \"b\"\npriority = 2")
        .replace("name = \"a\"", "name = \"a\"\npriority = 1");
    let with = |goal: &str| space(&text, goal);
    let mut candidate = with("p99(a) <= 30ms").today();
    let (knob, first) = place(&with("p99(a) <= 30ms"), "workload.0.priority=3", "priority=3");
    candidate[knob] = first;
    let experiment = with("p99(a) <= 30ms").case(&candidate, LoadPart::Whole).unwrap().experiment;
    assert_eq!([experiment.workloads[0].priority, experiment.workloads[1].priority], [3, 2]);
    let higher = with("p99(b) <= 30ms");
    assert!(!higher.knobs.iter().any(|knob| knob.name.contains("priority")), "it goes before all others already");
}

#[test]
fn a_drive_that_heeds_marks_may_be_given_them_as_linux_maps_them() {
    let marks = |drive: &str, workload: &str, goal: &str| {
        let text = TEXT.replace("queue = 1", drive).replace("name = \"b\"", &format!("name = \"b\"\n{workload}"));
        let goal = SettingGoal::parse(goal, &["a", "b"]).unwrap();
        let space = space(&text, "mean").under(Stack::Linux).unwrap().with_knobs(&goal);
        let at = space.knobs.iter().position(|knob| knob.name == "marks")?;
        let told = |choice| {
            let mut candidate = space.today();
            candidate[at] = choice;
            let class = space.case(&candidate, LoadPart::Whole).unwrap().experiment.scheduler.rules.class(0).mark;
            (class, space.tell(&candidate), space.tell_words(&candidate).join("\n"))
        };
        Some((1..space.knobs[at].choices.len()).map(told).collect::<Vec<_>>())
    };
    let bound = "p99(a) <= 30ms";
    let [high] = &marks("high_priority = true", "", bound).unwrap()[..] else { panic!("one choice") };
    assert_eq!(high.0, block::Mark::High);
    // The scheduler heeds the same class of ioprio.
    assert_eq!(high.1, ["scheduler.class.a.high_priority=true", "workload.0.priority=1"]);
    assert!(high.2.contains("ncq_prio_enable") && high.2.contains("ionice -c 1"), "{}", high.2);
    let limits = marks("limits = [\"inactive 50ms\", \"inactive 9ms abort\"]", "", bound).unwrap();
    assert_eq!(limits.iter().map(|it| it.0).collect::<Vec<_>>(), [block::Mark::Limit(1), block::Mark::Limit(2)]);
    assert_eq!(limits[1].1, ["scheduler.class.a.duration_limit=2"], "a hint changes no class");
    assert!(limits[1].2.contains("cdl_enable") && limits[1].2.contains("DURATION_LIMIT_2"), "{}", limits[1].2);
    assert_eq!(marks("queue = 1", "", bound), None, "the drive heeds none");
    assert_eq!(marks("high_priority = true", "", "mean"), None, "nobody is more urgent");
    let own = marks("high_priority = true", "priority = 1", "mean").expect("b goes first as it is");
    assert_eq!(own[0].1, ["scheduler.class.b.high_priority=true"]);
}

#[test]
fn under_a_stack_there_is_nothing_to_set_but_what_it_has() {
    for (stack, policy) in [(Stack::Linux, "mq-deadline"), (Stack::Zfs, "zfs"), (Stack::Ceph, "dmclock")] {
        let goal = SettingGoal::parse("p99(a) <= 30ms", &["a", "b"]).unwrap();
        let space = space(TEXT, "mean").under(stack).unwrap().with_knobs(&goal);
        let today = space.case(&space.today(), LoadPart::Whole).unwrap().experiment;
        assert_eq!(today.scheduler.policy.manual().name, policy);
        assert!(space.tell_words(&space.today()).is_empty());
        for (at, knob) in space.knobs.iter().enumerate() {
            for choice in 1..knob.choices.len() {
                let mut candidate = space.today();
                candidate[at] = choice;
                let (sets, words) = (space.tell(&candidate), space.tell_words(&candidate));
                assert!(!sets.is_empty() && !words.is_empty(), "{stack}: {sets:?} {words:?}");
                space.case(&candidate, LoadPart::Whole).unwrap_or_else(|error| panic!("{stack} {sets:?}: {error}"));
            }
        }
    }
}

#[test]
fn what_is_set_of_a_stack_counts() {
    let text = TEXT.replace("policy = \"asatf\"\nage_weight = 6.0", "policy = \"mq-deadline\"\nfifo_batch = 3");
    let written = |stack| space(&text, "mean").under(stack).unwrap().document.write();
    assert!(written(Stack::Linux).contains("fifo_batch = 3") && written(Stack::Linux).contains("queue = 1"));
    assert!(!written(Stack::Zfs).contains("fifo_batch") && !written(Stack::Zfs).contains("queue = 1"));
}

#[test]
fn what_is_drawn_is_cut_by_time_and_drawn_anew() {
    let mut space = space(TEXT, "mean");
    space.cut = Some(LoadCut::Time { warm_up: Span(10_000_000_000), length: Span(40_000_000_000) });
    let run = |part| {
        let run = space.case(&space.today(), part).unwrap().experiment.run;
        (run.warmup.0 / 1_000_000_000, run.duration.unwrap().0 / 1_000_000_000, run.seed)
    };
    assert_eq!(run(LoadPart::Seen(1.0)), (10, 30, 3));
    assert_eq!(run(LoadPart::Seen(0.25)), (10, 15, 3));
    assert_eq!([run(LoadPart::Unseen(0)), run(LoadPart::Unseen(7))], [(30, 50, 4), (30, 50, 11)]);
}

#[test]
fn a_trace_is_cut_by_requests_and_no_part_is_seen_twice() {
    let text = "[drive]\nmodel = \"nl20\"\n[scheduler]\npolicy = \"fcfs\"\n[[workload]]\nname = \"t\"\nkind = \"trace\"\n\
                file = \"t.csv\"\nskip = 5\n";
    let mut space = space(text, "mean");
    space.cut = Some(LoadCut::Requests { before: 5, count: 101 });
    let cut = |space: &SearchSpace, part| match &space.case(&space.today(), part).unwrap().experiment.workloads[0].kind
    {
        Kind::Trace(trace) => (trace.skip, trace.take.unwrap()),
        _ => panic!("not a trace"),
    };
    assert_eq!([cut(&space, LoadPart::Seen(1.0)), cut(&space, LoadPart::Seen(0.5))], [(5, 50), (5, 25)]);
    let unseen: Vec<(u64, u64)> = (0..UNSEEN_PARTS).map(|number| cut(&space, LoadPart::Unseen(number))).collect();
    assert_eq!(unseen[0].0, 55);
    assert!(unseen.windows(2).all(|pair| pair[0].0 + pair[0].1 == pair[1].0));
    assert_eq!(unseen[7].0 + unseen[7].1, 106);
    space.cut = Some(LoadCut::Requests { before: 5, count: 5 });
    assert_eq!(space.unseen_parts(), 3);
    let unseen: Vec<(u64, u64)> = (0..3).map(|number| cut(&space, LoadPart::Unseen(number))).collect();
    assert_eq!(unseen, [(7, 1), (8, 1), (9, 1)]);
}

#[test]
fn lists_are_refused() {
    let document = Document::parse("it.toml", &TEXT.replace("queue = 1", "queue = [1, 2]")).unwrap();
    let told = SearchSpace::of(document, Path::new("it.toml"), &[], None).err().unwrap().to_string();
    assert!(told.contains("lists stand where values should"), "{told}");
}
