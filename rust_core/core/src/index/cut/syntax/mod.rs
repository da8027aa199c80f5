//! A syntax tree to pieces: one algorithm for all languages, which knows roles and no node kinds.
//!
//! The tree is walked with a stack of its own, never by recursion: trees can be as deep as files are long. Only what holds
//! definitions is entered (types, scopes, groups); functions and statements are taken whole, so most of a tree is not looked at.

mod entries;
mod members;

use std::ops::Range;

use tree_sitter::Node;

use super::CutOptions;
use super::imports;
use super::names::{self, Name};
use super::node_roles::Compiled;
use super::piece::{Joins, Piece};
use super::roles::Role;
use super::split::is_shorter;
use crate::base::language::Language;
use crate::base::types::ChunkKind;
use crate::index::parse::grammar;

/// Return the pieces of a file in the order of the text, and its imports.
pub fn pieces(root: Node<'_>, text: &str, language: Language, options: &CutOptions) -> (Vec<Piece>, Vec<String>) {
    let Some(grammar) = grammar(language) else { return (Vec::new(), Vec::new()) };
    let mut walk = Walk {
        text,
        compiled: Compiled::of(language, &grammar),
        options,
        scopes: vec![Scope::default()],
        pieces: Vec::new(),
        imports: Vec::new(),
        todo: Vec::new(),
    };
    walk.enter(root, 0);
    while let Some(step) = walk.todo.pop() {
        walk.take(step);
    }
    walk.pieces.sort_by_key(|piece| (piece.start, piece.end));
    (walk.pieces, walk.imports)
}

/// Return where the outermost nodes stand that hold something which the grammar couldn't read.
pub fn broken(root: Node<'_>) -> Vec<Range<usize>> {
    if !root.has_error() {
        return Vec::new();
    }
    if root.is_error() {
        return std::iter::once(0..usize::MAX).collect();
    }
    let mut cursor = root.walk();
    root.children(&mut cursor).filter(Node::has_error).map(|node| node.byte_range()).collect()
}

/// What encloses a node.
#[derive(Clone, Debug, Default)]
struct Scope {
    /// Names of enclosing types and scopes, joined by `.`.
    chain: String,
    /// Whether functions in it are methods.
    is_type: bool,
    /// The type's signature, for its header pieces.
    signature: String,
    /// Where it begins.
    begins: usize,
}

/// A node that waits, with where its piece begins (its comments and decorators included) and ends.
#[derive(Clone, Copy)]
struct Step<'tree> {
    node: Node<'tree>,
    start: usize,
    end: usize,
    scope: usize,
}

struct Walk<'a, 'tree> {
    text: &'a str,
    compiled: &'static Compiled,
    options: &'a CutOptions,
    scopes: Vec<Scope>,
    pieces: Vec<Piece>,
    imports: Vec<String>,
    todo: Vec<Step<'tree>>,
}

