//! Pages with figures that open offline: the library that draws is inside.

use super::chart::Chart;
use plotly::Plot;

/// A page of parts, one under the other.
pub struct Page {
    title: String,
    body: String,
    figures: usize,
}

impl Page {
    /// An empty page with this title.
    pub fn new(title: &str) -> Page {
        Page { title: title.into(), body: format!("<h1>{}</h1>\n", escaped(title)), figures: 0 }
    }

    pub fn heading(&mut self, text: &str) {
        self.body += &format!("<h2>{}</h2>\n", escaped(text));
    }

    /// Text whose lines and columns are kept.
    pub fn text(&mut self, text: &str) {
        self.body += &format!("<pre>{}</pre>\n", escaped(text));
    }

    pub fn figure(&mut self, plot: &Plot) {
        self.put(plot, "30em");
    }

    /// A figure so many pixels high.
    pub fn figure_of(&mut self, plot: &Plot, height: f64) {
        self.put(plot, &format!("{height:.0}px"));
    }

    fn put(&mut self, plot: &Plot, height: &str) {
        self.figures += 1;
        let figure = plot.to_inline_html(Some(&format!("figure-{}", self.figures)));
        self.body += &format!("<div style=\"height: {height}\">{figure}</div>\n");
    }

    /// A chart of bars along time.
    pub fn chart(&mut self, chart: &Chart) {
        self.figures += 1;
        // What would end the script must not be in it.
        let [traces, layout] = [chart.traces(), chart.layout()].map(|json| json.to_string().replace('<', "\\u003c"));
        let (id, height) = (format!("figure-{}", self.figures), chart.height());
        self.body += &format!(
            "<div id=\"{id}\" style=\"height: {height}px\"></div>\n<script>Plotly.newPlot(\"{id}\", {traces}, {layout}, \
             {{\"responsive\": true, \"scrollZoom\": true}})</script>\n"
        );
    }

    /// The finished page, which opens without a network.
    pub fn html(self) -> String {
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{}</title>\n{}\n</head>\n\
             <body style=\"font-family: sans-serif; margin: 2em\">\n{}</body>\n</html>\n",
            escaped(&self.title),
            Plot::offline_js_sources(),
            self.body
        )
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_whole_and_names_no_other_place_to_load_from() {
        let mut page = Page::new("a < b");
        page.figure(&Plot::new());
        page.figure(&Plot::new());
        let html = page.html();
        assert!(html.contains("a &lt; b") && html.contains("figure-1") && html.contains("figure-2"));
        assert!(!html.contains("<script src") && html.trim_end().ends_with("</html>"));
    }
}
