"""Define what tools that read the index share: the index of the moment, and what one conversation may show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from carrel.model.conversation import ToolSpec
from carrel.model.errors import InvalidInput
from carrel.model.local_index import SnapshotView
from carrel.model.native import CancelToken
from carrel.model.ports import Tokenizer, ToolResult
from carrel.model.structs import decode_call
from carrel.model.types import Filters, Lines, Query
from carrel.search.candidates import allowed

USUAL_TOKENS = 3_000


class IndexTool:
    """A `BudgetedTool` over the index of the moment; each says what it takes, and what it does in `_answer`."""

    spec: ToolSpec
    takes: type[Struct]

    def __init__(self, index: IndexReader, tokenizer: Tokenizer, scope: Scope) -> None:
        self._index = index
        self._tokenizer = tokenizer
        self._scope = scope

    async def run(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Answer with a text of usual length."""
        return await self.run_within(arguments, USUAL_TOKENS)

    async def run_within(self, arguments: Mapping[str, Any], max_tokens: int) -> ToolResult:
        """Answer with a text of at most so many tokens."""
        try:
            request = decode_call(self.takes, dict(arguments))
        except InvalidInput as error:
            return ToolResult(f"Not run: {error}", is_error=True)
        return await self._index.read(partial(self._answer, request, max_tokens))

    def _answer(self, request: Any, max_tokens: int, view: SnapshotView, refusal: Refusal, cancel: CancelToken) -> ToolResult:
        raise NotImplementedError


T = TypeVar("T")

Refusal = Callable[[str], str | None]
"""(path) -> why it may not be read, None if it may."""


class IndexReader(Protocol):
    """Runs work on the index as it is now."""

    async def read(self, work: Callable[[SnapshotView, Refusal, CancelToken], T]) -> T:
        """Run `work` on a thread, with a token that ends it when nobody waits any more."""


class Scope(Struct, frozen=True):
    """What whoever asks left out: globs of paths, and lines."""

    exclude: tuple[str, ...] = ()
    left_out: tuple[Lines, ...] = ()

    def hides(self, view: SnapshotView, path: str, cancel: CancelToken) -> bool:
        """Tell whether a glob leaves out an indexed file; the index compares them, as it does for searches."""
        if not self.exclude:
            return False
        first = [chunk.doc for chunk in view.file_chunks(path)[:1]]
        return not allowed(view, first, Filters(exclude=self.exclude), cancel)

    def hides_lines(self, path: str, first: int, last: int) -> bool:
        """Tell whether some of these lines were left out."""
        return Query("", left_out=self.left_out).leaves_out(path, first, last)
