//! Texts enter with their secrets masked: whatever comes after reading never sees one.

use std::collections::HashMap;
use std::fs::File;
use std::sync::{Arc, Mutex};

use super::{Site, locked};
use crate::error::Result;
use crate::hash::xxh3_128;
use crate::read::{Source, Unmasked, read_source};
use crate::secrets::{Detector, Found, SecretOptions, masked};
use crate::types::SkipReason;

/// So many files are remembered; questions ask for the same few again and again.
const REMEMBERED: usize = 2_048;

/// What is known of a file's content under a path.
type Known = std::result::Result<Arc<Vec<Found>>, SkipReason>;

/// Masks texts, and remembers where secrets were in those that questions ask for.
pub(super) struct Masker {
    detector: Detector,
    known: Mutex<HashMap<(u128, String), Known>>,
}

impl Masker {
    pub fn new(options: &SecretOptions) -> Result<Self> {
        Ok(Self { detector: Detector::new(options)?, known: Mutex::default() })
    }

    fn look(&self, path: &str, text: &str) -> Known {
        let found = self.detector.find(path, text);
        match self.detector.whole(path, text, found.len()) {
            Some(reason) => Err(reason),
            None => Ok(Arc::new(found)),
        }
    }

    /// As [`Masker::look`], once for each content of a file.
    fn look_once(&self, path: &str, source: &Source) -> Known {
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
}

impl Site {
    /// Read a file that questions ask for again and again, and mask its secrets.
    pub(crate) fn read_again(&self, file: File, path: &str) -> std::result::Result<Source, SkipReason> {
        let source = read_source(file, self.config.walk.max_file_bytes)?;
        let found = self.masker.look_once(path, &source)?;
        Ok(with_masks(source, &found))
    }

    /// Mask the secrets of a text that was read.
    pub(super) fn mask(&self, path: &str, source: Source) -> std::result::Result<Source, SkipReason> {
        let found = self.masker.look(path, &source.text)?;
        Ok(with_masks(source, &found))
    }

    /// Names the rules by which texts are masked.
    pub(super) fn masks_by(&self) -> String {
        self.masker.detector.version()
    }
}

/// The hash of a masked text is that of what is left: it is another one when the rules change, and says nothing of a secret.
fn with_masks(source: Source, found: &[Found]) -> Source {
    if found.is_empty() {
        return source;
    }
    let (text, masks) = masked(&source.text, found);
    Source { hash: xxh3_128(text.as_bytes()), unmasked: Some(Arc::new(Unmasked { text: source.text, masks })), text, ..source }
}
