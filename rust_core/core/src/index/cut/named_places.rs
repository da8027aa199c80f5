//! Find what a document defines by name: described objects (`.. confval:: x`, `.. function:: f(a)`, `MyST`'s `{confval} x`) and targets
//! (`.. _label:`, `(label)=`, `[[anchor]]`, `[#id]`, `<a name="x">`, `{#id}`, `:CUSTOM_ID:`, `<<x>>`, Vim's `*tag*`).
//!
//! Directives that describe something are known by their form: one name or signature behind them, that no other use of the directive
//! repeats, and prose below, or a line that says the name. In one file a directive is used in one way: what holds for one of its uses
//! holds for all.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;

use super::names::Name;
use crate::base::language::Language;
use crate::base::patterns::regex;

/// A place that documents say the name of.
#[derive(Debug, PartialEq, Eq)]
pub struct NamedPlace {
    /// Where its line begins.
    pub start: usize,
    /// Where what stands below that line, or those lines, begins.
    pub below: usize,
    pub names: Vec<String>,
}

/// Directives of docutils and Sphinx whose argument is no name of what stands in them, though it may look like one: a language, a
/// title, a class of CSS, a builder, a version, a file (docutils.sourceforge.io/docs/ref/rst/directives.html,
/// sphinx-doc.org/en/master/usage/restructuredtext/directives.html).
const NO_NAMES: &[&str] = &[
    "admonition",
    "attention",
    "caution",
    "code",
    "code-block",
    "container",
    "contents",
    "csv-table",
    "danger",
    "deprecated",
    "error",
    "figure",
    "hint",
    "highlight",
    "ifconfig",
    "image",
    "important",
    "include",
    "index",
    "list-table",
    "literalinclude",
    "math",
    "note",
    "only",
    "parsed-literal",
    "raw",
    "role",
    "rst-class",
    "rubric",
    "seealso",
    "sidebar",
    "sourcecode",
    "table",
    "tip",
    "toctree",
    "topic",
    "versionadded",
    "versionchanged",
    "versionremoved",
    "warning",
];
/// Directives of Sphinx's domains that say where others belong.
const SCOPES: &[&str] = &["alias", "currentmodule", "module", "namespace", "namespace-pop", "namespace-push"];
/// So many lines below a directive are looked at.
const MOST_LINES: usize = 50;
/// Longest name that is kept.
const LONGEST: usize = 80;

/// A directive with its argument, behind two dots or a fence.
static DIRECTIVE: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"^[ \t]*(?:\.\.[ \t]+(?<kind>[\w+.:-]+)::|(?:`{3,}|~{3,}|:{3,})[ \t]*\{(?<kind2>[\w+.:-]+)\})[ \t]+(?<argument>\S.*)$")
});
/// The targets of each family of markup.
static OF_RST: LazyLock<Regex> = LazyLock::new(|| regex(r"^[ \t]*\.\.[ \t]+_(?:`([^`]+)`|([^:`_\s][^:`]*)):$"));
static OF_MARKDOWN: LazyLock<Regex> = LazyLock::new(|| {
    regex(r#"^ {0,3}\(([^()\s]+)\)=$|<a[ \t]+(?:name|id)=["']?([^"'\s>]+)["']?[ \t]*/?>|^#{1,6} .*\{#([\w:.-]+)[^{}]*\}$"#)
});
static OF_ASCIIDOC: LazyLock<Regex> = LazyLock::new(|| regex(r"^\[\[([^\],\s]+)(?:,[^\]]*)?\]\]|^\[[\w-]*#([\w:-]+)[^\]]*\]$"));
static OF_ORG: LazyLock<Regex> = LazyLock::new(|| regex(r"(?i)^[ \t]*:CUSTOM_ID:[ \t]+(\S+)$|<<([^<>\n]+)>>"));
static OF_VIM: LazyLock<Regex> = LazyLock::new(|| regex(r"(?:^|[ \t])\*([^*\s|]+)\*"));

/// A directive that may describe what it names.
struct Directive<'a> {
    kind: &'a str,
    at: usize,
    below: usize,
    names: Vec<String>,
}

