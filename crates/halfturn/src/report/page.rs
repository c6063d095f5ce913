//! Pages with figures that open offline: what draws them is inside.

use super::figure::Figure;

/// What draws the figures, and how the page looks.
const SCRIPT: &str = include_str!("figure.js");
const STYLE: &str = include_str!("page.css");

/// A page of parts, one under the other.
pub struct HtmlPage {
    title: String,
    body: String,
    figures: usize,
}

impl HtmlPage {
    /// An empty page with this title.
    pub fn new(title: &str) -> HtmlPage {
        HtmlPage { title: title.into(), body: format!("<h1>{}</h1>\n", escape(title)), figures: 0 }
    }

    pub fn heading(&mut self, text: &str) {
        self.body += &format!("<h2>{}</h2>\n", escape(text));
    }

    /// Text whose lines and columns are kept.
    pub fn text(&mut self, text: &str) {
        self.body += &format!("<pre>{}</pre>\n", escape(text));
    }

    pub fn figure(&mut self, figure: &Figure) {
        self.figures += 1;
        let number = self.figures;
        let json = serde_json::to_string(figure).expect("a figure is plain data");
        // What would end the script must not be in it.
        let json = json.replace('<', "\\u003c");
        self.body += &format!(
            "<div id=\"figure-{number}\"></div>\n\
             <script type=\"application/json\" data-figure=\"figure-{number}\">{json}</script>\n"
        );
    }

    /// The finished page, which opens without a network.
    pub fn html(self) -> String {
        let (title, body) = (escape(&self.title), self.body);
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n\
             <body>\n{body}<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
        )
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::figure::{Axis, Marks, Series};
    use super::*;

    #[test]
    fn a_page_is_whole_and_names_no_other_place_to_load_from() {
        let mut page = HtmlPage::new("a < b");
        let mut figure = Figure::new("", Axis::of("ms"), Axis::log("per second"));
        figure.series.push(Series::new("</script>", "#123456", Marks::Dots { at: vec![(1.0, 2.0)] }));
        page.figure(&figure);
        page.figure(&figure);
        let html = page.html();
        assert!(html.contains("a &lt; b") && html.contains("figure-1") && html.contains("figure-2"));
        assert!(!html.contains("<script src") && !html.contains("http") && html.trim_end().ends_with("</html>"));
        assert_eq!(html.matches("</script>").count(), 3, "the name of a series ends no script");
    }
}
