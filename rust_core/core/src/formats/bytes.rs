//! Read and write numbers and texts in bytes.

/// The `u32` at byte `at`, 0 past the end.
pub fn read_u32(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b))
}

/// The `u64` at byte `at`, 0 past the end.
pub fn read_u64(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b))
}

/// Append `value` as LEB128.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Append a signed number, small magnitudes short.
pub fn put_zigzag(out: &mut Vec<u8>, value: i64) {
    put_varint(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Append length and bytes.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// A reader that never leaves its bytes: past the end, numbers are 0 and texts are empty. A file whose checksum holds reads as
/// it was written; one that was forged reads as nonsense, safely.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// Read `bytes` from `at`.
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes: bytes.get(at..).unwrap_or_default() }
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// What is left.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// The next byte.
    #[inline]
    pub fn byte(&mut self) -> u8 {
        match self.bytes.split_first() {
            Some((&first, rest)) => {
                self.bytes = rest;
                first
            }
            None => 0,
        }
    }

    /// The next LEB128 number.
    #[inline]
    pub fn varint(&mut self) -> u64 {
        let first = self.byte();
        if first < 0x80 {
            return first as u64;
        }
        let mut value = (first & 0x7f) as u64;
        for shift in (7..64).step_by(7) {
            let byte = self.byte();
            value |= ((byte & 0x7f) as u64) << shift;
            if byte < 0x80 {
                break;
            }
        }
        value
    }

    /// The next signed number.
    pub fn zigzag(&mut self) -> i64 {
        let value = self.varint();
        (value >> 1) as i64 ^ -((value & 1) as i64)
    }

    /// The next `count` bytes, fewer at the end.
    pub fn take(&mut self, count: u64) -> &'a [u8] {
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(self.bytes.len());
        let (taken, rest) = self.bytes.split_at(count);
        self.bytes = rest;
        taken
    }

    /// The next length and bytes.
    pub fn bytes(&mut self) -> &'a [u8] {
        let count = self.varint();
        self.take(count)
    }

    /// The next text, empty if it isn't UTF-8.
    pub fn text(&mut self) -> &'a str {
        std::str::from_utf8(self.bytes()).unwrap_or_default()
    }
}
