//! The tables: what each grammar calls its functions, types and imports. Data only; [`super::syntax`] walks the tree.
//!
//! A change of what is cut needs higher `RULES` (`super`): existing indexes are made again then.

use super::roles::{EMPTY, Role, Rules};
use crate::base::language::Language;

/// Return the table of `language`, if someone wrote one.
pub fn rules(language: Language) -> Option<Rules> {
    TABLES.iter().find(|(known, _)| *known == language).map(|(_, rules)| *rules)
}

const TABLES: &[(Language, Rules)] = &[
    (Language::PYTHON, PYTHON),
    (Language::JAVASCRIPT, JAVASCRIPT),
    (Language::TYPESCRIPT, TYPESCRIPT),
    (Language::TSX, TYPESCRIPT),
    (Language::JAVA, JAVA),
    (Language::KOTLIN, KOTLIN),
    (Language::GO, GO),
    (Language::RUST, RUST),
    (Language::C, C),
    (Language::CPP, CPP),
    (Language::CSHARP, CSHARP),
    (Language::RUBY, RUBY),
    (Language::PHP, PHP),
    (Language::SWIFT, SWIFT),
    (Language::SCALA, SCALA),
    (Language::BASH, BASH),
    (Language::LUA, LUA),
    (Language::ELIXIR, ELIXIR),
    (Language::HASKELL, HASKELL),
    (Language::ZIG, ZIG),
    (Language::JSON, JSON),
    (Language::YAML, YAML),
    (Language::TOML, TOML),
    (Language::HTML, HTML),
    (Language::CSS, CSS),
];

const PYTHON: Rules = Rules {
    functions: &["function_definition"],
    types: &["class_definition"],
    groups: &["if_statement", "elif_clause", "else_clause", "try_statement", "except_clause", "finally_clause", "with_statement"],
    bodies: &["block"],
    wrappers: &["decorated_definition", "expression_statement"],
    bindings: &["assignment"],
    imports: &["import_statement", "import_from_statement", "future_import_statement"],
    function_values: &["lambda"],
    ..EMPTY
};

const JAVASCRIPT: Rules = Rules {
    functions: &["function_declaration", "generator_function_declaration", "method_definition", "class_static_block"],
    types: &["class_declaration"],
    groups: &["if_statement", "else_clause", "try_statement", "statement_block"],
    bodies: &["class_body"],
    wrappers: &["export_statement"],
    bindings: &["lexical_declaration", "variable_declaration", "expression_statement", "pair", "field_definition"],
    imports: &["import_statement"],
    leading: &["comment", "decorator", "hash_bang_line"],
    function_values: &["arrow_function", "function_expression", "generator_function"],
    type_values: &["class", "object"],
    ..EMPTY
};

const TYPESCRIPT: Rules = Rules {
    functions: &[
        "function_declaration",
        "generator_function_declaration",
        "method_definition",
        "function_signature",
        "class_static_block",
    ],
    types: &["class_declaration", "abstract_class_declaration", "interface_declaration", "enum_declaration"],
    scopes: &["internal_module", "module"],
    bodies: &["class_body", "interface_body", "enum_body", "statement_block"],
    groups: &["if_statement", "else_clause", "try_statement"],
    wrappers: &["export_statement", "ambient_declaration"],
    bindings: &["lexical_declaration", "variable_declaration", "expression_statement", "pair", "public_field_definition"],
    joins_equations: true,
    ..JAVASCRIPT
};

const JAVA: Rules = Rules {
    functions: &["method_declaration", "constructor_declaration", "compact_constructor_declaration", "static_initializer"],
    types: &[
        "class_declaration",
        "interface_declaration",
        "enum_declaration",
        "record_declaration",
        "annotation_type_declaration",
    ],
    groups: &["enum_body_declarations"],
    bodies: &["class_body", "interface_body", "enum_body", "annotation_type_body"],
    imports: &["import_declaration"],
    ..EMPTY
};

const KOTLIN: Rules = Rules {
    functions: &["function_declaration", "secondary_constructor", "anonymous_initializer"],
    types: &["class_declaration", "object_declaration", "companion_object"],
    bodies: &["class_body", "enum_class_body"],
    bindings: &["property_declaration"],
    imports: &["import"],
    function_values: &["lambda_literal", "anonymous_function"],
    ..EMPTY
};

const GO: Rules = Rules {
    functions: &["function_declaration", "method_declaration"],
    bindings: &["var_declaration"],
    imports: &["import_declaration"],
    function_values: &["func_literal"],
    ..EMPTY
};

const RUST: Rules = Rules {
    functions: &["function_item", "macro_definition"],
    types: &["impl_item", "trait_item", "struct_item", "enum_item", "union_item"],
    scopes: &["mod_item"],
    groups: &["foreign_mod_item"],
    bodies: &["declaration_list", "field_declaration_list", "enum_variant_list"],
    imports: &["use_declaration", "extern_crate_declaration"],
    leading: &["line_comment", "block_comment", "attribute_item"],
    reopens: &["impl_item"],
    ..EMPTY
};

const C: Rules = Rules {
    functions: &["function_definition", "preproc_function_def"],
    types: &["struct_specifier", "union_specifier", "enum_specifier"],
    groups: &["preproc_ifdef", "preproc_if", "preproc_else", "preproc_elif", "linkage_specification", "declaration_list"],
    bodies: &["field_declaration_list", "enumerator_list"],
    imports: &["preproc_include"],
    types_need_body: true,
    ..EMPTY
};

