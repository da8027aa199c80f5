//! From a [`Language`] to a syntax tree: the 26 grammars that are linked in, and rare ones registered at run time.
//!
//! A new grammar needs higher `RULES` (`cut`): files of its language are cut again then.
//!
//! A parse stops when its caller cancels and when a file takes longer than its time limit: some inputs make a grammar's
//! error recovery quadratic, and one such file must not hold up an index run.

mod arena;

use std::borrow::Cow;
use std::mem::ManuallyDrop;
use std::ops::ControlFlow;
use std::sync::{OnceLock, RwLock};
use std::time::{Duration, Instant};

use regex::Regex;
use tree_sitter::{Node, ParseOptions, ParseState, Parser};

use crate::base::cancel::CancelToken;
use crate::base::error::{Error, Result};
use crate::base::language::Language;

pub use arena::give_back;

/// Longest time that one file may take to parse before it is cut by lines instead.
pub const TIME_LIMIT: Duration = Duration::from_secs(10);

/// What [`parse`] gave.
pub enum Parsed<R> {
    /// What was read of the tree; with broken syntax it holds ERROR nodes.
    Tree(R),
    /// No grammar for this language.
    NoGrammar,
    /// The time limit was reached.
    TooSlow,
    /// The grammar refused: its ABI is too old or too new for this build.
    Unusable,
}

/// Names of the language pack's grammars that may be registered, with Carrel's name of the language. An allow-list, because
/// a grammar is native code and some never return (the pack's COBOL grammar hangs on ordinary files).
const REGISTRABLE: &[(&str, &str)] = &[
    ("perl", "perl"),
    ("r", "r"),
    ("dart", "dart"),
    ("objc", "objective-c"),
    ("clojure", "clojure"),
    ("erlang", "erlang"),
    ("ocaml", "ocaml"),
    ("julia", "julia"),
    ("groovy", "groovy"),
    ("powershell", "powershell"),
    ("dockerfile", "dockerfile"),
    ("make", "makefile"),
    ("cmake", "cmake"),
    ("proto", "protobuf"),
    ("graphql", "graphql"),
    ("hcl", "terraform"),
    ("terraform", "terraform"),
    ("xml", "xml"),
    ("ini", "ini"),
    ("nix", "nix"),
    ("fortran", "fortran"),
    ("pascal", "pascal"),
    ("ada", "ada"),
    ("d", "d"),
    ("nim", "nim"),
    ("elm", "elm"),
    ("solidity", "solidity"),
    ("tcl", "tcl"),
    ("verilog", "verilog"),
    ("vhdl", "vhdl"),
    ("scss", "scss"),
];

static REGISTERED: RwLock<Vec<(Language, tree_sitter::Language)>> = RwLock::new(Vec::new());

/// The language pack's names of the grammars that [`register_grammar`] takes.
pub fn registrable_grammars() -> impl Iterator<Item = &'static str> {
    REGISTRABLE.iter().map(|(pack, _)| *pack)
}

/// Use `grammar` for the language that the language pack calls `name`. Registering a language twice keeps the first grammar:
/// the index must not change its mind about chunks while it runs.
pub fn register_grammar(name: &str, grammar: tree_sitter::Language) -> Result<Language> {
    let known = REGISTRABLE.iter().find(|(pack, _)| *pack == name).and_then(|(_, own)| Language::from_name(own));
    let Some(language) = known else {
        return Err(Error::invalid("grammar", format!("the grammar `{name}` is not on the list of grammars known to work")));
    };
    let abi = grammar.abi_version();
    if !(tree_sitter::MIN_COMPATIBLE_LANGUAGE_VERSION..=tree_sitter::LANGUAGE_VERSION).contains(&abi) {
        return Err(Error::invalid(
            "grammar",
            format!("the grammar `{name}` has ABI version {abi}, which this build can't read"),
        ));
    }
    let mut registered = REGISTERED.write().unwrap_or_else(std::sync::PoisonError::into_inner);
    if !registered.iter().any(|(known, _)| *known == language) {
        registered.push((language, grammar));
    }
    Ok(language)
}

/// The grammar of `language`, linked in or registered.
pub fn grammar(language: Language) -> Option<tree_sitter::Language> {
    if let Some(grammar) = built_in(language) {
        return Some(grammar.clone());
    }
    let registered = REGISTERED.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    registered.iter().find(|(known, _)| *known == language).map(|(_, grammar)| grammar.clone())
}

