//! How a definition's first line looks in each language. Data only; [`super::outline`] reads it.
//!
//! A pattern matches from the line's first word on. The group `f` names a function, `t` a type or another
//! container, `s` a namespace, `o` anything else. Behind `list` stand definitions that one word heads.
//! `NAME` stands for an identifier. Patterns ask for what follows a name where prose could begin alike.

use std::sync::{LazyLock, OnceLock};

use regex::Regex;

use crate::base::language::Language;
use crate::base::patterns::regex;

/// The marks of a language.
pub struct Marks {
    /// The pattern of a definition's first line.
    pub pattern: &'static Regex,
    /// Whether a type, a name and parameters before a `{` are a function, too.
    pub heads: bool,
}

/// Return the marks of `language`, if it has any.
pub fn of(language: Language) -> Option<Marks> {
    static PATTERNS: [OnceLock<Regex>; 256] = [const { OnceLock::new() }; 256];
    let (_, heads, pattern) = TABLE.iter().find(|(languages, ..)| languages.contains(&language.name()))?;
    let compiled = PATTERNS[usize::from(language.id())].get_or_init(|| {
        // What a pattern passes over ends with the line, so that no match hides another.
        let pattern = pattern.replace("NAME", r"[\pL_$][\w$]*").replace("[^", r"[^\n");
        regex(&format!(r"(?m)^[ \t]*(?:{pattern})"))
    });
    Some(Marks { pattern: compiled, heads: *heads })
}

