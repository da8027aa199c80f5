"""Carrel: the right pages of your own code, in front of every chat request.

    from carrel import Index, ask

    index = Index("path/to/project")
    index.index()
    for hit in index.search("where are passwords checked?"):
        print(hit.file_path, hit.start_line, hit.score)
    print(ask("where are passwords checked?", "path/to/project"))  # by the chat model that the settings name

Names load when they are first used: `import carrel` costs nothing, and leaves no moment for a Ctrl-C.
"""

TYPE_CHECKING = False  # that of `typing`, which takes a while to import
if TYPE_CHECKING:
    from typing import Any

    from carrel.library import (
        BagOfWords,
        Budget,
        Index,
        Message,
        SearchHit,
        bag_of_words,
        pick_files_by_grouped_chunk_hits,
    )
    from carrel.library_chat import Answer, Chat, Review, ask, chat, review
    from carrel.providers.tokenizers import ApproximateTokenizer

__all__ = [
    "Answer",
    "ApproximateTokenizer",
    "BagOfWords",
    "Budget",
    "Chat",
    "Index",
    "Message",
    "Review",
    "SearchHit",
    "ask",
    "bag_of_words",
    "chat",
    "pick_files_by_grouped_chunk_hits",
    "review",
]

_MODULES = {"ApproximateTokenizer": "providers.tokenizers"} | dict.fromkeys(
    ("Answer", "Chat", "Review", "ask", "chat", "review"), "library_chat"
)
"""The modules of names that `library` doesn't have."""


def __getattr__(name: str) -> "Any":
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import datetime  # noqa: F401, PLC0415 - before msgspec imports it, which would lose a Ctrl-C in it and crash later
    from importlib import import_module  # noqa: PLC0415 - on first use

    return getattr(import_module(f"carrel.{_MODULES.get(name, 'library')}"), name)


def __dir__() -> list[str]:
    return list(__all__)
