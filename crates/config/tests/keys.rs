//! What declared keys take, and what is said of what they do not take.

use block::Span;
use config::{Document, Key};

/// What a key makes of the value that a file gives it.
fn read<T>(key: &Key<T>, value: &str) -> Result<T, String> {
    let document = Document::parse("f.toml", &format!("key = {value}\n")).expect("parses");
    document.root().value(key).map_err(|error| error.to_string())
}

#[test]
fn a_number_outside_its_bounds_is_refused_and_the_bounds_are_told() {
    let (any, some, few) =
        (Key::number("key", 0.0, f64::MAX), Key::number("key", 0.5, f64::MAX), Key::number("key", 0.5, 2.0));
    for (key, good, bad, mend) in [
        (&any, ["0", "1e9"], "-1", "give a number, zero or more"),
        (&some, ["0.5", "1e9"], "0.25", "give a number from 0.5 on"),
        (&few, ["0.5", "2"], "2.5", "give a number from 0.5 to 2"),
    ] {
        assert_eq!(good.map(|text| read(key, text)), good.map(|text| Ok(text.parse::<f64>().unwrap())));
        let said = read(key, bad).unwrap_err();
        assert!(said.starts_with("f.toml:1: ") && said.ends_with(&format!("\n  mend: {mend}")), "{said}");
    }
    assert!(read(&any, "-1").unwrap_err().contains("`key` is negative: -1"));
}

#[test]
fn whole_numbers_have_bounds_too_both_of_which_are_taken() {
    let (whole, within) = (Key::whole("key", 2, 5), Key::within("key", 2, 5));
    for number in 0..8u32 {
        let inside = (2..=5).contains(&number);
        assert_eq!(read(&whole, &number.to_string()).ok(), inside.then_some(u64::from(number)));
        assert_eq!(read(&within, &number.to_string()).ok(), inside.then_some(number));
    }
}

#[test]
fn a_time_or_its_word_is_read() {
    let key = Key::<Option<Span>>::span_or("key", "never");
    assert_eq!(read(&key, "\"never\""), Ok(None));
    assert_eq!(read(&key, "\"2ms\""), Ok(Some(Span(2_000_000))));
    assert!(read(&key, "\"always\"").is_err());
}

#[test]
fn what_is_missing_is_refused_or_what_it_usually_is() {
    let document = Document::parse("f.toml", "other = 1\n").expect("parses");
    let share = Key::<f64>::share("key");
    assert!(document.root().value(&share.required()).is_err());
    let share = Key::<f64>::share("key").usually("0.25");
    assert_eq!(document.root().value(&share).unwrap(), 0.25);
    assert_eq!(document.root().get(&share).unwrap(), None);
}
