//! How a grammar's node kinds are read: each kind has one [`Role`], and the walk knows only roles.
//!
//! The table of each language is data (see [`super::languages`]). A grammar that is registered at run time has no table;
//! its roles are guessed from the names of its node kinds, which are much alike from grammar to grammar.

use std::collections::HashMap;
use std::sync::OnceLock;

use tree_sitter::Node;

use super::roles::{EMPTY, Role, Rules};
use crate::base::language::Language;

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
