//! Whether a value is a secret, by what it looks like.

use super::named::words_of;

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
    // encodings and functions that a password is handed to
    "latin-1",
    "latin1",
    "utf-16",
    "utf-32",
    "sha256",
    "sha512",
    "sha-256",
    "sha-512",
    "argon2",
    "argon2id",
    "pbkdf2",
    "pbkdf2_sha256",
    "aes-256",
    "aes-256-cbc",
    "aes-256-gcm",
];

/// Parts of names and of prose in values that only name a password.
const NAMING: &[&str] = &["pass", "pwd", "secret", "token", "credential", "apikey", "api_key", "kennwort", "contrase", "mot de"];

/// Tell whether a value is written in place of a secret: a reference, a variable, an example.
pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let bytes = lower.as_bytes();
    let Some(&first) = bytes.first() else { return true };
    let substituted = ["${", "{{", "$(", "%(", "<%", "\\("];
    let reference = ["$env:", "!ref", "ref+", "op://", "vault:"];
    // `%s` of a format, not within a word
    let format = value.match_indices("%s").any(|(at, _)| !bytes.get(at + 2).is_some_and(u8::is_ascii_alphanumeric));
    // `$NAME` and `$1` are variables; `$2b$...` and `$ecret!` are not.
    let variable = first == b'$'
        && bytes.len() > 1
        && value[1..].bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':' | b'.'))
        && (value[1..].bytes().all(|b| !b.is_ascii_lowercase()) || bytes.len() < 12 || lower.contains('_'));
    is_placeholder_shape(value)
        || variable
        || format
        || has_field(value)
        || substituted.iter().any(|mark| lower.contains(mark))
        || reference.iter().any(|mark| lower.starts_with(mark))
        || WORDS.contains(&lower.as_str())
        || PLACEHOLDERS.iter().any(|word| lower.contains(word))
        || value.contains("xxxx")
        || value.contains("XXXX")
        || lower.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| PLACEHOLDER_WORDS.contains(&part))
        || is_only_naming(value)
}

/// Tell whether a token of a known form is one that documentation made up.
pub(super) fn is_example(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let made_up =
        ["example", "changeme", "placeholder", "redacted", "your_", "your-", "yourt", "*****", ".....", "dummy", "[secret: "];
    made_up.iter().any(|word| lower.contains(word))
        || value.contains("xxxxx")
        || value.contains("XXXXX")
        || ["${", "{{", "$(", "<%", "#{", "%("].iter().any(|mark| lower.contains(mark))
        || is_placeholder_shape(value)
}

/// Tell whether a value is in brackets, or of one character.
fn is_placeholder_shape(value: &str) -> bool {
    let bytes = value.as_bytes();
    let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) else { return true };
    let inner = value.get(1..value.len() - 1).unwrap_or_default();
    matches!((first, last), (b'<', b'>') | (b'{', b'}') | (b'[', b']') | (b'(', b')'))
        || matches!((first, last), (b'%', b'%') | (b'@', b'@')) && is_wordlike(inner)
        || bytes.iter().all(|b| b.eq_ignore_ascii_case(&first))
        || first == b'$' && bytes[1..].iter().all(|b| b.is_ascii_alphabetic() || *b == b'_')
}

