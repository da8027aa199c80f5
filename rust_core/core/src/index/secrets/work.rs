//! A bound on what a text may cost: most bytes are looked at once or twice, and none so often that a hostile text holds up its reader.

/// Bytes that may still be looked at beside the one pass over the text.
pub(super) struct Work(usize);

impl Work {
    /// Allow some readings of a text of this length.
    pub fn for_length(bytes: usize) -> Self {
        Self(8 * bytes + (1 << 20))
    }

    /// Take so many bytes from what is allowed. `false` where they are no longer.
    pub fn take(&mut self, bytes: usize) -> bool {
        let allowed = bytes <= self.0;
        self.0 = self.0.saturating_sub(bytes);
        allowed
    }
}
