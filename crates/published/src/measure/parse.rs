//! Reading a measure: sums of products of factors, and comparisons of them.

use super::lexer::{MeasureToken, tokens};
use super::{Expression, LineFigure, Measure, Operator, RunSummary, Selection};

type ParseResult<T> = Result<T, String>;

impl Measure {
    /// Of its text. It says what is wrong and, after `; `, the mend.
    ///
    /// # Errors
    /// When it is not in the language.
    pub fn parse(text: &str) -> ParseResult<Measure> {
        let mut reader = MeasureParser { tokens: tokens(text)?, at: 0 };
        let measure = reader.measure()?;
        match reader.next() {
            None => Ok(measure),
            Some(token) => Err(format!("{} is not expected there; end the measure before it", show(&token))),
        }
    }
}

struct MeasureParser {
    tokens: Vec<MeasureToken>,
    at: usize,
}

impl MeasureParser {
    fn peek(&self) -> Option<&MeasureToken> {
        self.tokens.get(self.at)
    }

    fn next(&mut self) -> Option<MeasureToken> {
        self.at += 1;
        self.tokens.get(self.at - 1).cloned()
    }

    /// Takes the mark if it comes next.
    fn takes(&mut self, mark: char) -> bool {
        let there = self.peek() == Some(&MeasureToken::Mark(mark));
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, mark: char) -> ParseResult<()> {
        if self.takes(mark) {
            return Ok(());
        }
        let found = self.peek().map_or("the end".into(), show);
        Err(format!("`{mark}` is missing before {found}; add it"))
    }

    fn measure(&mut self) -> ParseResult<Measure> {
        if let Some(MeasureToken::Word(word)) = self.peek()
            && let word @ ("rising" | "falling") = word.as_str()
        {
            let rises = word == "rising";
            self.at += 1;
            self.expect('(')?;
            let inner = self.sum()?;
            self.expect(')')?;
            return Ok(if rises { Measure::Rising(inner) } else { Measure::Falling(inner) });
        }
        let first = self.sum()?;
        let mut all = vec![first];
        while self.takes('<') {
            all.push(self.sum()?);
        }
        Ok(if all.len() > 1 { Measure::Order(all) } else { Measure::Figure(all.remove(0)) })
    }

    fn sum(&mut self) -> ParseResult<Expression> {
        let mut left = self.product()?;
        loop {
            let operator = match () {
                () if self.takes('+') => Operator::Add,
                () if self.takes('-') => Operator::Subtract,
                () => return Ok(left),
            };
            left = Expression::Binary(operator, Box::new(left), Box::new(self.product()?));
        }
    }

    fn product(&mut self) -> ParseResult<Expression> {
        let mut left = self.factor()?;
        loop {
            let operator = match () {
                () if self.takes('*') => Operator::Multiply,
                () if self.takes('/') => Operator::Divide,
                () => return Ok(left),
            };
            left = Expression::Binary(operator, Box::new(left), Box::new(self.factor()?));
        }
    }

    fn factor(&mut self) -> ParseResult<Expression> {
        match self.next() {
            Some(MeasureToken::Number(number)) => Ok(Expression::Number(number)),
            Some(MeasureToken::Mark('(')) => {
                let inner = self.sum()?;
                self.expect(')')?;
                Ok(inner)
            }
            Some(MeasureToken::Word(word)) if self.takes('(') => {
                let call = self.call(&word)?;
                self.expect(')')?;
                Ok(call)
            }
            Some(MeasureToken::Word(word)) => self.field(&word),
            Some(token) => {
                Err(format!("{} is not expected there; write a number, a field or a function", show(&token)))
            }
            None => Err("the measure ends too soon; write a number, a field or a function".into()),
        }
    }

    /// The arguments of a function, up to its closing parenthesis.
    fn call(&mut self, name: &str) -> ParseResult<Expression> {
        let line =
            [("intercept", LineFigure::Intercept), ("slope", LineFigure::Slope), ("straight", LineFigure::Straight)];
        if let Some((_, figure)) = line.into_iter().find(|(known, _)| *known == name) {
            let of = self.sum()?;
            self.expect(',')?;
            return Ok(Expression::Line(figure, Box::new(of), self.word()?));
        }
        let summaries = [
            ("largest", RunSummary::Largest),
            ("smallest", RunSummary::Smallest),
            ("mean", RunSummary::Mean),
            ("spread", RunSummary::Spread),
        ];
        if let Some((_, summary)) = summaries.into_iter().find(|(known, _)| *known == name) {
            return Ok(Expression::Summary(summary, Box::new(self.sum()?)));
        }
        match name {
            "share" | "peak" => {
                let selection = self.selection()?;
                self.expect(',')?;
                let from = self.number()?;
                self.expect(',')?;
                let to = self.number()?;
                let of = if name == "share" { Expression::Share } else { Expression::Peak };
                Ok(of(selection, from, to))
            }
            "expected_wait" => {
                let slack = self.number()?;
                let mut times = Vec::new();
                while self.takes(',') {
                    let time = self.number()?;
                    self.expect(',')?;
                    times.push((time, self.number()?));
                }
                Ok(Expression::Wait { slack, times })
            }
            "seek" => {
                let drive = self.word()?;
                self.expect(',')?;
                Ok(Expression::Seek(drive, self.number()? as u32))
            }
            _ => Err(format!(
                "there is no function `{name}`; use intercept, slope, straight, largest, smallest, mean, spread, share, \
                 peak, expected_wait or seek"
            )),
        }
    }