/// Tell whether a value is a template with a field: `{password}`, `{0}`, `{token!r}`.
fn has_field(value: &str) -> bool {
    value
        .split('{')
        .skip(1)
        .filter_map(|part| part.split_once('}'))
        .any(|(field, _)| !field.is_empty() && field.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.![]:".contains(&b)))
}

/// Tell whether a value is a name, such as `password`, `DB_PASSWORD`, `user.password`, `secret-token` or `password2`.
fn is_only_naming(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    // Of two fields for one password, the second has a number. `hunter2` has no such word before it.
    let lower = lower.strip_suffix(|c: char| c.is_ascii_digit()).unwrap_or(&lower);
    NAMING.iter().any(|name| lower.contains(name))
        && !is_jumble(value)
        && lower.bytes().all(|b| b.is_ascii_alphabetic() || b"_-.:/ ".contains(&b))
}

/// Tell whether a value of this class is a secret. `quoted` says that it is a literal.
pub(super) fn is_secret(value: &str, class: Class, style: Style, quoted: bool) -> bool {
    if value.len() < 4 || value.len() > 4_096 {
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
        Style::Config | Style::Shell => chosen || value.len() >= 8 || (style == Style::Config || quoted) && is_lone_word(value),
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

/// Tell whether a value of letters alone is no word and no name that is made of words: `qZXFTbIghIUPGq`. Words in names have four
/// letters and more in the mean; one of 20,000 random values of 14 letters passes for a name.
fn is_jumble(value: &str) -> bool {
    let letters = value.bytes().all(|b| b.is_ascii_alphabetic());
    letters && (words_of(value).len() * 4 > value.len() || familiarity(value) < 0.75)
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
        // Without digits only what nobody would pronounce, and no name.
        return value.len() >= 12 && bits >= 3.3 && is_jumble(value);
    }
    value.len() >= 16 && bits >= 2.5
}

/// Tell whether a value is a path, an address or another place where the secret may be, but isn't.
fn is_reference(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let address = value.contains("://") || value.starts_with("//") || lower.starts_with("arn:") || lower.starts_with("urn:");
    let path = (value.starts_with(['/', '~']) && value[1..].contains('/')) || value.starts_with("./") || value.starts_with("../");
    let version = value.contains('.') && value.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    // `varchar(255)`
    let sized = value.strip_suffix(')').and_then(|value| value.split_once('('));
    let sized = sized.is_some_and(|(kind, size)| is_identifier(kind) && size.bytes().all(|b| b.is_ascii_digit()));
    let endings =
        [".json", ".pem", ".key", ".txt", ".yml", ".yaml", ".py", ".js", ".ts", ".crt", ".html", ".xml", ".php", ".go", ".rs"];
    // Attributes and calls: `config.auth.token`, `settings.SECRET_KEY`.
    let dotted = value.contains('.') && value.split('.').all(|part| !part.is_empty() && is_identifier(part));
    address || path || version || sized || endings.iter().any(|ending| lower.ends_with(ending)) || dotted && is_wordlike(value)
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

/// Tell whether letters look like words: their pairs are those of words, and capitals begin words.
fn is_pronounceable(letters: &str) -> bool {
    if letters.len() <= 4 {
        return true;
    }
    let all_capitals = letters.bytes().all(|b| b.is_ascii_uppercase());
    familiarity(letters) > 0.0 && (all_capitals || case_changes(letters) * 5 <= letters.len() + 3)
}

/// Return how much commoner the pairs of these letters are in words than by chance: the mean of the logarithms, in half nats. Names
/// of 8 letters are above 0 in 96 of 100 cases, random letters in 7; of 14 letters 97 and 2.
fn familiarity(letters: &str) -> f64 {
    let row = |byte: u8| usize::from(byte.to_ascii_lowercase() - b'a');
    let pairs = letters.as_bytes().windows(2).filter(|pair| pair.iter().all(u8::is_ascii_alphabetic));
    let (count, sum) =
        pairs.fold((0, 0.0), |(count, sum), pair| (count + 1, sum + f64::from(PAIRS[row(pair[0])][row(pair[1])]) - 53.0));
    sum / f64::from(count.max(1))
}

/// By first and second letter: 5 + 2 ln(frequency of the pair x 676), as a digit. Counted over the distinct words of the identifiers
/// in `CPython` 3.11's standard library.
const PAIRS: [&[u8; 26]; 26] = [
    b"87773462605978171989543452",
    b"75536301540732520552500140",
    b"83557317607642930647521040",
    b"74459431801533631554521120",
    b"85896753402879465998355750",
    b"53346730700512620544500020",
    b"51228235500524410653410000",
    b"71227101601221610424300020",
    b"65876560222779860688050406",
    b"20003000102000200000200000",
    b"30226121500402110242101000",
    b"82359311902732840256520060",
    b"84138100601443670153400030",
    b"73788692704434740289542020",
    b"45773552404779670867746310",
    b"82338314601612761756402050",
    b"10000000000000001110500000",
    b"83659452804565840677533050",
    b"63649336804543662379713040",
    b"83649417901543750876623162",
    b"46545430500668360767100000",
    b"62107000500000300010000000",
    b"50224103600203400441002200",
    b"32424401300120140115000630",
    b"21323100300334250244011162",
    b"30006000300000200000000007",
];

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
