"""Copies of code that differ by version, platform or manner of calling: which one a question is about.

Two files are twins if their paths are the same but for such words (`v1/fields.py` and `fields.py`, `_unix.py` and `_windows.py`,
`win/tty.c` and `unix/tty.c`, `client.py` and `async_client.py`); pieces of code are twins if their files are and they have the
same name. One of them is what the question, the file in front, the machine or the newest history speaks for.
"""

from __future__ import annotations

import platform
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from carrel.core.local_index import SnapshotView
from carrel.core.native import Candidate
from carrel.core.types import Query

Kind = Literal["version", "system", "processor", "manner"]

_SYSTEMS = {
    "windows": "windows win win32 win64 winnt nt msw winapi",
    "darwin": "darwin macos macosx osx mac",
    "linux": "linux",
    "freebsd": "freebsd",
    "openbsd": "openbsd",
    "netbsd": "netbsd",
    "dragonfly": "dragonfly",
    "bsd": "bsd",
    "solaris": "solaris sunos illumos",
    "aix": "aix",
    "plan9": "plan9",
    "android": "android",
    "ios": "ios",
    "haiku": "haiku",
    "zos": "zos os390",
    "wasm": "wasm wasm32 wasi wasip1 wasip2 emscripten simd128",
    "unix": "unix posix",
    "none": "unsupported other others fallback stub notimplemented",
}
_PROCESSORS = {
    "amd64": "amd64 x86_64 x64 avx avx2 avx512 sse sse2 sse4 ssse3",
    "386": "386 i386 i686 ia32",
    "arm64": "arm64 aarch64 neon",
    "arm": "arm armv7",
    "riscv64": "riscv64",
    "ppc64": "ppc64 ppc64le",
    "s390x": "s390x",
    "mips": "mips mips64 mipsle mips64le",
    "loong64": "loong64 loongarch64",
}
_MANNERS = {"async": "async asyncio aio asynchronous", "sync": "sync synchronous blocking"}
_OLD = frozenset("legacy deprecated old obsolete compat".split())  # noqa: SIM905
_KINDS: tuple[tuple[Kind, dict[str, str]], ...] = (("system", _SYSTEMS), ("processor", _PROCESSORS), ("manner", _MANNERS))
_WORDS: dict[str, tuple[Kind, str]] = {
    word: (kind, name) for kind, table in _KINDS for name, words in table.items() for word in words.split()
}
_LIKE_UNIX = frozenset(_SYSTEMS) - {"windows", "plan9", "wasm", "none", "unix"}
_LIKE_BSD = frozenset({"darwin", "freebsd", "openbsd", "netbsd", "dragonfly"})

_GLUED = re.compile(r"(?<=[a-z])(windows|win32|linux|darwin|macos|osx|posix|unix|freebsd|openbsd|netbsd|bsd|sunos|solaris|aix)$")
"""A system at the end of a word without a mark before it: `_pslinux`, `serialposix`."""
_VERSION = re.compile(
    r"(?:\b|(?<=_)|(?<=api))v(\d{1,3}(?:[._]\d{1,3})*)(?:p\d+)?((?:alpha|beta|rc|preview)\d*)?(?![a-z\d])"  # v2, apiv1, v1beta1
    r"|(?<=[a-z])[-_](\d{1,3}(?:\.\d{1,3})+)$"  # lua-5.3.6
    r"|\b(20\d\d[-_]\d\d[-_]\d\d)\b"  # 2019-03-01
)
_ASKED_VERSION = re.compile(r"(?:(?<![a-z\d])|(?<=api))(v\d[\w.]*|\d{1,3}(?:\.\d{1,3})+|(?<=version )\d{1,3})(?![a-z\d])")
_MARK = re.compile(r"[-_.]+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|\W+")
_ASKED_WORD = re.compile(r"x86_64|[a-z][a-z\d]+")
_NO_NAMES = frozenset("blocking fallback mac nt old other others stub sync".split())  # noqa: SIM905 - of systems and manners
_HALF_LIFE = 30
"""Of the newest commits one counts half as much as one that is so many newer."""
_CLEARLY = 2.0
"""History speaks for a variant with so many times the changes of another."""


@dataclass(frozen=True, slots=True)
class Variant:
    """What a path says of the variant: by kind the words for it, and the path without them."""

    family: str
    words: frozenset[tuple[Kind, str]] = frozenset()
    version: tuple[int, ...] = ()
    unfinished: bool = False  # alpha, beta, rc
    old: bool = False  # legacy, deprecated


