"""What tools that read the index have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from carrel.agent.tools.scope import IndexReader, Scope
from carrel.model.conversation import ToolSpec
from carrel.model.ports import Tokenizer, ToolResult

USUAL_TOKENS = 3_000


class IndexTool:
    """A `BudgetedTool` over the index of the moment; each says what it does in `run_within`."""

    spec: ToolSpec

    def __init__(self, index: IndexReader, tokenizer: Tokenizer, scope: Scope) -> None:
        self._index = index
        self._tokenizer = tokenizer
        self._scope = scope

    async def run(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Answer with a text of usual length."""
        return await self.run_within(arguments, USUAL_TOKENS)

    async def run_within(self, arguments: Mapping[str, Any], max_tokens: int) -> ToolResult:
        """Answer with a text of at most so many tokens."""
        raise NotImplementedError
