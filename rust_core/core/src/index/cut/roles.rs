//! The roles that node kinds have for cutting, and the form of a language's table of them.

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
