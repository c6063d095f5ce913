//! halfturn
fn main() {}
