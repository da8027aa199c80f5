"""The Rust core. Only `carrel.model.native` imports this module; everything is frozen, thread-safe and releases the GIL.

Paths of files are relative to the workspace root, `/`-separated. Lines are 1-based and inclusive. Vectors cross as the
bytes of little-endian float32, `dim` values a text, L2-normalised. Every call that takes a `CancelToken` raises
`Cancelled` within a few milliseconds of `cancel()`. Errors are those of `carrel.model.errors`: `Cancelled`, `InvalidInput`,
`StoreError` (disk full, read-only, damaged), `NewerFormat`, `NotWriter`.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal, final

__all__ = [
    "FORMAT_VERSION",
    "Batch",
    "CancelToken",
    "Candidate",
    "ChunkInfo",
    "Commit",
    "CurrentChunk",
    "CutOptions",
    "EditorContext",
    "Embedder",
    "Filter",
    "ParsedQuery",
    "Plan",
    "RankingContext",
    "ReadFiles",
    "ScoredDoc",
    "SecretOptions",
    "Snapshot",
    "Store",
    "WalkOptions",
    "Watch",
    "__version__",
    "best_lines",
    "check_languages",
    "contributions",
    "count_tokens",
    "cut_text",
    "detect_language",
    "give_back_memory",
    "languages",
    "list_secrets",
    "mask_secrets",
    "passages",
    "path_kinds",
    "rank",
    "ranking_weights",
    "register_grammar",
    "registrable_grammars",
    "score",
    "simd_kernel",
    "split_names",
    "stem",
    "trim_tokens",
]

__version__: str
FORMAT_VERSION: int

@final
class CancelToken:
    def __new__(cls) -> CancelToken: ...
    def cancel(self) -> None: ...
    @property
    def cancelled(self) -> bool: ...

@final
class WalkOptions:
    def __new__(
        cls,
        *,
        max_file_bytes: int = 500_000,
        exclude: Sequence[str] = ...,
        excluded_folders: Sequence[str] | None = None,
        kept_folders: Sequence[str] = ...,
    ) -> WalkOptions: ...

@final
class SecretOptions:
    """What counts as a secret beside the rules. Raises `InvalidInput` for a pattern or glob that is none."""

    def __new__(
        cls,
        *,
        patterns: Sequence[str] = ...,
        allow_paths: Sequence[str] = ...,
        allow_rules: Sequence[str] = ...,
    ) -> SecretOptions: ...

@final
class CutOptions:
    def __new__(
        cls,
        *,
        min_chars: int = 50,
        max_chars: int = 8_000,
        class_lines: int = 30,
        text_chars: int = 2_000,
        line_chunk: tuple[int, int] = ...,
        always_lines: tuple[int, int] | None = None,
    ) -> CutOptions: ...

@final
class Embedder:
    """An embedding model that runs inside the core."""

    @staticmethod
    def hashed() -> Embedder: ...
    @staticmethod
    def static_model(path: str) -> Embedder:
        """Read a trained model file (training/FORMAT.md). Raises `StoreError` for a file that is missing or damaged."""
    @property
    def id(self) -> str: ...
    @property
    def dim(self) -> int: ...
    @property
    def floor(self) -> float: ...
    def embed_query(self, text: str) -> bytes: ...

@final
class Plan:
    """The difference between the workspace and the index, as found by `Store.scan` or `Store.check`."""

    @property
    def added(self) -> int: ...
    @property
    def changed(self) -> int: ...
    @property
    def removed(self) -> int: ...
    @property
    def unchanged(self) -> int: ...
    @property
    def skipped(self) -> int: ...
    @property
    def pending(self) -> int:
        """Files that `cut` has not taken yet."""
    def keep_moved(self) -> None:
        """Let files that were only moved to another folder keep their vectors, although these were made with the old one."""

@final
class Batch:
    """Files that were read and cut, with the chunks that need a vector."""

    @property
    def files(self) -> int: ...
    def embed(self, embedder: Embedder, cancel: CancelToken) -> None: ...
    def texts(self) -> list[str]:
        """What a remote model embeds for each added chunk: a line that describes it, then the body."""
    def text_paths(self) -> list[str]:
        """The file of each of `texts`, in the same order."""
    def set_vectors(self, vectors: bytes) -> None: ...
    def lack_vectors(self, first: int, count: int, reason: str) -> None:
        """Have so many of `texts`, from the first on, stored without the vector that was set: words find them, and the next run
        embeds them."""
    def fail(self, paths: Sequence[str], reason: str) -> None:
        """Leave these files as they were; the next run tries them again."""
    def paths(self) -> list[str]: ...
    def set_properties(self, path: str, *, metadata: Mapping[str, str | float | bool] = ..., version: str | None = None) -> None:
        """Keep what the source of one of its files says of it. Without this a file keeps what was said before: its version as long as
        its content is the same."""

@final
class Commit:
    @property
    def added(self) -> int: ...
    @property
    def changed(self) -> int: ...
    @property
    def removed(self) -> int: ...
    @property
    def unchanged(self) -> int:
        """Touched but with the same content."""
    @property
    def skipped(self) -> int:
        """Found unusable only on reading (binary, minified …)."""
    @property
    def failed(self) -> int:
        """Files that failed, or of which chunks lack their vector."""
    @property
    def chunks(self) -> int:
        """Chunks that were embedded by this commit."""
    @property
    def trivial(self) -> int:
        """Pieces of the added and changed files that were too small to become chunks."""
    @property
    def generation(self) -> int: ...

@final
class Filter:
    def __new__(
        cls,
        *,
        path_globs: Sequence[str] = ...,
        exclude_globs: Sequence[str] = ...,
        languages: Sequence[str] = ...,
        symbol: str | None = None,
        sources: Sequence[str] = ...,
        updated_after: int | None = None,
        metadata: Mapping[str, Sequence[str]] = ...,
    ) -> Filter:
        """`metadata` compares container, kind, language, path, source and symbol, and any other key with the file's own metadata, whose
        numbers and booleans are written `7`, `0.5`, `true`. A key that a file lacks matches nothing."""

@final
class ScoredDoc:
    """A chunk with the score that one search gave it; `doc` is only valid for the snapshot that gave it."""

    @property
    def doc(self) -> int: ...
    @property
    def score(self) -> float: ...

@final
class Candidate:
    """A candidate: what is known of a chunk as an answer to a question, and what the stages of the ranking made of it.

    Shares are from 0 to 1. What the ranking makes of it is 0 or empty until `rank` or `score` gave it back.
    """

    def __new__(
        cls,
        doc: int,
        path: str,
        start_line: int = 1,
        end_line: int = 1,
        *,
        id: str = ...,
        symbol: str = ...,
        callable: bool = False,
        generated: bool = False,
        prose: bool = False,
        dense: float = 0.0,
        dense_rank: int | None = None,
        lexical: float = 0.0,
        lexical_rank: int | None = None,
        matched: Sequence[str] = ...,
        covered: float = 0.0,
        file_share: float = 0.0,
        file_words: int = 0,
        defines: float = 0.0,
        verbatim: float = 0.0,
        verbatim_words: int = 0,
        verbatim_name: bool = False,
        rare_name: bool = False,
        relatedness: float = 0.0,
    ) -> Candidate: ...
    @property
    def doc(self) -> int: ...
    @property
    def id(self) -> str:
        """The chunk's id: 32 hexadecimal digits."""
    @property
    def path(self) -> str: ...
    @property
    def symbol(self) -> str: ...
    @property
    def callable(self) -> bool:
        """It is a function or method."""
    @property
    def kinds(self) -> list[str]:
        """Return the kinds of files of `path_kinds` that its file is of, by its path and its text."""
    @property
    def start_line(self) -> int: ...
    @property
    def end_line(self) -> int: ...
    @property
    def dense(self) -> float:
        """Cosine of its vector and the question's; 0 without one."""
    @property
    def dense_rank(self) -> int | None:
        """Its place in the dense search, from 1; None where that didn't find it."""
    @property
    def lexical(self) -> float:
        """Share of the question's weight that the chunk holds."""
    @property
    def lexical_rank(self) -> int | None: ...
    @property
    def matched(self) -> list[str]:
        """The question's terms that it holds in any field, rarest first."""
    @property
    def covered(self) -> float:
        """Share of the question's terms that it holds."""
    @property
    def file_share(self) -> float:
        """Share of the question's weight that its file holds as a whole."""
    @property
    def file_words(self) -> int:
        """Words in its file, roughly."""
    @property
    def defines(self) -> float:
        """1 where it defines a symbol that the question names exactly, less for another case or form, 0 for none."""
    @property
    def relatedness(self) -> float:
        """How closely its file is tied to the active one by names."""
    @property
    def verbatim(self) -> float:
        """Share of the question's weight that the longest run of its words holds which stands in the text word for word.

        Or of a message that the text writes with placeholders, its values left out, where that is more.
        """
    @property
    def verbatim_words(self) -> int:
        """Words in that run or message."""
    @property
    def literal(self) -> float:
        """How far that makes it what was asked for."""
    @property
    def fused(self) -> float:
        """Reciprocal rank fusion of both searches."""
    @property
    def score(self) -> float:
        """Higher is better; only comparable within a question."""
    @property
    def own_score(self) -> float:
        """What the evidence for it amounts to, whatever else is in the list."""
    @property
    def boosts(self) -> list[tuple[str, float]]:
        """All that rules added or multiplied by, to four places."""

