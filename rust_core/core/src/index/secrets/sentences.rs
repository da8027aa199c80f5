//! Passwords in sentences that talk of one: `the password of the gate is …`, `log in with … as the password`.

use super::named::Name;
use super::operators::is_quote;
use super::placeholders::is_placeholder;
use super::values::{Class, Style, is_secret, is_strong};
use super::wording::is_jumble;

/// A sentence reaches no further from the name.
pub(super) const LONGEST: usize = 240;
/// So many words may stand between a name and the sign that gives it a value.
const MOST_WORDS: usize = 6;
/// Words that give a name its value.
const SIGNS_OF_VALUES: [&[u8]; 7] = [b"=", b"is", b"was", b"to", b"->", "→".as_bytes(), b"-"];
/// Signs that people put into passwords, and seldom into other words.
const SIGNS: &[u8] = b"!@#$%&*?";

/// Return the words of the sentence around a name that are its secret.
pub(super) fn secrets(text: &[u8], (from, to, class): Name) -> impl Iterator<Item = (usize, usize)> {
    let begin = from - text[..from].iter().rev().take(LONGEST).take_while(|&&b| b != b'\n').count();
    let end = to + text[to..].iter().take(LONGEST).take_while(|&&b| b != b'\n').count();
    let begin = (begin..from).rev().find(|&at| text[at..].starts_with(b". ")).map_or(begin, |at| at + 2);
    let end = (to..end).find(|&at| text[at..].starts_with(b". ")).unwrap_or(end);
    let has_password = class == Class::Password && text[begin..end].iter().any(|b| SIGNS.contains(b));
    let (begin, last) = if has_password { (begin, end) } else { (to, to) };
    let chosen = words(text, begin, last).map(|word| bare(text, word)).filter(|&(first, last)| is_chosen(&text[first..last]));
    let is_value = move |&(first, last): &(usize, usize)| {
        std::str::from_utf8(&text[first..last]).is_ok_and(|value| is_secret(value, class, Style::Prose, false))
    };
    let beside = next_word(text, to, end, class);
    let given = behind_signs(text, to, end).filter(move |_| class != Class::Login).filter(is_value);
    chosen.chain(given).chain(beside)
}

/// Return the words behind each `:`, `=` or `is` after a name.
fn behind_signs(text: &[u8], to: usize, end: usize) -> impl Iterator<Item = (usize, usize)> {
    let signs = words(text, to, end).take(MOST_WORDS + 1).zip(words(text, to, end).skip(1));
    signs.filter_map(|((first, last), next)| {
        let sign = &text[first..last];
        (sign.ends_with(b":") || SIGNS_OF_VALUES.contains(&sign)).then(|| bare(text, next))
    })
}

/// Return the word directly after a name that is made as no other word is: `the token 3f…`, ``password `Winter24` ``.
fn next_word(text: &[u8], to: usize, end: usize, class: Class) -> Option<(usize, usize)> {
    let word = words(text, to, end).next().filter(|word| word.0 == to + 1)?;
    let (first, last) = bare(text, word);
    let value = std::str::from_utf8(&text[first..last]).ok()?;
    let quoted = first > word.0 && is_quote(text[first - 1]);
    let minimum = if class == Class::Password { 8 } else { 20 };
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let made = digits > usize::from(!quoted) || value.bytes().skip(1).any(|b| b.is_ascii_uppercase()) && is_jumble(value);
    let plain = class == Class::Password || value.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.+/=".contains(&b));
    (value.len() >= minimum && made && plain && is_secret(value, class, Style::Prose, quoted)).then_some((first, last))
}

/// Return the words of a comment behind a value that are made as passwords are.
pub(super) fn chosen(text: &[u8], begin: usize) -> impl Iterator<Item = (usize, usize)> {
    let end = begin + text[begin..].iter().take(LONGEST).take_while(|&&b| b != b'\n').count();
    let is_made = |&(first, last): &(usize, usize)| std::str::from_utf8(&text[first..last]).is_ok_and(is_strong);
    words(text, begin, end).map(|word| bare(text, word)).filter(is_made)
}

/// Tell whether a word is made as people make passwords: of letters, digits and signs, and is no address, version, entity or path.
fn is_chosen(word: &[u8]) -> bool {
    let has = |test: fn(&u8) -> bool| word.iter().any(test);
    let follows = |sign: u8, test: fn(&u8) -> bool| word.windows(2).any(|pair| pair[0] == sign && test(&pair[1]));
    (8..=64).contains(&word.len())
        && has(|b| SIGNS.contains(b))
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && word.is_ascii()
        && !has(|b| b"/\\=()[]{}<>|\"'`:;,".contains(b))
        && !follows(b'@', u8::is_ascii_alphabetic)
        && !follows(b'.', u8::is_ascii_digit)
        && std::str::from_utf8(word).is_ok_and(|word| !is_placeholder(word))
}

/// Return the words between two places, as they are written.
fn words(text: &[u8], begin: usize, end: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut at = begin;
    let range = move |word: &[u8]| {
        let first = at;
        at += word.len() + 1;
        (first, first + word.len())
    };
    text[begin..end].split(u8::is_ascii_whitespace).map(range).filter(|(first, last)| first < last)
}

/// Take the marks around a word away.
fn bare(text: &[u8], (first, last): (usize, usize)) -> (usize, usize) {
    let word = &text[first..last];
    let before = word.iter().take_while(|b| b"\"'`*_([{<".contains(b)).count();
    let after = word[before..].iter().rev().take_while(|b| b"\"'`*_)]}>.,;:".contains(b)).count();
    (first + before, last - after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &[&str]) {
        let from = line.to_ascii_lowercase().find("pass").unwrap();
        let to = from + line[from..].find(|c: char| !c.is_alphanumeric()).unwrap_or(line.len() - from);
        let words = secrets(line.as_bytes(), (from, to, Class::Password));
        let mut words: Vec<&str> = words.map(|(first, last)| &line[first..last]).collect();
        words.dedup();
        assert_eq!(words, expected, "{line}");
    }

    #[test]
    fn a_password_in_a_sentence_about_it_is_seen() {
        check("The password of the gate is Harbor-falcon29!.", &["Harbor-falcon29!"]);
        check("Use `Berlin@2024` as the password. Berlin@2025 is another matter.", &["Berlin@2024"]);
        check("Das Passwort für den Server lautet Sommer#2024", &["Sommer#2024"]);
        check("password for staging: xK9mQ2vL7p", &["xK9mQ2vL7p"]);
        check("The password (staging) is Winter24, as ever.", &["Winter24"]);
    }

    #[test]
    fn other_words_of_such_a_sentence_stay() {
        for line in [
            "The password of user1@example.org is hashed with PBKDF2WithHmacSHA256 since v2.1.3+git5.",
            "Password reset: see RFC-2898, appendix A1 &#39;keys&#39;.",
            "The password field is required; password-hash@^1.2.3 and C++17 as well.",
            "See https://example.org/a1?b=2#c3 for the password rules of ${APP_PASSWORD1}.",
            "Compute a hash of a password by 2^rounds_log1 rounds.",
            "A password for the database is read from $DB_PASSWORD1 or %DB_PASSWORD2%.",
        ] {
            check(line, &[]);
        }
    }
}
