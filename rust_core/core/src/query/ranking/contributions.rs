//! Tell what each rule added to the score that is shown, or took from it.

use super::additive::ADDITIVE;
use super::candidate::Candidate;
use super::multiplicative::MULTIPLICATIVE;

/// Scores are shown in hundredths: contributions are whole ones, so that what is shown adds up.
const HUNDREDTHS: f64 = 100.0;
/// The evidence adds up to nothing: no rule has a share of its own.
const COMBINED: &str = "combined";

/// Return rules with their signed shares of a relevance, in hundredths, which add up to it. The largest come first.
///
/// What orders the list as a whole has no share: a relevance is that of the candidate's own evidence.
pub fn contributions(candidate: &Candidate, relevance: f64) -> Vec<(&'static str, f64)> {
    let (total, score) = (hundredths(relevance), candidate.own_score());
    if score <= 0.0 || !score.is_finite() {
        return share(COMBINED, total).into_iter().collect();
    }
    let scale = total / score;
    let mut parts: Vec<(&'static str, f64, f64)> =
        amounts(candidate).into_iter().map(|(rule, amount)| (rule, amount * scale, (amount * scale).floor())).collect();
    // The largest remainders are rounded up, as many as are missing.
    let missing = total - parts.iter().map(|(.., whole)| whole).sum::<f64>();
    parts.sort_by(|(a, of_a, whole_a), (b, of_b, whole_b)| (whole_a - of_a).total_cmp(&(whole_b - of_b)).then(a.cmp(b)));
    for (.., whole) in parts.iter_mut().take(missing.max(0.0) as usize) {
        *whole += 1.0;
    }
    let mut shares: Vec<_> = parts.into_iter().filter_map(|(rule, _, whole)| share(rule, whole)).collect();
    shares.sort_by(|(a, of_a), (b, of_b)| of_b.abs().total_cmp(&of_a.abs()).then(a.cmp(b)));
    shares
}

/// Return a score in hundredths, rounded as editors show it: exactly, halves upwards.
fn hundredths(score: f64) -> f64 {
    let product = score * HUNDREDTHS;
    let whole = product.floor();
    // What the product lost by its own rounding decides where it seems to be a half.
    let lost = score.mul_add(HUNDREDTHS, -product);
    if product - whole - 0.5 + lost >= 0.0 { whole + 1.0 } else { whole }
}

fn share(rule: &'static str, hundredths: f64) -> Option<(&'static str, f64)> {
    (hundredths != 0.0).then_some((rule, hundredths / HUNDREDTHS))
}

/// Return what each rule changed of the candidate's own score, in the order in which they were applied; they add up to it.
fn amounts(candidate: &Candidate) -> Vec<(&'static str, f64)> {
    let mut amounts: Vec<_> = ADDITIVE.iter().zip(candidate.gains).map(|(&(rule, _), gain)| (rule, gain)).collect();
    let mut score: f64 = candidate.gains.iter().sum();
    for (&(rule, _), factor) in MULTIPLICATIVE.iter().zip(candidate.factors) {
        amounts.push((rule, score * factor - score));
        score *= factor;
    }
    amounts
}

#[cfg(test)]
mod tests {
    use super::{ADDITIVE, contributions, hundredths};
    use crate::query::ranking::{Candidate, Signals};

    #[test]
    fn what_is_no_number_is_no_rules_share() {
        for score in [f64::NAN, f64::INFINITY, -1.0, 0.0] {
            let candidate = Candidate { gains: [score; ADDITIVE.len()], ..Candidate::from(Signals::default()) };
            assert_eq!(contributions(&candidate, 0.5), [("combined", 0.5)], "{score}");
        }
    }

    #[test]
    fn halves_are_rounded_upwards_and_what_only_seems_one_as_it_is() {
        for i in 0..=10_000_u32 {
            let score = f64::from(i) / 1e4;
            // All digits of a double: a third one of 5 to 9 is rounded up.
            let digits = format!("{score:.60}");
            let expected: f64 = digits[2..4].parse::<f64>().unwrap() + 100.0 * digits[..1].parse::<f64>().unwrap();
            let up = digits.as_bytes()[4] >= b'5';
            assert_eq!(hundredths(score).to_bits(), (expected + f64::from(u8::from(up))).to_bits(), "{score}");
        }
    }
}
