//! Entries of data files and style sheets: what has a key or a selector instead of a name.

use tree_sitter::Node;

use super::{Scope, Step, Walk};
use crate::base::language::Language;
use crate::base::types::ChunkKind;
use crate::index::cut::piece::Piece;
use crate::index::cut::roles::Role;

/// Longest key or selector that names an entry.
const LONGEST_ENTRY: usize = 80;

impl<'tree> Walk<'_, 'tree> {
    /// A key of a data file or a rule of a style sheet. One that is too large for a chunk is entered where it has entries itself.
    pub(super) fn entry(&mut self, step: Step<'tree>) {
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
        let plain = if self.compiled.language == Language::HTML {
            // `a href="/"`: the quote at its end is part of it.
            self.text[node.byte_range()].split(['>', '\n']).next().unwrap_or_default().trim_matches(['<', ' '])
        } else {
            let written = named.map_or("", |key| self.text[key.byte_range()].lines().next().unwrap_or_default());
            written.trim().trim_matches(|c: char| "\"'<[]:".contains(c))
        };
        plain.chars().take(LONGEST_ENTRY).collect()
    }
}
