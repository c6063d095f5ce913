//! The published results that ship with the project: the files under `reproduce/`.

use crate::file::TargetFile;
use block::BadInput;

/// The id and text of files of `reproduce/`.
macro_rules! files {
    ($($id:literal),* $(,)?) => { &[$(($id, include_str!(concat!("../../../reproduce/", $id, ".toml")))),*] };
}

/// Every file, in the order of the papers.
const FILES: &[(&str, &str)] = files![
    "vio.eq1",
    "vio.eq2",
    "vio.example",
    "vio.disk",
    "vio.fig1",
    "vio.fig2",
    "vio.fig4",
    "vio.fig9",
    "vio.fig10",
    "vio.fig11",
    "vio.fig12",
    "vio.fig13",
    "vio.fig14",
    "vio.fig15",
    "vio.table1",
    "vio.crossover",
    "vio.table2",
    "vio.table3",
    "vio.claims",
    "spio.fig9",
    "spio.fig10",
    "spio.fig11",
    "spio.fig12",
    "spio.fig13",
    "tradeoff",
    "mimic.fig2",
    "mimic.fig4",
    "mimic.table2",
    "mimic.fig7",
    "mimic.9lzx",
    "mimic.fig8",
    "mimic.hplajw",
    "praid.fig13",
    "praid.fig15",
    "praid.fig16",
    "praid.fig17",
    "praid.fig18",
    "praid.fig20",
    "praid.fig21",
    "praid.rebuild",
    "praid.scenes",
    "pfm.table3",
    "pfm.table4",
    "pfm.fig1",
    "pfm.claims",
    "pfm.beyond",
];

/// The ids of all files.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(id, _)| *id)
}

/// Every published result; `full` with the longer runs their files give.
///
/// # Errors
/// A file that is wrong, with line and mend.
pub fn all(full: bool) -> Result<Vec<TargetFile>, BadInput> {
    FILES.iter().map(|(id, text)| TargetFile::parse(id, text, full)).collect()
}
