//! Whether a value is a secret, by what it looks like.

use super::placeholders::{is_example, is_placeholder};
use super::wording::{is_jumble, is_wordlike};

/// What a name promises of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Chosen by a person: may be short.
    Password,
    /// Made by a machine: long and without sense.
    Token,
    /// Either: in settings a long phrase is one, too.
    Secret,
    /// `user:password`, written in Base64.
    Login,
}

/// What a file is for decides how its values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// Settings: values may stand without quotes, and a word can be a password.
    Config,
    /// Scripts: values may stand without quotes.
    Shell,
    /// Texts for people: words are words.
    Prose,
    /// Programs: only literals are values.
    Code,
}

/// Tell whether a value of this class is a secret. `quoted` says that it is a literal.
pub(super) fn is_secret(value: &str, class: Class, style: Style, quoted: bool) -> bool {
    let longest = if class == Class::Password { LONGEST_PASSWORD } else { 4_096 };
    if value.len() < 4 || value.len() > longest {
        return false;
    }
    // What nobody could have written by hand holds the marks of a placeholder by chance.
    let random = quoted
        && matches!(class, Class::Token | Class::Secret)
        && value.len() >= 24
        && entropy(value.as_bytes()) >= 4.2
        && !value.contains(char::is_whitespace);
    let stands_for = if random { is_example(value) } else { is_placeholder(value) };
    if stands_for {
        return false;
    }
    match class {
        Class::Login => is_login(value),
        Class::Password => is_password(value, style, quoted),
        Class::Token => is_token(value, quoted),
        Class::Secret => {
            is_token(value, quoted) || value.len() >= PHRASE && is_setting(style) && is_password(value, style, quoted)
        }
    }
}

/// Tell whether a word has more than names of programs, hosts and data have: a sign and a digit, both cases and a digit, or a number
/// of a year's length.
pub(super) fn is_strong(value: &str) -> bool {
    let count = |test: fn(&u8) -> bool| value.bytes().filter(test).count();
    let (digits, capitals, small) = (count(u8::is_ascii_digit), count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase));
    let signs = count(|b| b"!@#$%&*?+".contains(b));
    let made = capitals + small > 0 && digits > 0 && (signs > 0 || capitals > 0 && small > 0 || digits >= 4);
    let jumbled = value.bytes().skip(1).any(|b| b.is_ascii_uppercase()) && is_jumble(value);
    value.len() >= 8 && !value.contains(['.', '/', ':', ' ', '(', '=']) && (made || jumbled) && !is_placeholder(value)
}

/// Nobody chooses a longer password.
const LONGEST_PASSWORD: usize = 256;
/// A phrase that a secret is may be no shorter: shorter ones name where it is kept (`secret: app-tls`).
const PHRASE: usize = 16;

fn is_setting(style: Style) -> bool {
    matches!(style, Style::Config | Style::Shell)
}

fn is_password(value: &str, style: Style, quoted: bool) -> bool {
    if value.contains(char::is_whitespace) || is_reference(value) {
        return false;
    }
    if !quoted && value.contains(['(', ')', '[', ']', '{', '}', '<', '>', '|']) && style != Style::Config {
        return false;
    }
    let letters = value.bytes().any(|b| b.is_ascii_alphabetic()) || !value.is_ascii();
    let digits = value.bytes().any(|b| b.is_ascii_digit());
    let signs = value.bytes().any(|b| b.is_ascii_punctuation() && !b"_-./:,".contains(&b));
    let chosen = value.len() >= 6 && if letters { digits || signs } else { digits };
    // `Winter24`, `Company-Name1`
    let person = value.starts_with(|c: char| c.is_ascii_uppercase()) && value.ends_with(|c: char| c.is_ascii_digit());
    match style {
        Style::Config | Style::Shell => {
            chosen || value.len() >= 8 && value.is_ascii() || (style == Style::Config || quoted) && is_lone_word(value)
        }
        _ if quoted => chosen || value.len() >= 6 && is_lone_word(value) || value.len() >= 8 && is_jumble(value),
        Style::Code => chosen && !is_wordlike(value),
        Style::Prose => {
            let ends = value.ends_with(['.', ',', ':', ')', '`']) || !digits && value.ends_with('?');
            letters
                && !ends
                && (chosen && (digits && signs || person || !is_wordlike(value)) || value.len() >= 8 && is_jumble(value))
        }
    }
}

