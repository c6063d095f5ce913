//! Which sites are planted: the first by a number made of the seed and the text of the place.
//!
//! A line comes first, then one of its sites; so a line with much in it is no likelier than another. The number knows nothing of line
//! numbers: an edit elsewhere leaves the draw as it was.

use super::site::Site;
use std::collections::BTreeMap;

/// FNV-1a, 64 bits, mixed once more: neighbours must not stay neighbours.
fn mix(seed: u64, words: &[&str]) -> u64 {
    let bytes = words.iter().flat_map(|word| word.bytes().chain([0]));
    let hash =
        bytes.fold(seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53) ^ seed.rotate_left(32)
}

/// The sites of one crate in the order of the draw: one a line, then the others as a reserve.
pub fn order(seed: u64, sites: Vec<Site>) -> Vec<Site> {
    let mut twins: BTreeMap<[String; 4], u32> = BTreeMap::new();
    let mut lines: BTreeMap<(String, usize), Vec<_>> = BTreeMap::new();
    for site in sites {
        let key = [&site.file, &site.function, &site.before, &site.after].map(String::clone);
        let nth = twins.entry(key).or_default();
        *nth += 1;
        let of_line = mix(seed, &[&site.file, &site.function, &site.before]);
        let of_site = mix(seed, &[&site.file, &site.function, &site.before, &site.after, &nth.to_string()]);
        lines.entry((site.file.clone(), site.line)).or_default().push((of_line, of_site, site));
    }
    let mut ordered = Vec::new();
    for mut line in lines.into_values() {
        line.sort_by_key(|(_, of_site, _)| *of_site);
        // A line may hold the starts of several statements that span others: the first one speaks for it.
        let of_line = line[0].0;
        ordered.extend(line.into_iter().enumerate().map(|(place, (_, of_site, site))| (place, of_line, of_site, site)));
    }
    ordered.sort_by_key(|(place, of_line, of_site, site)| (*place, *of_line, *of_site, site.line));
    ordered.into_iter().map(|(.., site)| site).collect()
}

/// Of sites that read the same, by their lines: which each is, counted from 1 in the order of the source.
pub fn places(sites: &[Site]) -> BTreeMap<(String, usize), usize> {
    let mut lines: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    sites.iter().for_each(|site| lines.entry(site.key()).or_default().push(site.line));
    let mut places = BTreeMap::new();
    for (key, mut lines) in lines {
        lines.sort_unstable();
        places.extend(lines.into_iter().zip(1..).map(|(line, place)| ((key.clone(), line), place)));
    }
    places
}

/// How many each crate gives of so many in all: at least `least`, the rest by lines of code.
pub fn shares(total: usize, least: usize, lines: &[usize]) -> Vec<usize> {
    let all: usize = lines.iter().sum();
    let rest = total.saturating_sub(least * lines.len());
    lines.iter().map(|of| least + (rest * of).div_ceil(all.max(1))).collect()
}

/// Some of all, by a seed.
pub fn sample<'a>(seed: u64, count: usize, sites: impl Iterator<Item = (usize, &'a Site)>) -> Vec<usize> {
    let mut ranked: Vec<_> =
        sites.map(|(n, site)| (mix(seed, &[&site.file, &site.function, &site.before, &site.after]), n)).collect();
    ranked.sort_unstable();
    ranked.truncate(count);
    ranked.into_iter().map(|(_, n)| n).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(line: usize, before: &str) -> Site {
        let after = format!("{before} else");
        let (file, function) = ("crates/a/src/lib.rs".into(), "f".into());
        Site { file, function, line, before: before.into(), after, operator: "relation", wraps: Vec::new() }
    }

    fn drawn(seed: u64, sites: Vec<Site>) -> Vec<String> {
        order(seed, sites).into_iter().map(|site| site.before).collect()
    }

    #[test]
    fn an_edit_elsewhere_leaves_the_order_as_it_was() {
        let lines = ["a", "b", "c", "d", "e", "f"];
        let of = |offset| lines.iter().enumerate().map(|(n, text)| site(n + offset, text)).collect();
        assert_eq!(drawn(7, of(1)), drawn(7, of(100)));
        assert_ne!(drawn(7, of(1)), drawn(8, of(1)));
    }

    #[test]
    fn of_lines_that_read_the_same_each_has_its_place_wherever_they_stand() {
        let of = |offset: usize| {
            let sites: Vec<Site> = [7, 3, 5].map(|line| site(line + offset, if line == 5 { "b" } else { "a" })).into();
            [3, 5, 7].map(|line| places(&sites)[&(site(0, if line == 5 { "b" } else { "a" }).key(), line + offset)])
        };
        assert_eq!(of(0), [1, 1, 2]);
        assert_eq!(of(0), of(100), "an edit elsewhere moves no place");
    }

    #[test]
    fn a_line_with_many_sites_comes_first_no_more_often_than_another() {
        let first = |seed| {
            let many = (0..9).map(|_| site(1, "many"));
            drawn(seed, many.chain([site(2, "one")]).collect())[0] == "many"
        };
        let often = (0..1000).filter(|&seed| first(seed)).count();
        assert!((400..600).contains(&often), "{often} of 1000");
    }

    #[test]
    fn every_crate_gives_the_least_and_large_ones_more() {
        assert_eq!(shares(100, 20, &[300, 100]), [65, 35]);
        assert_eq!(shares(10, 20, &[1, 1]), [20, 20]);
    }
}
