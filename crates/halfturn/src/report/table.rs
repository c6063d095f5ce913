//! Tables with one rule under the heads and no other line.

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};

/// Which edge a column keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    Left,
    Right,
}

/// A table of these heads and rows, indented by a space and ended by a newline. Heads may have several lines.
pub fn table(heads: &[(String, Edge)], rows: &[Vec<String>]) -> String {
    let style = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));
    let mut table = Table::new();
    table.load_style(style).force_no_tty();
    let lines = heads.iter().map(|(head, _)| head.lines().count()).max().unwrap_or(0);
    table.set_header(heads.iter().map(|(head, edge)| {
        let missing = lines - head.lines().count().max(1);
        cell(format!("{}{head}", "\n".repeat(missing)), *edge)
    }));
    for row in rows {
        table.add_row(row.iter().zip(heads).map(|(text, (_, edge))| cell(text.clone(), *edge)));
    }
    let mut text = String::new();
    for line in table.lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn cell(text: String, edge: Edge) -> Cell {
    let alignment = if edge == Edge::Left { CellAlignment::Left } else { CellAlignment::Right };
    Cell::new_owned(text).set_alignment(alignment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_stand_on_the_rule_and_nothing_trails() {
        let heads = [("policy".into(), Edge::Left), ("mean\nms".into(), Edge::Right), ("".into(), Edge::Left)];
        let text =
            table(&heads, &[vec!["fcfs".into(), "*1.5".into(), "x".into()], vec!["satf".into(), "10.25".into()]]);
        assert_eq!(
            text,
            "           mean\n policy      ms\n────────────────────\n fcfs      *1.5   x\n satf     10.25\n"
        );
    }
}
