"""`search_code` as a tool: a question, words or a name in; places out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from carrel.agent import search_tool
from carrel.agent.search_tool import SearchArguments, SearchPage
from carrel.model.conversation import ToolSpec
from carrel.model.errors import InvalidInput
from carrel.model.ports import ToolResult
from carrel.model.structs import decode_call, schema

SPEC = ToolSpec(search_tool.NAME, search_tool.DESCRIPTION, schema(SearchArguments))
_TOKENS = 3_000
_FIELDS = {"path_globs": search_tool.argument_name("path_glob")}

Search = Callable[[SearchArguments, int], Awaitable[SearchPage]]
"""(arguments, tokens that the text may have) -> what was found; raises `InvalidInput` for arguments that can't be used."""


class SearchCode:
    """Searches by meaning, words and names."""

    spec = SPEC

    def __init__(self, search: Search) -> None:
        self._search = search

    async def run(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Search, with a text of usual length."""
        return await self.run_within(arguments, _TOKENS)

    async def run_within(self, arguments: Mapping[str, Any], max_tokens: int) -> ToolResult:
        """Search, with as many hits as go into so many tokens."""
        try:
            page = await self._search(decode_call(SearchArguments, dict(arguments)), max_tokens)
        except InvalidInput as error:
            return ToolResult(f"Not run: {_FIELDS.get(error.field, error.field)}: {error.sentence}", is_error=True)
        note = f"(Left out to make room; search again to see it.)\n{search_tool.places_of(page.hits)}" if page.hits else ""
        return ToolResult(page.text, note=note, given=page.given)
