//! A beam: the best few of many partial plans, best first.

/// Keeps a plan if it is one of the best so many. Of plans that are the same for all that can follow, the best is enough. Of
/// equals the one found first stays.
pub(crate) fn keep<T>(
    beam: &mut Vec<T>,
    most: usize,
    plan: T,
    same: impl Fn(&T, &T) -> bool,
    is_no_worse: impl Fn(&T, &T) -> bool,
) {
    if let Some(i) = beam.iter().position(|kept| same(kept, &plan)) {
        if is_no_worse(&beam[i], &plan) {
            return;
        }
        beam.remove(i);
    }
    let at = beam.partition_point(|kept| is_no_worse(kept, &plan));
    if at < most {
        beam.truncate(most - 1);
        beam.insert(at, plan);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plans as their cost and what they come to.
    fn kept(plans: &[(u32, char)]) -> Vec<(u32, char)> {
        let mut beam = Vec::new();
        for plan in plans {
            keep(&mut beam, 3, *plan, |a, b| a.1 == b.1, |a, b| a.0 <= b.0);
        }
        beam
    }

    #[test]
    fn the_best_few_are_kept_and_of_equals_the_first() {
        assert_eq!(kept(&[(4, 'a'), (2, 'b'), (3, 'c'), (3, 'd'), (9, 'e')]), [(2, 'b'), (3, 'c'), (3, 'd')]);
    }

    #[test]
    fn of_plans_that_come_to_the_same_the_better_one_is_kept() {
        assert_eq!(kept(&[(4, 'a'), (2, 'b'), (5, 'a'), (1, 'a')]), [(1, 'a'), (2, 'b')]);
    }
}
