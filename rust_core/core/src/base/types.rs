//! The values that the modules of the core hand to each other.

use std::collections::BTreeMap;
use std::fmt;

use crate::base::system_fault::SystemFault;

/// What a chunk is. The discriminants are stored on disk: append, never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ChunkKind {
    /// A function outside any class (arrow functions and function expressions bound at top level too).
    Function = 0,
    /// A function inside a class, trait, interface, impl, object or module-like type.
    Method = 1,
    /// A whole type definition short enough to be one chunk.
    Class = 2,
    /// Signature and fields of a longer type; its methods are chunks of their own. Symbol: `Name (header)`.
    ClassHeader = 3,
    /// Any other top-level code: constants, statements, imports, macros, schema objects.
    Declaration = 4,
    /// A Markdown or HTML section, or a table of a configuration file.
    Section = 5,
    /// A block of prose without titles. Symbol: `TEXT_BLOCK`.
    Text = 6,
    /// A notebook cell.
    Cell = 7,
    /// A window of lines of a file that has no grammar.
    Lines = 8,
}

impl ChunkKind {
    /// As the protocol shows it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Method => "method",
            Self::Class => "class",
            Self::ClassHeader => "class header",
            Self::Declaration => "declaration",
            Self::Section => "section",
            Self::Text => "text",
            Self::Cell => "cell",
            Self::Lines => "lines",
        }
    }
}

/// A half-open byte range of the decoded text with the 1-based inclusive lines that it touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte in the decoded (UTF-8) text.
    pub start_byte: u32,
    /// One past the last byte.
    pub end_byte: u32,
    /// First line, 1-based.
    pub start_line: u32,
    /// Last line, 1-based, inclusive.
    pub end_line: u32,
}

/// One piece of a file: the unit that is embedded, ranked and shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// `xxh3_128` over path, kind, symbol, container, signature, text and the occurrence number among equals: the same function
    /// keeps its id when it moves within its file, and two equal ones never share an id. Equal ids mean equal embedding input.
    pub id: u128,
    /// Where it stands.
    pub span: Span,
    /// What it is.
    pub kind: ChunkKind,
    /// `Class.method`, `function`, `Class (header)`, a heading path such as `Install > Linux`, `TEXT_BLOCK`, or empty.
    pub symbol: String,
    /// Enclosing types or headings, outermost first, joined by `.`; empty at top level.
    pub container: String,
    /// Declaration without the body, one line, at most 200 characters; empty where there is none.
    pub signature: String,
    /// Names that this chunk defines, as written (`authenticateUser`), without their container.
    pub definitions: Vec<String>,
}

/// What cutting one file gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CutFile {
    /// Chunks in the order of the text. Spans don't overlap, except for the configured overlap of line chunks.
    pub chunks: Vec<Chunk>,
    /// What the file imports, as written (`os.path`, `./util`, `java.util.List`), without duplicates, in order.
    pub imports: Vec<String>,
    /// Pieces that were left out: too small for a chunk of their own, and without a neighbour to join.
    pub trivial: usize,
    /// Why a coarser way of cutting was used (`"syntax tree deeper than …"`, `"parsing took longer than …"`); `None` normally.
    pub fallback: Option<String>,
}

/// Why a path is not in the index, or not read. `code` is what the protocol shows; the texts are for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum SkipReason {
    /// A `.gitignore`, `.ignore`, `.carrelignore` or `.git/info/exclude` rule, or an `exclude` setting.
    Ignored = 0,
    /// Inside a folder that is left out by default (`node_modules`, `target`, …).
    ExcludedFolder = 1,
    /// Larger than the size limit (500 KB by default).
    TooLarge = 2,
    /// NUL bytes or undecodable bytes.
    Binary = 3,
    /// Minified or generated in one line: no person reads it.
    Minified = 4,
    /// Text of no known language, and hardly a word in it: numbers or encoded bytes.
    NoWords = 5,
    /// Looks like it holds keys or passwords (`.env`, `id_rsa`, `*.pem`, …): never read.
    Secret = 6,
    /// A symbolic link that leaves the workspace.
    LinkOutside = 7,
    /// Not inside the workspace at all.
    Outside = 8,
    /// The system refused to read it.
    Unreadable = 9,
    /// Nothing in it.
    Empty = 10,
    /// Gone while it was being read.
    Gone = 11,
    /// A symbolic link to something inside the workspace, which is found by its own path.
    Link = 12,
    /// Inside a folder whose name begins with a dot, other than those that hold code and configuration (`.github`, …).
    HiddenFolder = 13,
    /// The key of a service account of a cloud, told by what is in the file.
    ServiceAccountKey = 14,
    /// A file that begins with a private key.
    PrivateKey = 15,
    /// Clusters of Kubernetes with what opens them.
    Kubeconfig = 16,
    /// Maven's settings with passwords of servers.
    MavenSettings = 17,
    /// Variables of Postman, which hold what requests are signed with.
    PostmanEnvironment = 18,
    /// Cookies of a browser or of curl.
    Cookies = 19,
    /// A file whose name says that it may hold secrets, and that holds some.
    SecretsInside = 20,
    /// The machine failed over it. It stays in the index as it was, and the next run tries it again.
    Fault(SystemFault) = 21,
}

