"""Which files are seldom what a question is about, and which lie close together: told by path alone, in any language."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import takewhile

TEST = "test"
EXAMPLE = "example"
COMPATIBILITY = "compatibility"
RE_EXPORT = "re-export"
DECLARATION = "declaration"
GENERATED = "generated"
PROSE = "prose"
DATA = "data"

ASKED_BY: dict[str, frozenset[str]] = {
    TEST: frozenset({"test", "tests", "spec", "specs", "fixture", "fixtures", "mock", "mocks"}),
    EXAMPLE: frozenset({"example", "examples", "sample", "demo", "benchmark", "benchmarks", "doc", "docs", "tutorial"}),
    COMPATIBILITY: frozenset({"compat", "compatibility", "legacy", "deprecated", "polyfill", "shim"}),
    RE_EXPORT: frozenset(),
    DECLARATION: frozenset(),
    GENERATED: frozenset({"generated", "protobuf"}),
    PROSE: frozenset({"doc", "docs", "documentation", "readme", "guide", "tutorial", "changelog", "markdown", "blog"}),
    DATA: frozenset(
        """config configuration json yaml toml css html style styles workflow ci package dependency dependencies lint schema
        settings""".split()  # noqa: SIM905 - a list of words reads best as text
    ),
}
"""Words of a question that ask for files of this kind."""

_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (
            TEST,
            r"(?:^|/)(?:tests?|__tests__|specs?|testing|test[-_]suite|testdata|fixtures?|e2e|mocks?|__mocks__)/",
        ),
        (
            TEST,
            r"(?:^|/)(?:test_[^/]*|[^/]*(?:_test|_spec|\.test|\.spec|[a-z0-9](?:Tests?|Spec|Suite))|conftest|tests?|test_?helpers?)\.\w+$",
        ),
        (EXAMPLE, r"(?:^|/)(?:_?examples?|samples?|demos?|docs?|docs?_src|bench(?:es|marks?)?|playground|tutorials?)/"),
        (COMPATIBILITY, r"(?:^|/)(?:_?compat|legacy|deprecated|polyfills?|shims?)(?:/|\.\w+$)"),
        (RE_EXPORT, r"(?:^|/)(?:__init__\.pyi?|package-info\.java|prelude\.\w+)$"),
        (DECLARATION, r"\.d\.[cm]?ts$|\.pyi$"),
        (GENERATED, r"(?:^|/)(?:generated|gen|autogen)/|[._](?:generated|gen|pb|pb2|g)\.\w+$|_pb2(?:_grpc)?\.py$"),
        (PROSE, r"(?i)\.(?:mdx?|markdown|rst|txt|adoc|org|ipynb)$"),
        (DATA, r"(?i)\.(?:jsonc?|ya?ml|toml|lock|ini|cfg|conf|xml|csv|svg|s?css|html?|properties|sql)$"),
    )
)


@lru_cache(maxsize=65_536)
def kinds(path: str) -> frozenset[str]:
    """The kinds above that a path is of."""
    return frozenset(kind for kind, pattern in _PATTERNS if pattern.search(path))


def nearness(path: str, other: str) -> float:
    """How much of their way from the root two files share: 1 in one folder, towards 0 the farther apart they lie."""
    one, two = path.split("/")[:-1], other.split("/")[:-1]
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False)))
    return (2 * shared + 1) / (len(one) + len(two) + 1)
