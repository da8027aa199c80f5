//! A text whose secrets were masked, and where they were.

/// A value that was masked: where its mask stands, and how long it was itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask {
    /// First byte of the mask in the masked text.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
    /// First byte of the value in the original text.
    pub original_start: usize,
    /// One past its last byte.
    pub original_end: usize,
}

/// What a text was before its secrets were masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmasked {
    /// All of it.
    pub text: String,
    /// Where what was masked, in order.
    pub masks: Vec<Mask>,
}