impl From<&std::io::Error> for SkipReason {
    /// Why a path that can't be opened, listed or read is left out.
    fn from(error: &std::io::Error) -> Self {
        match (SystemFault::of(error), error.kind()) {
            (Some(fault), _) => Self::Fault(fault),
            (None, std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => Self::Gone,
            (None, _) => Self::Unreadable,
        }
    }
}

impl fmt::Display for SkipReason {
    /// The code, and of a fault what the system says.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(fault) => write!(f, "{}: {fault}", self.code()),
            _ => f.write_str(self.code()),
        }
    }
}

impl SkipReason {
    /// Every reason that is kept in an index, in the order of the discriminants.
    pub const ALL: [Self; 21] = [
        Self::Ignored,
        Self::ExcludedFolder,
        Self::TooLarge,
        Self::Binary,
        Self::Minified,
        Self::NoWords,
        Self::Secret,
        Self::LinkOutside,
        Self::Outside,
        Self::Unreadable,
        Self::Empty,
        Self::Gone,
        Self::Link,
        Self::HiddenFolder,
        Self::ServiceAccountKey,
        Self::PrivateKey,
        Self::Kubeconfig,
        Self::MavenSettings,
        Self::PostmanEnvironment,
        Self::Cookies,
        Self::SecretsInside,
    ];

    /// The reason of a stored [`SkipReason::code`].
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.code() == code)
    }

    /// A stable word for the protocol and for logs.
    pub fn code(self) -> &'static str {
        match self {
            Self::Ignored => "ignored",
            Self::ExcludedFolder => "excluded folder",
            Self::TooLarge => "too large",
            Self::Binary => "binary",
            Self::Minified => "minified",
            Self::NoWords => "no words",
            Self::Secret => "secret",
            Self::LinkOutside => "link outside the workspace",
            Self::Outside => "outside the workspace",
            Self::Unreadable => "unreadable",
            Self::Empty => "empty",
            Self::Gone => "gone",
            Self::Link => "link",
            Self::HiddenFolder => "hidden folder",
            Self::ServiceAccountKey => "secret: service account key",
            Self::PrivateKey => "secret: private key",
            Self::Kubeconfig => "secret: kubeconfig",
            Self::MavenSettings => "secret: Maven settings with passwords",
            Self::PostmanEnvironment => "secret: Postman environment",
            Self::Cookies => "secret: cookies",
            Self::SecretsInside => "secret: passwords or keys inside",
            Self::Fault(_) => "read failed",
        }
    }
}

/// A path that was left out, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Relative to the workspace root, `/`-separated.
    pub path: String,
    /// Why.
    pub reason: SkipReason,
}

/// What an embedder may read of a chunk. Fields are apart so that a model can weigh them.
#[derive(Clone, Copy, Debug)]
pub struct EmbedInput<'a> {
    /// Relative path, `/`-separated.
    pub path: &'a str,
    /// The chunk's kind.
    pub kind: ChunkKind,
    /// The chunk's symbol.
    pub symbol: &'a str,
    /// The chunk's container.
    pub container: &'a str,
    /// The chunk's signature.
    pub signature: &'a str,
    /// The chunk's text.
    pub body: &'a str,
}

/// A value of a file's metadata.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// A text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Float(f64),
    /// Yes or no.
    Bool(bool),
}

impl fmt::Display for Scalar {
    /// As a filter compares it: `docs`, `7`, `0.5`, `true`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Integer(number) => number.fmt(f),
            Self::Float(number) => number.fmt(f),
            Self::Bool(value) => value.fmt(f),
        }
    }
}

/// What the source of a file says of it; files of a workspace have nothing of this.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileProperties {
    /// Which version of the document this is.
    pub version: Option<String>,
    /// Values by keys of the source's own.
    pub metadata: BTreeMap<String, Scalar>,
}

impl FileProperties {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.version.is_none() && self.metadata.is_empty()
    }
}

/// Where a secret was masked, by 1-based inclusive lines. Its value is kept nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretSpan {
    /// The rule that found it, such as `aws-access-token`.
    pub kind: String,
    /// First line.
    pub start_line: u32,
    /// Last line.
    pub end_line: u32,
}
