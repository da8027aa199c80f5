"""Find the few tools that fit a request: the hybrid search of the core, and what names and words of the same meaning say.

The index is the core's, in memory: words (BM25F) and meaning (the bundled model). All signals are joined by fixed weights;
docs/quality.md says on what they were fitted, and on what they were checked.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from heapq import nsmallest
from importlib import resources
from itertools import pairwise
from operator import itemgetter, mul
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from carrel.agent.tool_arguments import properties_of
from carrel.model.catalogue_tool import RISKS, CatalogueTool, Risk
from carrel.model.local_index import CoreEmbedder, IndexStore
from carrel.model.native import CancelToken, Candidate, split_names, stem
from carrel.model.structs import whole_characters
from carrel.question import query_words

_LONGEST_TEXT = 1_500
"""Characters of a tool's text that are searched: one chunk, and what a tool is for stands at the beginning."""
_FIRST_SENTENCE = 220
_LONGEST_QUERY = 4_000
_POOL = 150
_MOST_PARAMETERS = 20
_NEARLY_ALL = 0.8
_UNSEEN = 0.15
"""The cosine that a tool is taken to have which the search by meaning didn't bring up."""

Signals = tuple[float, ...]
WEIGHTS: Signals = (1.099, 1.125, 0.643, 0.534, 0.439, 0.396, 0.774, 0.55, 1.792, 1.267, 0.15)
"""What each of `ToolIndex.signals` counts."""


class FoundTool(Struct, frozen=True):
    """A tool that fits; `score` is comparable within one answer, `why` the request's words that it holds."""

    tool: CatalogueTool
    score: float
    why: tuple[str, ...]


class ToolQuery(Struct, frozen=True):
    """What is asked for. `risk` is the highest that may answer; `tags` are all wanted."""

    text: str
    limit: int = 5
    risk: Risk | None = None
    tags: tuple[str, ...] = ()
    among: frozenset[str] | None = None
    """Qualified names of those that may answer, None for all."""


