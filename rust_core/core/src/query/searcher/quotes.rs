//! Which candidates quote the question: read from their files, and only from those of candidates that hold most of its words.

use std::collections::{HashMap, HashSet};

use super::Searcher;
use crate::base::cancel::CancelToken;
use crate::base::error::Result;
use crate::base::words::Splitter;
use crate::query::lexical::Terms;
use crate::query::matching::{Message, Phrase, Quote};
use crate::query::ranking::{PathKind, Signals};
use crate::query::results::Doc;

/// So many candidates are read at most …
const MOST_READ: usize = 40;
/// … and so many where all of them hold as much as the fullest one: a message of common words has many such.
const MOST_OF_EQUALS: usize = 100;
/// Sums of the same weights in another order differ by less.
const AS_MUCH: f32 = 1e-4;
/// A candidate is read that holds this share of the question's weight …
const LEAST_HELD: f32 = 0.5;
/// … and this share of what the fullest one holds.
const OF_THE_BEST: f32 = 0.7;

/// What texts are asked for word for word.
pub(super) struct Quoted<'a> {
    pub text: &'a str,
    /// Its words but those of speech.
    pub terms: &'a Terms<'a>,
    /// How far chunks hold all its words, as far as that was looked for.
    pub covering: HashMap<Doc, f32>,
    /// Chunks that may write the message, and are read however little of the text's weight they hold.
    pub writing: HashSet<Doc>,
}

impl Searcher {
    /// Set what each candidate holds of the quoted text word for word. Words weigh what they do in its terms. Candidates that hold
    /// few of these keep none. `texts_of` reads the texts of some chunks; those that it has no text for keep none either.
    pub(super) fn find_quotes(
        quoted: &Quoted<'_>,
        candidates: &mut [Signals],
        texts_of: impl FnOnce(&[Doc]) -> Vec<Option<String>>,
        cancel: &CancelToken,
    ) -> Result<()> {
        let whole: f32 = quoted.terms.weights().map(|(_, weight)| weight).sum();
        let weights: HashMap<&str, f32> = quoted.terms.weights().collect();
        let mut splitter = Splitter::new();
        let phrase = Phrase::new(quoted.text, |word| {
            let mut weight = 0.0;
            splitter.split(word, &mut |term, _| weight += weights.get(term).copied().unwrap_or(0.0));
            weight
        });
        if phrase.is_empty() {
            return Ok(());
        }
        cancel.check()?;
        let weight_of = |term: &String| weights.get(term.as_str()).copied().unwrap_or(0.0);
        let held = |candidate: &Signals| candidate.matched.iter().map(weight_of).sum::<f32>() / whole.max(f32::MIN_POSITIVE);
        let mut fullest: Vec<(usize, f32)> = candidates.iter().enumerate().map(|(i, candidate)| (i, held(candidate))).collect();
        let most = fullest.iter().map(|(_, held)| *held).fold(0.0, f32::max);
        fullest.retain(|(_, held)| *held >= LEAST_HELD.max(OF_THE_BEST * most));
        let covering = |i: usize| quoted.covering.get(&candidates[i].doc).copied().unwrap_or(0.0);
        // By what is in them, so that the choice doesn't depend on how segments lie.
        fullest.sort_by(|(a, of_a), (b, of_b)| {
            let place = |i: usize| (&candidates[i].path, candidates[i].start_line);
            let lexical = |i: usize| candidates[i].lexical;
            of_b.total_cmp(of_a)
                .then_with(|| covering(*b).total_cmp(&covering(*a)))
                .then_with(|| lexical(*b).total_cmp(&lexical(*a)))
                .then_with(|| place(*a).cmp(&place(*b)))
        });
        let equals = fullest.iter().take_while(|(_, held)| *held >= most - AS_MUCH).count();
        fullest.truncate(equals.clamp(MOST_READ, MOST_OF_EQUALS));
        let known: HashSet<usize> = fullest.iter().map(|(i, _)| *i).collect();
        let writing = (0..candidates.len()).filter(|i| quoted.writing.contains(&candidates[*i].doc) && !known.contains(i));
        fullest.extend(writing.map(|i| (i, 0.0)));
        let docs: Vec<_> = fullest.iter().map(|(i, _)| candidates[*i].doc).collect();
        let texts: Vec<(usize, String)> =
            fullest.iter().zip(texts_of(&docs)).filter_map(|((i, _), text)| Some((*i, text?))).collect();
        let read = |(_, text): &(usize, String)| -> Result<(Quote, Message)> {
            cancel.check()?;
            Ok((phrase.find(text), phrase.message(text)))
        };
        let found: Vec<(Quote, Message)> = texts.iter().map(read).collect::<Result<_>>()?;
        let most_held = found.iter().map(|(_, message)| message.held).fold(f32::MIN_POSITIVE, f32::max);
        for ((i, _), (quote, message)) in texts.iter().zip(found) {
            let candidate = &mut candidates[*i];
            candidate.verbatim = quote.share.into();
            candidate.verbatim_words = quote.words;
            // Code has many lines of one word.
            let is_title = quote.alone && (quote.words > 1 || candidate.kinds().contains(&PathKind::Prose));
            candidate.verbatim_name = quote.identifier || is_title;
            // What says less of the question than another message is a part of that, or another one that is like it.
            let share = message.share * message.held / most_held;
            if share > quote.share {
                candidate.verbatim = share.into();
                candidate.verbatim_words = message.words;
                candidate.verbatim_name = false;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::base::error::Error;
    use crate::base::file_state::Stamp;
    use crate::base::language::Language;
    use crate::base::types::{Chunk, ChunkKind, Span};
    use crate::formats::segment::{FileEntry, Segment, SegmentBuilder};
    use crate::index::segment_set::LiveSegment;

    fn searcher(text: &str) -> Searcher {
        let chunk = Chunk {
            id: 1,
            span: Span { start_byte: 0, end_byte: text.len() as u32, start_line: 1, end_line: 1 },
            kind: ChunkKind::Text,
            symbol: String::new(),
            container: String::new(),
            signature: String::new(),
            definitions: Vec::new(),
        };
        let file =
            FileEntry { path: "a.py", language: Language::PYTHON, hash: 0, size: 0, mtime_ns: 0, updated_at: 0, imports: &[] };
        let mut builder = SegmentBuilder::new(0);
        builder.add_file(&file, &[chunk], text, &[]);
        let segment = Arc::new(Segment::from_bytes(&builder.finish()).unwrap());
        Searcher::new(vec![LiveSegment::new(1, segment, vec![Stamp::default()], None)])
    }

    #[test]
    fn a_cancel_ends_the_reading_of_texts() {
        let text = "the basket of the customer is empty";
        let searcher = searcher(text);
        let terms = searcher.terms(text);
        let matched = terms.weights().map(|(term, _)| term.to_owned()).collect();
        let mut candidates = [Signals { matched, ..Signals::default() }];
        let quoted = Quoted { text, terms: &terms, covering: HashMap::new(), writing: HashSet::new() };
        for cancels in [false, true] {
            let token = CancelToken::new();
            let texts_of = |docs: &[Doc]| {
                if cancels {
                    token.cancel();
                }
                vec![Some(text.to_owned()); docs.len()]
            };
            let ended = Searcher::find_quotes(&quoted, &mut candidates, texts_of, &token);
            assert_eq!(matches!(ended, Err(Error::Cancelled)), cancels);
        }
        assert!(candidates[0].verbatim > 0.99, "the first time nothing was cancelled");
    }
}
