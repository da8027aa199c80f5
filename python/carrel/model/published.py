"""A repository that was published to a Qdrant server: its address, and what is kept of it there, as plain values.

What a server gives is data that anybody may have written. `read_chunk` and `read_head` take nothing but what fits these values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

import msgspec
from msgspec import Meta, Struct, field

from carrel.model.errors import InvalidInput, ProviderError
from carrel.model.outbound import is_loopback
from carrel.model.patterns import is_name

FORMAT = 1
"""Of what is published. A reader refuses any other."""
SCHEME = "qdrant://"
USUAL_PORT = 6333
FIRST_VECTOR = "dense"
"""What the vectors of the first model are called."""
BATCH = 128
"""Chunks that are written by one request."""
SHORT_COMMIT = 12
"""Digits of a commit where it is shown."""
LONGEST_TEXT = 20_000
"""Characters of a chunk; Carrel cuts at 8,000."""
_UNPRINTABLE = (*range(0x20), *range(0x7F, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_TO_SPACES = dict.fromkeys(_UNPRINTABLE, " ")
_TO_MARKS = dict.fromkeys(set(_UNPRINTABLE) - {ord("\t"), ord("\n"), 0x2028, 0x2029}, "\ufffd")

_Line = Annotated[int, Meta(ge=1, le=10_000_000)]
_Short = Annotated[str, Meta(max_length=300)]
_Count = Annotated[int, Meta(ge=0, le=2**53)]


class PublishedAddress(Struct, frozen=True):
    """Where a repository is published: `qdrant://HOST:PORT/NAME`, with a name such as `billing` or `acme/billing`."""

    host: str  # with its port
    name: str

    @staticmethod
    def read(url: str) -> PublishedAddress:
        """Read an address. Raises `InvalidInput`."""
        before, _, behind = url[:200].partition("//")
        # What may be a name and a password is repeated by no message.
        shown = f"{before}//…@{behind.rpartition('@')[2]}" if "@" in behind else url[:200]
        wrong = InvalidInput("url", "is no address of a repository", "Write `qdrant://HOST:PORT/NAME`.", value=shown)
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise wrong from None
        if parts.scheme != "qdrant" or not parts.hostname or parts.query or parts.fragment or port == 0:
            raise wrong
        if parts.username or parts.password:
            raise InvalidInput("url", "must hold no user name or password", "Say where the key is: `--key env:NAME`.")
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        return PublishedAddress(f"{host}:{port or USUAL_PORT}", check_name(parts.path.strip("/")))

    @property
    def base_url(self) -> str:
        """Return the URL of the server's API: encrypted unless it is this machine."""
        return f"{'http' if is_loopback(self.host) else 'https'}://{self.host}"

    @property
    def collection(self) -> str:
        """Return the collection of the repository: each has its own, so that a key can open it alone."""
        return "carrel-repo-" + self.name.replace("/", "~")

    def uri(self, commit: str, path: str) -> str:
        """Return what names a file of it; no editor can open that."""
        return f"{self}/{quote(path)}?commit={commit[:SHORT_COMMIT]}"

    def __str__(self) -> str:
        return f"{SCHEME}{self.host}/{self.name}"


def is_commit(text: str) -> bool:
    """Tell whether a text is the whole hash of a commit."""
    return len(text) in (40, 64) and not text.strip("0123456789abcdef")


def check_name(name: str) -> str:
    """Return the name of a repository. Raises `InvalidInput` for what can't be one."""
    parts = name.split("/")
    if len(parts) > 2 or not all(is_name(part, 100, "._-") for part in parts):
        raise InvalidInput(
            "repo", "is no name of a repository", "Use letters, digits, `.`, `_` and `-`: `billing` or `acme/billing`.",
            value=name[:120],
        )  # fmt: skip
    return name


