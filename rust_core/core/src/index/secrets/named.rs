//! Values that are given to a name such as `password` or `API_TOKEN`, in any of the ways in which files give values to names.

use super::bindings::literals;
use super::literals::bare_value;
use super::operators::{LONGEST_NAME, is_any, is_name, operator, skip_blanks};
use super::surroundings::{Surroundings, is_in_line};
use super::values::{Class, Style, is_secret};

/// What begins a look at a name. Everything that [`class_of`] knows holds one of these.
pub(super) const TRIGGERS: &[&str] = &["pass", "pwd", "key", "token", "secret", "cred", "auth", "kennwort", "pw", "psk"];

const PASSWORDS: &[&str] = &[
    "password",
    "passwd",
    "pwd",
    "pw",
    "psk",
    "passphrase",
    "pass",
    "passcode",
    "passwort",
    "kennwort",
    "requirepass",
    "masterauth",
    "storepass",
    "keypass",
];
const PASSWORD_ENDINGS: &[&str] = &["password", "passwd", "passphrase", "passwort", "kennwort", "_pwd", "userpwd", "dbpass"];
const TOKENS: &[&str] = &["token", "tokens", "credential", "credentials", "creds", "authkey", "cred", "authorization"];
const TOKEN_ENDINGS: &[&str] = &["token", "apikey", "secretkey", "accesskey", "privatekey", "authkey", "masterkey", "accountkey"];
/// What makes a key one that opens something. Any other key is that of a map or a keyboard.
const KEYS_OF: &[&str] = &[
    "api",
    "access",
    "secret",
    "private",
    "auth",
    "encryption",
    "encrypt",
    "signing",
    "sign",
    "signature",
    "master",
    "account",
    "service",
    "app",
    "application",
    "client",
    "license",
    "ssh",
    "session",
    "cookie",
    "storage",
    "shared",
    "webhook",
    "deploy",
    "consumer",
    "integration",
    "jwt",
    "hmac",
    "crypto",
    "cipher",
    "aes",
    "rsa",
    "subscription",
    "functions",
    "function",
    "admin",
    "write",
    "ingest",
    "server",
    "aws",
    "gcp",
    "azure",
    "openai",
    "anthropic",
    "stripe",
    "sendgrid",
    "twilio",
    "mailgun",
    "datadog",
    "maps",
    "security",
    "instrumentation",
    "primary",
    "secondary",
    "host",
    "bot",
    "user",
    "merchant",
    "partner",
    "publishable",
    "live",
    "test",
    "prod",
    "algolia",
    "pusher",
    "sentry",
    "firebase",
    "supabase",
    "search",
    "query",
    "data",
    "base",
    "flask",
    "django",
    "rails",
    "vapid",
    "hash",
];
/// Ends of names that say which of several, not what. They are read over.
const WHICH: &[&str] = &[
    "prod",
    "production",
    "dev",
    "development",
    "stage",
    "staging",
    "test",
    "testing",
    "live",
    "local",
    "value",
    "val",
    "str",
    "string",
    "raw",
    "base64",
    "b64",
    "hex",
    "old",
    "new",
    "primary",
    "secondary",
    "current",
    "default",
    "plain",
    "plaintext",
    "clear",
    "override",
    "base",
];

/// The place of a name, `from..to`, and the class of the value that it promises.
pub(super) type Name = (usize, usize, Class);

/// Find the value that a name is given, as a range of the text.
pub(super) fn value_of(
    text: &[u8],
    (from, to, class): Name,
    style: Style,
    surroundings: &mut Surroundings,
) -> Option<(usize, usize)> {
    let name = std::str::from_utf8(&text[from..to]).ok()?;
    let is_value = |first: usize, last: usize, quoted: bool| {
        std::str::from_utf8(&text[first..last])
            .is_ok_and(|value| is_secret(value, class, style, quoted) || is_sentence(name, value, class, style))
    };
    let literal = literals(text, from, to, style).into_iter().find(|&(first, last)| is_value(first, last, true));
    let bare = |style: Style| {
        let at = operator(text, from, to, style).filter(|_| class != Class::Login || style == Style::Config)?;
        let (first, last, quoted) = bare_value(text, at, style)?;
        let value = std::str::from_utf8(&text[first..last]).ok()?;
        (is_value(first, last, quoted) || is_secret(value, class, style, quoted)).then_some((first, last))
    };
    // In a comment or a message people write as in a text.
    let as_text =
        || (style == Style::Code).then(|| bare(Style::Prose)).flatten().filter(|_| surroundings.are_for_people(text, from));
    literal.or_else(|| bare(style)).or_else(as_text)
}

