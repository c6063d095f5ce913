use super::*;
use sched::array::Grown;

fn wanted() -> Geometry {
    Geometry::new(Level::Parity, 3, 8, 80).expect("a geometry")
}

fn label_disks() -> Vec<Said> {
    (0..3).map(|index| Ok(Some(Superblock::example(index)))).collect()
}

/// Changes what a disk says; what is then found of all.
fn judge_changed(change: impl FnOnce(&mut Vec<Said>)) -> ArrayStatus {
    let mut all = label_disks();
    change(&mut all);
    judge(&all, &wanted())
}

fn label(all: &mut [Said], disk: usize) -> &mut Superblock {
    all[disk].as_mut().ok().and_then(Option::as_mut).expect("a label")
}

#[test]
fn what_is_wrong_with_a_disk_is_found_and_said() {
    let states = |status: &ArrayStatus| status.disks.iter().map(MemberState::word).collect::<Vec<_>>();
    let admits = |status: &ArrayStatus| {
        [Lacking::Refused, Lacking::Allowed].map(|lacking| status.admit(&wanted(), lacking).is_ok())
    };
    let all = judge_changed(|_| {});
    assert_eq!((states(&all), admits(&all)), (vec!["sound"; 3], [true; 2]));
    let behind = judge_changed(|all| label(all, 1).events = 4);
    assert_eq!(admits(&behind), [true; 2], "the power went while one event was written down");
    for (change, state, admitted) in [
        ((|all| label(all, 1).events = 3) as fn(&mut Vec<Said>), "stale", [false, true]),
        (|all| label(all, 0).disks[1] = Noted::GivenUp, "sound", [true; 2]),
        (
            |all| {
                label(all, 0).disks[1] = Noted::GivenUp;
                label(all, 0).events = 6;
            },
            "given up",
            [false, true],
        ),
        (|all| label(all, 1).array = [8; 16], "foreign", [false; 2]),
        (|all| label(all, 1).index = 2, "misplaced", [false; 2]),
        (|all| label(all, 1).unit = 16, "unlike layout", [false; 2]),
        (|all| label(all, 1).rows = 11, "unlike layout", [false; 2]),
        (|all| label(all, 1).disks.push(Noted::Sound), "unlike layout", [false; 2]),
        (|all| all[1] = Ok(None), "no superblock", [false, true]),
        (|all| all[1] = Err("gone".into()), "absent", [false, true]),
    ] {
        let status = judge_changed(change);
        assert_eq!((states(&status)[1], admits(&status)), (state, admitted), "{}", status.text());
        assert_eq!([states(&status)[0], states(&status)[2]], ["sound"; 2], "{}", status.text());
    }
}

#[test]
fn of_disks_that_all_are_without_a_superblock_none_is_unlike_the_others() {
    let told = |status: ArrayStatus| {
        (status.text().contains("others have"), status.json().to_string().contains("others have"))
    };
    assert_eq!(told(judge_changed(|all| all[1] = Ok(None))), (true, true));
    let none = judge_changed(|all| all.fill(Ok(None)));
    assert_eq!((told(none.clone()), none.disks), ((false, false), vec![MemberState::Unlabelled; 3]));
}

/// A disk took the place of disk 1, of which all know, or which none but itself does yet.
fn replace(all: &mut [Said], knows: &[usize]) {
    for disk in knows {
        let label = label(all, *disk);
        (label.disks[1], label.names[1], label.events) = (Noted::Filling, 77, 6);
    }
    (label(all, 1).own_name, label(all, 1).filled) = (77, 4);
}

#[test]
fn a_disk_that_is_filled_goes_on_and_one_whose_place_was_taken_is_not_had_for_it() {
    let filling = MemberState::Filling(4);
    for knows in [&[0, 1, 2][..], &[1], &[0, 1]] {
        let status = judge_changed(|all| replace(all, knows));
        assert_eq!(status.disks, [MemberState::Sound, filling.clone(), MemberState::Sound], "{knows:?}");
        assert_eq!(status.admit(&wanted(), Lacking::Refused), Ok(()));
        assert_eq!(status.disks.iter().map(MemberState::rows_held).collect::<Vec<_>>(), [u64::MAX, 4, u64::MAX]);
    }
    // The one that was there before, the name of which is 0.
    let old = judge_changed(|all| {
        replace(all, &[0, 1, 2]);
        label(all, 1).own_name = 0;
    });
    assert_eq!(old.disks[1], MemberState::Replaced);
    assert!(old.admit(&wanted(), Lacking::Refused).is_err_and(|(_, mend)| mend.contains("that took it")));
    assert_eq!(old.admit(&wanted(), Lacking::Allowed), Ok(()));
    // The array has gone on without it since.
    let past = judge_changed(|all| {
        replace(all, &[0, 1, 2]);
        [0, 2].iter().for_each(|disk| label(all, *disk).events = 8);
    });
    assert_eq!(past.disks[1], MemberState::Stale);
    let second = judge_changed(|all| {
        replace(all, &[0, 1, 2]);
        all[2] = Err("gone".into());
    });
    assert!(second.admit(&wanted(), Lacking::Allowed).is_err(), "what is filled is not there yet");
}

