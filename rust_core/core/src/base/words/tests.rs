//! Words as a person would look for them.

use super::{WordKind, split_words};

fn terms(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    split_words(text, &mut |word, _| out.push(word.to_owned()));
    out
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(terms(text), expected, "{text}");
}

#[test]
fn identifiers_are_split_and_kept_whole() {
    check("authenticateUser", &["authenticate", "user", "authenticateuser"]);
    check("MAX_RETRY_COUNT", &["max", "retry", "count", "max_retry_count"]);
    check("getHTTPServer", &["get", "http", "server", "gethttpserver"]);
    check("sha256_sum", &["sha", "256", "sum", "sha256_sum"]);
    check("__init__", &["init"]);
    check("x = y1", &["x", "y1"]);
    check("___", &[]);
}

#[test]
fn numbers_stay_whole() {
    check("0x3fA9 2fa 1e10", &["0x3fa9", "2fa", "1e10"]);
}

#[test]
fn error_codes_are_found_exactly() {
    check("ORA-12154: TNS", &["ora", "12154", "ora-12154", "tns"]);
    check("CVE-2024-3094", &["cve", "2024", "3094", "cve-2024-3094"]);
    check("n-1 len-10x", &["n", "1", "len", "10x"]);
}

#[test]
fn versions_and_addresses_are_found_exactly() {
    check("Version 8.1.4, v2.0.", &["version", "8", "8.1", "8.1.4", "2", "2.0"]);
    check("127.0.0.1:80", &["127", "127.0", "127.0.0", "127.0.0.1", "80"]);
    check(
        "1.2.3.4.5.6.7.8.9",
        &["1", "1.2", "1.2.3", "1.2.3.4", "1.2.3.4.5", "1.2.3.4.5.6", "1.2.3.4.5.6.7", "1.2.3.4.5.6.7.8", "9"],
    );
    check("0.123456 1..2 a.1 1.5f", &["0", "123456", "1", "2", "a", "1", "1", "5f"]);
}

#[test]
fn other_scripts_work() {
    check("größenÄnderung", &["größen", "änderung", "größenänderung"]);
    check("检索代码", &["检索", "索代", "代码"]);
    check("码", &["码"]);
    check("用户login名", &["用户", "login", "名"]);
    check("пользователь", &["пользователь"]);
    check("cafe\u{301} ok", &["cafe", "ok"]);
    check("\u{301} ok 🦀", &["ok"]);
}

#[test]
fn data_is_not_a_word() {
    check(&format!("{} ok", "a1B2".repeat(100)), &["ok"]);
}

#[test]
fn kinds_tell_parts_from_wholes() {
    let mut kinds = Vec::new();
    split_words("plain twoWords", &mut |_, kind| kinds.push(kind));
    assert_eq!(kinds, [WordKind::Plain, WordKind::Part, WordKind::Part, WordKind::Whole]);
}

proptest::proptest! {
    #[test]
    fn any_text_splits_into_lower_case_terms(text in "\\PC{0,80}") {
        split_words(&text, &mut |word, _| {
            assert!(!word.is_empty());
            assert!(!word.chars().any(|c| c.is_ascii_uppercase()));
        });
    }
}