/// Count how one directive is used in a text.
#[derive(Default)]
struct Uses {
    count: usize,
    names: HashSet<String>,
    /// Whether one of them at least describes what it names.
    describe: bool,
}

/// Return the places that `text` defines by name, in its order.
pub fn named_places(text: &str, language: Language) -> Vec<NamedPlace> {
    let targets: &Regex = match language {
        Language::MARKDOWN => &OF_MARKDOWN,
        Language::ASCIIDOC => &OF_ASCIIDOC,
        Language::ORG => &OF_ORG,
        _ if is_help_of_vim(text) => &OF_VIM,
        _ => &OF_RST,
    };
    let lines = lines(text);
    let mut places = Vec::new();
    let mut directives = Vec::new();
    let mut kinds: HashMap<&str, Uses> = HashMap::new();
    let fences = match language {
        Language::MARKDOWN => "`~",
        Language::ASCIIDOC => "`-.+/",
        _ => "",
    };
    let mut shown = Shown { fences, ..Shown::default() };
    for (number, (at, line)) in lines.iter().enumerate() {
        let below = at + line.len();
        let line = line.trim_end();
        if shown.has(line) {
            continue;
        }
        if let Some(directive) = DIRECTIVE.captures(line) {
            let kind = directive.name("kind").or_else(|| directive.name("kind2")).map_or("", |kind| kind.as_str());
            let names = names_of(directive["argument"].trim());
            shown.after(line, kind);
            let own = kind.rsplit(':').next().unwrap_or(kind);
            if !names.is_empty() && !NO_NAMES.contains(&kind.to_lowercase().as_str()) && !SCOPES.contains(&own) {
                let uses = kinds.entry(kind).or_default();
                uses.count += 1;
                uses.names.extend(names.first().cloned());
                // What belongs to a domain, as `py:attribute`, describes whatever stands below.
                uses.describe |= kind.contains(':') || describes(&lines[number..], &names);
                directives.push(Directive { kind, at: *at, below, names });
            }
            continue;
        }
        let names: Vec<String> = targets.captures_iter(line).filter_map(|captures| target(&captures)).collect();
        if !names.is_empty() {
            places.push(NamedPlace { start: *at, below, names });
        }
    }
    let is_described = |kind: &str| kinds.get(kind).is_some_and(|uses| uses.describe && 2 * uses.names.len() > uses.count);
    let described = directives.into_iter().filter(|directive| is_described(directive.kind));
    places.extend(described.map(|Directive { at, below, names, .. }| NamedPlace { start: at, below, names }));
    places.sort_by_key(|place| place.start);
    places
}

fn lines(text: &str) -> Vec<(usize, &str)> {
    let mut at = 0;
    let line = |line: &'_ str| {
        at += line.len();
        at - line.len()
    };
    text.split_inclusive('\n').map(line).zip(text.split_inclusive('\n')).collect()
}

/// Tell whether a text is one of Vim's help: its first line begins with the tag of its file.
fn is_help_of_vim(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    first.len() > 6 && first.starts_with('*') && first.ends_with(".txt*")
}

/// What a document shows as it stands: an example of markup names nothing.
#[derive(Default)]
struct Shown<'a> {
    /// What ends it: the fence that began it.
    fence: Option<&'a str>,
    /// What fences are made of.
    fences: &'static str,
    /// How far the line is indented that began it, if all that is indented more belongs to it.
    indent: Option<usize>,
}

impl<'a> Shown<'a> {
    /// Tell whether a line is shown so, and note whether one begins it.
    fn has(&mut self, line: &'a str) -> bool {
        let body = line.trim_start();
        let first = body.chars().next().unwrap_or(' ');
        let run = &body[..body.len() - body.trim_start_matches(first).len()];
        if let Some(fence) = self.fence {
            self.fence = self.fence.filter(|_| body != run || !run.starts_with(fence));
            return true;
        }
        if let Some(indent) = self.indent {
            if body.is_empty() || line.len() - body.len() > indent {
                return true;
            }
            self.indent = None;
        }
        let is_code = "`~".contains(first) && run.len() > 2 && !body[run.len()..].trim_start().starts_with('{');
        if self.fences.contains(first) && (is_code || (body == run && run.len() > 3)) {
            self.fence = Some(run);
            return true;
        }
        if let Some(before) = body.strip_suffix("::") {
            self.after(line, before.strip_prefix("..").map_or("code", str::trim));
        }
        false
    }