impl<'tree> Walk<'_, 'tree> {
    /// Queue the children of `node`. A comment or decorator that stands right before a node begins that node's piece.
    fn enter(&mut self, node: Node<'tree>, scope: usize) {
        let mut cursor = node.walk();
        let mut steps: Vec<Step<'tree>> = Vec::new();
        let mut leading: Option<(usize, usize)> = None;
        for child in node.children(&mut cursor) {
            let role = match self.compiled.role(child) {
                Role::Token => continue,
                Role::Leading if self.call_role(child) == Some(Role::Plain) => Role::Plain,
                role => role,
            };
            let start = match leading {
                Some((start, end)) if self.is_adjacent(end, child.start_byte()) => start,
                _ => child.start_byte(),
            };
            if role == Role::Leading {
                let trails = steps.last().is_some_and(|last| !self.text[last.end..child.start_byte()].contains('\n'));
                leading = if trails { None } else { Some((start, child.end_byte())) };
            } else {
                steps.push(Step { node: child, start, end: child.end_byte(), scope });
                leading = None;
            }
        }
        self.todo.extend(steps.into_iter().rev());
    }

    /// Tell whether nothing but one line end stands between two nodes.
    fn is_adjacent(&self, end: usize, start: usize) -> bool {
        let between = self.text.get(end..start).unwrap_or("x");
        between.trim().is_empty() && between.matches('\n').count() <= 1
    }

    fn take(&mut self, step: Step<'tree>) {
        match self.compiled.role(step.node) {
            Role::Token => {}
            Role::Group | Role::Body => self.enter(step.node, step.scope),
            Role::Import => self.import(step),
            Role::Function => self.function(step, step.node),
            Role::Type => self.type_of(step, step.node, step.node),
            Role::Scope => self.scope(step),
            Role::Wrapper => self.wrapper(step),
            Role::Binding => self.binding(step, step.node),
            Role::Call => self.call(step),
            Role::Entry => self.entry(step),
            Role::FunctionValue | Role::TypeValue | Role::Plain | Role::Leading => self.plain(step),
        }
    }

    fn qualified(&self, scope: usize, name: &Name) -> (String, String) {
        let chain = &self.scopes[scope].chain;
        let container = match (chain.is_empty(), name.owner.is_empty()) {
            (_, true) => chain.clone(),
            (true, false) => name.owner.clone(),
            (false, false) => format!("{chain}.{}", name.owner),
        };
        let symbol = if container.is_empty() { name.own.clone() } else { format!("{container}.{}", name.own) };
        (container, symbol)
    }

    fn import(&mut self, step: Step<'tree>) {
        imports::names(&self.text[step.node.byte_range()], &mut self.imports);
        let container = self.scopes[step.scope].chain.clone();
        self.pieces.push(Piece { import: true, container, ..Piece::new(step.start, step.end, ChunkKind::Declaration) });
    }

    fn function(&mut self, step: Step<'tree>, declared: Node<'tree>) {
        match names::of(declared, self.text, self.compiled) {
            Some(name) => self.named_function(step, declared, declared, &name),
            None => self.plain(step),
        }
    }

    /// A function that `declared` names and whose body is in `holder` (the same node, but for bound ones).
    fn named_function(&mut self, step: Step<'tree>, declared: Node<'tree>, holder: Node<'tree>, name: &Name) {
        let (container, symbol) = self.qualified(step.scope, name);
        let is_method = self.scopes[step.scope].is_type || !name.owner.is_empty();
        self.pieces.push(Piece {
            symbol,
            container,
            signature: names::signature(declared, self.text, self.compiled),
            definitions: vec![name.own.clone()],
            inner: self.inner_names(holder),
            joins: if self.compiled.rules.joins_equations { Joins::Clause } else { Joins::Never },
            ..Piece::new(step.start, step.end, if is_method { ChunkKind::Method } else { ChunkKind::Function })
        });
    }

    /// A type that `named` names and whose members are in `holder` (the same node, but for bound literals).
    fn type_of(&mut self, step: Step<'tree>, named: Node<'tree>, holder: Node<'tree>) {
        let body = self.body_of(holder);
        if body.is_none() && self.compiled.rules.types_need_body {
            return self.plain(step);
        }
        match names::of(named, self.text, self.compiled) {
            Some(name) => self.named_type(step, named, holder, body, &name),
            None if body.is_some() => self.enter(holder, step.scope),
            None => self.plain(step),
        }
    }

    fn named_type(&mut self, step: Step<'tree>, named: Node<'tree>, holder: Node<'tree>, body: Option<Node<'tree>>, name: &Name) {
        let (container, symbol) = self.qualified(step.scope, name);
        let signature = names::signature(if body.is_some() { holder } else { named }, self.text, self.compiled);
        let signature = if holder.id() == named.id() {
            signature
        } else {
            names::one_line(self.text[named.start_byte()..].lines().next().unwrap_or_default())
        };
        let text = &self.text[step.start..step.end];
        let lines = text.matches('\n').count() + 1;
        let reopens = self.compiled.rules.reopens.contains(&named.kind());
        let own = if reopens { Vec::new() } else { vec![name.own.clone()] };
        let is_whole = lines < self.options.class_lines as usize && is_shorter(text, self.options.max_chars + 1);
        let (Some(body), false) = (body, is_whole) else {
            self.pieces.push(Piece {
                symbol,
                container,
                signature,
                definitions: own,
                inner: body.map(|body| self.member_names(body)).unwrap_or_default(),
                joins: Joins::Never,
                ..Piece::new(step.start, step.end, ChunkKind::Class)
            });
            return;
        };
        let head_end =
            self.text[body.start_byte()..body.end_byte()].find('\n').map_or(body.start_byte(), |line| body.start_byte() + line);
        let first_member = body.named_child(0).map_or(body.end_byte(), |member| member.start_byte());
        self.scopes.push(Scope { chain: symbol.clone(), is_type: true, signature: signature.clone(), begins: step.start });
        let inside = self.scopes.len() - 1;
        self.pieces.push(Piece {
            symbol: format!("{symbol} (header)"),
            container: symbol,
            signature,
            definitions: own,
            joins: Joins::Header(step.start),
            ..Piece::new(step.start, head_end.min(first_member).max(step.start), ChunkKind::ClassHeader)
        });
        self.enter(body, inside);
    }

    fn scope(&mut self, step: Step<'tree>) {
        let Some(body) = self.body_of(step.node) else { return self.plain(step) };
        let chain = match names::of(step.node, self.text, self.compiled) {
            Some(name) => self.qualified(step.scope, &name).1,
            None => self.scopes[step.scope].chain.clone(),
        };
        self.scopes.push(Scope { chain, ..Scope::default() });
        self.enter(body, self.scopes.len() - 1);
    }

    /// `export class X`, `@decorated def f`, `template <T> struct Y`: the inside decides, the outside lends its span.
    fn wrapper(&mut self, step: Step<'tree>) {
        let mut cursor = step.node.walk();
        let children: Vec<Node<'tree>> = step.node.named_children(&mut cursor).collect();
        for inner in children {
            match self.compiled.role(inner) {
                Role::Function => return self.function(step, inner),
                Role::Type => return self.type_of(step, inner, inner),
                Role::Binding => return self.binding(step, inner),
                Role::Scope | Role::Wrapper => return self.take(Step { node: inner, ..step }),
                Role::FunctionValue => {
                    return self.named_function(step, inner, inner, &Name { own: "default".into(), owner: String::new() });
                }
                Role::TypeValue if self.body_of(inner).is_some() => return self.default_type(step, inner),
                Role::Plain => {
                    if let Some(object) = self.argument(inner) {
                        return self.default_type(step, object);
                    }
                }
                _ => {}
            }
        }
        // `export {a} from './b'` imports as well as exports.
        if step.node.child_by_field_name("source").is_some() {
            return self.import(step);
        }
        // Python's `expression_statement` wraps assignments and plain calls alike.
        self.plain(step);
    }

    /// A type literal that is exported: it has the name that it gives itself, or is the module's default.
    fn default_type(&mut self, step: Step<'tree>, inner: Node<'tree>) {
        let default = Name { own: "default".into(), owner: String::new() };
        let name = names::of(inner, self.text, self.compiled).unwrap_or(default);
        self.named_type(step, inner, inner, self.body_of(inner), &name);
    }

    /// `const f = () => …`, `Foo = class {…}`, `M.f = function …`: a function or type with the name that it is bound to.
    fn binding(&mut self, step: Step<'tree>, statement: Node<'tree>) {
        let mut cursor = statement.walk();
        // TypeScript's `namespace N {…}` is an expression statement to its grammar.
        if let Some(scope) = statement.named_children(&mut cursor).find(|child| self.compiled.role(*child) == Role::Scope) {
            return self.scope(Step { node: scope, ..step });
        }
        let named = self.bound_value(statement).and_then(|(target, value)| {
            let first = || statement.named_child(0).and_then(|node| Name::parse(&self.text[node.byte_range()]));
            Some((names::of(target, self.text, self.compiled).or_else(first)?, value))
        });
        let Some((name, value)) = named else { return self.plain(Step { node: statement, ..step }) };
        match self.compiled.role(value) {
            Role::FunctionValue => self.named_function(step, statement, value, &name),
            _ => self.named_type(step, statement, value, self.body_of(value), &name),
        }
    }

    /// Return what a call's head word means here, or that of an attribute which is one (`@type t :: …`).
    fn call_role(&self, node: Node<'tree>) -> Option<Role> {
        let node = node.child_by_field_name("operand").unwrap_or(node);
        let head =
            node.child_by_field_name("target").or_else(|| node.child_by_field_name("method")).or_else(|| node.named_child(0))?;
        let word = &self.text[head.byte_range()];
        self.compiled.rules.calls.1.iter().find(|(known, _)| *known == word).map(|(_, role)| *role)
    }

    fn call(&mut self, step: Step<'tree>) {
        match self.call_role(step.node) {
            Some(Role::Import) => self.import(step),
            Some(Role::Wrapper) => {
                let arguments = step.node.child_by_field_name("arguments");
                match arguments.and_then(|list| list.named_child(0)).filter(|inner| self.compiled.role(*inner) == Role::Function)
                {
                    Some(declared) => self.function(step, declared),
                    None => self.plain(step),
                }
            }
            Some(Role::Function) => match names::of_call(step.node, self.text) {
                Some(own) => self.named_function(step, step.node, step.node, &Name { own, owner: String::new() }),
                None => self.plain(step),
            },
            Some(Role::Type) => match names::of_call(step.node, self.text).and_then(|name| Name::parse(&name)) {
                Some(name) => self.named_type(step, step.node, step.node, self.body_of(step.node), &name),
                None => self.plain(step),
            },
            _ => self.plain(step),
        }
    }

    fn plain(&mut self, step: Step<'tree>) {
        let Scope { chain, is_type, signature, begins } = self.scopes[step.scope].clone();
        let mut definitions = names::bound(step.node, self.text);
        let values = if step.end - step.start > self.options.max_chars { self.long_values(step.node) } else { Vec::new() };
        let inner = if values.is_empty() { self.inner_names(step.node) } else { Vec::new() };
        let end = values.first().map_or(step.end, Node::start_byte);
        // What a module's wrapper or a suite of tests holds is cut as what stands beside it.
        for node in values {
            if node.kind().contains("expression") && self.compiled.role(node) == Role::Plain {
                self.todo.push(Step { node, start: node.start_byte(), end: node.end_byte(), scope: step.scope });
            } else {
                self.enter(node, step.scope);
            }
        }
        if is_type && self.compiled.role(step.node) != Role::Leading {
            // A constructor that is declared alone defines nothing that its class doesn't.
            definitions.retain(|name| Some(name.as_str()) != chain.rsplit('.').next());
            let joins = Joins::Member(begins);
            let symbol = format!("{chain} (header)");
            self.pieces.push(Piece {
                symbol,
                container: chain,
                signature,
                definitions,
                inner,
                joins,
                ..Piece::new(step.start, end, ChunkKind::ClassHeader)
            });
            return;
        }
        let symbol = match definitions.as_slice() {
            [only] if chain.is_empty() => only.clone(),
            [only] => format!("{chain}.{only}"),
            _ => String::new(),
        };
        let signature = if symbol.is_empty() {
            String::new()
        } else {
            names::one_line(self.text[step.node.byte_range()].lines().next().unwrap_or_default())
        };
        self.pieces.push(Piece {
            symbol,
            container: chain,
            signature,
            definitions,
            inner,
            ..Piece::new(step.start, end, ChunkKind::Declaration)
        });
    }
}
