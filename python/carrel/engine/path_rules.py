"""Which files are seldom what a question is about: told by path alone, in any language."""

from __future__ import annotations

import re
from functools import lru_cache

TEST = "test"
EXAMPLE = "example"
COMPATIBILITY = "compatibility"
RE_EXPORT = "re-export"
DECLARATION = "declaration"
GENERATED = "generated"

_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (
            TEST,
            r"(?:^|/)(?:tests?|__tests__|specs?|testing|test[-_]suite|testdata|fixtures?|e2e|mocks?|__mocks__)/",
        ),
        (
            TEST,
            r"(?:^|/)(?:test_[^/]*|[^/]*(?:_test|_spec|\.test|\.spec|[a-z0-9](?:Tests?|Spec|Suite))|conftest|test_?helpers?)\.\w+$",
        ),
        (EXAMPLE, r"(?:^|/)(?:_?examples?|samples?|demos?|docs?|docs?_src|bench(?:es|marks?)?|playground|tutorials?)/"),
        (COMPATIBILITY, r"(?:^|/)(?:_?compat|legacy|deprecated|polyfills?|shims?)(?:/|\.\w+$)"),
        (RE_EXPORT, r"(?:^|/)(?:__init__\.pyi?|package-info\.java|prelude\.\w+)$"),
        (DECLARATION, r"\.d\.[cm]?ts$|\.pyi$"),
        (GENERATED, r"(?:^|/)(?:generated|gen|autogen)/|[._](?:generated|gen|pb|pb2|g)\.\w+$|_pb2(?:_grpc)?\.py$"),
    )
)


@lru_cache(maxsize=65_536)
def kinds(path: str) -> frozenset[str]:
    """The kinds above that a path is of."""
    return frozenset(kind for kind, pattern in _PATTERNS if pattern.search(path))
