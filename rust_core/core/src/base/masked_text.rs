//! A text whose secrets were masked, and where they were.

/// A masked value: the range of its mask in the masked text, and its own range in the original.
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

/// The original of a text whose secrets were masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmasked {
    /// The original text.
    pub text: String,
    /// The masked values, in order.
    pub masks: Vec<Mask>,
    /// The rule that found each of them.
    pub rules: Vec<String>,
}
