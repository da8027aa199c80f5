# ruff: noqa: ARG002 - fakes take what the port gives them
"""A snapshot and an embedder made of plain data, for tests of what the engine does with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from carrel.core.errors import Cancelled
from carrel.core.native import Ranked
from carrel.core.ports import EmbeddingSpec
from carrel.core.vectors import Vectors


@dataclass
class FakeChunk:
    path: str
    start_line: int
    text: str
    symbol: str = ""
    dense: float | None = None
    lexical: float | None = None
    defines: float | None = None
    gone: str = ""  # why its text can't be given

    @property
    def end_line(self) -> int:
        return self.start_line + max(len(self.text.splitlines()), 1) - 1


@dataclass
class FakeView:
    """Answers every search from the scores that its chunks carry."""

    items: list[FakeChunk]
    asked: dict[str, Any] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)  # of whole files

    def dense(self, vector: bytes, k: int, floor: float, filter: Any, cancel: Any) -> list[Any]:  # noqa: A002
        self._check(cancel)
        return self._best("dense", k, floor)

    def search(self, vector: bytes, query: str, k: int, floor: float, filter: Any, cancel: Any) -> tuple[list[Any], list[Any]]:  # noqa: A002
        self.asked["search"] = k
        return self.dense(vector, k, floor, filter, cancel), self._best("lexical", k, 0.0)

    def holders(self, query: str, k: int, filter: Any, cancel: Any) -> list[Any]:  # noqa: A002
        return []

    def definitions(self, names: Sequence[str], k: int, filter: Any) -> list[Any]:  # noqa: A002
        return self._best("defines", k, 0.0)

    def evidence(self, query: str, vector: bytes, docs: Sequence[int], quoted: str = "") -> list[Any]:
        return [
            Ranked(
                doc,
                chunk.path,
                chunk.start_line,
                chunk.end_line,
                symbol=chunk.symbol,
                callable=True,
                dense=chunk.dense or 0.0,
                lexical=chunk.lexical or 0.0,
                matched=["w"],
                file_words=100,
            )
            for doc, chunk in ((doc, self.items[doc]) for doc in docs)
        ]

    def rarities(self, words: Sequence[str]) -> list[float]:
        return [1.0] * len(words)

    def ties(self, path: str, docs: Sequence[int]) -> list[float]:
        return [0.9 if path in self.items[doc].text else 0.0 for doc in docs]

    def describe(self, docs: Sequence[int]) -> list[Any]:
        return [self._info(doc) for doc in docs]

    def file_chunks(self, path: str) -> list[Any]:
        return [self._info(doc) for doc, chunk in enumerate(self.items) if chunk.path == path]

    def lines(self, path: str, start_line: int, end_line: int) -> str | None:
        return None

    def text(self, path: str) -> str | None:
        return self.texts.get(path)

    def vector(self, doc: int) -> bytes:
        return b"stored"

    def fresh(self, docs: Sequence[int], cancel: Any) -> list[Any]:
        self._check(cancel)
        return [
            self.items[doc].gone
            or SimpleNamespace(
                info=self._info(doc),
                imports=[],
                text=self.items[doc].text,
                start_character=0,
                end_character=0,
                moved=False,
                masked=0,
            )
            for doc in docs
        ]

    def _best(self, arm: str, k: int, floor: float) -> list[Any]:
        found = [(getattr(chunk, arm), doc) for doc, chunk in enumerate(self.items) if getattr(chunk, arm) is not None]
        found.sort(key=lambda pair: (-pair[0], pair[1]))
        return [SimpleNamespace(doc=doc, score=score) for score, doc in found[:k] if score >= floor]

    def _info(self, doc: int) -> Any:
        chunk = self.items[doc]
        return SimpleNamespace(
            doc=doc,
            id=f"id{doc}",
            path=chunk.path,
            language="python",
            source="code",
            kind="function",
            symbol=chunk.symbol,
            container="",
            signature="",
            definitions=[chunk.symbol],
            start_line=chunk.start_line,
            end_line=chunk.end_line,
            content_hash="0",
            updated_at=0,
            overlay=False,
        )

    @staticmethod
    def _check(cancel: Any) -> None:
        if cancel.cancelled:
            raise Cancelled


class FakeEmbedder:
    spec = EmbeddingSpec("fake", 1, 0.3)

    def __init__(self) -> None:
        self.queries: list[str] = []

    async def embed(self, texts: Sequence[str], kind: str) -> Vectors:
        self.queries += texts
        return Vectors(b"\0\0\0\0" * len(texts), 1)

    def embed_batch(self, batch: Any, cancel: Any) -> None:
        pass