const CPP: Rules = Rules {
    types: &["class_specifier", "struct_specifier", "union_specifier", "enum_specifier"],
    scopes: &["namespace_definition"],
    groups: &["preproc_ifdef", "preproc_if", "preproc_else", "preproc_elif", "linkage_specification"],
    bodies: &["field_declaration_list", "enumerator_list", "declaration_list"],
    wrappers: &["template_declaration", "field_declaration"],
    bindings: &["declaration"],
    function_values: &["lambda_expression"],
    ..C
};

const CSHARP: Rules = Rules {
    functions: &[
        "method_declaration",
        "constructor_declaration",
        "destructor_declaration",
        "operator_declaration",
        "conversion_operator_declaration",
        "indexer_declaration",
        "local_function_statement",
    ],
    types: &["class_declaration", "interface_declaration", "struct_declaration", "record_declaration", "enum_declaration"],
    scopes: &["namespace_declaration"],
    groups: &["preproc_if", "preproc_else", "preproc_elif"],
    bodies: &["declaration_list", "enum_member_declaration_list"],
    wrappers: &["global_statement"],
    imports: &["using_directive"],
    ..EMPTY
};

const RUBY: Rules = Rules {
    functions: &["method", "singleton_method"],
    types: &["class", "module"],
    groups: &["singleton_class", "begin"],
    bodies: &["body_statement"],
    bindings: &["assignment"],
    type_values: &["do_block"],
    function_values: &["lambda"],
    calls: (
        &["call"],
        &[
            ("require", Role::Import),
            ("require_relative", Role::Import),
            ("load", Role::Import),
            ("private", Role::Wrapper),
            ("protected", Role::Wrapper),
            ("public", Role::Wrapper),
            ("module_function", Role::Wrapper),
            ("private_class_method", Role::Wrapper),
            ("public_class_method", Role::Wrapper),
        ],
    ),
    ..EMPTY
};

const PHP: Rules = Rules {
    functions: &["function_definition", "method_declaration"],
    types: &["class_declaration", "interface_declaration", "trait_declaration", "enum_declaration"],
    scopes: &["namespace_definition"],
    groups: &["if_statement", "compound_statement"],
    bodies: &["declaration_list", "enum_declaration_list"],
    bindings: &["expression_statement"],
    imports: &["namespace_use_declaration"],
    function_values: &["anonymous_function", "arrow_function"],
    ..EMPTY
};

const SWIFT: Rules = Rules {
    functions: &["function_declaration", "init_declaration", "deinit_declaration", "subscript_declaration", "macro_declaration"],
    types: &["class_declaration", "protocol_declaration"],
    bodies: &["class_body", "protocol_body", "enum_class_body"],
    bindings: &["property_declaration"],
    imports: &["import_declaration"],
    leading: &["comment", "multiline_comment", "directive"],
    function_values: &["lambda_literal"],
    ..EMPTY
};

const SCALA: Rules = Rules {
    functions: &["function_definition"],
    types: &["class_definition", "object_definition", "trait_definition", "enum_definition", "given_definition"],
    groups: &["extension_definition"],
    bodies: &["template_body", "enum_body"],
    bindings: &["val_definition"],
    imports: &["import_declaration"],
    function_values: &["lambda_expression"],
    ..EMPTY
};

const BASH: Rules = Rules {
    functions: &["function_definition"],
    groups: &["if_statement", "else_clause"],
    calls: (&["command"], &[("source", Role::Import), (".", Role::Import)]),
    ..EMPTY
};

const LUA: Rules = Rules {
    functions: &["function_declaration"],
    groups: &["do_statement", "if_statement", "block"],
    bindings: &["assignment_statement", "variable_declaration", "field"],
    function_values: &["function_definition"],
    type_values: &["table_constructor"],
    ..EMPTY
};

const ELIXIR: Rules = Rules {
    bodies: &["do_block"],
    leading: &["comment", "unary_operator"],
    calls: (
        &["call"],
        &[
            ("defmodule", Role::Type),
            ("defprotocol", Role::Type),
            ("defimpl", Role::Type),
            ("def", Role::Function),
            ("defp", Role::Function),
            ("defmacro", Role::Function),
            ("defmacrop", Role::Function),
            ("defguard", Role::Function),
            ("defdelegate", Role::Function),
            ("alias", Role::Import),
            ("import", Role::Import),
            ("require", Role::Import),
            ("use", Role::Import),
            ("type", Role::Plain),
            ("typep", Role::Plain),
            ("opaque", Role::Plain),
            ("callback", Role::Plain),
            ("macrocallback", Role::Plain),
        ],
    ),
    joins_equations: true,
    ..EMPTY
};

const HASKELL: Rules = Rules {
    functions: &["function", "bind", "signature"],
    types: &["class", "instance"],
    groups: &["imports", "declarations"],
    bodies: &["class_declarations", "instance_declarations"],
    imports: &["import"],
    leading: &["comment", "haddock", "pragma"],
    reopens: &["instance"],
    joins_equations: true,
    ..EMPTY
};

const ZIG: Rules = Rules {
    functions: &["function_declaration", "test_declaration"],
    bindings: &["variable_declaration"],
    type_values: &["struct_declaration", "enum_declaration", "union_declaration", "opaque_declaration"],
    ..EMPTY
};

const JSON: Rules = Rules { groups: &["object", "array"], entries: &["pair"], ..EMPTY };

const YAML: Rules = Rules {
    groups: &["document", "block_node", "block_mapping", "block_sequence"],
    entries: &["block_mapping_pair", "block_sequence_item"],
    ..EMPTY
};

const TOML: Rules = Rules { entries: &["pair", "table", "table_array_element"], ..EMPTY };

const HTML: Rules = Rules { entries: &["element", "script_element", "style_element"], ..EMPTY };

const CSS: Rules = Rules {
    imports: &["import_statement"],
    entries: &["rule_set", "media_statement", "keyframes_statement", "supports_statement", "at_rule"],
    ..EMPTY
};
