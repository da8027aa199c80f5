//! Whether a value is a secret, by what it looks like.

/// What a name promises of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Chosen by a person: may be short.
    Password,
    /// Made by a machine: long and without sense.
    Token,
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

/// Words in a value that stands for one. Compared in small letters.
const PLACEHOLDERS: &[&str] = &[
    "example",
    "changeme",
    "change_me",
    "change-me",
    "change this",
    "changethis",
    "replace",
    "placeholder",
    "dummy",
    "xxxx",
    "****",
    "....",
    "redacted",
    "insert",
    "foobar",
    "your_",
    "your-",
    "yourp",
    "yours",
    "yourt",
    "youra",
    "my_secret",
    "mysecret",
    "my-secret",
    "mypassword",
    "my_password",
    "my-password",
    "mytoken",
    "my_token",
    "my-token",
    "not-a-real",
    "not_a_real",
    "notasecret",
    "<your",
    "enter_",
    "enter-",
    "some_",
    "some-",
    "abcdefgh",
    "[secret: ",
    "process.env",
    "os.environ",
    "getenv",
    "env(",
    "env.",
    "secretsmanager",
    "secretref",
    "keyvault",
    "hidden",
];

/// The same, where they are words of their own: a token may hold the letters.
const PLACEHOLDER_WORDS: &[&str] = &["todo", "fixme", "fake", "none", "null"];

/// Whole values that mean something else than themselves.
const WORDS: &[&str] = &[
    "true",
    "false",
    "null",
    "none",
    "nil",
    "undefined",
    "string",
    "str",
    "text",
    "varchar",
    "number",
    "integer",
    "boolean",
    "object",
    "array",
    "required",
    "optional",
    "enabled",
    "disabled",
    "yes",
    "no",
    "on",
    "off",
    "default",
    "input",
    "plain",
    "plaintext",
    "basic",
    "bearer",
    "digest",
    "empty",
    "prompt",
    "ask",
    "file",
    "void",
    "any",
    "unknown",
    "self",
    "this",
    "bytes",
    "secretstr",
    "char",
    "field",
    "prompted",
    "encrypted",
    "unset",
    "test",
    "value",
    "type",
    "name",
    "user",
    "username",
    "always",
    "never",
    "on_create",
    "auto",
    "automatic",
    "generated",
];

/// Parts of names and of prose in values that only name a password.
const NAMING: &[&str] = &["pass", "pwd", "secret", "token", "credential", "apikey", "api_key", "kennwort", "contrase", "mot de"];

/// Tell whether a value is written in place of a secret: a reference, a variable, an example.
pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let bytes = lower.as_bytes();
    let Some(&first) = bytes.first() else { return true };
    let substituted = ["${", "{{", "$(", "%(", "<%", "#{", "{0", "%s", "\\(", "$env:", "!ref", "ref+", "op://", "vault:"];
    // `$NAME` and `$1` are variables; `$2b$...` and `$ecret!` are not.
    let variable = first == b'$'
        && bytes.len() > 1
        && value[1..].bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':' | b'.'))
        && (value[1..].bytes().all(|b| !b.is_ascii_lowercase()) || bytes.len() < 12 || lower.contains('_'));
    is_placeholder_shape(&lower)
        || variable
        || substituted.iter().any(|mark| lower.contains(mark))
        || WORDS.contains(&lower.as_str())
        || PLACEHOLDERS.iter().any(|word| lower.contains(word))
        || lower.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| PLACEHOLDER_WORDS.contains(&part))
        || is_only_naming(&lower)
}

/// Tell whether a token of a known form is one that documentation made up.
pub(super) fn is_example(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let made_up = [
        "example",
        "changeme",
        "placeholder",
        "redacted",
        "your_",
        "your-",
        "yourt",
        "xxxxx",
        "*****",
        ".....",
        "dummy",
        "[secret: ",
    ];
    made_up.iter().any(|word| lower.contains(word))
        || ["${", "{{", "$(", "<%", "#{", "%("].iter().any(|mark| lower.contains(mark))
        || is_placeholder_shape(&lower)
}

/// Tell whether a value is in brackets, or of one character.
fn is_placeholder_shape(lower: &str) -> bool {
    let bytes = lower.as_bytes();
    let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) else { return true };
    matches!((first, last), (b'<', b'>') | (b'{', b'}') | (b'[', b']') | (b'%', b'%') | (b'@', b'@') | (b'(', b')'))
        || bytes.iter().all(|b| b == &first)
        || first == b'$' && bytes[1..].iter().all(|b| b.is_ascii_alphabetic() || *b == b'_')
}

/// Tell whether a value is a name, such as `password`, `DB_PASSWORD`, `user.password`, `secret-token` or `password2`.
fn is_only_naming(lower: &str) -> bool {
    // Of two fields for one password, the second has a number. `hunter2` has no such word before it.
    let lower = lower.strip_suffix(|c: char| c.is_ascii_digit()).unwrap_or(lower);
    NAMING.iter().any(|name| lower.contains(name)) && lower.bytes().all(|b| b.is_ascii_alphabetic() || b"_-.:/ ".contains(&b))
}