/// Tell whether a text, or the comment or message of a line, mentions a name. To pass is a verb.
pub(super) fn is_mention(text: &[u8], (from, to, _): Name, style: Style) -> bool {
    let for_people = style == Style::Prose || style == Style::Code && is_in_line(text, from);
    for_people && !text[from..to].eq_ignore_ascii_case(b"pass")
}

/// Return the name `from..to`, and what it promises.
pub(super) fn promised(text: &[u8], (from, to): (usize, usize), style: Style) -> Option<Name> {
    class_at(text, from, to, style).map(|class| (from, to, class))
}

/// Return what the name `from..to` promises. In texts for people it is of several words: `API key`.
fn class_at(text: &[u8], from: usize, to: usize, style: Style) -> Option<Class> {
    let class_from = |first: usize| class_of(std::str::from_utf8(&text[first..to]).ok()?);
    let of_words = || {
        let label = with_word_before(text, from);
        let class = class_from(label).filter(|_| label < from)?;
        (style == Style::Prose || style == Style::Code && is_in_line(text, from)).then_some(class)
    };
    class_from(from).or_else(of_words)
}

/// Return the name `from..to` where it is a plural that is given values, and what it promises of each. `name` is what is known of it
/// already.
pub(super) fn plural(text: &[u8], (from, to): (usize, usize), name: Option<Name>, style: Style) -> Option<Name> {
    let [.., last, b's' | b'S'] = text[..to] else { return None };
    let next = *text.get(skip_blanks(text, to))?;
    // `pass`, `keys()`, `tokens are …`
    if last.eq_ignore_ascii_case(&b's') || next.is_ascii_alphanumeric() || b".,;()+-/|%\r\n".contains(&next) {
        return None;
    }
    let is_bare = |word: &[u8]| text[from..to].rsplit(|&b| b == b'.').next().is_some_and(|name| name.eq_ignore_ascii_case(word));
    let class = match name {
        Some((_, _, class)) => class,
        None if is_bare(b"keys") => return None,
        None => class_at(text, from, to - 1, style)?,
    };
    match class {
        Class::Login => None,
        Class::Token if style == Style::Code && is_bare(b"tokens") => None, // those of a language
        Class::Secret => Some((from, to, Class::Token)),                    // a list of phrases is one of names
        class => Some((from, to, class)),
    }
}

/// Tell whether a value is a passphrase, which may have blanks.
fn is_sentence(name: &str, value: &str, class: Class, style: Style) -> bool {
    let phrase = name.to_ascii_lowercase().ends_with("passphrase") && style != Style::Prose;
    phrase && class == Class::Password && value.len() >= 12 && is_secret(&value.replace(' ', ""), class, Style::Config, true)
}

/// Return the whole name that a trigger is part of.
pub(super) fn name_around(text: &[u8], start: usize, end: usize) -> Option<(usize, usize)> {
    let before = text[..start].iter().rev().take(LONGEST_NAME).take_while(|&&b| is_name(b) || b == b'.').count();
    let after = text[end..].iter().take(LONGEST_NAME).take_while(|&&b| is_name(b)).count();
    (before + after < LONGEST_NAME).then_some((start - before, end + after))
}

/// Return where the word before a name begins, if but one blank is between them.
fn with_word_before(text: &[u8], from: usize) -> usize {
    if !text[..from].ends_with(b" ") {
        return from;
    }
    from - 1 - text[..from - 1].iter().rev().take(LONGEST_NAME).take_while(|b| b.is_ascii_alphanumeric()).count()
}

