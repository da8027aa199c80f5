//! A text whose secrets were masked and whose data was left out, and where they were.

/// Stands for the rule of a mask that hides data and no secret.
pub const LONG_LINE: &str = "long line";

/// A masked value, or the middle of a line of data: the range of its mask in the masked text, and its own range in the original.
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
    /// Whether it hides a secret.
    pub is_secret: bool,
}

/// The original of a text whose secrets were masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmasked {
    /// The original text.
    pub text: String,
    /// The masked and the left out, in order.
    pub masks: Vec<Mask>,
    /// The rule that found each of them; [`LONG_LINE`] for what is no secret.
    pub rules: Vec<String>,
}
