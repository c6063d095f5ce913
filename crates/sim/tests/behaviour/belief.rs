//! What a scheduler believes of the drive is nearly as good as the truth where the sheet is true, and is never told it.

use crate::files::{once, per_second};

fn experiment(model: &str, predictor: &str, depth: u32, noise: bool, read: f64) -> String {
    buffered(model, predictor, depth, noise, read, false)
}

fn buffered(model: &str, predictor: &str, depth: u32, noise: bool, read: f64, buffered: bool) -> String {
    format!(
        r#"
        [drive]
        model = "{model}"
        queue = 1
        noise = {noise}
        write_buffer = {buffered}
        [scheduler]
        policy = "satf"
        predictor = "{predictor}"
        [[workload]]
        name = "random"
        kind = "closed"
        depth = {depth}
        size = "4KiB"
        read = {read:?}
        [run]
        requests = 12000
        "#
    )
}

#[test]
fn without_noise_the_profile_schedules_within_five_percent_of_the_oracle_and_better_than_distance() {
    for model in ["atlas10k", "st318437lw", "mimic-base", "nl20", "dnes-309170w", "lxt-535sy"] {
        for (depth, read) in [(8, 1.0), (50, 1.0), (50, 0.5)] {
            let [profile, oracle, distance] = ["profile", "oracle", "distance"]
                .map(|predictor| per_second(&once(&experiment(model, predictor, depth, false, read))));
            println!(
                "{model}, depth {depth}, {read} reads: profile {profile:.1}/s, {:.3} of the oracle, {:.3} of distance",
                profile / oracle,
                profile / distance
            );
            assert!(profile >= 0.95 * oracle, "{model}, depth {depth}: {profile} of {oracle} a second");
            assert!(profile >= distance, "{model}, depth {depth}: {profile}, by distance {distance}");
        }
    }
}

#[test]
fn on_one_cylinder_where_heads_switch_the_profile_is_as_good() {
    for (model, cylinder) in [("mimic-base", 2720), ("st318437lw", 1500), ("lxt-535sy", 781)] {
        let rate = |predictor| {
            let text = experiment(model, predictor, 50, false, 1.0)
                .replace("size = \"4KiB\"", &format!("size = \"2KiB\"\nregion = \"0B..{cylinder} blocks\""))
                .replace("noise =", "read_cache = false\nnoise =");
            per_second(&once(&text))
        };
        let (profile, oracle) = (rate("profile"), rate("oracle"));
        println!("{model}, one cylinder: profile {profile:.1}/s, {:.3} of the oracle", profile / oracle);
        assert!(profile >= 0.95 * oracle, "{model}: {profile} of {oracle} a second");
    }
}

#[test]
fn what_the_drive_writes_back_is_believed_nearly_as_well_as_it_is_known() {
    for model in ["atlas10k", "st318437lw", "nl20"] {
        let [profile, oracle] =
            ["profile", "oracle"].map(|predictor| per_second(&once(&buffered(model, predictor, 50, false, 0.5, true))));
        println!(
            "{model}, depth 50, half reads, buffered: profile {profile:.1}/s, {:.3} of the oracle",
            profile / oracle
        );
        assert!(profile >= 0.93 * oracle, "{model}: {profile} of {oracle} a second");
    }
}

#[test]
fn with_noise_the_profile_still_beats_distance() {
    for model in ["st318437lw", "nl20"] {
        let [profile, oracle, distance] = ["profile", "oracle", "distance"]
            .map(|predictor| per_second(&once(&experiment(model, predictor, 50, true, 1.0))));
        println!("{model}, noisy: profile {profile:.1}/s, oracle {oracle:.1}/s, distance {distance:.1}/s");
        assert!(profile > 1.1 * distance && profile < oracle, "{model}: {distance} < {profile} < {oracle}?");
    }
}

#[test]
fn results_of_the_oracle_say_what_they_rest_on() {
    let notes = |predictor| once(&experiment("atlas10k", predictor, 4, true, 1.0)).notes;
    assert!(notes("oracle").iter().any(|note| note.contains("perfect knowledge")), "{:?}", notes("oracle"));
    assert_eq!(notes("profile"), Vec::<String>::new());
}

#[test]
fn policies_rank_as_the_literature_has_them() {
    let rate = |policy: &str| {
        per_second(&once(
            &experiment("atlas10k", "profile", 50, true, 1.0).replace("\"satf\"", &format!("\"{policy}\"")),
        ))
    };
    let [fcfs, c_look, look, sstf, asatf, satf] = ["fcfs", "c-look", "look", "sstf", "asatf", "satf"].map(rate);
    println!(
        "fcfs {fcfs:.0}, c-look {c_look:.0}, look {look:.0}, sstf {sstf:.0}, asatf {asatf:.0}, satf {satf:.0} a second"
    );
    assert!(fcfs < c_look && c_look < look * 1.02 && look < sstf * 1.05 && sstf < asatf && asatf <= satf * 1.005);
    // Worthington, Ganger, Patt: at such depths SATF is worth half as much again as seek-reducing policies.
    assert!(satf > 1.3 * c_look && satf > 1.8 * fcfs);
}
