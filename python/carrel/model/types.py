"""The values that layers hand to each other, what was done to answer a query among them. Plain data: no I/O, no wire format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from carrel.model.bounds import Days

SourceName = Literal["code", "docs"]
Format = Literal["xml", "source", "tool", "places"]
Trigger = Literal["chat", "explicit"]


class Span(Struct, frozen=True):
    """Lines, 1-based and inclusive; characters are 0-based UTF-16 offsets in the first and after the last line."""

    start_line: int
    end_line: int
    start_character: int = 0
    end_character: int = 0

    def overlaps(self, other: Span) -> bool:
        return self.start_line <= other.end_line and other.start_line <= self.end_line


class Origin(Struct, frozen=True):
    """Which source a chunk is from, where it isn't the workspace's code; `note` is what a reader must know of its document.

    `uri` is empty for what lies in the workspace. What isn't `local` can't be opened on this machine.
    """

    source: str
    uri: str = ""
    note: str = ""
    version: str = ""
    local: bool = True


class Chunk(Struct, frozen=True, kw_only=True):
    """One piece of a file, with its text as it stood when it was checked."""

    id: str
    path: str
    language: str = ""
    source: SourceName = "code"
    kind: str = ""
    symbol: str = ""
    container: str = ""
    signature: str = ""
    definitions: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    span: Span
    text: str
    content_hash: str = ""
    updated_at: int = 0  # Unix seconds
    masked: int = 0  # secrets in its text that were masked
    origin: Origin | None = None
    folder: str = ""  # the name of its workspace folder in an answer of several: `path` begins with it then

    @property
    def path_in_folder(self) -> str:
        """The path relative to its workspace folder."""
        return self.path.removeprefix(f"{self.folder}/") if self.folder else self.path

    @property
    def is_of_source(self) -> bool:
        """Whether it lies in a source beside the workspace."""
        return bool(self.origin and self.origin.uri)

    @property
    def note(self) -> str:
        """What a reader must know of the document that it is from: version, date, that it is outdated."""
        return self.origin.note if self.origin else ""


def masks_in(text: str) -> int:
    """Count what stands in a text in place of secrets; a text that only speaks of such marks has some too."""
    return text.count("[secret: ")


class Signals(Struct, frozen=True):
    """How each stage saw a hit; None where a stage did not."""

    dense: float | None = None  # cosine, -1..1
    dense_rank: int | None = None  # 1-based
    lexical: float | None = None  # BM25F, unbounded
    lexical_rank: int | None = None
    fused: float = 0.0  # sum of 1 / (60 + rank), then boosts
    rerank: float | None = None
    matched: tuple[str, ...] = ()
    boosts: tuple[tuple[str, float], ...] = ()  # (rule, factor)
    contributions: tuple[tuple[str, float], ...] = ()  # (rule, its signed share of the hit's score)


class Hit(Struct, frozen=True):
    """A chunk that answers a query. `score` is relevance from 0 to 1, comparable across queries (protocol.md).

    `focus` are the lines to read first, 1-based and inclusive; None for all of them. `attached` says that the person selected
    or attached these lines: they were not found.
    """

    chunk: Chunk
    score: float
    signals: Signals
    focus: tuple[int, int] | None = None
    attached: bool = False


CHUNK_FIELDS = ("container", "kind", "language", "path", "source", "symbol")
"""What is recorded of every chunk and can be compared by `Filters.metadata`."""


class Filters(Struct, frozen=True):
    """Which chunks may answer; everything given must hold.

    `metadata` compares what is recorded of a chunk exactly, with a value or with several of which one must be equal (in an
    empty list nothing is):
    `{"language": "python", "kind": ["class", "method"]}`. Its fields are `CHUNK_FIELDS`; any other key is compared with the
    metadata that the file was added with, whose numbers and booleans are written `7`, `0.5`, `true`.
    """

    sources: tuple[SourceName, ...] = ()
    path_globs: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    symbol: str | None = None
    min_score: float | None = None
    max_age_days: Days | None = None
    metadata: Mapping[str, str | Sequence[str]] = field(default_factory=dict)


LONGEST_QUERY = 16_000
"""Characters of a query that are searched for: more make no better question, and each costs time (0.3 s at this length)."""


def both_ends(text: str, longest: int) -> str:
    """Return a text of at most `longest` characters: of a longer one its beginning and its end."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[: half - 1]}\n{text[-half:]}"


