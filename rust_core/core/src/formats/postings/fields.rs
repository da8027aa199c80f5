//! Field frequencies and lengths on the coarse scales that posting lists and segments keep.
//!
//! BM25 saturates: 20 or 24 occurrences of a word rank alike, so a byte holds the frequencies of all three fields.

/// How often a term stands in each field of one chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frequencies(u8);

/// The frequency that each 4-bit body level stands for.
const BODY_LEVELS: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64, 128];

impl Frequencies {
    /// From counts; name and path saturate at 3, the body is rounded down to a level.
    pub fn new(name: u32, path: u32, body: u32) -> Self {
        let level = BODY_LEVELS.partition_point(|&l| l as u32 <= body) as u8 - 1;
        Self(name.min(3) as u8 | (path.min(3) as u8) << 2 | level << 4)
    }

    /// From a stored byte.
    pub fn from_byte(byte: u8) -> Self {
        Self(byte)
    }

    /// The byte to store.
    pub fn byte(self) -> u8 {
        self.0
    }

    /// Counts in name, path and body.
    pub fn counts(self) -> [u32; 3] {
        [self.0 as u32 & 3, self.0 as u32 >> 2 & 3, BODY_LEVELS[(self.0 >> 4) as usize] as u32]
    }
}

/// A length in terms as one byte: exact up to 15, then 16 steps to each doubling (an error of 3 %).
pub fn length_code(length: u32) -> u8 {
    if length < 16 {
        return length as u8;
    }
    let exponent = length.ilog2();
    let step = length >> (exponent - 4) & 15;
    ((exponent - 3) * 16 + step).min(255) as u8
}

/// The length that a code stands for (the lowest one).
pub fn code_length(code: u8) -> u32 {
    if code < 16 {
        return code as u32;
    }
    (16 + (code as u32 & 15)) << (code as u32 / 16 - 1)
}

#[cfg(test)]
mod tests {
    use super::{Frequencies, code_length, length_code};

    #[test]
    fn frequencies_saturate() {
        assert_eq!(Frequencies::new(1, 2, 3).counts(), [1, 2, 3]);
        assert_eq!(Frequencies::new(9, 9, 9).counts(), [3, 3, 8]);
        assert_eq!(Frequencies::new(0, 0, 100_000).counts(), [0, 0, 128]);
    }

    #[test]
    fn lengths_keep_their_order_and_size() {
        let mut before = 0;
        for length in 0..200_000 {
            let code = length_code(length);
            assert!(code >= before);
            before = code;
            let kept = code_length(code);
            assert!(kept <= length && (length - kept) * 16 <= length, "{length} {kept}");
        }
        length_code(u32::MAX);
    }
}