    /// Note that a directive of this kind stands in a line.
    fn after(&mut self, line: &str, kind: &str) {
        if matches!(kind, "code" | "code-block" | "sourcecode" | "parsed-literal" | "raw" | "math") {
            self.indent = Some(line.len() - line.trim_start().len());
        }
    }
}

fn target(captures: &regex::Captures<'_>) -> Option<String> {
    let name = captures.iter().skip(1).flatten().next()?.as_str().trim();
    (!name.is_empty() && name.len() <= LONGEST && !name.contains("://")).then(|| name.to_owned())
}

/// Tell whether what stands below a directive's first line speaks of what it names: prose that is indented, options left out, or a
/// line that says the name.
fn describes(lines: &[(usize, &str)], names: &[String]) -> bool {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = lines.first().map_or(0, |(_, line)| indent(line));
    let is_fenced = lines.first().is_some_and(|(_, line)| !line.trim_start().starts_with(".."));
    // What goes on right below the first line is more signatures or options.
    let rest = lines.iter().skip(1).take(MOST_LINES).map(|(_, line)| line.trim_end());
    let mut rest = rest.skip_while(|line| !line.is_empty() && (indent(line) > own || line.starts_with(':')));
    let Some(next) = rest.find(|line| !line.is_empty()) else { return false };
    let first = next.trim_start();
    let is_below = indent(next) > own || is_fenced;
    let is_prose = first.starts_with(|c: char| c.is_uppercase() || "`*|:".contains(c)) && first.contains(' ');
    if is_below { is_prose } else { names.iter().any(|name| says(next, name)) }
}

fn says(line: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    line.match_indices(name).any(|(at, _)| !line[..at].ends_with(is_part) && !line[at + name.len()..].starts_with(is_part))
}

