//! What a file of `reproduce/` may not say.

use published::TargetFile;

/// What is told of a target with these lines beside its id, claim and measure; nothing where it is read.
fn told(lines: &str) -> Option<String> {
    let text = format!(
        "title = \"t\"\nsource = \"s\"\n[[target]]\nid = \"a.b\"\nclaim = \"c\"\nmeasure = \"expected_wait(0, 122, 1)\"\n{lines}"
    );
    TargetFile::parse("a", &text, published::RunLength::Quick).err().map(|error| error.to_string())
}

#[test]
fn a_printed_number_needs_both_sides_within_30_per_cent_or_the_words_of_the_paper() {
    let target = |tolerance: &str, more: &str| {
        told(&format!("published = 61\ntolerance = \"{tolerance}\"\nbasis = \"published\"\n{more}"))
    };
    for tolerance in [">= 50", "<= 70", "> 50", "< 70", "31 %", "20", "40..70", "50..80", ">= 50, <= 80"] {
        assert_eq!(
            target(tolerance, "").expect("refused"),
            format!(
                "reproduce/a.toml:8: `{tolerance}` is not within 30 % of the printed 61 on both sides\n  mend: give a \
                 share of it as well (30 %, >= 5), or quote the paper's own looser words (quote = \"up to\")"
            )
        );
        assert_eq!(target(tolerance, "quote = \"more than 50\""), None, "{tolerance}");
    }
    for tolerance in ["30 %", "18", "43..79", "30 %, >= 50", ">= 50, <= 70"] {
        assert_eq!(target(tolerance, ""), None, "{tolerance}");
    }
}

#[test]
fn a_bound_around_words_needs_them_quoted_or_derived() {
    let target = |more: &str| told(&format!("published = \"flat\"\ntolerance = \"<= 70\"\n{more}"));
    assert_eq!(
        target("basis = \"published\"\n").expect("refused"),
        "reproduce/a.toml:8: no number was published, and no words of the paper say `<= 70`\n  mend: quote them (quote = \
         \"a factor of 4\"), or write `basis = \"own\"` where nothing was published"
    );
    for more in ["basis = \"published\"\nquote = \"flat\"", "basis = \"derived\"\nhow = \"so\"", "basis = \"own\""] {
        assert_eq!(target(more), None, "{more}");
    }
}

#[test]
fn a_basis_says_how() {
    let target = |more: &str| told(&format!("published = 61\ntolerance = \"5 %\"\n{more}"));
    for (more, expected) in [
        ("", "reproduce/a.toml:3: missing key `basis`"),
        ("basis = \"printed\"", "reproduce/a.toml:9: `basis` cannot be 'printed'"),
        ("basis = \"fitted\"", "reproduce/a.toml:3: missing key `how`"),
        ("basis = \"derived\"", "reproduce/a.toml:3: missing key `how`"),
        ("basis = \"construction\"", "reproduce/a.toml:3: missing key `how`"),
        ("basis = \"repeat\"", "reproduce/a.toml:3: missing key `how`"),
        ("basis = \"published\"\nhow = \"so\"", "reproduce/a.toml:10: `how` beside basis = \"published\""),
        (
            "basis = \"own\"\nknown_miss = \"so\"\nexpect = \"held\"",
            "reproduce/a.toml:11: a known miss that is expected",
        ),
        ("basis = \"own\"\nexpect = \"hit\"", "reproduce/a.toml:10: `expect` cannot be 'hit'"),
    ] {
        let told = target(more).expect("refused");
        assert!(told.starts_with(expected), "{told}");
    }
    assert_eq!(target("basis = \"fitted\"\nhow = \"so\""), None);
}

/// What is told of the cells of a table.
fn cells(lines: &str) -> Result<TargetFile, String> {
    let text = format!(
        "title = \"t\"\nsource = \"s\"\n[[cells]]\nid = \"a.at\"\nclaim = \"$2 of $1\"\nmeasure = \"expected_wait(0, $1, 1)\"\n\
         tolerance = \"10 %\"\nbasis = \"derived\"\nhow = \"from $1\"\n{lines}"
    );
    TargetFile::parse("a", &text, published::RunLength::Quick).map_err(|error| error.to_string())
}

#[test]
fn cells_are_targets_of_their_own() {
    let file =
        cells("cells = [\"122 x 61.0\", \"100 y 50\"]\nmissed = [\"100 y\"]\nknown_miss = \"why\"").expect("a file");
    let shown: Vec<_> = file
        .targets
        .iter()
        .map(|target| {
            let (how, miss) = (target.basis.how().expect("how"), target.known_miss.as_deref());
            (target.id.as_str(), target.claim.as_str(), target.published.to_string(), how, miss)
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("a.at.122.x", "x of 122", "61.0".to_owned(), "from 122", None),
            ("a.at.100.y", "y of 100", "50".to_owned(), "from 100", Some("why"))
        ]
    );
}

#[test]
fn cells_that_are_none_are_told() {
    for (lines, expected) in [
        ("cells = [\"61\"]", "reproduce/a.toml:10: '61' is no cell"),
        ("cells = [\"122 x\"]", "reproduce/a.toml:10: '122 x' ends in no number"),
        ("cells = [\"122 1,234\"]", "reproduce/a.toml:10: '122 1,234' ends in no number"),
        ("cells = [\"x 61\"]", "reproduce/a.toml:6: `measure` of 'x':"),
        ("cells = [\"122 61\"]\nmissed = [\"123\"]", "reproduce/a.toml:10: there is no cell '123'"),
        ("cells = [\"122 61\"]\nmissed = [\"122\"]\nundecided = [\"122\"]", "reproduce/a.toml:12: '122' is missed too"),
        ("cells = [\"122 61\", \"122 62\"]", "reproduce/a.toml:4: a second target 'a.at.122'"),
    ] {
        let told = cells(lines).expect_err(lines);
        assert!(told.starts_with(expected), "{told}");
    }
}

#[test]
fn what_is_not_measured_says_why() {
    let target = |more: &str| {
        let text = format!(
            "title = \"t\"\nsource = \"s\"\n[[target]]\nid = \"a.b\"\nclaim = \"c\"\nmeasure = \"none\"\npublished = 1\n\
             tolerance = \"0\"\nbasis = \"published\"\n{more}"
        );
        TargetFile::parse("a", &text, published::RunLength::Quick).err().map(|error| error.to_string())
    };
    assert_eq!(
        target("").expect("refused"),
        "reproduce/a.toml:6: nothing is measured, and nothing says why\n  mend: say why in `note`"
    );
    assert_eq!(target("note = \"no key sets it\""), None);
}
