//! How a grammar's node kinds are read: each kind has one [`Role`], and the walk knows only roles.
//!
//! The table of each language is data (see [`super::languages`]). A grammar that is registered at run time has no table;
//! its roles are guessed from the names of its node kinds, which are much alike from grammar to grammar.

use std::collections::HashMap;
use std::sync::OnceLock;

use tree_sitter::Node;

use crate::base::language::Language;

/// What a node kind means for cutting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Punctuation and keywords.
    Token,
    /// Any other declaration or statement.
    Plain,
    /// A function or method.
    Function,
    /// A class, trait, impl, object or module with members of its own.
    Type,
    /// A namespace: extends the symbol's chain, never a chunk itself.
    Scope,
    /// Transparent: its children count as if they stood one level up (`#ifdef`, `if`, `try`, ERROR).
    Group,
    /// The part of a type or scope that holds its members.
    Body,
    /// Holds one definition and lends it its span (`export`, `template <…>`, decorated definitions).
    Wrapper,
    /// A statement that may bind a function or type to a name.
    Binding,
    /// An import.
    Import,
    /// A comment, attribute or decorator: belongs to what follows.
    Leading,
    /// A call that means a declaration in this language (`defmodule`, `require`): its head word decides.
    Call,
    /// A function without a name of its own.
    FunctionValue,
    /// A class, struct or object literal without a name of its own.
    TypeValue,
    /// A top-level entry of a data or style file.
    Entry,
}

/// One language's table. Every list holds node kinds of its grammar.
#[derive(Clone, Copy)]
pub struct Rules {
    /// See [`Role::Function`].
    pub functions: &'static [&'static str],
    /// See [`Role::Type`].
    pub types: &'static [&'static str],
    /// See [`Role::Scope`].
    pub scopes: &'static [&'static str],
    /// See [`Role::Group`].
    pub groups: &'static [&'static str],
    /// See [`Role::Body`].
    pub bodies: &'static [&'static str],
    /// See [`Role::Wrapper`].
    pub wrappers: &'static [&'static str],
    /// See [`Role::Binding`].
    pub bindings: &'static [&'static str],
    /// See [`Role::Import`].
    pub imports: &'static [&'static str],
    /// See [`Role::Leading`].
    pub leading: &'static [&'static str],
    /// See [`Role::FunctionValue`].
    pub function_values: &'static [&'static str],
    /// See [`Role::TypeValue`].
    pub type_values: &'static [&'static str],
    /// See [`Role::Entry`].
    pub entries: &'static [&'static str],
    /// Kinds of [`Role::Call`], and what each head word means.
    pub calls: (&'static [&'static str], &'static [(&'static str, Role)]),
    /// Kinds that add to a type which is defined elsewhere (`impl`, `extension`): they don't define its name.
    pub reopens: &'static [&'static str],
    /// A type without a body is only a mention of it (C's `struct x *p`).
    pub types_need_body: bool,
    /// Consecutive functions of one name are one function (equations, clauses, overloads).
    pub joins_equations: bool,
}

/// A table with nothing in it, to build others from.
pub const EMPTY: Rules = Rules {
    functions: &[],
    types: &[],
    scopes: &[],
    groups: &[],
    bodies: &[],
    wrappers: &[],
    bindings: &[],
    imports: &[],
    leading: &["comment", "line_comment", "block_comment"],
    function_values: &[],
    type_values: &[],
    entries: &[],
    calls: (&[], &[]),
    reopens: &[],
    types_need_body: false,
    joins_equations: false,
};

/// Rules made ready for one grammar: a role for each kind id.
pub struct Compiled {
    /// The table; [`EMPTY`] for a grammar without one.
    pub rules: Rules,
    /// The language it is for.
    pub language: Language,
    roles: Vec<Role>,
}

