//! What the words of a question find in paths, in the lines of a chunk, and word for word in its text.
//!
//! These are signals of the ranking, computed for some hundred candidates of each question; what they are worth is decided
//! outside. Words are [split](name_words) and [stemmed](stem) the way people speak of them, which is coarser than the terms of
//! the lexical index.

mod focus;
mod message;
mod names;
mod passages;
mod paths;
mod phrase;
mod string_literals;

pub use focus::{FocusInput, best_lines};
pub use message::{Message, printed_parts};
pub use names::{name_stems, name_words, path_words, stem};
pub use passages::{Passage, PassageInput, passages};
pub use paths::{PathMatch, PathQuery};
pub use phrase::{Phrase, Quote};
