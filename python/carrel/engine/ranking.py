"""From what each search found to one order.

Every candidate has all signals (`Ranked`), whichever search found it. Rules turn them into a score: those in `ADDING` each
add their weight times a value from about 0 to 1, those in `SCALING` multiply, and those in `TOGETHER` look from one candidate
to the others. Each rule is one small function over all candidates, and `rank` can be told to leave any of them out:
docs/quality.md has what each is worth. The weights were fitted on 26 of the benchmark's repositories and checked on the
others; no rule knows a repository.

`relevance` is apart from the order: an absolute estimate from 0 to 1 that can be compared across queries.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from carrel.core.native import Evidence, path_fits, path_words, split_names, stem
from carrel.core.types import Query, Signals
from carrel.engine import path_rules
from carrel.engine.query_words import Question, place_words

RRF_K = 60
"""Rank constant of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009: spec D2)."""


@dataclass(slots=True)
class Ranked:
    """A candidate on its way through the stages. `score` is only comparable within one query."""

    doc: int  # which chunk of the snapshot
    evidence: Evidence
    path: str
    lines: int
    dense: float | None = None  # cosine
    dense_rank: int | None = None  # from 1; None when the dense search didn't find it
    lexical: float | None = None  # share of the question's weight that the chunk holds, 0..1
    lexical_rank: int | None = None
    defines: float = 0.0  # 1 exact name, less for another case or form
    covered: float = 0.0  # share of the question's words that the chunk holds, 0..1
    file_share: float = 0.0  # what the file as a whole holds of the question, 0..1
    file_words: int = 0
    tied: float = 0.0  # how closely its file is tied to the active one by names, 0..1
    fused: float = 0.0
    score: float = 0.0
    gains: tuple[float, ...] = ()  # what each rule of `ADDING` added
    factors: tuple[float, ...] = ()  # what each rule of `SCALING` multiplied by
    lifts: tuple[tuple[str, float], ...] = ()  # what rules over all candidates added

    @property
    def matched(self) -> tuple[str, ...]:
        """The question's words that the chunk holds, rarest first."""
        return tuple(self.evidence.matched)

    def signals(self, boosts: tuple[tuple[str, float], ...]) -> Signals:
        """What is told to the outside."""
        return Signals(
            dense=self.dense,
            dense_rank=self.dense_rank,
            lexical=self.lexical,
            lexical_rank=self.lexical_rank,
            fused=self.fused,
            matched=self.matched,
            boosts=boosts,
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


class Asked:
    """The question with what the rules want to know of it."""

    def __init__(self, question: Question, rarity: Mapping[str, float] | None = None) -> None:
        self.question = question
        self.rarity = {word: (rarity or {}).get(word, 1.0) for word in question.words}
        self.named = frozenset(stem(word) for name in question.names for word in split_names(name))

    def fits(self, paths: Sequence[str]) -> list[tuple[float, float, float]]:
        """How each path answers: what its name has of the question, what is akin to it, and how much of the name that is."""
        return path_fits(paths, list(self.rarity.items()), split_names(self.question.text))


# --- rules that add: what each candidate gains


def words(candidates: Sequence[Ranked], _asked: Asked) -> list[float]:
    """BM25F: what the chunk's words hold of the question."""
    return [LEXICAL * (ranked.lexical or 0.0) for ranked in candidates]


def meaning(candidates: Sequence[Ranked], asked: Asked) -> list[float]:
    """Cosine of the vectors; a bare symbol is looked up by its name rather."""
    weight = DENSE_FOR_SYMBOL if asked.question.is_symbol else DENSE
    return [weight * max(ranked.dense or 0.0, 0.0) for ranked in candidates]


def agreement(candidates: Sequence[Ranked], _asked: Asked) -> list[float]:
    """Reciprocal rank fusion of both searches, 1 for the first of both."""
    return [FUSED * ranked.fused * (RRF_K + 1) / 2 for ranked in candidates]


def coverage(candidates: Sequence[Ranked], _asked: Asked) -> list[float]:
    """Few words often are worth less than all words once."""
    return [COVERED * ranked.covered * ranked.covered for ranked in candidates]


def whole_file(candidates: Sequence[Ranked], _asked: Asked) -> list[float]:
    """The file as a whole speaks of it, even where this chunk alone says little."""
    return [FILE_SHARE * ranked.file_share for ranked in candidates]


def path_match(candidates: Sequence[Ranked], asked: Asked) -> list[float]:
    """The question's words in the file's name. Folders count by BM25F alone: as a rule of their own they gained nothing."""
    fits = asked.fits([ranked.path for ranked in candidates])
    return [PATH_OWN * own + PATH_AKIN * akin + PATH_COVERED * covered for own, akin, covered in fits]


def in_scope(candidates: Sequence[Ranked], asked: Asked) -> list[float]:
    """A folder or file is called like the part of the project that a change is headed with: `fix(parser): …`."""
    scope = asked.question.scope
    return [IN_SCOPE if scope and scope in place_words(ranked.path) else 0.0 for ranked in candidates]


def substance(candidates: Sequence[Ranked], _asked: Asked) -> list[float]:
    """Long files are where the work is done, and a few lines say little."""
    return [
        FILE_LENGTH * min(math.log1p(ranked.file_words) / 10, 1.0) + LINES * min(math.log1p(ranked.lines) / 4, 1.0)
        for ranked in candidates
    ]


def name_match(candidates: Sequence[Ranked], asked: Asked) -> list[float]:
    """The chunk defines a symbol that the question names; more so when the file is called like it."""
    weight = DEFINES_SYMBOL if asked.question.is_symbol else DEFINES_NAMED / max(1, len(asked.question.names))

    def gain(ranked: Ranked) -> float:
        in_its_file = IN_ITS_FILE if asked.named and asked.named.issubset(path_words(ranked.path)) else 1.0
        made = CONSTRUCTOR if _is_constructor(ranked.evidence) else 1.0
        return weight * ranked.defines * in_its_file * made

    return [gain(ranked) if ranked.defines else 0.0 for ranked in candidates]


def _is_constructor(chunk: Evidence) -> bool:
    """Named like its class, which is what a question for that name is about."""
    *around, own = _NAMES.split(chunk.symbol.lower())
    return chunk.kind in {"method", "function"} and bool(around) and around[-1] == own


_NAMES = re.compile(r"[.:#\\]+")

ADDING: tuple[Callable[[Sequence[Ranked], Asked], list[float]], ...] = (
    words,
    meaning,
    agreement,
    coverage,
    whole_file,
    path_match,
    in_scope,
    substance,
    name_match,
)

# --- rules that scale: what each candidate's score is multiplied by


def aside(candidates: Sequence[Ranked], asked: Asked, _scene: Scene) -> list[float]:
    """Tests, examples, prose, data and the like step back, unless the question asks for them."""
    penalties = {kind: factor for kind, factor in PENALTIES.items() if not asked.question.plain & path_rules.ASKED_BY[kind]}
    kinds = [path_rules.kinds(ranked.path) for ranked in candidates]
    return [math.prod(penalties.get(kind, 1.0) for kind in of_path) if of_path else 1.0 for of_path in kinds]


def in_view(candidates: Sequence[Ranked], _asked: Asked, scene: Scene) -> list[float]:
    """Files that the person has open are likelier to be meant."""
    factors = dict.fromkeys(scene.open_paths, 1.05) | ({scene.active_path: 1.15} if scene.active_path else {})
    return [factors.get(ranked.path, 1.0) for ranked in candidates]


def nearby(candidates: Sequence[Ranked], _asked: Asked, scene: Scene) -> list[float]:
    """What lies in the folder of the active file, or close to it, is likelier to be meant than what lies far from it."""
    if scene.active_path is None:
        return [1.0] * len(candidates)
    active = scene.active_path
    return [1 + NEARBY * path_rules.nearness(ranked.path, active) for ranked in candidates]


def tied(candidates: Sequence[Ranked], _asked: Asked, _scene: Scene) -> list[float]:
    """What the active file uses, and what uses the active file, is likelier to be meant than what has nothing to do with it."""
    return [1 + TIED * ranked.tied for ranked in candidates]


SCALING: tuple[Callable[[Sequence[Ranked], Asked, Scene], list[float]], ...] = (aside, in_view, nearby, tied)

# --- rules over all candidates


def coherence(candidates: Sequence[Ranked], _scene: Scene) -> None:
    """Lift the best chunk of a file that has many candidates: the file is about the question."""
    sums: dict[str, float] = defaultdict(float)
    best: dict[str, Ranked] = {}
    for ranked in candidates:
        path = ranked.path
        sums[path] += max(ranked.score, 0.0)
        if path not in best or ranked.score > best[path].score:
            best[path] = ranked
    if not sums or (largest := max(sums.values())) <= 0:
        return
    top = max(r.score for r in candidates)
    for path, ranked in best.items():
        gain = COHERENCE * top * sums[path] / largest
        ranked.score += gain
        ranked.lifts += (("coherence", round(gain, 4)),)


def spread(candidates: Sequence[Ranked], _scene: Scene) -> None:
    """Each further chunk of one file counts a part of the one before: ten places beat ten pieces of one."""
    seen: dict[str, int] = defaultdict(int)
    for ranked in _sorted(candidates):
        ranked.score *= FILE_DECAY ** seen[ranked.path]
        seen[ranked.path] += 1


def pinned(candidates: Sequence[Ranked], scene: Scene) -> None:
    """Put the best chunk of each file that the person pinned before everything else."""
    if not scene.pinned:
        return
    top = max((ranked.score for ranked in candidates), default=0.0)
    best: dict[str, Ranked] = {}
    for ranked in _sorted(candidates):
        if ranked.path in scene.pinned:
            best.setdefault(ranked.path, ranked)
    for ranked in best.values():
        ranked.score += top
        ranked.lifts += (("pinned", round(top, 4)),)


TOGETHER: tuple[Callable[[Sequence[Ranked], Scene], None], ...] = (coherence, spread, pinned)

# --- fitted weights

LEXICAL = 0.8
DENSE = 1.1
DENSE_FOR_SYMBOL = 0.45
FUSED = 0.4
COVERED = 0.1
FILE_SHARE = 0.5
PATH_OWN = 0.5
PATH_AKIN = 0.6
PATH_COVERED = 0.24
IN_SCOPE = 0.3
FILE_LENGTH = 0.08
LINES = 0.15
DEFINES_SYMBOL = 2.2
DEFINES_NAMED = 0.6
IN_ITS_FILE = 1.2
CONSTRUCTOR = 0.5
COHERENCE = 0.1
FILE_DECAY = 0.5
NEARBY = 0.2
TIED = 0.3
PENALTIES = {
    path_rules.TEST: 0.2,
    path_rules.EXAMPLE: 0.3,
    path_rules.COMPATIBILITY: 0.8,
    path_rules.RE_EXPORT: 0.5,
    path_rules.DECLARATION: 0.7,
    path_rules.GENERATED: 0.5,
    path_rules.PROSE: 0.5,
    path_rules.DATA: 0.6,
}


def rank(candidates: Sequence[Ranked], asked: Asked, scene: Scene, *, without: frozenset[str] = frozenset()) -> list[Ranked]:
    """Order candidates, best first. Sets `fused` and `score` on each. `without` names rules to leave out."""
    score(candidates, asked, scene, without=without)
    for together in TOGETHER:
        if together.__name__ not in without:
            together(candidates, scene)
    return _sorted(candidates)


def score(candidates: Sequence[Ranked], asked: Asked, scene: Scene, *, without: frozenset[str] = frozenset()) -> None:
    """Score each candidate by itself."""
    for ranked in candidates:
        ranked.fused = sum(1 / (RRF_K + place) for place in (ranked.dense_rank, ranked.lexical_rank) if place is not None)
    nothing, as_it_is = [0.0] * len(candidates), [1.0] * len(candidates)
    gains = [nothing if rule.__name__ in without else rule(candidates, asked) for rule in ADDING]
    factors = [as_it_is if rule.__name__ in without else rule(candidates, asked, scene) for rule in SCALING]
    for ranked, ranked.gains, ranked.factors in zip(
        candidates, zip(*gains, strict=True), zip(*factors, strict=True), strict=True
    ):
        ranked.score = sum(ranked.gains) * math.prod(ranked.factors)


def boosts(ranked: Ranked) -> tuple[tuple[str, float], ...]:
    """(rule, what it added or multiplied by) for a candidate that was ranked."""
    added = [(rule.__name__, gain) for rule, gain in zip(ADDING, ranked.gains, strict=True) if gain]
    scaled = [(rule.__name__, factor) for rule, factor in zip(SCALING, ranked.factors, strict=True) if factor != 1.0]
    return tuple((name, round(value, 4)) for name, value in (*added, *scaled, *ranked.lifts))


def _sorted(candidates: Iterable[Ranked]) -> list[Ranked]:
    return sorted(candidates, key=lambda r: (-r.score, r.path, r.doc))


def relevance(ranked: Ranked, floor: float) -> float:
    """How sure it is that the chunk answers, from 0 to 1, whatever else was found.

    The three kinds of evidence are independent witnesses: 1 - (1 - lexical)(1 - dense)(1 - definition), with the lexical
    share as it is, the cosine counted from the model's noise floor to 0.9, and a definition at 0.85.
    """
    dense = 0.0 if ranked.dense is None else min(max((ranked.dense - floor) / (0.9 - floor), 0.0), 1.0)
    lexical = min(max(ranked.lexical or 0.0, 0.0), 1.0)
    value = 1 - (1 - lexical) * (1 - dense) * (1 - 0.85 * ranked.defines)
    return round(min(max(value, 0.0), 1.0), 4) if math.isfinite(value) else 0.0
