//! A syntax tree to pieces: one algorithm for all languages, which knows roles and no node kinds.
//!
//! The tree is walked with a stack of its own, never by recursion: trees can be as deep as files are long. Only what holds
//! definitions is entered (types, scopes, groups); functions and statements are taken whole, so most of a tree is not looked at.

use tree_sitter::{Node, Tree};

use super::CutOptions;
use super::imports;
use super::names::{self, Name};
use super::piece::{Joins, Piece};
use super::rules::{Compiled, Role};
use crate::language::Language;
use crate::parse::grammar;
use crate::types::ChunkKind;

/// Longest key or selector that names an entry.
const LONGEST_ENTRY: usize = 80;

/// The pieces of a file in the order of the text, and its imports.
pub fn pieces(tree: &Tree, text: &str, language: Language, options: &CutOptions) -> (Vec<Piece>, Vec<String>) {
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
    walk.enter(tree.root_node(), 0);
    while let Some(step) = walk.todo.pop() {
        walk.take(step);
    }
    walk.pieces.sort_by_key(|piece| (piece.start, piece.end));
    (walk.pieces, walk.imports)
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
            let role = self.compiled.role(child);
            if role == Role::Token {
                continue;
            }
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

    /// Whether nothing but one line end stands between two nodes.
    fn is_adjacent(&self, end: usize, start: usize) -> bool {
        let between = self.text.get(end..start).unwrap_or("x");
        between.trim().is_empty() && between.matches('\n').count() <= 1
    }

    fn take(&mut self, step: Step<'tree>) {
        match self.compiled.role(step.node) {
            Role::Token | Role::Leading => {}
            Role::Group | Role::Body => self.enter(step.node, step.scope),
            Role::Import => self.import(step),
            Role::Function => self.function(step, step.node),
            Role::Type => self.type_of(step, step.node, step.node),
            Role::Scope => self.scope(step),
            Role::Wrapper => self.wrapper(step),
            Role::Binding => self.binding(step, step.node),
            Role::Call => self.call(step),
            Role::Entry => self.entry(step),
            Role::FunctionValue | Role::TypeValue | Role::Plain => self.plain(step),
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
            Some(name) => self.named_function(step, declared, &name),
            None => self.plain(step),
        }
    }

    fn named_function(&mut self, step: Step<'tree>, declared: Node<'tree>, name: &Name) {
        let (container, symbol) = self.qualified(step.scope, name);
        let is_method = self.scopes[step.scope].is_type || !name.owner.is_empty();
        self.pieces.push(Piece {
            symbol,
            container,
            signature: names::signature(declared, self.text, self.compiled),
            definitions: vec![name.own.clone()],
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
        let lines = self.text[step.start..step.end].matches('\n').count() + 1;
        let reopens = self.compiled.rules.reopens.contains(&named.kind());
        let own = if reopens { Vec::new() } else { vec![name.own.clone()] };
        let (Some(body), false) = (body, lines < self.options.class_lines as usize) else {
            let mut definitions = own;
            definitions.extend(body.map(|body| self.member_names(body)).unwrap_or_default());
            self.pieces.push(Piece {
                symbol,
                container,
                signature,
                definitions,
                joins: Joins::Never,
                ..Piece::new(step.start, step.end, ChunkKind::Class)
            });
            return;
        };
        let head_end =
            self.text[body.start_byte()..body.end_byte()].find('\n').map_or(body.start_byte(), |line| body.start_byte() + line);
        let first_member = body.named_child(0).map_or(body.end_byte(), |member| member.start_byte());
        self.scopes.push(Scope { chain: symbol.clone(), is_type: true, signature: signature.clone() });
        let inside = self.scopes.len() - 1;
        self.pieces.push(Piece {
            symbol: format!("{symbol} (header)"),
            container: symbol,
            signature,
            definitions: own,
            joins: Joins::Header(inside as u32),
            ..Piece::new(step.start, head_end.min(first_member).max(step.start), ChunkKind::ClassHeader)
        });
        self.enter(body, inside);
    }

    /// The node whose children are a type's members.
    fn body_of(&self, holder: Node<'tree>) -> Option<Node<'tree>> {
        let mut cursor = holder.walk();
        let by_role = holder.named_children(&mut cursor).find(|child| self.compiled.role(*child) == Role::Body);
        by_role.or_else(|| holder.child_by_field_name("body")).or_else(|| {
            // A struct literal of Zig or a table of Lua holds its members itself.
            (self.compiled.role(holder) == Role::TypeValue && holder.named_child_count() > 0).then_some(holder)
        })
    }

    /// Names of the members of a type that is one chunk: they are defined in it.
    fn member_names(&self, body: Node<'tree>) -> Vec<String> {
        let mut found = Vec::new();
        let mut cursor = body.walk();
        for member in body.named_children(&mut cursor) {
            let mut inner = member;
            if self.compiled.role(member) == Role::Wrapper {
                let mut inside = member.walk();
                inner = member
                    .named_children(&mut inside)
                    .find(|child| matches!(self.compiled.role(*child), Role::Function | Role::Type))
                    .unwrap_or(member);
            }
            if matches!(self.compiled.role(inner), Role::Function | Role::Type)
                && let Some(name) = names::of(inner, self.text, self.compiled)
                && !found.contains(&name.own)
            {
                found.push(name.own);
            } else if self.compiled.role(inner) == Role::Call && self.call_role(inner) == Some(Role::Function) {
                found.extend(names::of_call(inner, self.text));
            }
        }
        found
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
                    return self.named_function(step, inner, &Name { own: "default".into(), owner: String::new() });
                }
                Role::TypeValue if self.body_of(inner).is_some() => {
                    let name = names::of(inner, self.text, self.compiled)
                        .unwrap_or(Name { own: "default".into(), owner: String::new() });
                    return self.named_type(step, inner, inner, self.body_of(inner), &name);
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
            Role::FunctionValue => self.named_function(step, statement, &name),
            _ => self.named_type(step, statement, value, self.body_of(value), &name),
        }
    }

    /// The function or type literal that a statement binds, and the node that has its name; looked for three levels down.
    fn bound_value(&self, statement: Node<'tree>) -> Option<(Node<'tree>, Node<'tree>)> {
        let mut level = vec![statement];
        for _ in 0..3 {
            let mut below = Vec::new();
            for node in level {
                let mut cursor = node.walk();
                for child in node.named_children(&mut cursor).take(16) {
                    match self.compiled.role(child) {
                        Role::FunctionValue => return Some((node, child)),
                        Role::TypeValue if self.holds_functions(child) => return Some((node, child)),
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

    /// An object literal or table counts as a type when it has functions; a list of options doesn't.
    fn holds_functions(&self, value: Node<'tree>) -> bool {
        let Some(body) = self.body_of(value) else { return false };
        let mut cursor = body.walk();
        body.named_children(&mut cursor).take(256).any(|member| match self.compiled.role(member) {
            Role::Function | Role::Type => true,
            Role::Binding => self.bound_value(member).is_some(),
            _ => value.id() == body.id() && self.compiled.language == Language::ZIG,
        })
    }

    fn call_role(&self, node: Node<'tree>) -> Option<Role> {
        let head =
            node.child_by_field_name("target").or_else(|| node.child_by_field_name("method")).or_else(|| node.named_child(0))?;
        let word = &self.text[head.byte_range()];
        self.compiled.rules.calls.1.iter().find(|(known, _)| *known == word).map(|(_, role)| *role)
    }

    fn call(&mut self, step: Step<'tree>) {
        match self.call_role(step.node) {
            Some(Role::Import) => self.import(step),
            Some(Role::Function) => match names::of_call(step.node, self.text) {
                Some(own) => self.named_function(step, step.node, &Name { own, owner: String::new() }),
                None => self.plain(step),
            },
            Some(Role::Type) => match names::of_call(step.node, self.text) {
                Some(own) => {
                    self.named_type(step, step.node, step.node, self.body_of(step.node), &Name { own, owner: String::new() });
                }
                None => self.plain(step),
            },
            _ => self.plain(step),
        }
    }

    /// A key of a data file or a rule of a style sheet. One that is too large for a chunk is entered where it has entries itself.
    fn entry(&mut self, step: Step<'tree>) {
        let key = self.entry_name(step.node);
        let chain = &self.scopes[step.scope].chain;
        let symbol = if chain.is_empty() { key } else { format!("{chain}.{key}") };
        if step.end - step.start > self.options.max_chars && self.enter_entry(step.node, &symbol) {
            return;
        }
        let container = self.scopes[step.scope].chain.clone();
        self.pieces.push(Piece { symbol, container, ..Piece::new(step.start, step.end, ChunkKind::Section) });
    }

    fn enter_entry(&mut self, node: Node<'tree>, symbol: &str) -> bool {
        let mut cursor = node.walk();
        let inner: Vec<Node<'tree>> = node
            .named_children(&mut cursor)
            .filter(|child| matches!(self.compiled.role(*child), Role::Group | Role::Entry | Role::Body))
            .collect();
        if inner.is_empty() {
            return false;
        }
        self.scopes.push(Scope { chain: symbol.to_owned(), ..Scope::default() });
        let scope = self.scopes.len() - 1;
        let steps = inner.into_iter().rev().map(|node| Step { node, start: node.start_byte(), end: node.end_byte(), scope });
        self.todo.extend(steps);
        true
    }

    fn entry_name(&self, node: Node<'tree>) -> String {
        let named = node.child_by_field_name("key").or_else(|| node.named_child(0));
        let written = match self.compiled.language {
            Language::SQL => return sql_name(&self.text[node.byte_range()]),
            Language::HTML => self.text[node.byte_range()].split(['>', '\n']).next().unwrap_or_default(),
            _ => named.map_or("", |key| self.text[key.byte_range()].lines().next().unwrap_or_default()),
        };
        let plain = written.trim().trim_matches(|c: char| "\"'<[]:".contains(c));
        plain.chars().take(LONGEST_ENTRY).collect()
    }

    fn plain(&mut self, step: Step<'tree>) {
        let Scope { chain, is_type, signature } = self.scopes[step.scope].clone();
        let definitions = names::bound(step.node, self.text);
        if is_type {
            let joins = Joins::Header(step.scope as u32);
            let symbol = format!("{chain} (header)");
            self.pieces.push(Piece {
                symbol,
                container: chain,
                signature,
                definitions,
                joins,
                ..Piece::new(step.start, step.end, ChunkKind::ClassHeader)
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
            ..Piece::new(step.start, step.end, ChunkKind::Declaration)
        });
    }
}

/// Words between `CREATE` and the kind of object, or the kind and its name.
const PASSED: &[&str] =
    &["or", "replace", "temporary", "temp", "unique", "materialized", "if", "not", "exists", "global", "local", "only"];

/// `CREATE TABLE IF NOT EXISTS app.users (` -> `app.users`.
fn sql_name(statement: &str) -> String {
    let mut words = statement.split(|c: char| c.is_whitespace() || c == '(').filter(|word| !word.is_empty());
    if !words.next().is_some_and(|word| word.eq_ignore_ascii_case("create") || word.eq_ignore_ascii_case("alter")) {
        return String::new();
    }
    let mut words = words.filter(|word| !PASSED.iter().any(|passed| word.eq_ignore_ascii_case(passed)));
    let kind = words.next().unwrap_or_default();
    let name = words.next().unwrap_or_default();
    if kind.is_empty() { String::new() } else { name.trim_matches(|c: char| "\"`[];".contains(c)).to_owned() }
}
