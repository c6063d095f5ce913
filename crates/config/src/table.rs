//! Tables of keys that are declared together.

use crate::About;

/// A table of a file: its keys, and what it is for.
#[derive(Clone, Debug)]
pub struct Table {
    /// Where it stands: `[scheduler.plan]`, `[[workload]]`; what differs from file to file is in capitals.
    pub heading: &'static str,
    /// What it is for.
    pub text: &'static str,
    /// Its keys, in the order in which they are explained.
    pub keys: Vec<About>,
}

impl Table {
    /// What the file calls it inside the table that holds it: `plan` of `[scheduler.plan]`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        let path = self.heading.trim_matches(['[', ']']);
        path.rsplit_once('.').map_or(path, |(_, name)| name)
    }
}

/// Declares the keys of a table as constants, and a function that lists them. The doc comments are what users read. Without the
/// function it declares keys that several tables share, or that are listed elsewhere.
///
/// ```
/// config::keys! {
///     /// The disk itself.
///     pub fn disk() -> "[disk]";
///
///     /// Revolutions a minute.
///     RPM: u32 = within("rpm", 1, 100_000).usually("7200");
///     /// How long a seek over the whole stroke takes.
///     STROKE: block::Span = span("stroke").required();
/// }
/// let table = disk();
/// assert_eq!((table.heading, table.keys[1].name, table.keys[0].text), ("[disk]", "stroke", "Revolutions a minute."));
/// assert_eq!(table.name(), "disk");
/// let document = config::Document::parse("disk.toml", "stroke = '16ms'").unwrap();
/// assert_eq!(document.root().value(&RPM).unwrap(), 7200);
/// ```
#[macro_export]
macro_rules! keys {
    (
        $(#[doc = $doc:literal])*
        $see:vis fn $table:ident() -> $heading:literal;
        $($(#[doc = $text:literal])* $key:ident: $value:ty = $make:ident($($given:expr),*) $(.$more:ident($($how:expr)?))*;)*
    ) => {
        $crate::keys! { $($(#[doc = $text])* $see $key: $value = $make($($given),*) $(.$more($($how)?))*;)* }

        $(#[doc = $doc])*
        #[must_use]
        $see fn $table() -> $crate::Table {
            $crate::Table { heading: $heading, text: $crate::joined!($($doc)*), keys: vec![$($key.about),*] }
        }
    };
    ($($(#[doc = $text:literal])* $see:vis $key:ident: $value:ty = $make:ident($($given:expr),*) $(.$more:ident($($how:expr)?))*;)*) => {
        $($(#[doc = $text])*
        $see const $key: $crate::Key<$value> =
            $crate::Key::<$value>::$make($($given),*)$(.$more($($how)?))*.about($crate::joined!($($text)*));)*
    };
}

/// The lines of a doc comment as one text.
#[doc(hidden)]
#[macro_export]
macro_rules! joined {
    ($($line:literal)*) => { $crate::trim_doc(concat!($($line),*)) };
}

/// A text without the space that doc comments begin with.
#[doc(hidden)]
#[must_use]
pub const fn trim_doc(text: &'static str) -> &'static str {
    text.trim_ascii()
}