@final
class ParsedQuery:
    """A text that is searched for, taken apart, with what models say to it.

    `search_text` is what is searched for by words, `quoted` what a text may hold word for word (empty to read no text), `words` its
    telling words, stemmed, `names` the symbols that it names, `scope` the stemmed words of the part of the project that it is headed
    with, `plain` all its words in lower case. `is_symbol`: it is nothing but a symbol; `is_change`: it asks for a change. Chunks are
    compared with `vector` by meaning; or, where `scores` are given, have these cosines by chunk id, and all
    others none. Raises `InvalidInput` for an id that is none.
    """

    def __new__(
        cls,
        text: str,
        search_text: str,
        *,
        quoted: str = "",
        words: Sequence[str] = ...,
        names: Sequence[str] = ...,
        scope: Sequence[str] = ...,
        plain: AbstractSet[str] = ...,
        is_symbol: bool = False,
        is_change: bool = False,
        vector: bytes | None = None,
        scores: Sequence[tuple[str, float]] | None = None,
    ) -> ParsedQuery: ...
    @property
    def words(self) -> list[str]: ...

@final
class RankingContext:
    """A question as the rules of the ranking see it: `rarities` are those of its words, in order.

    A question that wants documents gets them unpenalised. `weights` take the place of some of `ranking_weights`; `InvalidInput` for a
    name that is none. `everywhere` is what it finds in the whole index, where the candidates are those that a filter lets through.
    """

    def __new__(
        cls,
        query: ParsedQuery,
        rarities: Sequence[float],
        *,
        wants_documents: bool = ...,
        weights: Mapping[str, float] = ...,
        everywhere: Sequence[Candidate] = ...,
    ) -> RankingContext: ...

