"""From what each search arm found to one order.

The arms (dense, lexical, definitions) are fused by reciprocal rank (Cormack, Clarke and Büttcher 2009, k = 60: spec D2);
then rules move candidates by what is true of code in general. Each rule is one small function; `ADDING`, `SCALING` and
`TOGETHER` are the whole list, and `rank` can be told to leave any of them out, which is how a rule's worth is measured.

`relevance` is apart from the order: an absolute estimate from 0 to 1 that can be compared across queries.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from carrel.core.native import ChunkInfo
from carrel.core.types import Query, Signals
from carrel.engine import path_rules
from carrel.engine.query_words import Question, path_words, split, stem

RRF_K = 60
"""Rank constant of reciprocal rank fusion."""


@dataclass(slots=True)
class Ranked:
    """A candidate on its way through the stages. `score` is only comparable within one query."""

    info: ChunkInfo
    dense: float | None = None
    dense_rank: int | None = None
    lexical: float | None = None  # share of the question's weight that the chunk holds, 0..1
    lexical_rank: int | None = None
    defines: float = 0.0  # 1 exact name, less for another case or form
    matched: tuple[str, ...] = ()
    file_share: float = 0.0  # what the file as a whole holds of the question, 0..1
    fused: float = 0.0
    score: float = 0.0
    boosts: list[tuple[str, float]] = field(default_factory=list)

    def signals(self) -> Signals:
        """What is told to the outside."""
        return Signals(
            dense=self.dense,
            dense_rank=self.dense_rank,
            lexical=self.lexical,
            lexical_rank=self.lexical_rank,
            fused=self.fused,
            matched=self.matched,
            boosts=tuple(self.boosts),
        )


@dataclass(frozen=True, slots=True)
class Scene:
    """What the person has in front of them."""

    active_path: str | None = None
    open_paths: frozenset[str] = frozenset()
    pinned: frozenset[str] = frozenset()

    @classmethod
    def of(cls, query: Query) -> Scene:
        """The scene that a query was asked in."""
        return cls(query.active_path, frozenset(query.open_paths), frozenset(query.pinned))


def fuse(candidates: Iterable[Ranked], question: Question) -> None:
    """Set `fused`: reciprocal ranks of the arms, the dense one weighing less for a bare symbol."""
    dense_weight = 0.6 if question.is_symbol else 1.0
    for ranked in candidates:
        ranked.fused = sum(
            weight / (RRF_K + rank)
            for weight, rank in ((dense_weight, ranked.dense_rank), (1.0, ranked.lexical_rank))
            if rank is not None
        )


# --- rules: each adds to or scales a candidate's score, and says so


def name_match(ranked: Ranked, question: Question) -> float:
    """The chunk defines a symbol that the question names; more so when the file is called like it."""
    if not ranked.defines:
        return 0.0
    own, _ = path_words(ranked.info.path)
    wanted = {stem(word) for name in question.names for word in split(name)}
    in_its_file = 1.5 if wanted and wanted <= own else 1.0
    return (2.0 if question.is_symbol else 0.7 / max(1, len(question.names))) * ranked.defines * in_its_file


def path_match(ranked: Ranked, question: Question) -> float:
    """The question's words in the file's name, and less in its folders'."""
    own, folders = path_words(ranked.info.path)
    found = 0.0
    for word in question.words:
        if word in own:
            found += 1.0
        elif any(_akin(word, other) for other in own):
            found += 0.8
        elif word in folders:
            found += 0.3
    covered = len(own & set(question.words)) / len(own) if own else 0.0
    return 0.5 * found / max(1, len(question.words)) + 0.2 * covered


def _akin(a: str, b: str) -> bool:
    """One begins with the other: `dependency` and `depend`, `auth` and `authentication`."""
    return min(len(a), len(b)) >= 4 and (a.startswith(b) or b.startswith(a))


def whole_file(ranked: Ranked, _question: Question) -> float:
    """The file as a whole speaks of it, even where this chunk alone says little."""
    return 0.4 * ranked.file_share


ADDING: tuple[Callable[[Ranked, Question], float], ...] = (name_match, path_match, whole_file)

_PENALTIES = {
    path_rules.TEST: 0.3,
    path_rules.EXAMPLE: 0.3,
    path_rules.COMPATIBILITY: 0.4,
    path_rules.RE_EXPORT: 0.5,
    path_rules.DECLARATION: 0.7,
    path_rules.GENERATED: 0.5,
}
_ASKS_FOR = {
    path_rules.TEST: frozenset({"test", "tests", "spec", "specs", "fixture", "fixtures", "mock", "mocks"}),
    path_rules.EXAMPLE: frozenset(
        {"example", "examples", "sample", "demo", "benchmark", "benchmarks", "doc", "docs", "tutorial"}
    ),
    path_rules.COMPATIBILITY: frozenset({"compat", "compatibility", "legacy", "deprecated", "polyfill", "shim"}),
    path_rules.GENERATED: frozenset({"generated", "protobuf"}),
}