impl Compiled {
    /// Return the rules of `language`, whose grammar is `grammar`. Made once a process.
    pub fn of(language: Language, grammar: &tree_sitter::Language) -> &'static Self {
        static COMPILED: [OnceLock<Compiled>; 256] = [const { OnceLock::new() }; 256];
        COMPILED[usize::from(language.id())].get_or_init(|| Self::new(language, grammar))
    }

    fn new(language: Language, grammar: &tree_sitter::Language) -> Self {
        let table = super::languages::rules(language);
        let by_name = table.as_ref().map(role_names);
        let role = |id: u16| {
            let name = grammar.node_kind_for_id(id).unwrap_or_default();
            match &by_name {
                _ if !grammar.node_kind_is_named(id) => Role::Token,
                Some(names) => names.get(name).copied().unwrap_or(Role::Plain),
                None => guess(name),
            }
        };
        let roles = (0..grammar.node_kind_count() as u16).map(role).collect();
        Self { rules: table.unwrap_or(EMPTY), language, roles }
    }

    /// Return the role of `node`.
    pub fn role(&self, node: Node<'_>) -> Role {
        // The id of ERROR is beyond the grammar's own: what was understood inside a broken region is still cut.
        self.roles.get(usize::from(node.kind_id())).copied().unwrap_or(Role::Group)
    }
}

fn role_names(rules: &Rules) -> HashMap<&'static str, Role> {
    let lists = [
        (rules.functions, Role::Function),
        (rules.types, Role::Type),
        (rules.scopes, Role::Scope),
        (rules.groups, Role::Group),
        (rules.bodies, Role::Body),
        (rules.wrappers, Role::Wrapper),
        (rules.bindings, Role::Binding),
        (rules.imports, Role::Import),
        (rules.leading, Role::Leading),
        (rules.function_values, Role::FunctionValue),
        (rules.type_values, Role::TypeValue),
        (rules.entries, Role::Entry),
        (rules.calls.0, Role::Call),
    ];
    lists.into_iter().flat_map(|(kinds, role)| kinds.iter().map(move |kind| (*kind, role))).collect()
}

/// Return the role of a node kind in a grammar that nobody wrote a table for.
fn guess(kind: &str) -> Role {
    let has = |words: &[&str]| words.iter().any(|word| kind.contains(word));
    let ends = |words: &[&str]| words.iter().any(|word| kind.ends_with(word));
    let defines = ends(&["definition", "declaration", "statement", "item", "specifier", "_def", "_decl", "implementation"]);
    if has(&["comment", "annotation", "decorator", "attribute_item"]) {
        Role::Leading
    } else if has(&["import", "include", "use_statement", "using_", "require"]) && (defines || ends(&["directive", "clause"])) {
        Role::Import
    } else if kind == "function" || (has(&["function", "method", "subroutine", "procedure", "constructor", "macro"]) && defines) {
        Role::Function
    } else if has(&["class", "struct", "interface", "trait", "module", "protocol", "record", "impl", "contract", "library"])
        && defines
    {
        Role::Type
    } else if has(&["namespace", "package"]) && defines {
        Role::Scope
    } else if ends(&["_body", "declaration_list", "_members"]) || kind == "body" {
        Role::Body
    } else {
        Role::Plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_grammars_are_guessed_by_their_words() {
        for (kind, role) in [
            ("function_definition", Role::Function),
            ("subroutine_declaration_statement", Role::Function),
            ("method_declaration", Role::Function),
            ("class_declaration", Role::Type),
            ("struct_specifier", Role::Type),
            ("contract_declaration", Role::Type),
            ("class_body", Role::Body),
            ("import_statement", Role::Import),
            ("line_comment", Role::Leading),
            ("binary_expression", Role::Plain),
        ] {
            assert_eq!(guess(kind), role, "{kind}");
        }
    }

    #[test]
    fn every_kind_in_a_table_exists_in_its_grammar() {
        for id in 0..=u8::MAX {
            let Some(language) = Language::from_id(id) else { continue };
            let (Some(rules), Some(grammar)) = (super::super::languages::rules(language), crate::index::parse::grammar(language))
            else {
                continue;
            };
            let shared = EMPTY.leading;
            for kind in role_names(&rules).keys().filter(|kind| !shared.contains(kind)) {
                assert_ne!(grammar.id_for_node_kind(kind, true), 0, "{} has no node kind {kind}", language.name());
            }
        }
    }
}