/// Tell whether a value is a single word in small letters: `hunter`, but neither `Password` (a label) nor `new-password` (a
/// name).
fn is_lone_word(value: &str) -> bool {
    value.len() >= 4 && value.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

fn is_token(value: &str, quoted: bool) -> bool {
    if value.len() < 8 || value.contains(char::is_whitespace) || is_reference(value) || is_wordlike(value) {
        return false;
    }
    let signs = value.bytes().filter(u8::is_ascii_punctuation).count();
    if quoted
        && value.len() >= 16
        && value.bytes().any(|b| b.is_ascii_digit())
        && signs * 2 < value.len()
        && entropy(value.as_bytes()) >= 3.7
    {
        return true; // of any characters, as frameworks make them
    }
    if !value.is_ascii() || value.contains(['(', ')', '{', '}', '<', '>', '|', '[', ']', '\\', '*', '"', '\'', ';']) {
        return false;
    }
    let letters = value.bytes().any(|b| b.is_ascii_alphabetic());
    let digits = value.bytes().any(|b| b.is_ascii_digit());
    let bits = entropy(value.as_bytes());
    if letters && !digits {
        // Without digits only what nobody would pronounce, and no name.
        return value.len() >= 12 && bits >= 3.3 && is_jumble(value);
    }
    // Half of what as many distinct characters have: one of 10,000 random values in hexadecimal has less. No more than long ones have,
    // of how few characters they may be made.
    let most = if letters { 2.9 } else { 2.5 };
    (letters || value.len() >= 16) && bits >= f64::min((value.len() as f64).log2() / 2.0, most)
}

/// Tell whether a value is a path, an address or another place where the secret may be, but isn't.
fn is_reference(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let address = value.contains("://") || value.starts_with("//") || lower.starts_with("arn:") || lower.starts_with("urn:");
    let path = (value.starts_with(['/', '~']) && value[1..].contains('/')) || value.starts_with("./") || value.starts_with("../");
    // Versions, their ranges, ports
    let version = value.contains(['.', ':'])
        && value.trim_start_matches(['^', '~', '<', '>', '=']).bytes().all(|b| b.is_ascii_digit() || b".:".contains(&b));
    // `2026-01-31T11:11:11Z`
    let date = value.contains('-') && value.bytes().all(|b| b.is_ascii_digit() || b"-:.+TZ".contains(&b));
    // `required|min:8`
    let rules = value.contains('|') && is_wordlike(value);
    // `varchar(255)`
    let sized = value.strip_suffix(')').and_then(|value| value.split_once('('));
    let sized = sized.is_some_and(|(kind, size)| is_identifier(kind) && size.bytes().all(|b| b.is_ascii_digit()));
    let endings =
        [".json", ".pem", ".key", ".txt", ".yml", ".yaml", ".py", ".js", ".ts", ".crt", ".html", ".xml", ".php", ".go", ".rs"];
    // Attributes and calls: `config.auth.token`, `settings.SECRET_KEY`.
    let dotted = value.contains('.') && value.split('.').all(|part| !part.is_empty() && is_identifier(part));
    address
        || path
        || version
        || date
        || rules
        || sized
        || endings.iter().any(|ending| lower.ends_with(ending))
        || dotted && is_wordlike(value)
}

fn is_identifier(part: &str) -> bool {
    part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && !part.starts_with(|c: char| c.is_ascii_digit())
}

/// Tell whether a value is `user:password` in Base64.
fn is_login(value: &str) -> bool {
    decode_base64(value).is_some_and(|bytes| {
        let text = std::str::from_utf8(&bytes).unwrap_or_default();
        let plain = text.bytes().all(|b| (0x20..0x7f).contains(&b));
        plain && text.split_once(':').is_some_and(|(user, password)| !user.is_empty() && password.len() >= 3)
    })
}

/// Decode a text in Base64, standard or of URLs, with or without padding.
pub(super) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    if digits.len() < 6 || digits.len() % 4 == 1 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len());
    let (mut bits, mut held) = (0_u32, 0_u32);
    for byte in digits.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    Some(bytes)
}