@lru_cache(maxsize=1 << 16)
def variant_of(path: str) -> Variant:
    """Read which variant of the code a file is, by its path alone."""
    words: set[tuple[Kind, str]] = set()
    version: tuple[int, ...] = ()
    unfinished = old = False
    kept: list[str] = []
    *folders, name = path.split("/")
    stem, dot, ending = name.partition(".") if not name.startswith(".") else (name, "", "")
    for place, part in enumerate((*folders, stem)):
        text = part.lower()
        if found := _VERSION.search(text):
            number, stage, release, date = found.groups()
            version = tuple(int(n) for n in re.split(r"[-._]", number or release or date))
            unfinished = bool(stage)
            words.add(("version", found[0].lstrip("-_")))
            text = text[: found.start()] + text[found.end() :]
        rest: list[str] = []
        for word in _MARK.split(text.replace("x86_64", "amd64")):
            told = _WORDS.get(word)
            before, glued = word, _GLUED.search(word)
            if told is None and glued:
                before, told = word[: glued.start()], _WORDS[glued[0]]
                rest.append(before)
            if told is not None:
                words.add(told)
            elif word in _OLD and place < len(folders):
                old = True
            elif word and before is word:
                rest.append(word)
        if rest or (not text.strip("-_.") and place == len(folders)):
            kept.append("_".join(rest))
    return Variant("/".join(kept) + dot + ending.lower(), frozenset(words), version, unfinished, old)


def machine() -> str:
    """Return what this machine runs, as `_SYSTEMS` names it."""
    return {"win32": "windows", "cygwin": "windows"}.get(sys.platform, re.sub(r"\d+$", "", sys.platform))


def processor() -> str:
    """Return this machine's processor, as `_PROCESSORS` names it."""
    return _WORDS.get(platform.machine().lower(), ("processor", ""))[1]


@dataclass(frozen=True, slots=True)
class Settled:
    """Candidates with the right one of twins before the others, and by the number of each other one that which stands for it."""

    order: tuple[Candidate, ...]
    stands_for: Mapping[int, Candidate]


def settle(
    view: SnapshotView, order: Sequence[Candidate], query: Query, *, system: str | None = None, arch: str | None = None
) -> Settled:
    """Put of twins the one first that is meant: it takes the place of the best one. The others keep their order.

    What the question names counts most, then what is in front, the machine (`system` and `arch`, this one where None) and the
    newest history; without any of these it is the newer version, and code that isn't asynchronous. Variants that the question
    names side by side all stay, as does a file that is pinned.
    """
    all_paths = [candidate.path for candidate in order]
    families = {path: variant_of(path).family for path in set(all_paths)}
    files = Counter(families.values())
    alike = [
        place
        for place, path in enumerate(all_paths)
        if files[families[path]] > 1 and not query.leaves_out(path, order[place].start_line, order[place].end_line)
    ]
    judge = _Judge(query, system or machine(), arch or processor()) if alike else None
    stands_for: dict[int, Candidate] = {}
    first_of: dict[int, int] = {}  # by the place of a twin, the place of the one that is meant
    for places in _same_names(view, order, alike):
        paths = list(dict.fromkeys(order[place].path for place in places))
        if judge is None or len({variant_of(path) for path in paths}) == 1:
            continue
        kept = judge.meant(paths)
        chosen = next(place for place in places if order[place].path == kept[0])
        first_of.update(dict.fromkeys(places, chosen))
        stands_for.update({order[place].doc: order[chosen] for place in places if order[place].path not in kept})
    if not first_of:
        return Settled(tuple(order), {})
    settled: dict[int, Candidate] = {}
    for place, candidate in enumerate(order):
        meant = order[first_of.get(place, place)]
        settled.setdefault(meant.doc, meant)
        settled.setdefault(candidate.doc, candidate)
    return Settled(tuple(settled.values()), stands_for)


def _same_names(view: SnapshotView, order: Sequence[Candidate], places: Sequence[int]) -> list[list[int]]:
    """Group places of candidates in files that may be twins by what they hold: a symbol, or the same few definitions."""
    nameless = [place for place in places if not order[place].symbol]
    described = zip(nameless, view.describe([order[place].doc for place in nameless]), strict=True) if nameless else ()
    names = {place: " ".join(info.definitions) for place, info in described}
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place in places:
        if name := order[place].symbol or names[place]:
            groups[variant_of(order[place].path).family, _plain(name)].append(place)
    return list(groups.values())