/// Return what a directive's argument names, if it is one name, a signature or options of a command line.
fn names_of(argument: &str) -> Vec<String> {
    let is_kept = |name: &str| name.len() > 1 && name.len() <= LONGEST;
    if argument.starts_with(['-', '+', '/']) {
        let options = argument.split(", ").map(|option| option.split([' ', '=', '[', '<', ',']).next().unwrap_or_default());
        let is_option = |option: &&str| {
            is_kept(option)
                && option.contains(char::is_alphanumeric)
                && option.chars().all(|c| c.is_alphanumeric() || "-_.+/?".contains(c))
        };
        let options: Vec<&str> = options.filter(is_option).collect();
        let bare = options.iter().map(|option| option.trim_start_matches('-')).filter(|name| name.len() > 2);
        return options.iter().copied().chain(bare).map(str::to_owned).collect();
    }
    let (head, is_signature) = argument.split_once('(').map_or((argument, false), |(head, _)| (head, true));
    let mut words = head.split_whitespace();
    let (first, last) = if is_signature {
        // Before a signature's name stands its type.
        let last = words.next_back().unwrap_or_default();
        (last, "")
    } else {
        (words.next().unwrap_or_default(), words.next().unwrap_or_default())
    };
    // Behind the name alone stand what it is of, its default, and what a person puts in.
    let is_more = !last.is_empty()
        && !first.ends_with([':', ',', '='])
        && !last.starts_with([':', '=', '[', '<', '{', '|', '-'])
        && last != last.to_uppercase();
    let plain = first.trim_start_matches(['*', '&', '~', '@']).trim_end_matches([':', ';', ',', '=']);
    let begins = plain.starts_with(|c: char| c.is_alphabetic() || "_$".contains(c));
    if is_more || !begins || plain.contains(['/', '<', '|', '`']) {
        return Vec::new();
    }
    Name::parse(plain).map(|name| name.own).filter(|name| is_kept(name)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, language: Language, expected: &[&str]) {
        let names: Vec<_> = named_places(text, language).into_iter().flat_map(|place| place.names).collect();
        assert_eq!(names, expected, "{text}");
    }

    #[test]
    fn what_directives_describe_is_named() {
        for (text, expected) in [
            (".. confval:: log_cli\n\n   Enables it.\n\n.. confval:: log_level\n", &["log_cli", "log_level"][..]),
            (".. option:: -v, --verbose LEVEL\n\n   Says more.\n", &["-v", "--verbose", "verbose"]),
            (".. py:method:: Session.get(url, **kw)\n   :async:\n\n   Sends it.\n", &["get"]),
            (".. c:function:: int *parse(char *text)\n\n   Parses it.\n", &["parse"]),
            (".. setting:: DEBUG\n\n``DEBUG``\n~~~~~~~~~\n\n.. setting:: LOG\n", &["DEBUG", "LOG"]),
            (".. django-admin:: check [app_label ...]\n\n``check``\n", &["check"]),
            (".. py:attribute:: Shop.size\n\nHow large it is.\n", &["size"]),
            (".. rst:directive:option:: start-at: text\n\n   The text.\n", &["start-at"]),
            (".. confval:: a_b\n   :type: str\n   :default: ``'x'``\n\n   The text.\n", &["a_b"]),
        ] {
            check(text, Language::RST, expected);
        }
        check("```{confval} log_cli\nEnables it, where it is set.\n```\n", Language::MARKDOWN, &["log_cli"]);
    }

    #[test]
    fn what_else_stands_behind_directives_is_no_name() {
        for text in [
            ".. code-block:: python\n\n   Model.objects.all() # all\n",
            ".. image:: a.png\n\nText.\n",
            ".. versionadded:: 1.0\n\n   It is new.\n",
            ".. admonition:: Note\n\n   It is so.\n",
            ".. highlight:: python\n\nText.\n",
            ".. toctree::\n   :maxdepth: 1\n\n   a\n",
            ".. tab:: toml\n\n   .. code-block:: toml\n\n      a = 1\n",
            ".. py:currentmodule:: shop.models\n\nThe models.\n",
            ".. tab:: Linux\n\n   On it.\n\n.. tab:: Linux\n\n   On it.\n",
            ".. function of:: some words\n\n   Text.\n",
            "   .. prompt:: bash\n\n      $ run it\n",
            ".. _Python: https://python.org\n",
            "As follows::\n\n   .. confval:: a_b\n\n      The text.\n\n   .. _label:\n",
            ".. code-block:: rst\n\n   .. confval:: a_b\n\n      The text.\n",
            ".. grid-item-card:: Get started\n\n   Text of it.\n",
        ] {
            check(text, Language::RST, &[]);
        }
    }

    #[test]
    fn targets_are_named_in_every_markup() {
        check(".. _how-to:\n.. _`a b`:\n\nTitle\n=====\n", Language::RST, &["how-to", "a b"]);
        check("(how-to)=\n# Title\n\n<a name=\"old\"></a>\n## Other {#other}\n", Language::MARKDOWN, &["how-to", "old", "other"]);
        check("[[how-to]]\n== Title\n\n[#other.lead]\nText.\n", Language::ASCIIDOC, &["how-to", "other"]);
        check("* Title\n:PROPERTIES:\n:CUSTOM_ID: how-to\n:END:\n<<other>>\n", Language::ORG, &["how-to", "other"]);
        check("```md\n(how-to)=\n```\n(other)=\n# Title\n", Language::MARKDOWN, &["other"]);
        check("----\n[[how-to]]\n----\n", Language::ASCIIDOC, &[]);
        let help = "*shop.txt*  A shop\n\n                     *shop.open()* *:Shop*\nOpens *it* all.\n";
        check(help, Language::TEXT, &["shop.txt", "shop.open()", ":Shop", "it"]);
        check("Some *emphasis*\n", Language::TEXT, &[]);
    }
}