    /// `NAME.path` or, of the word before braces, `NAME{labels}.path`.
    fn field(&mut self, word: &str) -> ParseResult<Expression> {
        let (selection, path) = if let Some(labels) = self.labels() {
            self.expect('.')?;
            (Selection { experiment: word.into(), labels }, self.word()?)
        } else {
            let (experiment, path) =
                word.split_once('.').ok_or_else(|| format!("'{word}' is no field; write EXPERIMENT.FIELD"))?;
            (Selection { experiment: experiment.into(), labels: Vec::new() }, path.into())
        };
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        if path.iter().any(String::is_empty) {
            return Err(format!("the path of a field of `{}` has an empty part; take a dot out", selection.experiment));
        }
        Ok(Expression::Field(selection, path))
    }

    fn selection(&mut self) -> ParseResult<Selection> {
        Ok(Selection { experiment: self.word()?, labels: self.labels().unwrap_or_default() })
    }

    /// Takes the labels if they come next.
    fn labels(&mut self) -> Option<Vec<(String, String)>> {
        let Some(MeasureToken::Labels(labels)) = self.peek().cloned() else { return None };
        self.at += 1;
        Some(labels)
    }

    fn word(&mut self) -> ParseResult<String> {
        match self.next() {
            Some(MeasureToken::Word(word)) => Ok(word),
            other => Err(format!("a name is missing before {}; add it", other.as_ref().map_or("the end".into(), show))),
        }
    }

    fn number(&mut self) -> ParseResult<f64> {
        match self.next() {
            Some(MeasureToken::Number(number)) => Ok(number),
            other => {
                Err(format!("a number is missing before {}; add it", other.as_ref().map_or("the end".into(), show)))
            }
        }
    }
}

fn show(token: &MeasureToken) -> String {
    match token {
        MeasureToken::Number(number) => format!("`{number}`"),
        MeasureToken::Word(word) => format!("`{word}`"),
        MeasureToken::Labels(_) => "`{`".into(),
        MeasureToken::Mark(mark) => format!("`{mark}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(text: &str) -> Expression {
        match Measure::parse(text) {
            Ok(Measure::Figure(expression)) => expression,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn products_bind_closer_than_sums_and_orders_last() {
        let two = || Box::new(Expression::Number(2.0));
        let product = Expression::Binary(Operator::Multiply, two(), two());
        assert_eq!(field("2+2*2"), Expression::Binary(Operator::Add, two(), Box::new(product.clone())));
        assert_eq!(field("(2 * 2)"), product);
        assert!(matches!(Measure::parse("2 + 2 < 2 * 2 < 2"), Ok(Measure::Order(all)) if all.len() == 3));
        assert!(matches!(Measure::parse("rising(a.b - a.c)"), Ok(Measure::Rising(Expression::Binary(..)))));
    }

    #[test]
    fn a_field_has_an_experiment_labels_and_a_path() {
        let Expression::Field(selection, path) = field("np{size=50KiB, rate=0.5/s}.classes.high.response_ms.p99")
        else {
            panic!("no field");
        };
        assert_eq!(selection.experiment, "np");
        assert_eq!(selection.labels, [("size".into(), "50KiB".into()), ("rate".into(), "0.5/s".into())]);
        assert_eq!(path.join("/"), "classes/high/response_ms/p99");
        assert!(matches!(field("np.throughput_mb_s"), Expression::Field(all, _) if all.labels.is_empty()));
        assert!(matches!(field("share(v{size=50KiB}, 3, 16)"), Expression::Share(_, 3.0, 16.0)));
        assert!(matches!(field("seek(st318437lw, 20000)"), Expression::Seek(_, 20_000)));
    }

    #[test]
    fn what_is_not_in_the_language_is_told() {
        for (bad, told) in [
            ("", "ends too soon"),
            ("np", "no field"),
            ("np{size}.x", "no label"),
            ("np{size=1.x", "not closed"),
            ("median(np.x)", "no function `median`"),
            ("slope(np.x)", "`,` is missing"),
            ("1 2", "not expected"),
            ("a.b ^ 2", "'^' means nothing"),
            ("a..b", "empty part"),
            ("rising(a.b) + 1", "not expected"),
        ] {
            let error = Measure::parse(bad).expect_err(bad);
            assert!(error.contains(told), "{bad}: {error}");
        }
    }
}