/// Tell whether a value of this class is a secret. `quoted` says that it is a literal.
pub(super) fn is_secret(value: &str, class: Class, style: Style, quoted: bool) -> bool {
    if value.len() < 4 || value.len() > 4_096 {
        return false;
    }
    // What nobody could have written by hand holds the marks of a placeholder by chance.
    let random = quoted
        && class == Class::Token
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
    }
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
    let chosen = value.len() >= 6 && (if letters { digits || signs } else { digits });
    match style {
        Style::Config | Style::Shell => chosen || (style == Style::Config || quoted) && is_lone_word(value),
        Style::Code => chosen && !is_wordlike(value) || quoted && value.len() >= 6 && is_lone_word(value),
        Style::Prose => chosen && letters && !is_wordlike(value) && !value.ends_with(['.', ',', ':', ')', '?', '`']),
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
    if letters && digits {
        return bits >= if value.len() < 12 { 2.6 } else { 2.9 };
    }
    if letters {
        // Without digits only what nobody would pronounce, and no path of names (`List.NextMarker`).
        return !value.contains('.') && value.len() >= 12 && bits >= 3.3 && case_changes(value) * 4 >= value.len();
    }
    value.len() >= 16 && bits >= 2.5
}

/// Tell whether a value is a path, an address or another place where the secret may be, but isn't.
fn is_reference(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let address = value.contains("://") || value.starts_with("//") || lower.starts_with("arn:") || lower.starts_with("urn:");
    let path = (value.starts_with(['/', '~']) && value[1..].contains('/')) || value.starts_with("./") || value.starts_with("../");
    let endings =
        [".json", ".pem", ".key", ".txt", ".yml", ".yaml", ".py", ".js", ".ts", ".crt", ".html", ".xml", ".php", ".go", ".rs"];
    // Attributes and calls: `config.auth.token`, `settings.SECRET_KEY`.
    let dotted = value.contains('.') && value.split('.').all(|part| !part.is_empty() && is_identifier(part));
    address || path || endings.iter().any(|ending| lower.ends_with(ending)) || dotted && is_wordlike(value)
}

fn is_identifier(part: &str) -> bool {
    part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && !part.starts_with(|c: char| c.is_ascii_digit())
}

/// Tell whether a value is made of words and small numbers: `refresh-token-v2`, `X-Api-Key`, `accessToken`.
pub(super) fn is_wordlike(value: &str) -> bool {
    let parts: Vec<&str> = value.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()).collect();
    // Crumbs between signs are no words.
    if value.len() >= 12 && parts.iter().map(|part| part.len()).sum::<usize>() < 3 * parts.len() {
        return false;
    }
    parts.iter().all(|part| {
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let number = part.len() - letters.len();
        if letters.is_empty() {
            return number <= 4;
        }
        number <= 2 && letters.bytes().all(|b| b.is_ascii_alphabetic()) && is_pronounceable(letters)
    })
}

/// Tell whether letters look like words: they have vowels, runs of consonants are short, and capitals begin words.
fn is_pronounceable(letters: &str) -> bool {
    if letters.len() <= 4 {
        return true;
    }
    let lower = letters.to_ascii_lowercase();
    let vowels = lower.bytes().filter(|b| b"aeiouy".contains(b)).count();
    let longest = lower.split(|c| "aeiouy".contains(c)).map(str::len).max().unwrap_or(0);
    let all_capitals = letters.bytes().all(|b| b.is_ascii_uppercase());
    vowels * 6 >= letters.len() && longest <= 5 && (all_capitals || case_changes(letters) * 5 <= letters.len() + 3)
}

fn case_changes(value: &str) -> usize {
    value.as_bytes().windows(2).filter(|pair| pair[0].is_ascii_lowercase() != pair[1].is_ascii_lowercase()).count()
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
        for value in ["hunter22", "S3cr!t-pw", "correcthorse", "tr0ub4dor&3"] {
            assert!(is_secret(value, Class::Password, Style::Code, true), "{value}");
        }
        for value in ["Password", "new-password", "password_field", "user.password", "Enter it here", "/etc/pw/file"] {
            assert!(!is_secret(value, Class::Password, Style::Code, true), "{value}");
        }
    }

    #[test]
    fn tokens_have_no_sense() {
        for value in ["9f8e7d6c5b4a39281706", "q7Rk2LmX0pVt8sYw", "a1b2-c3d4-e5f6-a7b8", "x(9*v^k2=q@m7!s)4&b#w0_e8"] {
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
        ] {
            assert!(!is_secret(value, Class::Token, Style::Code, true), "{value}");
        }
    }

    #[test]
    fn base64_is_read_with_and_without_padding() {
        assert_eq!(decode_base64("dXNlcjpwYXNz").as_deref(), Some(&b"user:pass"[..]));
        assert_eq!(decode_base64("dXNlcjpwYXM=").as_deref(), Some(&b"user:pas"[..]));
        assert_eq!(decode_base64("not base64!"), None);
    }
}