class ToolIndex:
    """The tools of one moment, searchable. Made and asked on any one thread; a change of tools makes another.

    Each tool has two texts: its names with its first sentence, and all that is said of it.
    """

    def __init__(self, tools: Sequence[CatalogueTool], store: IndexStore, embedder: CoreEmbedder) -> None:
        """Index `tools` in `store`, which is empty and in memory."""
        self.tools = tuple(tools)
        token = CancelToken()
        for number, tool in enumerate(self.tools):
            for kind, text in (("short", short_text(tool)), ("long", long_text(tool))):
                batch = store.cut_buffer(f"{kind}/{number}.txt", text, token)
                embedder.embed_batch(batch, token)
                store.commit_buffer(batch)
        self._view = store.snapshot()
        everywhere = _everywhere(self.tools)
        words = [_Words.of(tool, everywhere) for tool in self.tools]
        self._rarity = _Rarity([item.whole_name for item in words], len(self.tools))
        self._concept_rarity = _Rarity([item.name_concepts for item in words], len(self.tools))
        self._words = [replace(item, weight=sum(self._rarity[word] for word in item.name) or 1.0) for item in words]

    def search(self, query: ToolQuery, vector: bytes, weights: Signals = WEIGHTS) -> list[FoundTool]:
        """Return the tools that fit best, best first; never more than `limit`. `vector` is that of the request's text."""
        if query.limit < 1 or not query.text.strip():
            return []
        scored = [
            (-round(sum(map(mul, weights, signals)), 6), tool.qualified, tool, both)
            for tool, signals, both in self.signals(query, vector)
            if _allows(query, tool)
        ]
        best = nsmallest(query.limit, scored, key=itemgetter(0, 1))
        return [FoundTool(tool, -score, _why(both)) for score, _, tool, both in best]

    def signals(self, query: ToolQuery, vector: bytes) -> list[tuple[CatalogueTool, Signals, Mapping[str, Candidate]]]:
        """Return each tool that any search brings up, with its signals and the candidates that its texts are in the core."""
        question = query_words.read(whole_characters(query.text)[:_LONGEST_QUERY])
        narrowed = query.risk is not None or bool(query.tags) or query.among is not None
        [(candidates, _)] = self._view.find(
            [question.parsed(vector=vector)],
            pool=2 * len(self.tools) if narrowed else max(_POOL, 2 * query.limit),
            floor=0.0,
            filter=None,
            pinned=None,
            active_path=None,
            cancel=CancelToken(),
        )
        by_tool: dict[int, dict[str, Candidate]] = {}
        for candidate in candidates:
            kind, _, number = candidate.path.removesuffix(".txt").partition("/")
            by_tool.setdefault(int(number), {})[kind] = candidate
        highest = max((both["long"].lexical for both in by_tool.values() if "long" in both), default=0.0) or 1.0
        words = self._parse(query.text, question.words)
        return [
            (self.tools[number], (*_of_search(both, highest), *self._of_words(self._words[number], words)), both)
            for number, both in by_tool.items()
        ]

    def _parse(self, text: str, telling: Sequence[str]) -> _RequestWords:
        """Take a request's words apart, once for all tools."""
        groups_of, rarity = concepts(), self._concept_rarity
        words = dict.fromkeys(map(stem, split_names(text[:_LONGEST_QUERY])))
        meanings = [
            (word, sorted(((rarity[group], group) for group in groups_of[word]), reverse=True))
            for word in words
            if word in groups_of
        ]
        joined = (stem(first + second) for first, second in pairwise(split_names(text[:_LONGEST_QUERY])))
        rarities = {word: self._rarity[word] for word in (*telling, *(word for word in joined if word in self._rarity))}
        return _RequestWords(rarities, sum(rarities.values()) or 1.0, meanings)

    def _of_words(self, tool: _Words, request: _RequestWords) -> Signals:
        in_name = own_name = meant_by_name = meant_by_text = taken = 0.0
        for word, rarity in request.telling.items():
            if word in tool.parameters:
                taken += rarity
            if word in tool.whole_name:
                in_name += rarity
                if word in tool.name:
                    own_name += rarity
        for word, groups in request.meanings:
            if word in tool.whole_name:  # as it is, not in another form
                continue
            for rarity, group in groups:
                if group in tool.name_concepts:
                    meant_by_name += rarity
                    break
            for rarity, group in groups:
                if group in tool.text_concepts:
                    meant_by_text += rarity
                    break
        total = request.total
        return (
            in_name / total,
            own_name / tool.weight,
            float(tool.source in request.telling),
            meant_by_name / total,
            meant_by_text / total,
            taken / total,
        )


class _RequestWords(Struct, frozen=True):
    """The words of a request, stemmed: how rare those are that tell something, and what all of them may mean, rarest first."""

    telling: Mapping[str, float]
    total: float
    meanings: Sequence[tuple[str, Sequence[tuple[float, int]]]]


class _Words(Struct, frozen=True):
    """The words of a tool's name, stemmed, what they and those of its first sentence mean, and how much the name says."""

    source: str
    name: frozenset[str]
    whole_name: frozenset[str]
    name_concepts: frozenset[int]
    text_concepts: frozenset[int]
    parameters: frozenset[str]
    weight: float = 1.0

    @classmethod
    def of(cls, tool: CatalogueTool, everywhere: Mapping[str, frozenset[str]]) -> _Words:
        whole = frozenset(map(stem, split_names(tool.name)))
        name = whole - everywhere[tool.source] - _FUNCTION_WORDS or whole
        source = frozenset(map(stem, split_names(tool.source)))
        text = frozenset(map(stem, split_names(_first_sentence(tool.description))))
        groups_of = concepts()
        meant = [frozenset(group for word in words for group in groups_of.get(word, ())) for words in (name, text)]
        taken = frozenset(map(stem, split_names(" ".join(_parameters(tool.schema)))))
        return cls(stem(tool.source), name, whole | source, meant[0], meant[1], taken)


