//! What the rules weigh: fitted numbers, by name, so that a test can set each of them otherwise.

/// Declare the weights once: their fields, their defaults, and how they are reached by name.
macro_rules! weights {
    ($($(#[$doc:meta])* $name:ident: $default:expr,)*) => {
        /// What the rules weigh.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Weights { $($(#[$doc])* pub $name: f64,)* }

        impl Default for Weights {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }

        impl Weights {
            /// Each weight with its name.
            pub fn named(&self) -> Vec<(&'static str, f64)> {
                vec![$((stringify!($name), self.$name),)*]
            }

            /// Set a weight; `false` where none has this name.
            pub fn set(&mut self, name: &str, value: f64) -> bool {
                match name {
                    $(stringify!($name) => self.$name = value,)*
                    _ => return false,
                }
                true
            }
        }
    };
}

weights! {
    /// BM25F of a question.
    words: 0.8,
    /// The cosine of a question.
    meaning: 1.1,
    /// The share of a question's terms that a chunk holds.
    coverage: 0.1,
    /// What the file holds of a question's weight.
    whole_file: 0.5,
    /// The same of a change. Who asks for one tells what it touches, in many words and in passing: the file that holds most of them
    /// is meant rather than the one that is called like some.
    whole_file_of_change: 0.9,
    /// Words of a question that stand in a file's name.
    path_exact: 0.5,
    /// Words of a question that a word of a file's name begins with, or that begin with it.
    path_prefix: 0.6,
    /// Share of a file's name that a question covers.
    path_covered: 0.24,
    /// A factor of these three for a change.
    path_of_change: 0.6,
    /// The file is of the part of the project that a change is headed with.
    in_scope: 0.3,
    /// Words of a file.
    file_length: 0.08,
    /// Lines of a chunk.
    chunk_lines: 0.15,
    /// Defines a symbol that is all of the question.
    defines_symbol: 2.2,
    /// Defines a symbol that a question names.
    defines_named: 0.6,
    /// Text that stands word for word.
    verbatim: 0.5,
    /// The same where few hold as much.
    unrivalled: 1.5,
    /// The least share of the question's weight that a run must hold to count.
    least_share: 0.5,
    /// A run of so few words is told by the identifier in it.
    words_of_name: 2.0,
    /// How far such a run without one is a quotation where it is all of the question: short runs stand in many texts.
    short_run: 0.15,
    /// A text holds all of the question if it is by this share.
    whole_share: 0.97,
    /// What more files hold literally counts less for each.
    few_files: 3.0,
    /// A factor for tests and examples.
    test: 0.2,
    /// A factor for other files that a question is seldom about: what hands on what others hold, declarations, what a program
    /// wrote, text for people, settings, markup, tables.
    secondary: 0.5,
    /// A factor for the active file.
    in_front: 1.15,
    /// A factor for open files.
    open: 1.05,
    /// What nearness to the active file adds to 1.
    nearby: 0.2,
    /// What relatedness to the active file adds to 1.
    related: 0.3,
    /// What the best chunk of the fullest file gains of the best score.
    coherence: 0.1,
    /// A factor for each chunk of the same file before.
    file_decay: 0.5,
}
