//! What a node holds: a type's members, a statement's function or type. Looking queues nothing and makes no piece.

use std::collections::HashSet;

use tree_sitter::Node;

use super::Walk;
use crate::base::language::Language;
use crate::index::cut::names;
use crate::index::cut::roles::Role;

/// Look into so many types within each other for the names of members.
pub(super) const MEMBER_DEPTH: u32 = 8;

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

    /// Return the names of the functions and types that stand among the statements of a function, and of those in them, each with
    /// the byte where it begins. Statements themselves are not looked into, but for those that hold a definition (`if`, `try`).
    pub(super) fn inner_names(&self, function: Node<'tree>) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        let mut todo: Vec<(Node<'tree>, u32)> = self.body_of(function).map(|body| (body, MEMBER_DEPTH)).into_iter().collect();
        while let Some((holder, depth)) = todo.pop() {
            let mut cursor = holder.walk();
            for child in holder.named_children(&mut cursor) {
                let role = self.compiled.role(child);
                let deeper = match role {
                    Role::Function | Role::Type => {
                        let name = names::of(child, self.text, self.compiled)
                            .filter(|_| role == Role::Function || self.body_of(child).is_some());
                        found.extend(name.map(|name| (child.start_byte(), name.own)));
                        self.body_of(child)
                    }
                    Role::Body | Role::Group | Role::Wrapper => Some(child),
                    _ => None,
                };
                todo.extend(deeper.filter(|_| depth > 0).map(|inside| (inside, depth - 1)));
            }
        }
        found.sort_unstable();
        found
    }

    /// Return the names of the members of a type that is one chunk, and of theirs: they are defined in it.
    pub(super) fn member_names(&self, body: Node<'tree>, depth: u32) -> Vec<String> {
        let mut found = Vec::new();
        let mut cursor = body.walk();
        for member in body.named_children(&mut cursor) {
            let mut inner = member;
            if self.compiled.role(member) == Role::Wrapper {
                let mut inside = member.walk();
                inner = member
                    .named_children(&mut inside)
                    .find(|child| matches!(self.compiled.role(*child), Role::Function | Role::Type) || names_a_type(*child))
                    .unwrap_or(member);
            }
            let role = self.compiled.role(inner);
            if matches!(role, Role::Function | Role::Type | Role::Scope) {
                found.extend(names::of(inner, self.text, self.compiled).map(|name| name.own));
                if role == Role::Function {
                    found.extend(self.inner_names(inner).into_iter().map(|(_, name)| name));
                } else if depth > 0 {
                    found.extend(self.body_of(inner).map(|body| self.member_names(body, depth - 1)).unwrap_or_default());
                }
            } else if let Some((target, value)) = self.bound_value(inner).filter(|_| role == Role::Binding) {
                match self.body_of(value) {
                    Some(body) if self.compiled.role(value) == Role::TypeValue && depth > 0 => {
                        found.extend(self.member_names(body, depth - 1));
                    }
                    _ => found.extend(names::of(target, self.text, self.compiled).map(|name| name.own)),
                }
            } else if names_a_type(inner) {
                found.extend(names::of(inner, self.text, self.compiled).map(|name| name.own));
            } else if role == Role::Leading && self.call_role(inner) == Some(Role::Plain) {
                found.extend(names::bound(inner, self.text));
            } else if matches!(
                inner.kind(),
                "enumerator" | "method_signature" | "abstract_method_signature" | "function_signature_item"
            ) {
                // C's enumerators are names of the whole program; signatures are all that says what a method of an interface is.
                found.extend(inner.child_by_field_name("name").map(|name| self.text[name.byte_range()].to_owned()));
            } else if role == Role::Call && self.call_role(inner) == Some(Role::Function) {
                found.extend(names::of_call(inner, self.text));
            }
        }
        let mut seen = HashSet::new();
        found.retain(|name| seen.insert(name.clone()));
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