#[test]
fn a_disk_of_a_copy_that_was_served_by_itself_is_not_had_for_the_one_it_is_a_copy_of() {
    let admits = |status: &ArrayStatus| {
        [Lacking::Refused, Lacking::Allowed].map(|lacking| status.admit(&wanted(), lacking).is_ok())
    };
    let serve = |label: &mut Superblock, service: u64, sequence: u64| {
        (label.service, label.former_service, label.sequence) = (service, service, sequence);
    };
    // The copy stayed as it was, or it alone was served, or both were, one of them more often.
    for (ours, its) in [((8, 9), (6, 1)), ((6, 1), (7, 9)), ((8, 9), (7, 9)), ((8, 9), (7, 20)), ((8, 20), (7, 9))] {
        let status = judge_changed(|all| {
            (0..3).for_each(|disk| serve(label(all, disk), ours.0, ours.1));
            serve(label(all, 1), its.0, its.1);
        });
        assert!(status.disks.contains(&MemberState::Copied), "{}", status.text());
        assert_eq!(admits(&status), [false; 2], "{}", status.text());
    }
    // A service was stopped while it told the disks of itself, before or after some were told that all knew.
    for told in 0..8 {
        let stopped = judge_changed(|all| {
            for disk in (0..3).filter(|disk| told >> disk & 1 == 1) {
                (label(all, disk).service, label(all, disk).sequence) = (8, 2);
            }
        });
        assert_eq!(admits(&stopped), [true; 2], "{}", stopped.text());
        let settled = judge_changed(|all| {
            (0..3).for_each(|disk| label(all, disk).service = 8);
            (0..3).filter(|disk| told >> disk & 1 == 1).for_each(|disk| serve(label(all, disk), 8, 3));
        });
        assert_eq!(admits(&settled), [true; 2], "{}", settled.text());
    }
}

#[test]
fn of_disks_in_another_order_none_is_taken_and_of_too_few_none_either() {
    let swapped = judge_changed(|all| all.swap(0, 2));
    assert_eq!(swapped.disks, [MemberState::Misplaced(2), MemberState::Sound, MemberState::Misplaced(0)]);
    assert!(swapped.admit(&wanted(), Lacking::Allowed).is_err());
    let few = judge_changed(|all| (all[0], all[2]) = (Err("gone".into()), Err("gone".into())));
    let (what, _) = few.admit(&wanted(), Lacking::Allowed).expect_err("two are lacking");
    assert!(what.starts_with("2 of 3 disks are lacking"), "{what}");
    let none = judge_changed(|all| all.iter_mut().for_each(|said| *said = Ok(None)));
    assert!(none.admit(&wanted(), Lacking::Allowed).is_err() && none.name.is_none());
}

#[test]
fn an_array_grows_by_several_disks_where_all_of_these_were_told_or_any_other() {
    let former = |index| Superblock {
        level: Level::Mirrored { copies: 2 },
        disks: vec![Noted::Sound; 4],
        names: vec![0; 4],
        ..Superblock::example(index)
    };
    let grown = |index| Superblock {
        disks: vec![Noted::Sound; 6],
        names: vec![0, 0, 0, 0, 7, 8],
        own_name: u64::from(if index < 4 { 0 } else { 3 + index }),
        events: 6,
        growth: Some(LabelGrowth { former: 4, grown: Grown { rows: 0, copied: false } }),
        ..former(index)
    };
    let disks = |told: &[u16]| {
        let said = |index| {
            Ok(Some(index)
                .filter(|index| told.contains(index) || *index < 4)
                .map(|index| if told.contains(&index) { grown(index) } else { former(index) }))
        };
        FoundLayout::of(&(0..6).map(said).collect::<Vec<Said>>()).expect("an array").disks()
    };
    assert_eq!([disks(&[]), disks(&[4]), disks(&[5])], [4; 3], "one of a pair alone");
    assert_eq!([disks(&[4, 5]), disks(&[0, 4, 5]), disks(&[0, 4]), disks(&[3])], [6; 4]);
}

