//! From a question to ranked chunks. Reads live segments only, never a file.

pub mod dense;
pub mod filter;
pub mod lexical;
pub mod matching;
pub mod parsed_query;
pub mod ranking;
pub mod results;
pub mod searcher;
pub mod top_k;
pub mod view;
