//! Pages with figures that open offline: what draws them is inside.

use super::figure::Figure;

/// What draws the figures, and how the page looks.
const SCRIPT: &str = include_str!("figure.js");
const STYLE: &str = include_str!("page.css");

/// Heads and rows of equally many cells; those of the first columns are words, all others figures.
pub struct SortableTable {
    pub heads: Vec<String>,
    pub rows: Vec<Vec<String>>,
    pub words: usize,
}

/// A page of parts, one under the other.
pub struct HtmlPage {
    title: String,
    body: String,
    figures: usize,
}

impl HtmlPage {
    /// An empty page with this title.
    pub fn new(title: &str) -> HtmlPage {
        HtmlPage { title: title.into(), body: format!("<main>\n<h1>{}</h1>\n", escape(title)), figures: 0 }
    }

    pub fn heading(&mut self, text: &str) {
        self.body += &format!("<h2>{}</h2>\n", escape(text));
    }

    /// What a reader came for, a paragraph for each thing there is to say.
    pub fn answer(&mut self, lines: &[String]) {
        let lines: String = lines.iter().map(|line| format!("<p>{}</p>\n", escape(line))).collect();
        self.body += &format!("<section class=\"answer\" aria-label=\"Answer\">\n{lines}</section>\n");
    }

    /// A table that the reader sorts by a click on a head.
    pub fn table(&mut self, table: &SortableTable) {
        let head = |head: &String| format!("<th scope=\"col\"><button>{}</button></th>", escape(head));
        let cell = |(column, cell): (usize, &String)| {
            let class = if column < table.words { "" } else { " class=\"number\"" };
            format!("<td{class}>{}</td>", escape(cell))
        };
        let row = |row: &Vec<String>| format!("<tr>{}</tr>\n", row.iter().enumerate().map(cell).collect::<String>());
        let heads: String = table.heads.iter().map(head).collect();
        let rows: String = table.rows.iter().map(row).collect();
        self.body += &format!(
            "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table; a head sorts it\"><table>\n\
             <thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
        );
    }

    /// Text whose lines and columns are kept.
    pub fn text(&mut self, text: &str) {
        self.body += &format!("<pre tabindex=\"0\">{}</pre>\n", escape(text));
    }

    pub fn figure(&mut self, figure: &Figure) {
        self.figures += 1;
        let number = self.figures;
        let told = escape(&figure.describe());
        let json = serde_json::to_string(figure).expect("a figure is plain data");
        // What would end the script must not be in it.
        let json = json.replace('<', "\\u003c");
        self.body += &format!(
            "<div id=\"figure-{number}\" role=\"group\" aria-label=\"{told}\"></div>\n\
             <script type=\"application/json\" data-figure=\"figure-{number}\">{json}</script>\n"
        );
    }

    /// The finished page, which opens without a network.
    pub fn html(self) -> String {
        let (title, body) = (escape(&self.title), self.body);
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n\
             <body>\n{body}</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
        )
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
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