fn built_in(language: Language) -> Option<&'static tree_sitter::Language> {
    static GRAMMARS: OnceLock<Vec<(Language, tree_sitter::Language)>> = OnceLock::new();
    let grammars = GRAMMARS.get_or_init(|| {
        let table = [
            (Language::PYTHON, tree_sitter_python::LANGUAGE),
            (Language::JAVASCRIPT, tree_sitter_javascript::LANGUAGE),
            (Language::TYPESCRIPT, tree_sitter_typescript::LANGUAGE_TYPESCRIPT),
            (Language::TSX, tree_sitter_typescript::LANGUAGE_TSX),
            (Language::JAVA, tree_sitter_java::LANGUAGE),
            (Language::KOTLIN, tree_sitter_kotlin_ng::LANGUAGE),
            (Language::GO, tree_sitter_go::LANGUAGE),
            (Language::RUST, tree_sitter_rust::LANGUAGE),
            (Language::C, tree_sitter_c::LANGUAGE),
            (Language::CPP, tree_sitter_cpp::LANGUAGE),
            (Language::CSHARP, tree_sitter_c_sharp::LANGUAGE),
            (Language::RUBY, tree_sitter_ruby::LANGUAGE),
            (Language::PHP, tree_sitter_php::LANGUAGE_PHP),
            (Language::SWIFT, tree_sitter_swift::LANGUAGE),
            (Language::SCALA, tree_sitter_scala::LANGUAGE),
            (Language::BASH, tree_sitter_bash::LANGUAGE),
            (Language::LUA, tree_sitter_lua::LANGUAGE),
            (Language::ELIXIR, tree_sitter_elixir::LANGUAGE),
            (Language::HASKELL, tree_sitter_haskell::LANGUAGE),
            (Language::ZIG, tree_sitter_zig::LANGUAGE),
            (Language::JSON, tree_sitter_json::LANGUAGE),
            (Language::YAML, tree_sitter_yaml::LANGUAGE),
            (Language::TOML, tree_sitter_toml_ng::LANGUAGE),
            (Language::HTML, tree_sitter_html::LANGUAGE),
            (Language::CSS, tree_sitter_css::LANGUAGE),
            (Language::MARKDOWN, tree_sitter_md::LANGUAGE),
        ];
        table.into_iter().map(|(language, grammar)| (language, grammar.into())).collect()
    });
    grammars.iter().find(|(known, _)| *known == language).map(|(_, grammar)| grammar)
}

/// Parse `text` and return what `read` makes of the root of its tree. The only error is [`Error::Cancelled`].
pub fn parse<R>(
    language: Language,
    text: &str,
    limit: Duration,
    cancel: &CancelToken,
    read: impl FnOnce(Node<'_>) -> R,
) -> Result<Parsed<R>> {
    let Some(grammar) = grammar(language) else { return Ok(Parsed::NoGrammar) };
    let text = without_export_macros(language, text);
    arena::within(|| {
        let mut parser = Parser::new();
        if parser.set_language(&grammar).is_err() {
            return Ok(Parsed::Unusable);
        }
        let deadline = Instant::now() + limit;
        let mut progress = |_: &ParseState| {
            if cancel.is_cancelled() || Instant::now() > deadline { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let bytes = text.as_bytes();
        let options = ParseOptions::new().progress_callback(&mut progress);
        let tree = parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options));
        cancel.check()?;
        // Its memory goes with the arena: to drop it would visit each node.
        let tree = tree.map(ManuallyDrop::new);
        Ok(tree.map_or(Parsed::TooSlow, |tree| Parsed::Tree(read(tree.root_node()))))
    })
}

/// Return a text of C or C++ with blanks in place of the macro in `class MACRO Name {`, which says how the name is exported. Without
/// the preprocessor the grammars read such a head as a function, and break off at what follows.
fn without_export_macros(language: Language, text: &str) -> Cow<'_, str> {
    static HEAD: OnceLock<Option<Regex>> = OnceLock::new();
    let pattern = r"\b(?:class|struct|union|enum)\s+([A-Z][A-Z0-9_]+(?:\([^()\n]*\))?)\s+([A-Za-z_][\w:]*)(?:<[^<>;{}]*>)?\s*(?:final\s*)?(?::[^;{}()]*)?\{";
    let is_c = matches!(language, Language::C | Language::CPP);
    let Some(head) = HEAD.get_or_init(|| Regex::new(pattern).ok()).as_ref().filter(|_| is_c) else { return text.into() };
    let mut masked = Cow::Borrowed(text);
    // In `class NAME final {` the capitals are the name.
    let heads = head.captures_iter(text).filter(|head| head.get(2).is_some_and(|name| name.as_str() != "final"));
    for found in heads.filter_map(|head| head.get(1)) {
        masked.to_mut().replace_range(found.range(), &" ".repeat(found.len()));
    }
    masked
}