_FUNCTION_WORDS = frozenset(("a", "an", "the", "of", "to", "for", "by", "in", "on", "from", "with", "and", "or"))


def _everywhere(tools: Sequence[CatalogueTool]) -> Mapping[str, frozenset[str]]:
    """Return by source the words that nearly all of its tools' names hold, such as a prefix: they tell none from the others."""
    of_source: dict[str, list[frozenset[str]]] = {}
    for tool in tools:
        of_source.setdefault(tool.source, []).append(frozenset(map(stem, split_names(tool.name))))
    common = {}
    for source, names in of_source.items():
        often = Counter(word for name in names for word in name)
        least = _NEARLY_ALL * len(names)
        common[source] = frozenset(word for word, count in often.items() if len(names) > 2 and count >= least)
    return common


class _Rarity(dict[Hashable, float]):
    """How much a word says, by how few of the names hold it."""

    def __init__(self, names: Sequence[frozenset[Any]], count: int) -> None:
        often = Counter(item for name in names for item in name)
        super().__init__({item: math.log(1 + count / (1 + number)) for item, number in often.items()})
        self._unknown = math.log(1 + count)

    def __missing__(self, item: Hashable) -> float:
        return self._unknown


def _of_search(both: Mapping[str, Candidate], highest: float) -> Signals:
    short, long = both.get("short"), both.get("long")
    return (
        short.dense if short else _UNSEEN,
        long.dense if long else _UNSEEN,
        long.lexical / highest if long else 0.0,
        short.covered if short else 0.0,
        long.covered if long else 0.0,
    )


def _why(both: Mapping[str, Candidate]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for candidate in both.values() for word in candidate.matched))


def short_text(tool: CatalogueTool) -> str:
    """Return a tool's names, taken apart, and the first sentence that is said of it."""
    name = " ".join(split_names(tool.name))
    return _plain(f"{tool.source} {name}\n{name}\n{_first_sentence(tool.description)}")


def long_text(tool: CatalogueTool) -> str:
    """Return all that is said of a tool: names, description, tags, examples, parameters."""
    lines = [
        f"{tool.name} {' '.join(split_names(tool.name))}",
        " ".join([*split_names(tool.source), *tool.tags]),
        *tool.examples,
        tool.description,
        *_parameters(tool.schema),
    ]
    return _plain("\n".join(filter(None, lines)))[:_LONGEST_TEXT]


def _first_sentence(description: str) -> str:
    text = " ".join(description[:4_000].split())
    end = re.search(r"(?<=[.!?])\s", text[40:_FIRST_SENTENCE])
    return text[: 40 + end.start()] if end else text[:_FIRST_SENTENCE]


def _plain(text: str) -> str:
    return whole_characters(text).replace("\0", " ")


def _parameters(schema: Mapping[str, Any]) -> list[str]:
    lines = []
    for name, spec in list(properties_of(schema).items())[:_MOST_PARAMETERS]:
        about = spec.get("description", "") if isinstance(spec, Mapping) else ""
        lines.append(f"{' '.join(split_names(str(name)))} {about if isinstance(about, str) else ''}"[:120])
    return lines


def _allows(query: ToolQuery, tool: CatalogueTool) -> bool:
    if query.among is not None and tool.qualified not in query.among:
        return False
    fits = query.risk is None or RISKS.index(tool.risk) <= RISKS.index(query.risk)
    return fits and set(query.tags) <= set(tool.tags)


@lru_cache(maxsize=1)
def concepts() -> Mapping[str, frozenset[int]]:
    """Return by stem the numbers of the groups of words of much the same meaning that a word belongs to."""
    groups: dict[str, set[int]] = {}
    for number, line in enumerate(resources.files(__package__).joinpath("concepts.txt").read_text("utf-8").split("\n")):
        for word in () if line.startswith("#") else line.split():
            groups.setdefault(stem(word), set()).add(number)
    return {word: frozenset(numbers) for word, numbers in groups.items()}