/// Of four disks in pairs, of which some were told that they come to have parity.
fn tell_of_trade(told: &[u16], copied: bool) -> Vec<Said> {
    let former = |index| Superblock {
        level: Level::Mirrored { copies: 2 },
        disks: vec![Noted::Sound; 4],
        names: vec![0; 4],
        ..Superblock::example(index)
    };
    let growth = Some(LabelGrowth { former: 4, grown: Grown { rows: u64::from(copied), copied } });
    let told_of = |index| Superblock { level: Level::Parity, former_copies: 2, events: 6, growth, ..former(index) };
    (0..4).map(|index| Ok(Some(if told.contains(&index) { told_of(index) } else { former(index) }))).collect()
}

#[test]
fn parity_comes_in_place_of_copies_as_soon_as_one_disk_was_told() {
    let five = Geometry::new(Level::Parity, 4, 8, 80).expect("a geometry");
    for told in [&[0][..], &[3], &[1, 2], &[0, 1, 2, 3]] {
        let said = tell_of_trade(told, false);
        let found = FoundLayout::of(&said).expect("an array");
        let geometry = found.fit(&five);
        assert_eq!((found.level(), found.former_copies(), geometry.moved_rows()), (Level::Parity, 2, 0));
        assert_eq!(geometry.traded_level(), Some(Level::Mirrored { copies: 2 }));
        let status = judge(&said, &geometry);
        assert_eq!(status.disks, vec![MemberState::Sound; 4], "{told:?}: {}", status.text());
        assert!(status.text().contains("becoming a RAID 5 of a RAID 0/1: 0.0 % has moved"), "{}", status.text());
    }
}

#[test]
fn a_row_that_comes_to_have_parity_is_lost_with_a_disk_that_alone_has_a_part_of_it_and_with_no_other() {
    let five = Geometry::new(Level::Parity, 4, 8, 80).expect("a geometry");
    // Of the second row the last disk has what lay in it.
    for (lacking, admitted) in [(0, true), (1, true), (2, true), (3, false)] {
        let mut said = tell_of_trade(&[0, 1, 2, 3], true);
        said[lacking] = Err("gone".into());
        let geometry = FoundLayout::of(&said).expect("an array").fit(&five);
        assert_eq!(geometry.moved_rows(), 2, "what was being overwritten is written where it is to be");
        let ends = judge(&said, &geometry).admit(&geometry, Lacking::Allowed);
        assert_eq!(ends.is_ok(), admitted, "without disk {lacking}: {ends:?}");
        assert!(admitted || ends.is_err_and(|(what, _)| what.contains("disk 3, which alone has a part of it")));
    }
}

#[test]
fn a_region_is_dirty_that_any_sound_disk_knows_to_be() {
    let status = judge_changed(|all| {
        label(all, 0).dirty.add(24);
        [41, 42].into_iter().for_each(|region| label(all, 2).dirty.add(region));
    });
    assert_eq!(status.dirty, 3);
    let past = judge_changed(|all| {
        label(all, 0).events = 2;
        label(all, 0).dirty.add(24);
    });
    assert_eq!(past.dirty, 0, "what is of the past knows nothing");
}

#[test]
fn a_region_is_blank_that_all_disks_that_count_know_to_be() {
    let know = |all: &mut Vec<Said>| {
        (0..3).for_each(|disk| [0, 1, 9].into_iter().for_each(|region| label(all, disk).blank.add(region)));
    };
    let row = 2 * 8 * BLOCK_BYTES;
    let all = judge_changed(know);
    assert_eq!((all.written, all.bytes), (7 * row, 10 * row));
    // The power went while the first write of region 1 was noted.
    for told in 0..3 {
        let one = judge_changed(|all| {
            know(all);
            label(all, told).blank.remove(1);
        });
        assert_eq!(one.written, 8 * row, "disk {told} alone was told");
    }
    // One that was away does not know what was written since, nor what was given up.
    for stale in [0, 2] {
        let past = judge_changed(|all| {
            know(all);
            label(all, stale).events = 3;
            (0..10).for_each(|region| label(all, stale).blank.add(region));
            label(all, stale).blank.remove(9);
        });
        assert_eq!((past.disks[stale].word(), past.written), ("stale", 7 * row));
    }
    assert_eq!(judge_changed(|_| {}).written, 10 * row, "of an array that does not note it all is written");
}
