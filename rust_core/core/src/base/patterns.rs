//! Patterns that stand in the code.

use regex::Regex;

/// Compile a pattern of the code itself. Panics where it isn't valid, which a test of whatever uses it shows.
#[must_use]
pub fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is valid")
}
