//! Programming and markup languages by a small stable id.

/// A language Carrel knows. The id is stored on disk.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug)]
pub struct Language(u8);

impl Language {
    /// Python.
    pub const PYTHON: Self = Self(0);
    /// Rust.
    pub const RUST: Self = Self(7);
    /// Plain text.
    pub const TEXT: Self = Self(29);
    /// The id stored on disk.
    pub fn id(self) -> u8 {
        self.0
    }
    /// The language of a stored id.
    pub fn from_id(id: u8) -> Option<Self> {
        (id < 100).then_some(Self(id))
    }
}
