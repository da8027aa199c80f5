"""A short map of a project: its folders and files with the definitions that others use, by the index alone.

It says which words the code has, to a model that doesn't see the code. Which parts are the main ones is told by how many other
files hold what they define. Only what may be read is on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import islice, zip_longest
from operator import itemgetter
from pathlib import PurePosixPath

from msgspec import Struct, field

from carrel.model.local_index import SnapshotView
from carrel.model.types import Filters
from carrel.search.candidates import native_filter

CHARACTERS = 2_700
"""At most about 800 tokens."""
_FILES, _NAMES, _LEAST_NAMES, _PLACES = 1_000, 8, 2, 60
_OF_A_CHUNK = 0.01
"""What a chunk counts beside the uses of definitions: languages without known definitions have nothing else."""


def project_map(view: SnapshotView, filters: Filters, most: int = CHARACTERS) -> str:
    """Return the map of what passes the filters, at most so many characters: a line for each folder or file, with names."""
    files = [
        _File(path, weight + _OF_A_CHUNK * chunks, tuple(names))
        for path, chunks, weight, names in view.outline(_FILES, _NAMES, native_filter(filters))
    ]
    places = _places(files)
    for names in range(_NAMES, _LEAST_NAMES, -1):
        if len(text := _written(places, names)) <= most:
            return text
    while len(text := _written(places, _LEAST_NAMES)) > most:
        places.remove(min(places, key=lambda place: (place.weight, place.path)))
    return text


class _File(Struct, frozen=True):
    path: str
    weight: float
    names: tuple[tuple[str, int], ...]


class _Place(Struct, dict=True):
    """A file, or a folder with all files in it that have no place of their own: complete before anything is asked of it."""

    path: str
    files: list[_File] = field(default_factory=list[_File])
    is_rest: bool = False

    @cached_property
    def weight(self) -> float:
        return sum(file.weight for file in self.files)

    @cached_property
    def _ordered(self) -> list[_File]:
        return sorted(self.files, key=lambda file: (-file.weight, file.path))

    @cached_property
    def _definitions(self) -> list[str]:
        """The names that its files define, the best of each before the second best of any."""
        rows = zip_longest(*(file.names for file in self._ordered))
        return list(islice(dict.fromkeys(name for row in rows for name, _ in filter(None, row)), _NAMES))

    def names(self, most: int) -> list[str]:
        """Return what its files define; of several files their stems first."""
        if len(self.files) == 1:
            return self._definitions[:most]
        stems = dict.fromkeys(PurePosixPath(file.path).stem for file in self._ordered[: 2 * most])
        return list(dict.fromkeys((*stems, *self._definitions[:most])))

    def parts(self) -> list[_Place]:
        """Return the folders and files right inside, those of most weight first."""
        parts: dict[str, _Place] = {}
        for file in self.files:
            head, slash, _ = file.path[len(self.path) :].partition("/")
            path = self.path + head + slash
            parts.setdefault(path, _Place(path)).files.append(file)
        return sorted(parts.values(), key=lambda part: (-part.weight, part.path))


def _places(files: Sequence[_File]) -> list[_Place]:
    """Divide the files into places: again and again the heaviest folder, while there is room."""
    places, whole = list[_Place](), [_Place("", list(files))]
    while whole:
        place = whole.pop(max(range(len(whole)), key=lambda at: (whole[at].weight, whole[at].path)))
        parts = place.parts() if not place.path or place.path.endswith("/") else []
        room = _PLACES - len(places) - len(whole)
        if not parts or room < 2:
            places.append(place)
            continue
        kept = parts if len(parts) <= room else parts[: room - 1]
        if rest := [file for part in parts[len(kept) :] for file in part.files]:
            places.append(_Place(place.path, rest, is_rest=True))
        whole += kept
    return places


def _written(places: Sequence[_Place], names: int) -> str:
    lines: list[str] = []
    above = ""
    for folder, name, place in sorted((_split(place) for place in places), key=itemgetter(0, 1)):
        if folder != above:
            lines.append(folder)
            above = folder
        count = f" ({len(place.files)} files)" if len(place.files) > 1 else ""
        contents = ", ".join(place.names(names))
        lines.append(f"{'  ' if folder else ''}{name}{count}{': ' if contents else ''}{contents}")
    return "\n".join(lines)


def _split(place: _Place) -> tuple[str, str, _Place]:
    """Return the folder that a place stands in, and its name there."""
    if place.is_rest:
        return place.path, "others", place
    folder, slash, name = place.path.removesuffix("/").rpartition("/")
    return folder + slash, name + place.path[len(folder + slash + name) :], place
