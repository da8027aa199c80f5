//! Values that stand for a secret or only name one: references, variables, examples.

use super::wording::{is_jumble, is_wordlike};

/// Words in a value that stands for one. A capital may begin a word, in values also.
const PLACEHOLDERS: &[&str] = &[
    "example",
    "changeMe",
    "change_Me",
    "change-Me",
    "change This",
    "changeThis",
    "replace",
    "placeHolder",
    "dummy",
    "****",
    "....",
    "redacted",
    "insert",
    "fooBar",
    "your_",
    "your-",
    "yourP",
    "yourS",
    "yourT",
    "yourA",
    "my_Secret",
    "mySecret",
    "my-Secret",
    "myPassword",
    "my_Password",
    "my-Password",
    "myToken",
    "my_Token",
    "my-Token",
    "not-A-Real",
    "not_A_Real",
    "notASecret",
    "<your",
    "enter_",
    "enter-",
    "some_",
    "some-",
    "abcdefgh",
    "[secret: ",
    "process.env",
    "os.environ",
    "getEnv",
    "env(",
    "env.",
    "secretsManager",
    "secretRef",
    "keyVault",
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
    "hashed",
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
    "aes-256-ctr",
    "aes-128-cbc",
    "aes-128-ctr",
    "aes-128-gcm",
    "chacha20-poly1305",
    "des-ede3-cbc",
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
        || PLACEHOLDERS.iter().any(|word| spells(value, word))
        || is_crossed_out(value, 4)
        || lower.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| PLACEHOLDER_WORDS.contains(&part))
        || is_only_naming(value)
}

/// Tell whether a token of a known form is one that documentation made up.
pub(super) fn is_example(value: &str) -> bool {
    let made_up =
        ["example", "changeMe", "placeHolder", "redacted", "your_", "your-", "yourT", "*****", ".....", "dummy", "[secret: "];
    made_up.iter().any(|word| spells(value, word))
        || is_crossed_out(value, 5)
        || ["${", "{{", "$(", "<%", "#{", "%("].iter().any(|mark| value.contains(mark))
        || is_placeholder_shape(value)
}

/// Tell whether at least half of a part of a value is a run of so many `x`: random letters hold a short one by chance.
fn is_crossed_out(value: &str, least: usize) -> bool {
    value.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| {
        let longest = |x: char| part.split(|c: char| c != x).map(str::len).max().unwrap_or(0);
        let run = longest('x').max(longest('X'));
        run >= least && 2 * run >= part.len()
    })
}

/// Tell whether a value holds a word in small letters, in capitals, or with capitals where its parts begin: random letters such as
/// `cVp8DUmMyPm` hold one by chance.
fn spells(value: &str, word: &str) -> bool {
    let begins = |at: usize, letter: u8| at == 0 || letter.is_ascii_uppercase();
    value.as_bytes().windows(word.len()).any(|part| {
        let mut letters = part.iter().zip(word.bytes()).enumerate();
        part.eq_ignore_ascii_case(word.as_bytes())
            && (!part.iter().any(u8::is_ascii_lowercase)
                || letters.all(|(at, (letter, of_word))| !letter.is_ascii_uppercase() || begins(at, of_word)))
    })
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