@final
class EditorContext:
    """What the person has in front of them."""

    def __new__(
        cls,
        active_path: str | None = None,
        open_paths: AbstractSet[str] = ...,
        pinned: AbstractSet[str] = ...,
    ) -> EditorContext: ...

@final
class ChunkInfo:
    @property
    def doc(self) -> int: ...
    @property
    def id(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def language(self) -> str: ...
    @property
    def source(self) -> Literal["code", "docs"]: ...
    @property
    def kind(self) -> str: ...
    @property
    def symbol(self) -> str: ...
    @property
    def container(self) -> str: ...
    @property
    def signature(self) -> str: ...
    @property
    def definitions(self) -> list[str]: ...
    @property
    def start_line(self) -> int: ...
    @property
    def end_line(self) -> int: ...
    @property
    def content_hash(self) -> str: ...
    @property
    def updated_at(self) -> int: ...
    @property
    def version(self) -> str | None:
        """Which version of the document the file is, where its source says so."""
    @property
    def metadata(self) -> dict[str, str | int | float | bool]:
        """What the file's source says of it; empty for files of a workspace."""
    @property
    def overlay(self) -> bool:
        """From an unsaved buffer."""

@final
class CurrentChunk:
    """A chunk whose text was checked against the buffer or the disk at this moment."""

    @property
    def info(self) -> ChunkInfo: ...
    @property
    def imports(self) -> list[str]:
        """What its file imports."""
    @property
    def text(self) -> str: ...
    @property
    def start_character(self) -> int: ...
    @property
    def end_character(self) -> int: ...
    @property
    def moved(self) -> bool: ...
    @property
    def masked(self) -> int:
        """How many secrets in its text were masked."""

@final
class ReadFiles:
    """The files that were read as a whole for one question. Given to each call, it spares a second reading of what is in the same
    state; whether a file may be read is asked each time. Drop it with the question."""

    def __new__(cls) -> ReadFiles: ...
    @property
    def reads(self) -> int:
        """How many times a file was read as a whole."""

@final
class Snapshot:
    """An immutable view of one generation plus the unsaved buffers. Never waits for a writer."""

    @property
    def generation(self) -> int: ...
    @property
    def files(self) -> int: ...
    @property
    def chunks(self) -> int: ...
    @property
    def chunks_without_vectors(self) -> int:
        """How many chunks words alone find: their vectors are of another model, or the model failed to give them."""
    def languages(self) -> dict[str, int]: ...
    def dense(self, vector: bytes, k: int, floor: float, filter: Filter | None, cancel: CancelToken) -> list[ScoredDoc]: ...
    def find(
        self,
        queries: Sequence[ParsedQuery],
        *,
        pool: int,
        floor: float,
        filter: Filter | None,
        pinned: tuple[Filter, int] | None,
        active_path: str | None,
        cancel: CancelToken,
        files: ReadFiles | None = None,
    ) -> list[tuple[list[Candidate], list[float]]]:
        """For each question what all searches find, in no order yet, and how rare each of its words is.

        Each search gives its `pool` best: by meaning (from the cosine `floor` on), by words (BM25F), and by names of definitions; what
        holds nearly all of the words comes too. `pinned` are files of which so many chunks are candidates in any case. A rarity is the
        natural logarithm of about (chunks / chunks that hold the word).
        """
    def evidence(self, query: ParsedQuery, docs: Sequence[int]) -> list[Candidate]:
        """What is known of each doc by its vector and words, in order, whichever search finds it; texts are not read."""
    def exact_definitions(self, names: Sequence[str], k: int) -> list[list[tuple[int, str]]]:
        """For each name the chunks that define exactly it, at most `k`, as (doc, path)."""
    def files_called(self, names: Sequence[str], filter: Filter | None) -> list[str]:
        """Return the paths of the files with one of these names, in any folder, that pass the filter; sorted."""
    def holding(self, word: str) -> int:
        """Return how many chunks hold a word, in any of its forms."""
    def near_names(self, name: str, most: int) -> list[str]:
        """Defined names that differ from a name of 5 letters or more by one letter, those with the most definitions first; none
        where the name is defined or some text has it."""
    def outline(self, files: int, names: int, filter: Filter | None) -> list[tuple[str, int, float, list[tuple[str, int]]]]:
        """At most so many files that pass the filter and may be read, those first whose definitions others use, each as (path,
        chunks, weight, names): names that it defines, with the number of other files that hold each."""
    def resolve(self, ids: Sequence[str]) -> list[int | None]:
        """The doc of each chunk id, None for one that isn't in this snapshot. Raises `InvalidInput` for what is no id."""
    def describe(self, docs: Sequence[int]) -> list[ChunkInfo]: ...
    def file_chunks(self, path: str) -> list[ChunkInfo]: ...
    def last_line(self, path: str) -> int:
        """The last line that a chunk of this file ends on; 0 where it is not in the index."""
    def paths(self) -> list[str]: ...
    def secrets(self, path: str) -> list[tuple[str, int, int]]:
        """(rule, first line, last line) of each secret that is masked in this file; never its value."""
    def lines(self, path: str, start_line: int, end_line: int, *, files: ReadFiles | None = None) -> str | None:
        """These lines as they stand now in the buffer or on disk; None where the file may not be read or is gone."""
    def text(self, path: str) -> str | None:
        """All of an indexed file as it stands now; None where it may not be read or is gone."""
    def vector(self, doc: int) -> bytes: ...
    def read_current(self, docs: Sequence[int], cancel: CancelToken) -> list[CurrentChunk | str]:
        """The chunks as they stand now, in order; a string says why one can't be given (changed beyond recognition, deleted, ignored)."""
    def read_best(
        self,
        docs: Sequence[int],
        limit: int,
        left_out: Sequence[tuple[str, int, int]],
        cancel: CancelToken,
        *,
        files: ReadFiles | None = None,
    ) -> list[CurrentChunk | str]:
        """The same for the first of `docs`, as far as it takes to have `limit` chunks. One that overlaps a chunk before it can't be
        given, nor one with lines that are `left_out`: (path, first line, last line)."""

@final
class Watch:
    """A watch on a workspace: the system tells of changes on disk. Ignored folders have no watch, links are not followed."""

    def next(self) -> tuple[list[str], bool] | None:
        """Wait for changes: paths of files and folders, and whether everything must be compared. None once closed.

        The first call sets the watches and returns "everything" then. It is for one thread, which it blocks. A burst, such as a
        branch switch, is told at its end.
        """
    def settle(self, longest_ms: int) -> None:
        """End the burst that is coming, and wait until `next` was asked for the one after it."""
    def close(self) -> None:
        """Give the watches back; whoever waits in `next` returns."""
    @property
    def folders(self) -> int:
        """How many folders are watched; one where the system watches whole trees."""
    @property
    def limit(self) -> Literal["watches", "instances", "refused"] | None:
        """Why not all folders are watched: the system's limit on watches, on watchers, or another refusal."""

@final
class Store:
    """The index of one workspace on disk. One process writes (`role`), others follow."""

    @staticmethod
    def open(
        directory: str,
        root: str,
        *,
        embedder_id: str,
        dim: int,
        walk: WalkOptions,
        cut: CutOptions,
        languages: Sequence[tuple[str, str]] = ...,
        secrets: SecretOptions | None = None,
        in_memory: bool = False,
    ) -> Store:
        """Open or create the index in `directory` for the workspace `root`.

        An index of the format before, or with another embedder's vectors, answers until a run has made each of its files again: by
        words where the vectors aren't the embedder's; `problems` says so meanwhile. With `dim=0` the vectors are kept elsewhere: the
        index holds none and batches are committed without. Damaged segments are dropped and their files indexed again; a damaged
        database is moved aside. An index in a folder that can't be written is read as it was left. Raises `NewerFormat`, `StoreError`.
        """
    @property
    def role(self) -> Literal["writer", "follower"]: ...
    @property
    def read_only(self) -> bool:
        """The folder can't be written: nobody here can bring the index up to date."""
    @property
    def lost(self) -> bool:
        """What this store writes was deleted or replaced on disk: it must be opened again. One look at the disk."""
    @property
    def generation(self) -> int: ...
    @property
    def kept_files(self) -> int:
        """How many files commits keep; open buffers aside."""
    @property
    def bytes_on_disk(self) -> int: ...
    @property
    def directory(self) -> str: ...
    @property
    def problems(self) -> list[str]:
        """What was mended or could not be used, and that files are being made again, in words for a person."""
    @property
    def masked(self) -> tuple[int, int]:
        """How many files have masked secrets, and how many secrets those are."""
    def try_become_writer(self) -> bool:
        """Become the writer if nobody is; true when this process is the writer now."""
    def follow(self) -> bool:
        """Load a newer generation that another process committed; true when there was one. Costs a stat when there is none."""
    def scan(self, cancel: CancelToken) -> Plan: ...
    def check(self, paths: Sequence[str], cancel: CancelToken) -> Plan:
        """Like `scan` for these files (or folders) only: saved, changed outside the editor, deleted, renamed."""
    def force(self, cancel: CancelToken) -> Plan:
        """Everything again, whatever the hashes say."""
    def changed(self, plan: Plan, cancel: CancelToken) -> list[str]:
        """Files of the plan that truly differ from the index; those that may only look so are read."""
    def bring_forward(self, plan: Plan, words: Sequence[str], cancel: CancelToken) -> int:
        """Put the files of the plan first that hold most of these words in path or text, rare words before others; how many hold any."""
    def cut(self, plan: Plan, cancel: CancelToken, max_bytes: int = 8_000_000) -> Batch | None:
        """The next files of the plan, read, hashed and cut in parallel; None when the plan is done (removals come with the last batch)."""
    def commit(self, batch: Batch, cancel: CancelToken) -> Commit:
        """One transaction; after it the batch's files answer searches, after a crash either all or none of it is there."""
    def compact(self, cancel: CancelToken) -> bool:
        """Merge small segments when worth it and delete files that no process needs; true when something was merged."""
    def cut_buffer(
        self,
        path: str,
        text: str,
        cancel: CancelToken,
        *,
        metadata: Mapping[str, str | float | bool] | None = None,
        version: str | None = None,
    ) -> Batch:
        """An unsaved buffer, to be embedded and given to `commit_buffer`. With neither `metadata` nor `version` it has those of the file
        that it hides, or of its earlier text."""
    def commit_buffer(self, batch: Batch) -> None: ...
    def close_buffer(self, path: str) -> None: ...
    def watch(self) -> Watch:
        """Return a watch on the workspace; nothing is watched before its first `next`."""
    def snapshot(self) -> Snapshot: ...
    def refusal(self, path: str) -> str | None:
        """None if this file may be read and sent, else the reason (ignored, secret, outside …). "read failed: …" says that the machine
        failed, as with too many open files."""
    def name_language(self, path: str, language: str) -> bool:
        """Note which language an editor gives to a file, which counts where nothing else says one. Tell whether it is new, and the
        index has the file without a language: the next plan with its path cuts it anew."""
    def holds(self, path: str, data: bytes) -> bool:
        """Tell whether this file may be read and holds exactly these bytes."""
    def skipped(self, limit: int = 1000) -> list[tuple[str, str]]:
        """(path, reason) of the last scan."""
    def skipped_counts(self) -> dict[str, int]:
        """How many paths the last scan left out, by reason."""
    @property
    def guessed_encodings(self) -> int:
        """How many files are in an encoding that nothing names."""
    @property
    def failed_count(self) -> int:
        """How many files `failed` names."""
    def failed(self) -> list[tuple[str, str]]:
        """(path, reason) of the files that failed and are tried again by the next run."""
    def get_meta(self, key: str) -> str | None: ...
    def set_meta(self, key: str, value: str) -> None: ...
    def index_state(self) -> list[tuple[str, int, list[str]]]:
        """(path, mtime in ns, chunk ids) of every file."""
    def clear(self) -> None:
        """Delete every file of the index; the store is empty and usable afterwards."""
    def close(self) -> None:
        """Release the lock and the files. A second call does nothing; any other call afterwards raises."""

def cut_text(path: str, text: str, options: CutOptions) -> list[ChunkInfo]:
    """Cut one text without a store, for the library and for tests."""

def count_tokens(text: str, encoding: Literal["cl100k_base", "o200k_base"]) -> int: ...
def trim_tokens(text: str, max_tokens: int, encoding: Literal["cl100k_base", "o200k_base"]) -> str:
    """The longest prefix of whole characters with at most `max_tokens` tokens."""

def detect_language(path: str) -> str | None: ...
def languages() -> list[str]: ...
def check_languages(languages: Sequence[tuple[str, str]]) -> None:
    """Raise `InvalidInput` where a glob can't be read or a language isn't known."""

def simd_kernel() -> str:
    """The vector kernel that this processor runs: avx512vnni, avx2, neon or scalar."""

def register_grammar(name: str, capsule: object) -> str:
    """Use a tree-sitter grammar for files that have none, by the language pack's name; returns Carrel's name of the language.

    `capsule` is a `PyCapsule` called "tree_sitter.Language". The first grammar of a language stays. Raises `InvalidInput` for a
    name that isn't among `registrable_grammars`, or an ABI that this build can't read.
    """

def registrable_grammars() -> list[str]: ...
def give_back_memory() -> None:
    """Hand pages that an index run freed back to the system."""

def split_names(text: str) -> list[str]:
    """Identifiers as lower-case words of two letters or more: `getHTTPServer` gives get, http, server."""

def stem(word: str) -> str:
    """A word without the commonest English endings, so that `commands` meets `command` and `parsing` meets `parse`."""

def rank(
    candidates: Sequence[Candidate], context: RankingContext, editor: EditorContext, *, without: AbstractSet[str] = ...
) -> list[Candidate]:
    """The candidates, each once, with what the rules made of it, best first: equal ones by path, then by place in the file. `without`
    names rules to leave out."""

def score(candidates: Sequence[Candidate], context: RankingContext, editor: EditorContext) -> list[Candidate]:
    """The candidates, each scored by itself, in their order."""

def contributions(candidate: Candidate, relevance: float) -> list[tuple[str, float]]:
    """Rules with their signed shares of a relevance from 0 to 1: in hundredths, adding up to it, the largest first.

    It all goes to `combined` where the evidence adds up to nothing.
    """

def ranking_weights() -> dict[str, float]:
    """What the rules weigh, by name: the fitted values."""

def path_kinds(path: str) -> list[str]:
    """Which kinds of files that questions seldom mean a path is of: test, example, re-export, declaration, generated,
    prose, changes, data."""

def best_lines(text: str, symbol: str, signature: str, rarities: Mapping[str, float], lines: int, *, sought: bool) -> int:
    """Which line, from 0, the `lines` lines begin with that say most about the question whose stemmed words have `rarities`.

    `symbol` and `signature` tell the line that names what the text is; `sought` that the question is for it.
    """

def passages(chunks: Sequence[tuple[str, str, str, float]], rarities: Mapping[str, float]) -> list[tuple[int, int, int]]:
    """Every passage of some chunks as (place of the chunk, first line, last line), from 0 and inclusive, best first.

    A chunk is (text, symbol, path, how well it answers as a share of the best). A passage is a short chunk, or some 20 lines of
    a longer one: what says most about the question whose stemmed words have `rarities`, for its size. Passages overlap.
    """

def list_secrets(root: str, walk: WalkOptions, secrets: SecretOptions, cancel: CancelToken) -> list[tuple[str, int | None, str]]:
    """(path, line, kind) of every secret in the files that count; without a line for a file that is left out as a whole."""

def mask_secrets(path: str, text: str, secrets: SecretOptions) -> str:
    """The text with a mark in place of each secret, as the file of that path would be read."""
