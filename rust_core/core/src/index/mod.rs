//! From text to what is stored: secrets found, syntax parsed, chunks cut and compared, vectors made, live segments kept.

pub mod cut;
pub mod diff;
pub mod embed;
pub mod generated_code;
pub mod parse;
pub mod secrets;
pub mod segment_set;