/// Tell what a name promises.
pub(super) fn class_of(name: &str) -> Option<Class> {
    let words = words_of(name);
    let mut words: &[&str] = &words;
    while let [rest @ .., last] = words
        && !rest.is_empty()
        && (is_any(last.as_bytes(), WHICH) || last.bytes().all(|b| b.is_ascii_digit()))
    {
        words = rest;
    }
    if words.iter().any(|word| word.eq_ignore_ascii_case("public")) {
        return None;
    }
    let (last, before) = words.split_last()?;
    let last = last.trim_end_matches(|c: char| c.is_ascii_digit()).to_ascii_lowercase();
    let last = last.as_str();
    let follows = |words: &[&str]| before.last().is_some_and(|word| is_any(word.as_bytes(), words));
    if PASSWORDS.contains(&last) || PASSWORD_ENDINGS.iter().any(|ending| last.ends_with(ending)) {
        return Some(Class::Password);
    }
    if last == "auth" {
        return Some(if follows(&["bearer"]) { Class::Token } else { Class::Login });
    }
    if matches!(last, "secret" | "secrets") || last.ends_with("secret") {
        return Some(Class::Secret);
    }
    if TOKENS.contains(&last) || TOKEN_ENDINGS.iter().any(|ending| last.ends_with(ending)) {
        return Some(Class::Token);
    }
    (matches!(last, "key" | "keys") && follows(KEYS_OF)).then_some(Class::Token)
}

