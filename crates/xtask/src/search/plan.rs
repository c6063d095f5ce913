//! The file of a search.

use toml::{Table, Value};

/// A parameter that is searched.
#[derive(Clone, Debug)]
pub struct SearchKnob {
    pub name: String,
    pub options: Vec<KnobOption>,
    start: usize,
}

/// What a parameter may be.
#[derive(Clone, Debug)]
pub struct KnobOption {
    pub name: String,
    /// What that changes in the experiments, as `--set` takes it.
    changes: Vec<String>,
}

/// What is searched, and by what it is judged.
#[derive(Clone, Debug)]
pub struct SearchPlan {
    /// The targets that judge.
    pub targets: Vec<String>,
    /// How near a measured number must be, as a share of the printed one.
    pub within: f64,
    pub knobs: Vec<SearchKnob>,
    /// Names of columns, and the parts that an id of theirs has.
    columns: Vec<(String, Vec<String>)>,
}

impl SearchPlan {
    /// Reads the text of the file of this name.
    ///
    /// # Errors
    /// What is wrong, and the mend.
    pub fn parse(name: &str, text: &str) -> Result<SearchPlan, String> {
        let table: Table = text.parse().map_err(|error| format!("{name}: {error}"))?;
        let bad = |what: &str| format!("{name}: {what}\n  mend: see reproduce/search/pfm.toml");
        let targets = strings(table.get("targets")).ok_or_else(|| bad("`targets` is no list of ids"))?;
        let within = table.get("within").and_then(Value::as_float).ok_or_else(|| bad("`within` is no share"))?;
        let parameters = table.get("parameter").and_then(Value::as_array).ok_or_else(|| bad("no [[parameter]]"))?;
        let knobs =
            parameters.iter().map(|knob| SearchKnob::parse(knob).ok_or_else(|| bad("a [[parameter]] is not whole")));
        let columns = table.get("columns").and_then(Value::as_table).into_iter().flatten();
        let columns = columns.map(|(name, parts)| Some((name.clone(), strings(Some(parts))?))).collect::<Option<_>>();
        Ok(SearchPlan {
            targets,
            within,
            knobs: knobs.collect::<Result<_, _>>()?,
            columns: columns.ok_or_else(|| bad("a column is no list of parts of ids"))?,
        })
    }

    /// Where each parameter starts.
    pub fn start(&self) -> Vec<usize> {
        self.knobs.iter().map(|knob| knob.start).collect()
    }

    /// What a choice changes.
    pub fn changes<'a>(&'a self, choice: &'a [usize]) -> impl Iterator<Item = &'a str> {
        let chosen = self.knobs.iter().zip(choice).flat_map(|(knob, option)| &knob.options[*option].changes);
        chosen.map(String::as_str)
    }

    /// The column that a target belongs to: the one of which it has most parts.
    pub fn column(&self, id: &str) -> &str {
        let has_all = |(_, parts): &&(String, Vec<String>)| parts.iter().all(|part| id.contains(part.as_str()));
        let column = self.columns.iter().filter(has_all).max_by_key(|(_, parts)| parts.len());
        column.map_or("other", |(name, _)| name)
    }

    /// A choice in words.
    pub fn show(&self, choice: &[usize]) -> String {
        let words = self.knobs.iter().zip(choice).map(|(knob, o)| format!("{} {}", knob.name, knob.options[*o].name));
        words.collect::<Vec<_>>().join(", ")
    }
}

impl SearchKnob {
    fn parse(value: &Value) -> Option<SearchKnob> {
        let (name, start) = (value.get("name")?.as_str()?, value.get("start")?.as_str()?);
        let options = value.get("options")?.as_table()?.iter();
        let option = |(name, changes): (&String, &Value)| {
            Some(KnobOption { name: name.clone(), changes: strings(Some(changes))? })
        };
        let options: Vec<KnobOption> = options.map(option).collect::<Option<_>>()?;
        let start = options.iter().position(|option| option.name == start)?;
        Some(SearchKnob { name: name.into(), options, start })
    }
}

fn strings(value: Option<&Value>) -> Option<Vec<String>> {
    value?.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
}
