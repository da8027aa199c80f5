"""Carrel: the right pages of your own code, in front of every chat request.

    from carrel import Index

    index = Index("path/to/project")
    index.index()
    for hit in index.search("where are passwords checked?"):
        print(hit.file_path, hit.start_line, hit.score)

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
    from carrel.providers.tokenizers import ApproximateTokenizer

__all__ = [
    "ApproximateTokenizer",
    "BagOfWords",
    "Budget",
    "Index",
    "Message",
    "SearchHit",
    "bag_of_words",
    "pick_files_by_grouped_chunk_hits",
]


def __getattr__(name: str) -> "Any":
    if name == "ApproximateTokenizer":
        from carrel.providers import tokenizers  # noqa: PLC0415 - on first use

        return tokenizers.ApproximateTokenizer
    if name in __all__:
        from carrel import library  # noqa: PLC0415 - on first use

        return getattr(library, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