class Lines(Struct, frozen=True):
    """Lines of a file, 1-based and inclusive."""

    path: str
    start_line: int
    end_line: int


class Query(Struct, frozen=True):
    """What is searched for. `limit` counts hits after merging; nothing of `left_out` may be in an answer."""

    text: str
    limit: int = 10
    filters: Filters = field(default_factory=Filters)
    active_path: str | None = None
    open_paths: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()
    left_out: tuple[Lines, ...] = ()
    selection: Lines | None = None  # what is selected in the file in front
    documents: bool = False  # what is searched is written for people: that its path says so is no reason against a hit
    here: tuple[str, ...] = ()  # of several folders: how paths that a text names begin where they lie in the searched one,
    elsewhere: tuple[str, ...] = ()  # and where they lie in another

    def leaves_out(self, path: str, start_line: int, end_line: int) -> bool:
        """Return whether some of these lines were left out by whoever asks."""
        return any(
            lines.path == path and start_line <= lines.end_line and lines.start_line <= end_line for lines in self.left_out
        )

    @property
    def searched_text(self) -> str:
        """The text, of a longer one than `LONGEST_QUERY` both ends: a question stands before or after what was pasted."""
        return both_ends(self.text, LONGEST_QUERY)

    def about(self, text: str, limit: int) -> Query:
        """Return the same query for another text: filters and what is in front stay."""
        return replace(self, text=text, limit=limit)


class Budget(Struct, frozen=True):
    """At most `amount` tokens of `tokenizer`, or characters. Everything counts: text, tags, separators."""

    amount: int = 4_000
    unit: Literal["tokens", "chars"] = "chars"


class Dropped(Struct, frozen=True):
    path: str
    start_line: int
    end_line: int
    reason: str


class ContextItem(Struct, frozen=True):
    """A stretch of one file as it stands in the pack; `elided` says that some of its lines were replaced by marks.

    `shown` are the runs of lines that are there, each with its first and last line; None for all of the chunk's.
    """

    hit: Hit
    text: str
    elided: bool = False
    shown: tuple[tuple[int, int], ...] | None = None

    @property
    def runs(self) -> tuple[tuple[int, int], ...]:
        """The runs of lines that are there."""
        span = self.hit.chunk.span
        return ((span.start_line, span.end_line),) if self.shown is None else self.shown

    @property
    def masked(self) -> int:
        """How many secrets were masked in what is shown."""
        return min(self.hit.chunk.masked, masks_in(self.text))


class ContextPack(Struct, frozen=True):
    id: str
    text: str
    format: Format
    tokens: int
    budget: Budget
    tokenizer: str
    items: tuple[ContextItem, ...]
    dropped: tuple[Dropped, ...]
    query: str
    problem: str | None = None  # why it is empty, or worse than it should be: for a person


class CandidateCounts(Struct, frozen=True):
    """Count the candidates of each search; one may be found by several."""

    dense: int = 0
    lexical: int = 0
    definitions: int = 0


class RetrievalDiagnostics(Struct, frozen=True):
    """Say how a query was read, how much was found for it, and what models had to do with it."""

    embedder: str
    words: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    is_symbol: bool = False
    is_issue: bool = False
    candidates: CandidateCounts = CandidateCounts()
    problem: str | None = None  # why the answer is worse than it should be, such as by words alone
    rewritten: str | None = None  # what was searched for in place of the question
    sub_queries: tuple[str, ...] = ()  # what a planner divided it into
    imagined: bool = False  # whether a planner's hypothetical answer stood in for its meaning
    reranker: str | None = None  # the id of the one that judged the hits
    holding: int | None = None  # how many chunks of the index hold the word, where one word is all that was asked for