/// Return the names that one line of a list defines: `A => 1, B => 2`, `a*, b: int`.
pub fn listed(line: &str) -> Vec<&str> {
    static ENTRY: LazyLock<Regex> =
        LazyLock::new(|| regex(r#"^\s*["'`]?([\pL_]\w*)["'`]?\*?\s*(?:\{\.[^}]*\.\}\s*)?(=>|[:=\[]|$)"#));
    let (mut names, mut valued, mut depth) = (Vec::new(), 0, 0);
    let parts = line.split(|c| {
        depth += i32::from("([{".contains(c)) - i32::from(")]}".contains(c));
        depth < 0 || (c == ',' && depth == 0)
    });
    for entry in parts.map_while(|part| ENTRY.captures(part)) {
        names.extend(entry.get(1).map(|name| name.as_str()));
        if !entry[2].is_empty() {
            valued = names.len();
        }
        if !matches!(&entry[2], "" | "=>") {
            break; // the value itself may have commas
        }
    }
    names.truncate(valued);
    names
}

const TABLE: &[(&[&str], bool, &str)] = &[
    (&["python", "starlark"], false, r"(?:async +)?def +(?<f>NAME) *[\[(]|class +(?<t>NAME) *[\[(:]"),
    (
        &["javascript", "typescript", "tsx"],
        true,
        r"(?:export +)?(?:default +)?(?:declare +)?(?:async +)?function *\*? *(?<f>NAME) *[<(]|(?:export +)?(?:default +)?(?:declare +)?(?:abstract +)?(?:class|interface|enum) +(?<t>NAME)[^;=()]*\{|(?:export +|declare +)*namespace +(?<s>[\w.]+)[^;=()]*\{|(?:export +)?(?:const|let|var) +(?<f2>NAME)(?: *:[^=]+)? *= *(?:async +)?(?:function\b|\([^)]*\)[^={;]*=>|NAME *=>)",
    ),
    (
        &["java", "c-sharp", "groovy", "dart"],
        true,
        r"(?:(?:public|protected|private|internal|static|final|abstract|sealed|partial|readonly|base) +)*(?:class|interface|enum|record|struct|@interface|mixin|extension) +(?<t>NAME)[^;=]*\{?$|namespace +(?<s>[\w.]+) *\{?$|def +(?<f>NAME) *\(|(?:[\w<>?,.]+ +)*get +(?<f2>NAME) *(?:=>|[{;]|async\b)",
    ),
    (
        &["c", "cpp", "glsl", "d"],
        true,
        r"(?:typedef +|template *<[^{};]*> *)?(?:class|struct|union|enum(?: class)?) +(?:(?<t2>NAME) +final\b|(?:[A-Z][A-Z0-9_]+ +)?(?<t>NAME(?:::NAME)*))[^;=()]*\{?$|namespace +(?<s>[\w:]+) *\{?$|# *define +(?<f>NAME)\(",
    ),
    (
        &["kotlin"],
        false,
        r"(?:\w+ +)*fun +(?:<[^>]*> *)?(?<f>(?:NAME\.)?NAME) *\(|(?:\w+ +)*(?:class|interface|object) +(?<t>NAME)[^=;]*$",
    ),
    (&["scala"], false, r"(?:\w+ +)*def +(?<f>NAME) *[\[(:=]|(?:\w+ +)*(?:class|trait|object|enum) +(?<t>NAME)[^=;]*$"),
    (
        &["swift"],
        false,
        r"(?:@?\w+ +)*func +(?<f>NAME) *[<(]|(?:\w+ +)*(?<f2>init)[?!]? *[<(]|(?:\w+ +)*(?:class|struct|enum|protocol|extension|actor) +(?<t>NAME)[^=;()]*\{",
    ),
    (
        &["go"],
        false,
        r"func +(?<f>NAME) *[\[(]|func +\(\w* *\*?(?<owner>NAME)[^)]*\) *(?<f2>NAME) *\(|type +(?<t>NAME)[^=]*\b(?:struct|interface) *\{",
    ),
    (
        &["rust"],
        false,
        r#"(?:pub(?:\([^)]*\))? +)?(?:(?:default|const|async|unsafe|extern(?: +"[^"]*")?) +)*fn +(?<f>NAME) *[<(]|(?:pub(?:\([^)]*\))? +)?(?:struct|enum|trait|union) +(?<t>NAME)[^;=]*$|(?:pub(?:\([^)]*\))? +)?mod +(?<s>NAME) *\{|impl\b(?:<[^>]*>)? *(?:[\w:<>, ]+ for +)?(?<t2>NAME)[^;=]*\{|macro_rules! +(?<f2>NAME)"#,
    ),
    (
        &["ruby", "crystal"],
        false,
        r"(?:(?:private|protected|public|module_function) +)?def +(?:self\.)?(?<f>NAME[?!=]?)|(?:class|module) +(?<t>[A-Z][\w:]*) *(?:<|$)",
    ),
    (
        &["php"],
        false,
        r"(?:(?:public|protected|private|static|abstract|final) +)*function +&?(?<f>NAME) *\(|(?:(?:abstract|final|readonly) +)*(?:class|interface|trait|enum) +(?<t>NAME)[^;=()]*$",
    ),
    (&["bash", "fish"], false, r"function +(?<f>[\w:.-]+)|(?<f2>[\w:.-]+) *\(\)"),
    (&["lua"], false, r"(?:local +)?function +(?<f>[\w.:]+) *\(|(?:local +)?(?<f2>[\w.]+) *= *function\b"),
    (
        &["elixir"],
        false,
        r"(?:defp?|defmacrop?|defguardp?|defdelegate) +(?<f>[\w?!]+)|(?:defmodule|defprotocol|defimpl) +(?<t>[\w.]+)",
    ),
    (
        &["haskell", "elm"],
        false,
        r"(?<f>[a-z_][\w']*) *:: |(?:data|newtype|class|type(?: alias)?) +(?<o>[A-Z][\w']*)|(?<f2>[a-z_][\w']*) :(?: |$)",
    ),
    (
        &["zig"],
        false,
        r"(?:(?:pub|export|inline|extern) +)*fn +(?<f>NAME) *\(|(?:pub +)?const +(?<t>NAME) *= *(?:packed +|extern +)?(?:struct|enum|union)\b",
    ),
    (&["perl"], false, r"sub +(?<f>[\w:]+)|package +(?<o>[\w:]+) *[;{]|use +constant +(?:(?<o2>\w+)|\{(?<list>))"),
    (
        &["r"],
        false,
        r#"(?<f>[\w.]+) *(?:<-|=) *function *\(|(?<t>[\w.]+) *(?:<-|=) *(?:\w+::)?(?:R6Class|setClass|setRefClass) *\(|set(?:RefClass|Class) *\( *["'](?<t2>[\w.]+)|set(?:Generic|Method) *\( *["'](?<f2>[^"']+)"#,
    ),
    (
        &["julia"],
        false,
        r"(?:[\w.]*@\w+ +)*(?:(?:function|macro) +(?<f>[\w.!]+) *[({]|(?<f2>[\w.!]+)\([^)]*\) *(?:(?:::|where\b)[^=]*)?= )|(?:mutable +)?(?:struct|module|abstract type) +(?<t>NAME)",
    ),
    (
        &["objective-c"],
        true,
        r"[-+] *\([^)]*\) *(?<f>NAME)|@(?:interface|implementation|protocol) +(?<t>NAME)|# *define +(?<o>NAME)",
    ),
    (
        &["clojure", "lisp", "scheme"],
        false,
        r"\((?:defn-?|defun|defmacro|defmethod|defgeneric|defsubst|cl-defun|define-syntax(?:-rule)?) +\(?(?<f>[^\s()]+)|\(define +\((?<f2>[^\s()]+)|\((?:def\w*|def-[\w-]+|define-[^k\s()][\w-]*) +\(?(?<o>[^\s()^'\x22]+)",
    ),
    (&["erlang"], false, r"(?<f>[a-z]\w*)\([^)]*\)[^.;]*->|-(?:record|define)\((?<o>\w+)"),
    (
        &["ocaml", "f-sharp"],
        false,
        r"(?:let|and) +(?:rec +|inline +|private +|mutable +)*(?<f>[a-z_][\w']*) +[^=\s]|(?:(?:static +)?member +(?:\w+\.)?|method!? +(?:private +|virtual +)*)(?<f2>NAME)|module +(?:rec +|type +)?(?<t>NAME)|(?:let|val|external) +(?:mutable +)?(?<o2>[a-z][\w']*|_[\w']+) *[:=]|(?:type|class|exception) +(?:rec +)?(?<o>NAME)",
    ),
    (
        &["other"],
        false,
        r"function +(?:[\w\[\], ]+ *= *)?(?<f>NAME) *(?:\(|$)|(?:\w+ +){0,2}(?:function|def|fn|func|fun|sub|proc|procedure|macro|method) +(?<f2>NAME) *\(|(?:\w+ +){0,3}(?:class|interface|trait|struct|enum|record) +(?<t>NAME)[^;.,=()]*\{$|classdef +(?<t2>NAME)",
    ),
    (
        &["powershell"],
        true,
        r"(?i:function|filter) +(?<f>(?:\w+:)?[\w-]+)|(?i:class|enum) +(?<t>NAME)|(?:(?i:hidden|static) +)*\[[\w.\[\], ]+\] *(?<f2>NAME) *\((?:.*\) *\{|[^{]*$)",
    ),
    (&["dockerfile"], false, r"(?i:FROM) +(?:--\S+ +)?(?:\S+ +(?i:AS) +(?<t>[\w.-]+)|(?<t2>[\w-]+))"),
    (
        &["makefile"],
        false,
        r"(?:define|override define) +(?<f>\S+)|(?:export +|override +)?(?<o>[A-Za-z_][\w.-]*) *[:?+!]*=|(?<o2>[A-Za-z_$%][\w./()$%+-]*)(?: +[\w./()$%-]+)* *::?(?:[^=:]|$)",
    ),
    (
        &["cmake"],
        false,
        r"(?i:function|macro) *\( *(?<f>[\w-]+)|(?i:add_executable|add_library|add_custom_target|project|option) *\( *(?<o>[\w:.+-]+)",
    ),
    (
        &["protobuf", "thrift"],
        false,
        r"(?:message|service|enum|struct|union|exception|interface|table|record|protocol) +(?<t>NAME)[^;=]*\{|rpc +(?<f>NAME)|(?:typedef +\S+|const +\S+) +(?<o>NAME)",
    ),
    (
        &["graphql"],
        false,
        r"(?:extend +)?(?:type|interface|enum|input) +(?<t>NAME)|(?:union|scalar|directive|fragment|query|mutation|subscription) +@?(?<o>NAME)",
    ),
    (&["prisma"], false, r"(?:model|enum|type|view) +(?<t>NAME) *\{"),
    (
        &["terraform"],
        false,
        r#"(?:resource|data) +"(?<owner>[^"]+)" +"(?<t>[^"]+)"|(?:variable|output|module|provider) +"(?<t2>[^"]+)""#,
    ),
    (
        &["solidity"],
        false,
        r"(?:abstract +)?(?:contract|library|interface|struct|enum) +(?<t>NAME)[^;=]*\{|(?:function|modifier|event|error) +(?<f>NAME) *[({]",
    ),
    (
        &["verilog"],
        false,
        r"(?:module|interface|package|class|program) +(?:automatic +)?(?<t>NAME)|(?:virtual +)?(?:function|task) +(?:automatic +)?(?:[\w\[\]:]+ +)?(?<f>NAME) *[(;]|`define +(?<o>NAME)",
    ),
    (
        &["vhdl"],
        false,
        r"(?i:entity|architecture|package(?: body)?|component) +(?<t>NAME)|(?i:procedure|(?:pure +|impure +)?function) +(?<f>NAME)",
    ),
    (
        &["pascal", "ada"],
        false,
        r"(?i)(?:class +)?(?:procedure|function|constructor|destructor) +(?<f>[\w.]+)|package(?: +body)? +(?<t>[\w.]+) +is|(?<t2>NAME) *= *(?:class|record|interface)\b|(?:type|task) +(?<o>NAME) +is",
    ),
    (
        &["fortran"],
        false,
        r"(?i)(?:(?:pure|elemental|recursive|integer|real|logical|double precision|character)(?:\([^)]*\))? +)*(?:subroutine|function) +(?<f>NAME)|(?:module|program) +(?<t>NAME) *$|type(?: *,[^:]*)? *(?:::)? *(?<o>NAME) *$",
    ),
    (
        &["visual-basic"],
        false,
        r"(?i)(?:(?:public|private|friend|protected|shared|static|overrides) +)*(?:sub|function) +(?<f>NAME)|(?:(?:public|private|friend) +)*(?:class|module|structure|enum|interface) +(?<t>NAME)",
    ),
    (
        &["nim"],
        false,
        r"(?:proc|func|method|template|macro|iterator|converter) +(?<f>`?[\w]+`?)|(?:type +)?(?<t>NAME)\*? *(?:\[[^\]]*\] *)?(?:\{\.[^}]*\.\} *)?= *(?:ref +|ptr +)?(?:object|enum|tuple|distinct|concept)\b|(?:const|type) +(?<o>NAME)|^(?:let|var) +(?<o2>NAME)|(?:const|type|^let|^var)(?<list>)[ \t\r]*(?:#.*)?$",
    ),
    (&["gdscript"], false, r"(?:static +)?func +(?<f>NAME) *\(|class +(?<t>NAME)|class_name +(?<o>NAME)"),
    (&["qml", "awk", "vim"], false, r"func(?:tion)?!? +(?<f>[\w:#.]+) *\(|(?<f2>NAME) *: *function\b"),
    (&["tcl"], false, r"proc +(?<f>\S+)|(?:namespace eval|oo::class create) +(?<t>\S+)"),
    (&["nix"], false, r"(?<f>[\w-]+) *= *\{?[\w, ?.@{}]*\}?: *$"),
    (&["scss"], false, r"@(?:mixin|function) +(?<f>[\w-]+)"),
    (&["template"], false, r"\{%-? *(?:macro|block) +(?<f>\w+)"),
    (
        &["assembly"],
        false,
        r"(?<f>[A-Za-z_][\w$.]*):(?:\s|$)|(?i:%i?macro|\.macro|struc|%i?x?define) +(?<o>[\w.$]+)|(?<f2>[A-Za-z_@?][\w$@?]*) +(?i:proc|macro|struct?)\b",
    ),
    (&["batch"], false, r":(?<f>[\w-]+) *$"),
    (&["cobol"], false, r"(?i)(?<f>[\w-]+) +SECTION\.|(?<o>[A-Z][\w-]+)\. *$"),
    (
        &["prolog", "proof"],
        false,
        r"(?:theorem|lemma|definition|def|inductive|structure|instance|class|abbrev|fun) +(?<o>[\w.']+)",
    ),
    (&["grammar"], false, r"(?<f>[a-z]\w*)\([^)]*\) *->(?: |$)|(?<o>[A-Za-z_]\w*) *(?::|::=|->) *(?:$|[^:=])"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_macro_before_the_name_of_a_class_is_not_its_name() {
        let pattern = of(Language::CPP).unwrap().pattern;
        for (text, name) in
            [("class SHOP_API Basket : public Base {", "Basket"), ("struct POINT", "POINT"), ("union Both {", "Both")]
        {
            assert_eq!(&pattern.captures(text).unwrap()["t"], name);
        }
        assert_eq!(&pattern.captures("class GUI final : public Base {").unwrap()["t2"], "GUI");
        let lisp = of(Language::from_name("lisp").unwrap()).unwrap().pattern;
        for text in ["(default-toplevel-value shop-x)", "(defined-p shop-z)", "(define-key shop-map [k] 'go)"] {
            assert!(lisp.captures(text).is_none(), "{text}");
        }
        assert_eq!(&lisp.captures("(define-minor-mode shop-mode").unwrap()["o"], "shop-mode");
    }

    #[test]
    fn every_row_has_languages_that_exist_and_a_pattern_that_compiles() {
        for name in TABLE.iter().flat_map(|(languages, ..)| languages.iter()) {
            assert!(Language::from_name(name).and_then(of).is_some(), "{name}");
        }
    }
}
