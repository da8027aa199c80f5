//! Texts enter with their secrets masked: whatever comes after reading never sees one.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::base::error::Result;
use crate::base::hash::xxh3_128;
use crate::base::lines::LineTable;
use crate::base::masked_text::{LONG_LINE, Mask, Unmasked};
use crate::base::sync::locked;
use crate::base::types::{SecretSpan, SkipReason};
use crate::index::secrets::{Detector, SecretMatch, SecretOptions, masked};
use crate::workspace::long_lines::unread;
use crate::workspace::read::Source;

/// So many files are remembered; questions ask for the same few again and again.
const REMEMBERED: usize = 2_048;

/// What is known of a file's content under a path.
type Findings = std::result::Result<Arc<Vec<SecretMatch>>, SkipReason>;

/// Masks texts, and remembers where secrets were in those that questions ask for.
pub struct Masker {
    detector: Detector,
    known: Mutex<HashMap<(u128, String), Findings>>,
}

impl Masker {
    pub fn new(options: &SecretOptions) -> Result<Self> {
        Ok(Self { detector: Detector::new(options)?, known: Mutex::default() })
    }

    /// Find the secrets of a text, or why the whole of it is refused.
    pub fn look(&self, path: &str, text: &str) -> Findings {
        let found = self.detector.find(path, text);
        match self.detector.whole(path, text, found.len()) {
            Some(reason) => Err(reason),
            None => Ok(Arc::new(found)),
        }
    }

    /// As [`Masker::look`], once for each content of a file.
    pub fn look_once(&self, path: &str, source: &Source) -> Findings {
        let key = (source.hash, path.to_owned());
        if let Some(known) = locked(&self.known).get(&key) {
            return known.clone();
        }
        let found = self.look(path, &source.text);
        let mut known = locked(&self.known);
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(key, found.clone());
        found
    }

    /// Names the rules.
    pub fn version(&self) -> String {
        self.detector.version()
    }
}

/// Mask secrets and leave out what is data. The hash of such a text is that of what is left: it is another one when the rules
/// change, and says nothing of a secret.
pub fn with_masks(source: Source, found: &[SecretMatch]) -> Source {
    let found = with_data(&source.text, found);
    if found.is_empty() {
        return source;
    }
    let (text, masks) = masked(&source.text, &found);
    let rules = found.iter().map(|one| one.rule.clone()).collect();
    let unmasked = Some(Arc::new(Unmasked { text: source.text, masks, rules }));
    Source { hash: xxh3_128(text.as_bytes()), unmasked, text, ..source }
}

/// Add the data that is left out to the secrets, of which it hides those that lie within.
fn with_data<'a>(text: &str, found: &'a [SecretMatch]) -> Cow<'a, [SecretMatch]> {
    let data = unread(text);
    if data.is_empty() {
        return Cow::Borrowed(found);
    }
    let mut found = found.to_vec();
    for range in data {
        found.retain(|one| one.start < range.start || one.end > range.end);
        let start = found.iter().filter(|one| one.start < range.start).map(|one| one.end).fold(range.start, usize::max);
        let end = found.iter().filter(|one| one.end > range.end).map(|one| one.start).fold(range.end, usize::min);
        if start < end {
            found.push(SecretMatch { start, end, rule: LONG_LINE.to_owned() });
        }
    }
    found.sort_unstable_by_key(|one| one.start);
    Cow::Owned(found)
}

/// Where the secrets of a masked text were.
pub fn secret_spans(source: &Source) -> Vec<SecretSpan> {
    let Some(unmasked) = source.unmasked.as_deref() else { return Vec::new() };
    // Masks keep the line ends of what they cover, so the lines are those of the masked text too.
    let lines = LineTable::new(&unmasked.text);
    let span = |(mask, rule): (&Mask, &String)| SecretSpan {
        kind: rule.clone(),
        start_line: lines.line_of(mask.original_start as u32),
        end_line: lines.line_of(mask.original_end.saturating_sub(1).max(mask.original_start) as u32),
    };
    unmasked.masks.iter().zip(&unmasked.rules).filter(|(mask, _)| mask.is_secret).map(span).collect()
}