/// Return Shannon's entropy, in bits a byte.
pub(super) fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for &byte in value {
        counts[usize::from(byte)] += 1;
    }
    let total = value.len().max(1) as f64;
    let share = |count: &u32| f64::from(*count) / total;
    counts.iter().filter(|count| **count > 0).map(|count| -share(count) * share(count).log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_no_secrets() {
        let all = [
            "${DB_PASSWORD}",
            "$PASSWORD",
            "<token>",
            "{{ secret }}",
            "changeme",
            "ChangeMe-1",
            "CHANGEME1",
            "yourPassword1",
            "your_api_key_here",
            "xxxxxxxxxxxx",
            "********",
            "os.environ['X']",
            "%(password)s",
            "password",
            "DB_PASSWORD",
            "null",
            "example-key-1a2b3c",
            "@password@",
            "password2",
            "new_password1",
            "on_create",
        ];
        for value in all {
            for class in [Class::Password, Class::Token] {
                assert!(!is_secret(value, class, Style::Config, true), "{value}");
            }
        }
    }

    #[test]
    fn passwords_and_names_are_told_apart() {
        for value in ["hunter22", "S3cr!t-pw", "correcthorse", "tr0ub4dor&3", "2YZyoURPzyX6!", "cVp8DUmMyPmcgL6!"] {
            assert!(is_secret(value, Class::Password, Style::Code, true), "{value}");
        }
        for value in ["Password", "new-password", "password_field", "user.password", "Enter it here", "/etc/pw/file"] {
            assert!(!is_secret(value, Class::Password, Style::Code, true), "{value}");
        }
    }

    #[test]
    fn tokens_have_no_sense() {
        for value in [
            "9f8e7d6c5b4a39281706",
            "24dd6d6575795dde99d75695775e3667",
            "7a1f7a3f",
            "q7Rk2LmX0pVt8sYw",
            "a1b2-c3d4-e5f6-a7b8",
            "x(9*v^k2=q@m7!s)4&b#w0_e8",
        ] {
            assert!(is_secret(value, Class::Token, Style::Code, true), "{value}");
        }
        for value in [
            "refresh-token-v2",
            "X-Api-Key",
            "accessTokenExpired",
            "oauth2_token",
            "settings.SECRET_KEY",
            "DistributionList.NextMarker",
            "https://x.io/t1",
            "2023-11-11T11:11:11Z",
        ] {
            assert!(!is_secret(value, Class::Token, Style::Code, true), "{value}");
        }
        for digits in ["0123456789abcdef", "0123456789", "abcdefghijklmnopqrstuvwxyz234567"] {
            for length in [40, 128, 256, 512, 4_000] {
                let value: String = digits.chars().cycle().step_by(7).take(length).collect();
                for (style, quoted) in [(Style::Shell, false), (Style::Config, false), (Style::Code, true)] {
                    assert!(is_secret(&value, Class::Token, style, quoted), "{length} of {digits}");
                }
            }
        }
    }

    #[test]
    fn base64_is_read_with_and_without_padding() {
        assert_eq!(decode_base64("dXNlcjpwYXNz").as_deref(), Some(&b"user:pass"[..]));
        assert_eq!(decode_base64("dXNlcjpwYXM=").as_deref(), Some(&b"user:pas"[..]));
        assert_eq!(decode_base64("not base64!"), None);
    }
}
