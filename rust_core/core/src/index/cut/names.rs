//! What a definition is called, and its declaration without the body.

use tree_sitter::Node;

use super::node_roles::Compiled;
use super::roles::Role;

/// Longest name that is kept; a longer one is an expression.
const LONGEST_NAME: usize = 80;
/// Longest signature that is kept (see [`crate::base::types::Chunk::signature`]).
const LONGEST_SIGNATURE: usize = 200;

/// A definition's own name and the type that its declaration says it belongs to (`Foo::bar`, Go's receiver, Lua's `M.f`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Name {
    /// The name alone.
    pub own: String,
    /// Its owner by the declaration, outermost first, joined by `.`; empty if it names none.
    pub owner: String,
}

impl Name {
    /// Take a name apart as it is written, with any qualifiers.
    pub fn parse(written: &str) -> Option<Self> {
        let plain = without_generics(written.trim());
        let marks = |c: char| "\"'`*&() \t\r\n".contains(c);
        // Haskell's `foldl'` ends in what elsewhere closes a string.
        let is_open = |c: char| c != '\'' && marks(c);
        let is_quoted = plain.starts_with('\'');
        let plain = plain.trim_start_matches(marks).trim_end_matches(|c| if is_quoted { marks(c) } else { is_open(c) });
        let plain = plain.replace("::", ".").replace(['#', ':', '\\'], ".");
        let plain = plain.replace(".prototype.", ".");
        let plain = plain.strip_suffix(".prototype").unwrap_or(&plain);
        let plain = ["module.exports.", "exports.", "this.", "self.", "window.", "globalThis."]
            .iter()
            .find_map(|prefix| plain.strip_prefix(prefix))
            .unwrap_or(plain);
        if plain.is_empty()
            || plain.len() > LONGEST_NAME
            || plain.contains(|c: char| c.is_whitespace() || "(){}[];,=".contains(c))
        {
            return None;
        }
        let (owner, own) = plain.rsplit_once('.').unwrap_or(("", plain));
        (!own.is_empty()).then(|| Self { own: own.to_owned(), owner: owner.trim_matches('.').to_owned() })
    }
}

fn without_generics(name: &str) -> String {
    let mut depth = 0_usize;
    let mut plain = String::with_capacity(name.len());
    // `operator<` and `<=>` are names, not type parameters.
    if name.contains("operator") || !name.contains('>') {
        return name.to_owned();
    }
    for c in name.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    plain
}

/// Return the name of a function, type or scope.
pub fn of(node: Node<'_>, text: &str, compiled: &Compiled) -> Option<Name> {
    let mut name = written(node, text, compiled)?;
    if let Some(receiver) = node.child_by_field_name("receiver").filter(|_| name.owner.is_empty()) {
        name.owner = receiver_type(&text[receiver.byte_range()]);
    }
    Some(name)
}

fn written(node: Node<'_>, text: &str, compiled: &Compiled) -> Option<Name> {
    for field in ["name", "declarator", "type", "pattern", "left", "key", "target"] {
        if let Some(found) = node.child_by_field_name(field) {
            let found = innermost_declarator(found);
            if let Some(name) = Name::parse(&text[found.byte_range()]) {
                return Some(name);
            }
        }
    }
    let by_kind = match node.kind() {
        "static_initializer" | "class_static_block" => Some("static"),
        "companion_object" => Some("Companion"),
        "secondary_constructor" => Some("constructor"),
        "anonymous_initializer" | "init_declaration" => Some("init"),
        "deinit_declaration" => Some("deinit"),
        "subscript_declaration" => Some("subscript"),
        "indexer_declaration" => Some("this"),
        _ => None,
    };
    if let Some(name) = by_kind {
        return Name::parse(name);
    }
    let mut cursor = node.walk();
    node.named_children(&mut cursor)
        .filter(|child| compiled.role(*child) == Role::Plain)
        .find(|child| child.kind().contains("identifier") || matches!(child.kind(), "constant" | "word" | "name" | "string"))
        .and_then(|child| Name::parse(&text[child.byte_range()]))
}