/// Return the words of a name: `DB_PASSWORD`, `dbPassword`, `db.password` and `DB password` have as many.
pub(super) fn words_of(name: &str) -> Vec<&str> {
    let mut words = Vec::with_capacity(4);
    for part in name.split(['_', '-', '.', ' ']).filter(|part| !part.is_empty()) {
        let bytes = part.as_bytes();
        let mut start = 0;
        for at in 1..bytes.len() {
            // `APIKey` is `API` and `Key`.
            let begins = bytes[at].is_ascii_uppercase()
                && (bytes[at - 1].is_ascii_lowercase()
                    || bytes[at - 1].is_ascii_uppercase() && bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase));
            if begins {
                words.push(&part[start..at]);
                start = at;
            }
        }
        words.push(&part[start..]);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(style: Style, line: &str, expected: Option<&str>) {
        let lower = line.to_ascii_lowercase();
        let mut hits = TRIGGERS.iter().flat_map(|word| lower.match_indices(word).map(|(at, word)| (at, at + word.len())));
        let text = line.as_bytes();
        let found = hits.find_map(|(start, end)| {
            value_of(
                text,
                promised(text, name_around(text, start, end)?, style)?,
                style,
                &mut Surroundings::new(None, line.len()),
            )
        });
        assert_eq!(found.map(|(first, last)| &line[first..last]), expected, "{line}");
    }

    #[test]
    fn every_way_of_giving_a_value_is_read() {
        for line in [
            "password = \"hunter2x\"",
            "self.db_password = 'hunter2x'",
            "password: str = \"hunter2x\"",
            "const dbPassword = `hunter2x`;",
            "{\"password\": \"hunter2x\"}",
            "{\\\"password\\\": \\\"hunter2x\\\"}",
            ":password => 'hunter2x'",
            "define('DB_PASSWORD', 'hunter2x');",
            "env[\"DB_PASSWORD\"] = \"hunter2x\"",
            "props.setProperty(\"db.password\", \"hunter2x\");",
            ".password(\"hunter2x\")",
            "user.set_password(\"hunter2x\")",
            "user.check_password(\"hunter2x\")",
            "settings.setDbPassword(\"hunter2x\")",
            "password = b'hunter2x'",
            "password: SecretStr = SecretStr(\"hunter2x\")",
            "Password: \"hunter2x\",",
            "password ||= 'hunter2x'",
            "if password == \"hunter2x\":",
            "process.env.DB_PASSWORD || 'hunter2x'",
            "const password = env.PW ?? \"hunter2x\"",
            "#define PASSWORD \"hunter2x\"",
            "String Password { get; set; } = \"hunter2x\";",
            "[\"--password\", \"hunter2x\"]",
            "{password, \"hunter2x\"}",
            "url = 'x?password=hunter2x&a=1'",
            "\"Server=db;User Id=sa;Password=hunter2x;\"",
            "dsn = \"host=db user=a password=hunter2x dbname=b\"",
            "pub const DB_PASSWORD: &'static str = \"hunter2x\";",
            "static PASSWORD: Option<&str> = Some(\"hunter2x\");",
            "var dbPassword string = \"hunter2x\"",
            "static const char password[64] = \"hunter2x\";",
            "const password: [:0]const u8 = \"hunter2x\";",
            "std::string password{\"hunter2x\"};",
            "let password = String::from(\"hunter2x\".to_owned());",
            "password = (\n    \"hunter2x\"\n)",
            "ENV.fetch('DB_PASSWORD') { 'hunter2x' }",
            "page.locator('#password').fill('hunter2x')",
            "attribute :password, default: 'hunter2x'",
            "mapOf(\"password\" to \"hunter2x\")",
            "putenv('DB_PASSWORD=hunter2x');",
            "@Value(\"${db.password:hunter2x}\")",
            "user.set_password(user, \"hunter2x\")",
        ] {
            check(Style::Code, line, Some("hunter2x"));
        }
        for line in [
            "password: hunter2x",
            "password=hunter2x",
            "spring.datasource.password = hunter2x",
            "<password>hunter2x</password>",
            "<add key=\"Password\" value=\"hunter2x\"/>",
            "- name: DB_PASSWORD\n  value: hunter2x",
            "{\"key\": \"PASSWORD\", \"value\": \"hunter2x\"}",
            "<property name=\"connection.password\">hunter2x</property>",
            "password: 'hunter2x'  # of the database",
            "requirepass hunter2x",
            "password: !!str hunter2x",
            "password: |\n  hunter2x\n",
            "variable \"db_password\" {\n  default = \"hunter2x\"\n}",
            "<Password value=\"hunter2x\"/>",
            "<key>Password</key>\n<string>hunter2x</string>",
        ] {
            check(Style::Config, line, Some("hunter2x"));
        }
        for line in [
            "export DB_PASSWORD=hunter2x",
            "app --password hunter2x --quiet",
            "ENV DB_PASSWORD hunter2x",
            "app --password=hunter2x",
        ] {
            check(Style::Shell, line, Some("hunter2x"));
        }
    }

    #[test]
    fn what_only_names_a_secret_is_left() {
        for line in [
            "password = get_password(user)",
            "token_url = \"https://a1b2c3d4e5f6.io/token\"",
            "key = \"a1b2c3d4e5f6a7b8c9\"",
            "password = os.environ[\"DB_PASSWORD\"]",
            "secret_name = \"db-credentials-9f8e7d\"",
            "keyboard = 'a1b2c3d4e5'",
            "password == other1234",
            "passed = \"hunter2x\"",
            "['user', 'password', 'hunter2x']",
            "token: Token1234",
            "authKeyLength: 2048,",
            "@sensitive_variables(\"password1\", \"password2\")",
            "fields = (\"new_password1\", \"new_password2\")",
            "keyring.get_password('billing-app', user)",
            "rabbitmq.clear_password(\"hunter2x\")",
            "vault.getToken(\"a1b2c3d4e5f6a7b8c9\")",
            "if self.update_password == 'always' and changed:",
            "password = password.encode(\"latin-1\")",
            "password = hash(\"sha3-512\", other)",
            "password = form[\"field12\"]",
            "values to pass to `update2()`",
            "password: str, user = \"admin12\"",
            "render(password, template=\"login2.html\", id=\"field12\")",
            "f\"password={password!r}\"",
        ] {
            check(Style::Code, line, None);
        }
        for line in [
            "password: ${DB_PASSWORD}",
            "\"password\": \"Password\"",
            "password: the one that you chose",
            "token: oauth2",
            "secretName: app-tls",
        ] {
            check(Style::Config, line, None);
        }
    }
}