def aside(ranked: Ranked, question: Question, _scene: Scene) -> float:
    """Tests, examples, re-exports and the like step back, unless the question asks for them."""
    factor = 1.0
    for kind in path_rules.kinds(ranked.info.path):
        if not question.plain & _ASKS_FOR.get(kind, frozenset()):
            factor *= _PENALTIES[kind]
    return factor


def in_view(ranked: Ranked, _question: Question, scene: Scene) -> float:
    """Files that the person has open are likelier to be meant."""
    if ranked.info.path == scene.active_path:
        return 1.15
    return 1.05 if ranked.info.path in scene.open_paths else 1.0


SCALING: tuple[Callable[[Ranked, Question, Scene], float], ...] = (aside, in_view)


FILE_DECAY = 0.5
"""Each further chunk of one file counts half of the one before: ten places beat ten pieces of one."""
COHERENCE = 0.2
"""What the best chunk gains where many chunks of its file are candidates."""


def coherence(candidates: Sequence[Ranked], _scene: Scene) -> None:
    """Lift the best chunk of a file that has many candidates: the file is about the question."""
    sums: dict[str, float] = defaultdict(float)
    best: dict[str, Ranked] = {}
    for ranked in candidates:
        path = ranked.info.path
        sums[path] += ranked.score
        if path not in best or ranked.score > best[path].score:
            best[path] = ranked
    if not sums:
        return
    largest, top = max(sums.values()), max(r.score for r in candidates)
    for path, ranked in best.items():
        gain = COHERENCE * top * sums[path] / largest if largest > 0 else 0.0
        ranked.score += gain
        ranked.boosts.append(("coherence", round(gain, 4)))


def spread(candidates: Sequence[Ranked], _scene: Scene) -> None:
    """Halve each further chunk of a file."""
    seen: dict[str, int] = defaultdict(int)
    for ranked in _sorted(candidates):
        ranked.score *= FILE_DECAY ** seen[ranked.info.path]
        seen[ranked.info.path] += 1


def pinned(candidates: Sequence[Ranked], scene: Scene) -> None:
    """Put the best chunk of each file that the person pinned before everything else."""
    top = max((ranked.score for ranked in candidates), default=0.0)
    best: dict[str, Ranked] = {}
    for ranked in _sorted(candidates):
        if ranked.info.path in scene.pinned:
            best.setdefault(ranked.info.path, ranked)
    for ranked in best.values():
        ranked.score += top
        ranked.boosts.append(("pinned", round(top, 4)))


TOGETHER: tuple[Callable[[Sequence[Ranked], Scene], None], ...] = (coherence, spread, pinned)


def rank(
    candidates: Sequence[Ranked], question: Question, scene: Scene, *, without: frozenset[str] = frozenset()
) -> list[Ranked]:
    """Order candidates, best first. Sets `fused`, `score` and `boosts` on each. `without` names rules to leave out."""
    fuse(candidates, question)
    adding = [rule for rule in ADDING if rule.__name__ not in without]
    scaling = [rule for rule in SCALING if rule.__name__ not in without]
    # The best possible fused score is 1 for ranks 1 and 1, so that rules are worth the same in every query.
    best_fused = 2 / (RRF_K + 1)
    for ranked in candidates:
        ranked.score = 0.5 * ranked.fused / best_fused + (ranked.lexical or 0.0) + max(ranked.dense or 0.0, 0.0)
        for rule in adding:
            if gain := rule(ranked, question):
                ranked.score += gain
                ranked.boosts.append((rule.__name__, round(gain, 4)))
        for scale in scaling:
            if (factor := scale(ranked, question, scene)) != 1.0:
                ranked.score *= factor
                ranked.boosts.append((scale.__name__, round(factor, 4)))
    for together in TOGETHER:
        if together.__name__ not in without:
            together(candidates, scene)
    return _sorted(candidates)


def _sorted(candidates: Iterable[Ranked]) -> list[Ranked]:
    return sorted(candidates, key=lambda r: (-r.score, r.info.path, r.info.start_line))


def relevance(ranked: Ranked, floor: float) -> float:
    """How sure it is that the chunk answers, from 0 to 1, whatever else was found.

    The three kinds of evidence are independent witnesses: 1 - (1 - lexical)(1 - dense)(1 - definition), with the lexical
    share as it is, the cosine counted from the model's noise floor to 0.9, and a definition at 0.85.
    """
    dense = 0.0 if ranked.dense is None else min(max((ranked.dense - floor) / (0.9 - floor), 0.0), 1.0)
    lexical = min(max(ranked.lexical or 0.0, 0.0), 1.0)
    value = 1 - (1 - lexical) * (1 - dense) * (1 - 0.85 * ranked.defines)
    return round(min(max(value, 0.0), 1.0), 4) if math.isfinite(value) else 0.0