class _Judge:
    """What speaks for a variant, for one question."""

    def __init__(self, query: Query, system: str, arch: str) -> None:
        self._query, self._system, self._arch = query, system, arch
        text = query.searched_text.lower()
        self._versions = {found.strip(".") for found in _ASKED_VERSION.findall(text)}
        words = set(_ASKED_WORD.findall(text))
        self._asked = {_WORDS[word] for word in words - _NO_NAMES if word in _WORDS}
        self._asked_old = bool(words & _OLD)

    def meant(self, paths: Sequence[str]) -> list[str]:
        """Return those of the files that are meant, the likeliest first: one, or all that the question names."""
        variants = {path: variant_of(path) for path in paths}
        named = {path: self._named(variant) for path, variant in variants.items()}
        common = _common_folder(paths)
        changes = self._changes(set(variants.values()), common)

        def key(path: str) -> tuple[object, ...]:
            variant = variants[path]
            waits = ("manner", "async") not in variant.words
            spoken_for = (named[path], self._in_front(variant, common), *self._fits(variant), changes[variant])
            return (*spoken_for, *_newness(variant), waits)

        ranked = sorted(paths, key=key, reverse=True)
        most = named[ranked[0]]
        first = variants[ranked[0]]
        pinned = set(self._query.pinned)
        return [path for path in ranked if variants[path] == first or (most and named[path] == most) or path in pinned]

    def _named(self, variant: Variant) -> int:
        names = {name for _, name in variant.words}
        count = 2 * len(self._asked & variant.words) + 2 * (self._asked_old and variant.old)
        if any(kind == "system" and name in _LIKE_UNIX for kind, name in self._asked):
            asked = {name for kind, name in self._asked if kind == "system"}
            count += bool(asked & _LIKE_BSD and "bsd" in names) or bool("unix" in names)
        return count + 2 * any(self._is_version(asked, variant) for asked in self._versions)

    def _is_version(self, asked: str, variant: Variant) -> bool:
        if ("version", asked) in variant.words:
            return True
        numbers = asked.removeprefix("v").replace("_", ".").split(".")
        if variant.unfinished or not variant.version or not all(number.isdecimal() for number in numbers):
            return False
        return variant.version[: len(numbers)] == tuple(map(int, numbers))

    def _in_front(self, variant: Variant, common: str) -> int:
        def agrees(path: str) -> bool:
            front = variant_of(path)
            if front.words or front.old:
                return bool(front.words & variant.words) or (front.old and variant.old)
            return not variant.words and not variant.old and path.startswith(common)

        query = self._query
        if query.active_path and agrees(query.active_path):
            return 2
        return int(any(map(agrees, (*query.pinned, *query.open_paths))))

    def _fits(self, variant: Variant) -> tuple[int, int]:
        systems = {name for kind, name in variant.words if kind == "system"}
        chips = {name for kind, name in variant.words if kind == "processor"}
        if self._system in systems:
            system = 6
        elif "bsd" in systems and self._system in _LIKE_BSD:
            system = 5
        elif systems == {"unix"} and self._system in _LIKE_UNIX:
            system = 4
        elif systems <= {"none"}:
            system = 2 if systems else 3
        else:
            system = int(self._system in _LIKE_UNIX and bool(systems & _LIKE_UNIX))
        return system, 2 if self._arch in chips else 0 if chips else 1

    def _changes(self, variants: set[Variant], common: str) -> dict[Variant, int]:
        """Return 1 for a variant whose files were changed clearly more of late than those of each other one, 0 for the others."""
        weight = dict.fromkeys(variants, 0.0)
        words = {(variant.words, variant.old): variant for variant in variants}
        for age, paths in enumerate(self._query.recent_changes):
            touched = {(told.words, told.old) for told in map(variant_of, (p for p in paths if p.startswith(common)))}
            for key in touched & words.keys():
                weight[words[key]] += 0.5 ** (age / _HALF_LIFE)
        best = max(weight, key=lambda variant: weight[variant])
        clear = all(weight[best] > _CLEARLY * other for variant, other in weight.items() if variant is not best)
        return {variant: int(clear and variant is best) for variant in variants}


def _newness(variant: Variant) -> tuple[bool, bool, tuple[float, ...]]:
    # Where the others say their version, code that says none is the one after the first.
    return not variant.old, not variant.unfinished, variant.version or (1.5,)


def _common_folder(paths: Sequence[str]) -> str:
    """Return the folder that all of the files are under, with its slash; empty for the root."""
    first, *others = (path.split("/")[:-1] for path in paths)
    shared = 0
    while shared < len(first) and all(folders[shared : shared + 1] == [first[shared]] for folders in others):
        shared += 1
    return "".join(f"{folder}/" for folder in first[:shared])


@lru_cache(maxsize=1 << 14)
def _plain(symbol: str) -> str:
    """Return a symbol without words for the variant: `AsyncPool.handle_async_request` is `Pool.handle_request`."""
    parts = _PARTS.findall(symbol)
    return "".join(part.lower() for part in parts if part.lower() not in _WORDS or part.lower() in _NO_NAMES)