/// Find the name within C's declarators, which wrap it in pointers, parameters and arrays.
fn innermost_declarator(mut node: Node<'_>) -> Node<'_> {
    for _ in 0..32 {
        let inner = node.child_by_field_name("declarator").or_else(|| {
            let wraps = matches!(
                node.kind(),
                "reference_declarator" | "parenthesized_declarator" | "pointer_declarator" | "variable_declarator"
            );
            let mut cursor = node.walk();
            if wraps {
                node.named_children(&mut cursor)
                    .find(|child| child.kind().contains("declarator") || child.kind().contains("identifier"))
            } else {
                None
            }
        });
        match inner {
            Some(inner) => node = inner,
            None => break,
        }
    }
    node
}

/// Return the type of a Go receiver: `(s *Server[T])` -> `Server`.
fn receiver_type(receiver: &str) -> String {
    let plain = receiver.split('[').next().unwrap_or_default();
    plain.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).find(|word| !word.is_empty()).unwrap_or_default().to_owned()
}

/// Return the name that a call-like declaration gives (`def name(args) when …`, `defmodule A.B do`, `type t :: …`): its first
/// argument's head.
pub fn of_call(node: Node<'_>, text: &str) -> Option<String> {
    let arguments = &text[node.named_child(1)?.byte_range()];
    let head = arguments.trim_start_matches('(').trim_start();
    let end = head.find(|c: char| c.is_whitespace() || "(,".contains(c)).unwrap_or(head.len());
    let name = head[..end].trim_end_matches(':');
    (!name.is_empty() && name.len() <= LONGEST_NAME).then(|| name.to_owned())
}

/// Return the names that a declaration binds, one level down: `const a = 1, b = 2`, `type X struct`, `typedef … T`.
pub fn bound(node: Node<'_>, text: &str) -> Vec<String> {
    if let Some(attribute) = node.child_by_field_name("operand") {
        return of_call(attribute, text).into_iter().collect();
    }
    let mut found: Vec<String> = Vec::new();
    let mut look = |node: Node<'_>| {
        for field in ["name", "declarator", "left", "pattern"] {
            if let Some(named) = node.child_by_field_name(field)
                && let Some(name) = Name::parse(&text[innermost_declarator(named).byte_range()])
            {
                if !found.contains(&name.own) {
                    found.push(name.own);
                }
                return;
            }
        }
        // Behind an annotation `annotation class A` and `data object A` are an operator between two names to Kotlin's grammar.
        if node.kind() == "infix_expression"
            && let (Some(word), Some(name)) = (node.named_child(1), node.named_child(2))
            && matches!(&text[word.byte_range()], "class" | "object")
        {
            found.extend(Name::parse(&text[name.byte_range()]).map(|name| name.own));
            return;
        }
        // Kotlin's properties and aliases and PHP's constants have no field for their names.
        let is_bare = node.kind() == "variable_declaration" && node.child_by_field_name("type").is_none();
        let mut cursor = node.walk();
        let mut identifiers = node.named_children(&mut cursor).filter(|child| matches!(child.kind(), "identifier" | "name"));
        if (is_bare || matches!(node.kind(), "type_alias" | "const_element"))
            && let Some(name) = identifiers.next().and_then(|name| Name::parse(&text[name.byte_range()]))
            && !found.contains(&name.own)
        {
            found.push(name.own);
        }
    };
    look(node);
    // A type or value is used here, unless the type is written out in place.
    let named_type = node.child_by_field_name("type").filter(|node| node.child_by_field_name("body").is_none());
    let used = [named_type, node.child_by_field_name("value")];
    let mut cursor = node.walk();
    for child in node.named_children(&mut cursor).take(64) {
        if used.contains(&Some(child)) || child.kind() == "type_annotation" {
            continue;
        }
        look(child);
        if matches!(child.kind(), "var_spec_list" | "variable_declaration") {
            let named_type = child.child_by_field_name("type");
            let mut cursor = child.walk();
            child.named_children(&mut cursor).take(64).filter(|inner| Some(*inner) != named_type).for_each(&mut look);
        }
    }
    found
}

/// Return the declaration up to its body, on one line.
pub fn signature(node: Node<'_>, text: &str, compiled: &Compiled) -> String {
    let mut cursor = node.walk();
    let body = node.child_by_field_name("body").or_else(|| {
        node.named_children(&mut cursor).find(|child| {
            compiled.role(*child) == Role::Body || matches!(child.kind(), "block" | "compound_statement" | "function_body")
        })
    });
    let end = body.map_or(node.end_byte(), |body| body.start_byte().max(node.start_byte()));
    let declaration = &text[node.start_byte()..end];
    let declaration = if body.is_none() { declaration.lines().next().unwrap_or_default() } else { declaration };
    one_line(declaration.trim_end().trim_end_matches(['{', '=']).trim_end_matches(" do"))
}

/// Fold white space, and cut to the longest signature.
pub fn one_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if line.chars().count() + word.chars().count() + 1 > LONGEST_SIGNATURE {
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}
