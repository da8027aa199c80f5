"""`search_knowledge_base` as a tool: a question in; passages of the team's documents out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from carrel.agent import knowledge_form
from carrel.agent.knowledge_form import KnowledgeArguments
from carrel.model.conversation import ToolSpec
from carrel.model.errors import InvalidInput
from carrel.model.ports import Tokenizer, ToolResult
from carrel.model.structs import decode_call, schema
from carrel.model.types import ContextItem, Hit

SPEC = ToolSpec(knowledge_form.NAME, knowledge_form.DESCRIPTION, schema(KnowledgeArguments))
_TOKENS = 3_000
_TOO_LONG = "There are passages, but none is short enough to be shown: search for a part of them."

Search = Callable[[KnowledgeArguments], Awaitable[Sequence[Hit]]]
"""Raises `InvalidInput` for arguments that can't be used."""


class SearchDocuments:
    """Searches the documents of the workspace and of every source of documents."""

    spec = SPEC

    def __init__(self, search: Search, tokenizer: Tokenizer) -> None:
        self._search = search
        self._tokenizer = tokenizer

    async def run(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Search, with a text of usual length."""
        return await self.run_within(arguments, _TOKENS)

    async def run_within(self, arguments: Mapping[str, Any], max_tokens: int) -> ToolResult:
        """Search, with as many passages as go into so many tokens."""
        try:
            hits = await self._search(decode_call(KnowledgeArguments, dict(arguments)))
        except InvalidInput as error:
            return ToolResult(f"Not run: {error.field}: {error.sentence}", is_error=True)
        shown: list[Hit] = []
        for hit in hits:
            if self._tokenizer.count(knowledge_form.text_of_hits([*shown, hit])) <= max_tokens:
                shown.append(hit)
        if hits and not shown:
            return ToolResult(_TOO_LONG)
        places = "\n".join(f"{hit.chunk.path}:{hit.chunk.span.start_line}-{hit.chunk.span.end_line}" for hit in shown)
        note = f"(Left out to make room; search again to see it.)\n{places}" if shown else ""
        return ToolResult(
            knowledge_form.text_of_hits(shown), note=note, given=tuple(ContextItem(hit, hit.chunk.text) for hit in shown)
        )
