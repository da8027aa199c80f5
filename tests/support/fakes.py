# ruff: noqa: ARG002 - fakes take what the port gives them
"""A snapshot and an embedder made of plain data, for tests of search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from carrel.model.errors import Cancelled
from carrel.model.native import Candidate, ParsedQuery
from carrel.model.ports import EmbeddingSpec
from carrel.model.vectors import Vectors


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

    @property
    def files(self) -> int:
        return len({item.path for item in self.items})

    def dense(self, vector: bytes, k: int, floor: float, filter: Any, cancel: Any) -> list[Any]:  # noqa: A002
        self._check(cancel)
        return self._best("dense", k, floor)

    def find(
        self,
        queries: Sequence[ParsedQuery],
        *,
        pool: int,
        floor: float,
        filter: Any,  # noqa: A002
        pinned: Any,
        active_path: str | None,
        cancel: Any,
        files: Any = None,
    ) -> list[tuple[list[Candidate], list[float]]]:
        self.asked["search"] = pool
        dense = self.dense(b"", pool, floor, filter, cancel)
        if pinned:
            known = {found.doc for found in dense}
            dense += [found for found in self.dense(b"", pinned[1], -1.0, None, cancel) if found.doc not in known]
        arms = dense, self._best("lexical", pool, 0.0), self._best("defines", pool, 0.0)
        docs = dict.fromkeys(found.doc for arm in arms for found in arm)
        ranks = [{found.doc: place for place, found in enumerate(arm, 1)} for arm in arms]
        found = [
            self._candidate(
                doc,
                dense_rank=ranks[0].get(doc),
                lexical_rank=ranks[1].get(doc),
                defines=self.items[doc].defines or 0.0,
                relatedness=0.9 if active_path and active_path in self.items[doc].text else 0.0,
            )
            for doc in docs
        ]
        return [(found, [1.0] * len(query.words)) for query in queries]

    def evidence(self, query: ParsedQuery, docs: Sequence[int]) -> list[Candidate]:
        return [self._candidate(doc) for doc in docs]

    def exact_definitions(self, names: Sequence[str], k: int) -> list[list[tuple[int, str]]]:
        return [[(doc, chunk.path) for doc, chunk in enumerate(self.items) if chunk.symbol == name][:k] for name in names]

    def holding(self, word: str) -> int:
        return sum(word in chunk.text for chunk in self.items)

    def near_names(self, name: str, most: int) -> list[str]:
        return []

    def outline(self, files: int, names: int, filter: Any) -> list[Any]:  # noqa: A002
        paths = dict.fromkeys(chunk.path for chunk in self.items)
        return [(path, len(self.file_chunks(path)), 0.0, []) for path in list(paths)[:files]]

    def describe(self, docs: Sequence[int]) -> list[Any]:
        return [self._info(doc) for doc in docs]

    def file_chunks(self, path: str) -> list[Any]:
        return [self._info(doc) for doc, chunk in enumerate(self.items) if chunk.path == path]

    def last_line(self, path: str) -> int:
        return max((chunk.span.end_line for chunk in self.file_chunks(path)), default=0)

    def lines(self, path: str, start_line: int, end_line: int, *, files: Any = None) -> str | None:
        return None

    def text(self, path: str) -> str | None:
        return self.texts.get(path)

    def vector(self, doc: int) -> bytes:
        return b"stored"

    def read_current(self, docs: Sequence[int], cancel: Any) -> list[Any]:
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

    def read_best(self, docs: Sequence[int], limit: int, left_out: Any, cancel: Any, *, files: Any = None) -> list[Any]:
        read = []
        for chunk in self.read_current(docs, cancel):
            read.append(chunk)
            limit -= not isinstance(chunk, str)
            if limit == 0:
                break
        return read

    def _candidate(self, doc: int, **signals: Any) -> Candidate:
        chunk = self.items[doc]
        return Candidate(
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
            **signals,
        )

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
