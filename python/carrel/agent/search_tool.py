"""Give models `search_code`: a question, words or a name in; places out.

Here are its name, its arguments and its answer.
"""

# ruff: noqa: PLC0415 - an assistant's server tells its tools before the core has loaded
from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct

from carrel.model.conversation import ToolSpec
from carrel.model.errors import InvalidInput
from carrel.model.ports import ToolResult
from carrel.model.structs import decode_call, schema
from carrel.model.types import Budget, ContextItem, Filters, Hit
from carrel.pack.formats import ToolForm

if TYPE_CHECKING:
    from carrel.model.ports import Tokenizer


NAME = "search_code"
DESCRIPTION = (
    "Find code in the user's workspace by meaning, by words, or by an identifier (its definitions come first, then its uses). "
    "Use it for questions in words, for issues and error reports, and whenever it isn't known where something is or what it is "
    "called; it takes one call where grep takes several. grep is better where every occurrence of an exact text counts, such as "
    'for a rename, and for regular expressions. With format "places" it gives paths, lines and symbols without text.'
)
DEFAULT_HITS = {"text": 3, "places": 20}
MAX_TEXT = 100_000
"""Characters of a question: an issue can be pasted whole, with its logs."""

Name = Annotated[str, Meta(max_length=1_000)]
Names = Annotated[tuple[Name, ...], Meta(max_length=50)]
Question = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=MAX_TEXT,
        description="A question, words, an identifier, or the whole text of an issue or a trace.",
    ),
]


class SearchArguments(Struct, rename="camel", kw_only=True, frozen=True):
    """What may be asked for. Flat, so that every assistant's schema dialect can hold it."""

    query: Question
    limit: Annotated[int, Meta(ge=0, le=50, description="How many hits at most; 0 for 3 with text, or 20 places.")] = 0
    format: Annotated[
        Literal["text", "places"], Meta(description='"places": path, lines and symbol of each hit in a line, without its text.')
    ] = "text"
    path_glob: Annotated[Names, Meta(description='Only paths that match one of these globs, such as "src/**/*.py".')] = ()
    languages: Annotated[Names, Meta(description='Only these languages, such as "python".')] = ()
    symbol: Annotated[Name, Meta(description="Only what is or defines this symbol: `Class.method`, or a name alone.")] = ""
    sources: Annotated[tuple[Literal["code", "docs"], ...], Meta(max_length=2, description="Only code, or only documents.")] = ()
    kinds: Annotated[Names, Meta(description='Only these kinds, such as "function", "method", "class" or "section".')] = ()
    containers: Annotated[Names, Meta(description="Only what stands in one of these types or headings, by the exact name.")] = ()


def most_hits(arguments: SearchArguments) -> int:
    """Return how many hits are wanted."""
    return arguments.limit or DEFAULT_HITS[arguments.format]


class SearchPage(Struct, frozen=True):
    """What a search gives a model within a budget: the text, and the hits that it holds, each as it is shown there."""

    text: str
    items: tuple[ContextItem, ...]

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The hits, whole or in part."""
        return tuple(item.hit for item in self.items)


def to_filters(arguments: SearchArguments, exclude: tuple[str, ...] = ()) -> Filters:
    """Return the filters that were asked for, not checked yet."""
    return Filters(
        sources=arguments.sources,
        path_globs=arguments.path_glob,
        exclude=exclude,
        languages=arguments.languages,
        symbol=arguments.symbol or None,
        metadata={name: values for name, values in (("kind", arguments.kinds), ("container", arguments.containers)) if values},
    )


def text_of(hits: Sequence[Hit]) -> str:
    """Return hits, whole: of each a header line and the code, which can't forge a header."""
    form = ToolForm()
    return form.joint.join(form.block(ContextItem(hit, hit.chunk.text)) for hit in hits) or form.empty


def places_of(hits: Sequence[Hit]) -> str:
    """Return the header lines alone."""
    return "\n".join(ToolForm().header(hit) for hit in hits)


def page(hits: Sequence[Hit], tokens: int, tokenizer: Tokenizer) -> SearchPage:
    """Return as many hits as go into so many tokens; a long one is shortened to what says most before it is left out."""
    from carrel.pack.context import pack

    packed = pack(hits, Budget(tokens, "tokens"), tokenizer, form="tool")
    items = tuple(item for hit in hits if (item := _shown(hit, packed.items)))
    if hits and not items:
        return SearchPage("There are places, but none is short enough to be shown: search for a part of them.", ())
    return SearchPage(packed.text, items)


def places_page(hits: Sequence[Hit], tokens: int, tokenizer: Tokenizer) -> SearchPage:
    """Return the places of as many hits as go into so many tokens. None of their lines was seen by who gets it."""
    from carrel.pack.context import pack

    return SearchPage(pack(hits, Budget(tokens, "tokens"), tokenizer, form="places").text, ())


def _shown(hit: Hit, items: Sequence[ContextItem]) -> ContextItem | None:
    """Return the hit as a pack shows it, by itself: neighbours are one item there."""
    for item in items:
        if item.hit.chunk.id == hit.chunk.id and item.elided:
            return item
        if item.hit.chunk.path == hit.chunk.path and item.hit.chunk.span.overlaps(hit.chunk.span):
            return ContextItem(hit, hit.chunk.text)
    return None


SPEC = ToolSpec(NAME, DESCRIPTION, schema(SearchArguments))
_TOKENS = 3_000
_FIELDS = {"path_globs": "pathGlob"}

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
        note = f"(Left out to make room; search again to see it.)\n{places_of(page.hits)}" if page.hits else ""
        return ToolResult(page.text, note=note, items=page.items)
