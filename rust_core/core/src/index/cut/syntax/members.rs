//! What a node holds: a type's members, a statement's function or type. Looking queues nothing and makes no piece.

use tree_sitter::Node;

use super::Walk;
use crate::base::language::Language;
use crate::index::cut::names::{self, Name};
use crate::index::cut::roles::Role;

/// Look so many nodes above a value for the statement that binds it: its expression, an object's entry, a list or a call between.
const BINDING_DEPTH: usize = 5;

impl<'tree> Walk<'_, 'tree> {
    /// Return the node whose children are a type's members.
    pub(super) fn body_of(&self, holder: Node<'tree>) -> Option<Node<'tree>> {
        let mut cursor = holder.walk();
        let by_role = holder.named_children(&mut cursor).find(|child| self.compiled.role(*child) == Role::Body);
        by_role.or_else(|| holder.child_by_field_name("body")).or_else(|| {
            // A struct literal of Zig or a table of Lua holds its members itself.
            (self.compiled.role(holder) == Role::TypeValue && holder.named_child_count() > 0).then_some(holder)
        })
    }

    /// Return the names of a type's members in its body, and of what stands within them. Of values those with a capital count, which
    /// constants, enumerators and C#'s properties have: the name of a field says little without its type.
    pub(super) fn member_names(&self, body: Node<'tree>) -> Vec<(usize, String)> {
        let mut found = self.inner_names(body);
        let mut cursor = body.walk();
        for member in body.named_children(&mut cursor) {
            if matches!(self.compiled.role(member), Role::Plain | Role::Binding) {
                let names = names::bound(member, self.text).into_iter().filter(|name| name.starts_with(char::is_uppercase));
                found.extend(names.map(|name| (member.start_byte(), name)));
            }
        }
        found.sort_by_key(|(at, _)| *at);
        found
    }

    /// Return the names of the functions and types within a node, however deep: in statements, calls, objects and each other. Each
    /// comes with the byte where it begins.
    pub(super) fn inner_names(&self, holder: Node<'tree>) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        let mut around: Vec<Node<'tree>> = Vec::new();
        let mut cursor = holder.walk();
        let mut enters = true;
        let rules = &self.compiled.rules;
        loop {
            let node = cursor.node();
            if enters && cursor.goto_first_child() {
                around.push(node);
            } else if cursor.goto_next_sibling() {
            } else if cursor.goto_parent() {
                around.pop();
                enters = false;
                continue;
            } else {
                break;
            }
            let node = cursor.node();
            let role = self.compiled.role(node);
            let mut add = |name: Option<String>| found.extend(name.map(|name| (node.start_byte(), name)));
            let of = |node| names::of(node, self.text, self.compiled).map(|name| name.own);
            enters = !matches!(role, Role::Token | Role::Import);
            match role {
                // Haskell's types of functions are of the same kind as functions.
                Role::Function if node.kind() == "function" && node.child_by_field_name("parameter").is_some() => enters = false,
                Role::Function | Role::Scope => add(of(node)),
                Role::Type
                    if !rules.reopens.contains(&node.kind()) && (self.body_of(node).is_some() || !rules.types_need_body) =>
                {
                    add(of(node));
                }
                Role::FunctionValue => {
                    add(node.child_by_field_name("name").and(of(node)));
                    add(self.bound_name(&around, false));
                }
                Role::TypeValue if self.holds_functions(node) => add(self.bound_name(&around, true)),
                Role::Call if matches!(self.call_role(node), Some(Role::Function | Role::Type)) => {
                    add(names::of_call(node, self.text));
                }
                Role::Leading => {
                    enters = false;
                    if self.call_role(node) == Some(Role::Plain) {
                        for name in names::bound(node, self.text) {
                            add(Some(name));
                        }
                    }
                }
                _ if names_a_type(node) => add(of(node)),
                // C's enumerators and macros are names of the whole program; signatures are all that says what a method of an
                // interface is.
                _ if matches!(
                    node.kind(),
                    "enumerator" | "preproc_def" | "method_signature" | "abstract_method_signature" | "function_signature_item"
                ) =>
                {
                    add(node.child_by_field_name("name").map(|name| self.text[name.byte_range()].to_owned()));
                }
                // The fields of Haskell's records are functions.
                _ if node.kind() == "field_name" && around.last().is_some_and(|holder| holder.kind() == "field") => {
                    add(Some(self.text[node.byte_range()].to_owned()));
                }
                _ => {}
            }
        }
        found
    }

    /// Return the name that the nearest statement `around` a value binds it to; `through_calls` also where it is an argument.
    fn bound_name(&self, around: &[Node<'tree>], through_calls: bool) -> Option<String> {
        let mut named = None;
        for holder in around.iter().rev().take(BINDING_DEPTH) {
            let role = self.compiled.role(*holder);
            let is_call = matches!(holder.kind(), "call_expression" | "arguments");
            if !matches!(role, Role::Plain | Role::Binding) || (is_call && !through_calls) || holder.kind().contains("block") {
                return None;
            }
            if named.is_none() && !is_call {
                let fields = ["name", "left", "key"].iter().find_map(|field| holder.child_by_field_name(field));
                named = fields.and_then(|name| Name::parse(&self.text[name.byte_range()]));
            }
            if role == Role::Binding {
                let first = || holder.named_child(0).and_then(|name| Name::parse(&self.text[name.byte_range()]));
                return named.or_else(first).map(|name| name.own);
            }
        }
        None
    }

    /// Return the bodies of the outermost functions and objects without a name in a node that are too long for a chunk themselves.
    pub(super) fn long_values(&self, holder: Node<'tree>) -> Vec<Node<'tree>> {
        let (mut found, mut todo) = (Vec::new(), vec![holder]);
        while let Some(node) = todo.pop() {
            let mut cursor = node.walk();
            for child in node.named_children(&mut cursor).filter(|child| child.byte_range().len() > self.options.max_chars) {
                match self.compiled.role(child) {
                    Role::FunctionValue => found.push(self.body_of(child).unwrap_or(child)),
                    Role::TypeValue if self.holds_functions(child) => found.push(self.body_of(child).unwrap_or(child)),
                    _ => todo.push(child),
                }
            }
        }
        found.sort_unstable_by_key(Node::start_byte);
        found
    }

    /// Return the function or type literal that a statement binds, and the node that has its name; looked for three levels down.
    pub(super) fn bound_value(&self, statement: Node<'tree>) -> Option<(Node<'tree>, Node<'tree>)> {
        let mut level = vec![statement];
        for _ in 0..3 {
            let mut below = Vec::new();
            for node in level {
                let mut cursor = node.walk();
                for child in node.named_children(&mut cursor).take(16) {
                    match self.compiled.role(child) {
                        Role::FunctionValue => return Some((node, child)),
                        Role::TypeValue if self.holds_functions(child) => return Some((node, child)),
                        Role::Plain if child.kind() == "call_expression" => {
                            if let Some(object) = self.argument(child) {
                                return Some((node, object));
                            }
                        }
                        // Only the value side is searched, and never through calls or blocks.
                        Role::Plain | Role::Binding if !child.kind().contains("call") && !child.kind().contains("block") => {
                            below.push(child);
                        }
                        _ => {}
                    }
                }
            }
            level = below;
        }
        None
    }

    /// Return the object with functions that a call is given (`defineComponent({…})`): what it makes has them.
    pub(super) fn argument(&self, call: Node<'tree>) -> Option<Node<'tree>> {
        let arguments = call.child_by_field_name("arguments").filter(|_| call.kind() == "call_expression")?;
        let mut cursor = arguments.walk();
        arguments
            .named_children(&mut cursor)
            .take(8)
            .find(|argument| self.compiled.role(*argument) == Role::TypeValue && self.holds_functions(*argument))
    }

    /// Tell whether an object literal or table counts as a type: when it has functions. A list of options doesn't.
    fn holds_functions(&self, value: Node<'tree>) -> bool {
        let Some(body) = self.body_of(value) else { return false };
        let mut cursor = body.walk();
        body.named_children(&mut cursor).take(256).any(|member| match self.compiled.role(member) {
            Role::Function | Role::Type => true,
            Role::Binding => self.bound_value(member).is_some(),
            _ => value.id() == body.id() && self.compiled.language == Language::ZIG,
        })
    }
}

/// Tell whether a node gives a type a name: `using T = …`, `typedef … T`, `type T = …`.
fn names_a_type(node: Node<'_>) -> bool {
    let kind = node.kind();
    kind.contains("alias") && kind != "alias" || matches!(kind, "type_definition" | "type_item" | "associated_type")
}
