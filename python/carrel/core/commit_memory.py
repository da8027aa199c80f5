"""What a repository's own commits say of a change that is asked for: which files commits with words like it changed."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

HALF_LIFE = 200
"""A commit that is so many commits older counts half: projects move on."""
_SATURATION = 0.2
"""Evidence of this strength is worth half of what the surest is worth."""


@dataclass(frozen=True, slots=True)
class RememberedCommit:
    """The telling words of a commit's subject, without repeats, and the files that it changed."""

    words: tuple[str, ...]
    paths: tuple[str, ...]


class CommitMemory:
    """Commits, newest first, which can be asked by words. Immutable, so that threads may share it."""

    def __init__(self, commits: Sequence[RememberedCommit]) -> None:
        self.commits = tuple(commits)
        held = Counter(word for commit in self.commits for word in set(commit.words))
        self._rarity = {word: math.log(1 + len(self.commits) / count) for word, count in held.items()}
        self._unknown = math.log(1 + len(self.commits))
        self._holders: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for place, commit in enumerate(self.commits):
            words = sorted(set(commit.words))
            length = self._length(words)
            for word in words:
                self._holders[word].append((place, self._rarity[word] / length))

    def files(self, words: Collection[str], *, older_than: int = -1) -> dict[str, float]:
        """Return from 0 to 1 how much the commits speak for each file; only commits beyond the place `older_than` are asked.

        A commit counts by the square of the cosine of its words with these, by its age, and less for each further file of it.
        """
        asked = sorted(set(words))
        length = self._length(asked)
        cosines: dict[int, float] = defaultdict(float)
        for word in asked:
            for place, share in self._holders.get(word, ()):
                if place > older_than:
                    cosines[place] += share * self._rarity[word] / length
        evidence: dict[str, float] = defaultdict(float)
        for place, cosine in sorted(cosines.items()):  # sums of floats depend on their order
            paths = self.commits[place].paths
            share = cosine * cosine * 0.5 ** ((place - older_than - 1) / HALF_LIFE) / math.sqrt(len(paths))
            for path in paths:
                evidence[path] += share
        return {path: found / (found + _SATURATION) for path, found in evidence.items()}

    def _length(self, words: Collection[str]) -> float:
        return math.sqrt(sum(self._rarity.get(word, self._unknown) ** 2 for word in words)) or 1.0


@dataclass(frozen=True, slots=True)
class HistoryAdapter:
    """A memory of commits with what its evidence is worth in the ranking, as it was learned from the repository."""

    memory: CommitMemory
    weight: float

    def gains(self, words: Collection[str]) -> dict[str, float]:
        """Return what each file gains in the ranking of a change with these words."""
        return {path: self.weight * found for path, found in self.memory.files(words).items()}
