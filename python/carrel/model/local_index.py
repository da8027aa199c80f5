"""The local index as search sees it, and models that run inside the core. Types of the compiled module appear here.

Vectors are one row of little-endian float32 as bytes (`dim` values, L2-normalised); empty where there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeGuard

from carrel.model.native import (
    Batch,
    CancelToken,
    Candidate,
    ChunkInfo,
    Commit,
    CurrentChunk,
    Filter,
    ParsedQuery,
    Plan,
    ReadFiles,
    ScoredDoc,
)
from carrel.model.ports import Embedder

READ_FAILED = "read failed"
"""Begins what `refusal` says where the machine failed over a file: it says nothing of the file."""


class CoreEmbedder(Embedder, Protocol):
    """An `Embedder` inside the core: a batch gets its vectors without a copy through Python, and `embed` never waits."""

    def embed_batch(self, batch: Batch, cancel: CancelToken) -> None:
        """Give every added chunk of the batch its vector. Raises `Cancelled`."""


def is_of_core(embedder: Embedder) -> TypeGuard[CoreEmbedder]:
    """Tell whether a model is a `CoreEmbedder`, by the method that no other has."""
    return hasattr(embedder, "embed_batch")


class SnapshotView(Protocol):
    """Read side of an index: immutable, never waits for a writer. `carrel._core.Snapshot` has this shape."""

    @property
    def generation(self) -> int: ...
    @property
    def files(self) -> int: ...
    @property
    def chunks(self) -> int: ...
    @property
    def chunks_without_vectors(self) -> int: ...
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
    ) -> list[tuple[list[Candidate], list[float]]]: ...
    def evidence(self, query: ParsedQuery, docs: Sequence[int]) -> list[Candidate]: ...
    def exact_definitions(self, names: Sequence[str], k: int) -> list[list[tuple[int, str]]]: ...
    def near_names(self, name: str, most: int) -> list[str]: ...
    def resolve(self, ids: Sequence[str]) -> list[int | None]: ...
    def describe(self, docs: Sequence[int]) -> list[ChunkInfo]: ...
    def read_current(self, docs: Sequence[int], cancel: CancelToken) -> list[CurrentChunk | str]: ...
    def read_best(
        self,
        docs: Sequence[int],
        limit: int,
        left_out: Sequence[tuple[str, int, int]],
        cancel: CancelToken,
        *,
        files: ReadFiles | None = None,
    ) -> list[CurrentChunk | str]: ...
    def file_chunks(self, path: str) -> list[ChunkInfo]: ...
    def last_line(self, path: str) -> int: ...
    def lines(self, path: str, start_line: int, end_line: int, *, files: ReadFiles | None = None) -> str | None: ...
    def text(self, path: str) -> str | None: ...
    def vector(self, doc: int) -> bytes: ...
    def paths(self) -> list[str]: ...
    def secrets(self, path: str) -> list[tuple[str, int, int]]: ...


class IndexStore(Protocol):
    """Write side of an index. `carrel._core.Store` has this shape."""

    @property
    def read_only(self) -> bool: ...
    @property
    def directory(self) -> str: ...
    def scan(self, cancel: CancelToken) -> Plan: ...
    def check(self, paths: Sequence[str], cancel: CancelToken) -> Plan: ...
    def force(self, cancel: CancelToken) -> Plan: ...
    def cut(self, plan: Plan, cancel: CancelToken, max_bytes: int = ...) -> Batch | None: ...
    def commit(self, batch: Batch, cancel: CancelToken) -> Commit: ...
    def compact(self, cancel: CancelToken) -> bool: ...
    def follow(self) -> bool: ...
    def changed(self, plan: Plan, cancel: CancelToken) -> list[str]: ...
    def cut_buffer(
        self,
        path: str,
        text: str,
        cancel: CancelToken,
        *,
        metadata: Mapping[str, str | float | bool] | None = None,
        version: str | None = None,
    ) -> Batch: ...
    def commit_buffer(self, batch: Batch) -> None: ...
    def close_buffer(self, path: str) -> None: ...
    def snapshot(self) -> SnapshotView: ...
    def refusal(self, path: str) -> str | None: ...


Progress = Callable[[int, int, str], None]
"""(files done, files in all, path or phase)."""