class Head(Struct, frozen=True, kw_only=True):
    """What is visible of a published repository, and who is changing it.

    A chunk is visible where it was added by a generation up to `generation` and not removed by one, those in `dead` not counted:
    they were begun and never finished. `token` names the last writer of this value, `version` counts its writes.
    """

    format: int
    version: _Count = 0
    token: _Short = ""
    generation: _Count = 0
    commit: _Short = ""
    branch: _Short = ""
    dirty: bool = False
    model: _Short = ""
    floor: float = 0.0
    vector: _Short = FIRST_VECTOR
    """What the vectors of the visible chunks are called there: those of a model of another dimension have another name."""
    origin: _Short = ""
    """Which repository it is on its host, such as `acme/billing`, by the remote `origin` of whoever published it."""
    chunks: _Count = 0
    files: _Count = 0
    with_text: bool = True
    published_at: float = 0.0
    claim: _Count = 0
    """The generation that is being published; 0 where none is."""
    dead: Annotated[tuple[_Count, ...], Meta(max_length=64)] = ()


class PublishedChunk(Struct, frozen=True, kw_only=True):
    """A chunk as it is kept beside its vectors. Without `text` only its place was published."""

    path: Annotated[str, Meta(min_length=1, max_length=1_000)]
    start_line: _Line
    end_line: _Line
    symbol: _Short = ""
    container: _Short = ""
    definitions: Annotated[tuple[_Short, ...], Meta(max_length=50)] = ()
    kind: Annotated[str, Meta(max_length=40)] = ""
    language: Annotated[str, Meta(max_length=40)] = ""
    source: Annotated[str, Meta(max_length=10)] = "code"
    content_hash: Annotated[str, Meta(max_length=100)] = ""
    updated_at: _Count = 0
    text: Annotated[str, Meta(max_length=LONGEST_TEXT)] | None = None


Sparse = Sequence[tuple[int, float]]
"""(index, value) of a sparse vector."""


class Point(Struct, frozen=True):
    """A chunk with its vectors, as it is published."""

    id: str
    vector: Sequence[float]  # empty where the model gave none
    words: Sparse
    chunk: PublishedChunk


class KeptPoint(Struct, frozen=True):
    """What tells whether a point is visible."""

    id: str
    added: int
    removed: int | None = None


class FoundIds(Struct, frozen=True):
    """What both searches found, best first, and the rarity of each term that stands anywhere, by its index."""

    dense: Sequence[tuple[str, float]] = ()
    words: Sequence[tuple[str, float]] = ()
    rarities: Mapping[int, float] = field(default_factory=dict)


class ReadPoint(Struct, frozen=True):
    """A chunk that was read, with the terms it holds."""

    id: str
    chunk: PublishedChunk
    words: Mapping[int, float]


def read_head(raw: object) -> Head | None:
    """Return what is visible; None for what is none. Its names can be shown: a commit is one, and nothing moves a cursor."""
    try:
        head = msgspec.convert(raw, Head)
    except (msgspec.ValidationError, RecursionError):
        return None
    if head.generation and not is_commit(head.commit):
        return None
    return msgspec.structs.replace(head, branch=head.branch.translate(_TO_SPACES), model=head.model.translate(_TO_SPACES))


def read_chunk(raw: object) -> PublishedChunk | None:
    """Return a chunk; None for one that can't be given: of another shape, too long, or with a path that leads elsewhere."""
    try:
        chunk = msgspec.convert(raw, PublishedChunk)
    except (msgspec.ValidationError, RecursionError):
        return None
    if not is_inside(chunk.path) or chunk.end_line < chunk.start_line or chunk.source not in ("code", "docs"):
        return None
    clean = {name: getattr(chunk, name).translate(_TO_SPACES) for name in ("symbol", "container", "kind", "language")}
    text = None if chunk.text is None else chunk.text.replace("\r\n", "\n").translate(_TO_MARKS)
    if text is not None and text.count("\n") > chunk.end_line - chunk.start_line + 1:
        return None  # lines are counted from the first: more of them than the place has would be shown as others
    names = tuple(name.translate(_TO_SPACES) for name in chunk.definitions)
    return msgspec.structs.replace(chunk, **clean, definitions=names, text=text)


def is_inside(path: str) -> bool:
    """Tell whether a path is a plain one below its repository, of characters that can be shown."""
    parts = path.split("/")
    return not (path.translate(_TO_SPACES) != path or "\\" in path or any(part in ("", ".", "..") for part in parts))


def payload_of(chunk: PublishedChunk) -> Mapping[str, Any]:
    """Return a chunk as it is kept."""
    fields: dict[str, Any] = msgspec.to_builtins(chunk)
    return {name: value for name, value in fields.items() if value is not None}


class Overtaken(ProviderError):
    """Another run has begun to publish under the same name since."""
