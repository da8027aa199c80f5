"""The chunks that the frames of a stack trace, and other places that a text names, stand for: by path, function and line."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from carrel.model.local_index import SnapshotView
from carrel.model.native import CancelToken, ChunkInfo
from carrel.model.patterns import whole_word
from carrel.model.types import Query
from carrel.question.stack_frames import Frame
from carrel.search.candidates import allowed, native_filter
from carrel.search.certainty import OF_A_TRACE
from carrel.search.order import Order, Place

_MOST_ALIKE = 20
"""Files whose paths end alike that are looked into for the function."""


def chunks_of_frames(view: SnapshotView, frames: Sequence[Frame], query: Query, cancel: CancelToken) -> list[int]:
    """Return the numbers of the chunks in which the frames of a trace are, the innermost first, each once. Raises `Cancelled`.

    The paths may be those of another machine and the lines those of another version: the longest common end of the paths counts,
    then the function's name, then the line. A frame that may be several places stands for none, nor does one of a library whose
    file has the name of one here, nor one that names another folder which is asked, too.
    """
    frames = [replace(frame, path=_in_folder(frame.path, query.here)) for frame in frames]
    by_name: dict[str, list[str]] = {}
    names = {_name_of(frame.path) for frame in frames}
    for path in view.files_called(sorted(names), native_filter(query.filters)) if names else ():
        by_name.setdefault(_name_of(path), []).append(path)
    # The head of an error may say its place without the function that a frame says.
    of_functions = {(frame.path, frame.line) for frame in frames if frame.function}
    frames = [frame for frame in frames if frame.function or (frame.path, frame.line) not in of_functions]
    files = _Files(view)
    alike = [(frame, by_name.get(_name_of(frame.path), ())) for frame in reversed(frames)]
    here = [(frame, paths) for frame, paths in alike if frame.path in paths or not frame.path.startswith(query.elsewhere)]
    docs = (files.chunk(frame, paths) for frame, paths in here)
    return allowed(view, list(dict.fromkeys(doc for doc in docs if doc is not None)), query.filters, cancel)


def with_places(order: Order, places: Sequence[Place], step: str) -> Order:
    """Return the order with these places before all others, in their order, each as relevant as what a trace goes through."""
    levels = {place.candidate.doc: len(places) - at for at, place in enumerate(places)}
    all_places = (
        replace(place, relevance=max(place.relevance, OF_A_TRACE)) if place.candidate.doc in levels else place
        for place in order.with_missing(places).places
    )
    return replace(order, places=tuple(all_places)).lifted(step, levels)


class _Files:
    """The chunks of the files that the frames of a trace may be in, each file read once."""

    def __init__(self, view: SnapshotView) -> None:
        self._view = view
        self._chunks: dict[str, list[ChunkInfo]] = {}
        self._defining: dict[str, dict[str, list[ChunkInfo]]] = {}

    def chunk(self, frame: Frame, paths: Sequence[str]) -> int | None:
        """Return the chunk that a frame is in, of files with the name of its own."""
        ends = {path: _common_end(path, frame.path) for path in paths}
        longest = max(ends.values(), default=0)
        is_only = len(paths) == 1 and "/" not in frame.path  # debuggers and compilers say no folder
        if longest < 2 and not frame.function and not is_only:
            paths = [path for path in paths if path == frame.path]
        alike = [path for path in paths if ends[path] == longest and (longest > 1 or "/" not in path or is_only)]
        if len(alike) > _MOST_ALIKE:
            return None
        of_name = [nearest for path in alike if (nearest := self._nearest(path, frame))]
        at_line = [] if of_name else [chunk for path in alike for chunk in self._of(path) if not _lines_off(chunk, frame)]
        matches = of_name or [chunk for chunk in at_line if self._holds(chunk, frame.function)]
        return matches[0].doc if len({chunk.path for chunk in matches}) == 1 else None

    def _of(self, path: str) -> list[ChunkInfo]:
        if path not in self._chunks:
            chunks = self._chunks[path] = self._view.file_chunks(path)
            defining = self._defining[path] = {}
            for chunk in chunks:
                for name in {symbol.rpartition(".")[2] for symbol in (chunk.symbol, *chunk.definitions)}:
                    defining.setdefault(name, []).append(chunk)
        return self._chunks[path]

    def _nearest(self, path: str, frame: Frame) -> ChunkInfo | None:
        """Return the chunk that defines a frame's function; of several the one nearest to its line."""
        self._of(path)
        defining = self._defining[path].get(frame.function, ()) if frame.function else ()
        return min(defining, key=lambda chunk: (_lines_off(chunk, frame), chunk.end_line - chunk.start_line), default=None)

    def _holds(self, chunk: ChunkInfo, name: str) -> bool:
        """Tell whether a chunk has a name in its text, as it has that of a function within its function."""
        text = self._view.lines(chunk.path, chunk.start_line, chunk.end_line) if name else ""
        return not name or bool(text and whole_word(name).search(text))


def _lines_off(chunk: ChunkInfo, frame: Frame) -> int:
    return max(chunk.start_line - frame.line, frame.line - chunk.end_line, 0)


def _in_folder(written: str, heads: Sequence[str]) -> str:
    """Return a path without the one of these that it begins with."""
    return next((written.removeprefix(head) for head in heads if written.startswith(head)), written)


def _name_of(path: str) -> str:
    return path.rpartition("/")[2]


def _common_end(path: str, written: str) -> int:
    """Return how many last parts of two paths are the same."""
    same = 0
    for part, other in zip(reversed(path.split("/")), reversed(written.split("/")), strict=False):
        if part != other:
            break
        same += 1
    return same
