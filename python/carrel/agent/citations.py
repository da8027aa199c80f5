"""The places that an answer cites, checked against what the model was given.

A citation is a path with lines, in one of the usual forms. It holds where the file was given, the lines were among those that
were given, and words that the answer quotes beside it stand in them. What only looks like one (a URL with a port, a time, a
version, a path of another machine, anything in a code block) is none.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, takewhile

from msgspec import Struct, field

from carrel.model.lines import lines_of, rows_of
from carrel.model.native import detect_language
from carrel.model.patterns import lazy_pattern, whole_word
from carrel.model.types import ContextItem

MARK = " [unverified]"
"""Stands behind a citation that doesn't hold."""
_LONGEST = 200_000
"""Characters of an answer that are looked through."""
_NEAR = 400
"""Characters before or behind a citation in which a quotation belongs to it."""
_MOST_KNOWN = 2_000

_URL = lazy_pattern(r"\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s)\]>\"'`]+")
_MOST_TICKS = 3
_LONGEST_CODE = 500
_ANY_PATH = lazy_pattern(r"(?:[\w@+$-][\w@.+$-]*[/\\])*[\w@+$-][\w@.+$-]*\.[A-Za-z][A-Za-z0-9]{0,9}")
_OF_PATHS = frozenset("_@.+$/\\:~-")
"""Characters of paths beside letters and digits."""
_DASH = "-\u2013\u2014"
_LINES = rf"(?P<first>\d{{1,7}})(?:\s?(?:[{_DASH}]|to)\s?L?(?P<last>\d{{1,7}}))?"
_BEHIND = (
    lazy_pattern(
        rf":L?(?P<first>\d{{1,7}})(?:[{_DASH}]L?(?P<last>\d{{1,7}})|:\d{{1,5}})?"
        rf"(?P<more>(?:,\d{{1,7}}(?:[{_DASH}]\d{{1,7}})?)*)(?!\w|[.:]\d)"
    ),
    lazy_pattern(r"#L(?P<first>\d{1,7})(?:-L?(?P<last>\d{1,7}))?(?!\w)"),
    lazy_pattern(rf"[`*_\]]{{0,3}}(?:\s?\(|,)?\s?\b(?:[Ll]ines?|ll?\.)\s{_LINES}\)?(?!\w)"),
)
"""What stands behind a path: its lines."""
_BEFORE = lazy_pattern(rf"\b[Ll]ines?\s{_LINES}\s(?:of|in)\s(?:the\s)?(?:file\s)?[`*\[]{{0,3}}")
"""What stands before one."""
_MOST_FOUND = 2_000
_MOST_LOOKED_AT = 20_000
"""Places of an answer that look like lines; most answers have some ten."""
_LONGEST_PATH = 300
_CONNECTING = lazy_pattern(
    r"(?:[\s*_,;:(\[\u2013\u2014-]|\b(?:as|at|by|cf|defined|file|found|from|function|class|method|here|in|is|line|lines|of|on|see|shown|the|"
    r"where)\b)+\Z"
)
_QUOTE_AFTER = lazy_pattern(
    r"[`*_)\]]{0,3}(?:\s?:|\s(?:says|reads|has|contains|defines|holds|calls|sets|returns))\s[*_]{0,2}(?=[`\"“])"
)
_QUOTES = {"`": "`", '"': '"', "”": "“"}
_SEPARATORS = ".:#>\\-"
"""Between the parts of an identifier."""
_LEAST_WORDS = 3
"""A shorter text in quotation marks is a word that somebody puts at a distance, not a quotation."""
_LEAST_PART = 3


class Citation(Struct, frozen=True):
    """A place that an answer cites. `reason` says why it doesn't hold; a document has a version and was updated at a time."""

    path: str
    start_line: int
    end_line: int
    ok: bool
    reason: str = ""
    version: str = ""
    updated_at: int = 0  # Unix seconds


class CheckedText(Struct, frozen=True):
    """An answer with a mark behind each citation that doesn't hold, and the citations, each once."""

    text: str
    citations: tuple[Citation, ...]

    @property
    def unsupported(self) -> tuple[Citation, ...]:
        """Those that don't hold."""
        return tuple(citation for citation in self.citations if not citation.ok)


class _File(Struct):
    """What was given of one file: its lines by number, the places as they were headed, and the symbols there."""

    lines: dict[int, str] = field(default_factory=dict)
    headed: list[ContextItem] = field(default_factory=list)

    def between(self, first: int, last: int) -> str:
        """Return what was given of these lines."""
        if last - first < len(self.lines):
            return "\n".join(self.lines[number] for number in range(first, last + 1) if number in self.lines)
        return "\n".join(text for number, text in sorted(self.lines.items()) if first <= number <= last)


class _Paths:
    """Paths that were given, found in a text by their lengths rather than one by one."""

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._paths = frozenset(paths)
        self._lengths = sorted({len(path) for path in self._paths if path}, reverse=True)

    def ending(self, window: str) -> Iterator[str]:
        """Give the paths that a text ends with, longest first."""
        return (path for length in self._lengths if (path := window[-length:]) in self._paths)

    def beginning(self, text: str, start: int) -> str:
        """Return the longest path that stands at a place of a text; empty where none does."""
        candidates = (text[start : start + length] for length in self._lengths)
        return next((path for path in candidates if path in self._paths), "")


class _Files:
    """The files that were given, by path and by the last part of their paths."""

    def __init__(self, items: Sequence[ContextItem] = ()) -> None:
        self.by_path = _files(items)
        self.paths = _Paths(sorted(self.by_path, key=len, reverse=True)[:_MOST_KNOWN])
        self._by_name: dict[str, list[str]] = {}
        for path in self.by_path:
            self._by_name.setdefault(path.rpartition("/")[2], []).append(path)

    def meant(self, path: str) -> list[str]:
        """Return the given files that a path can mean: the one of that name, or those whose path ends so."""
        path = path if path in self.by_path else path.replace("\\", "/").removeprefix("./")
        if path in self.by_path:
            return [path]
        candidates = self._by_name.get(path.rpartition("/")[2], ())
        return [candidate for candidate in candidates if candidate.endswith(f"/{path}") or path.endswith(f"/{candidate}")]


class _Spans:
    """Spans that lie apart, in order."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self._spans = list(spans)
        self._starts = [start for start, _ in self._spans]

    def around(self, at: int) -> tuple[int, int] | None:
        """Return the span that holds a place."""
        place = bisect_right(self._starts, at)
        return self._spans[place - 1] if place and at < self._spans[place - 1][1] else None


class _Reference(Struct, frozen=True):
    """A citation in a text: what it names, and where it and its mark stand."""

    path: str
    first: int
    last: int
    start: int
    end: int


def check(text: str, items: Sequence[ContextItem]) -> CheckedText:
    """Check every citation of an answer against what the model was given."""
    files = _Files(items)
    checked: dict[tuple[str, int, int], Citation] = {}
    marks: set[int] = set()
    spans = _Spans(_code_spans(text[:_LONGEST]))
    for reference in islice(_citations(text[:_LONGEST], files.paths), _MOST_FOUND):
        citation = _checked(reference, text, files, spans)
        if citation is None:
            continue
        key = (citation.path, citation.start_line, citation.end_line)
        if key not in checked or checked[key].ok:
            checked[key] = citation
        if not citation.ok:
            marks.add(_end_of(reference, text, spans))
    parts, at = [], 0
    for mark in sorted(marks):
        parts += [text[at:mark], MARK]
        at = mark
    return CheckedText("".join([*parts, text[at:]]), tuple(checked.values()))


def cited(text: str) -> tuple[tuple[str, int, int], ...]:
    """Return the places that an earlier answer cites, as (path, first line, last line), but for those that were marked."""
    text = text[:_LONGEST]
    spans = _Spans(_code_spans(text))
    places = (
        place
        for place in islice(_citations(text, _Paths()), _MOST_FOUND)
        if not text.startswith(MARK, _end_of(place, text, spans))
    )
    return tuple(dict.fromkeys((place.path, place.first, place.last) for place in places if 0 < place.first <= place.last))


def _files(items: Sequence[ContextItem]) -> dict[str, _File]:
    files: dict[str, _File] = {}
    for item in items:
        span, chunk = item.hit.chunk.span, item.hit.chunk
        if not chunk.text:
            continue  # only its place was told: nobody has seen its lines
        file = files.setdefault(chunk.path, _File())
        file.headed.append(item)
        rows = lines_of(chunk.text)
        for number, row in enumerate(rows, span.start_line):
            if any(first <= number <= last for first, last in item.runs):
                file.lines[number] = row
    return files


def _citations(text: str, paths: _Paths) -> Iterator[_Reference]:
    """Find what has the form of a citation, outside of code blocks and URLs."""
    apart: list[tuple[int, int]] = []
    for start, end in sorted([*_code_blocks(text), *(match.span() for match in _URL.finditer(text))]):
        if not apart or start >= apart[-1][1]:  # a URL inside of a block is in it already
            apart.append((start, end))
    closed = _Spans(apart)
    behind = (match for form in _BEHIND for match in form.finditer(text) if closed.around(match.start()) is None)
    before = (match for match in _BEFORE.finditer(text) if closed.around(match.start()) is None)
    preceding = ((match, _path_before(text, match.start(), paths)) for match in islice(behind, _MOST_LOOKED_AT))
    after = ((match, _path_here(text, match.end(), paths)) for match in islice(before, _MOST_LOOKED_AT))
    for match, path in islice(((match, path) for match, path in chain(preceding, after) if path), _MOST_FOUND):
        names, is_before = match.groupdict(), match.re is not _BEFORE
        start = match.start() - len(path) if is_before else match.start()
        end = match.end() if is_before else match.end() + len(path)
        first = int(names["first"])
        yield _Reference(path, first, int(names["last"] or first), start, end)
        for more in filter(None, (names.get("more") or "").split(",")):
            begin, *rest = re.split(f"[{_DASH}]", more)
            yield _Reference(path, int(begin), int(rest[0] if rest else begin), start, end)


def _code_blocks(text: str) -> Iterator[tuple[int, int]]:
    """Find blocks between fences; one that is never closed goes to the end."""
    at, opened, begin = 0, "", 0
    for line in rows_of(text):
        bare = line.lstrip(" \t>")
        rest = bare.lstrip(bare[:1]) if bare.startswith(("```", "~~~")) else bare
        fence = bare[: len(bare) - len(rest)]
        if fence and not opened:
            opened, begin = fence, at
        elif fence and fence.startswith(opened) and not rest.strip():
            yield begin, at + len(line)
            opened = ""
        at += len(line)
    if opened:
        yield begin, len(text)


def _code_spans(text: str) -> Iterator[tuple[int, int]]:
    """Find code between one to three backticks of a line: it ends at the next run of as many."""
    start = 0
    for line in text.split("\n"):
        runs = _runs_of_ticks(line)
        following, seen = [0] * len(runs), dict[int, int]()
        for number in range(len(runs) - 1, -1, -1):  # of each run the next one of its length
            length = runs[number][1] - runs[number][0]
            following[number], seen[length] = seen.get(length, 0), number
        number = 0
        while number < len(runs):
            (begin, opened), closing = runs[number], following[number]
            if closing and opened - begin <= _MOST_TICKS and runs[closing][0] - opened <= _LONGEST_CODE:
                yield start + begin, start + runs[closing][1]
                number = closing
            number += 1
        start += len(line) + 1


def _runs_of_ticks(line: str) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    at = line.find("`")
    while at >= 0:
        end = next((end for end in range(at, len(line)) if line[end] != "`"), len(line))
        runs.append((at, end))
        at = line.find("`", end)
    return runs


def _path_before(text: str, end: int, paths: _Paths) -> str:
    """Return the path that ends here: one that was given, whatever characters it has, or what has the form of one."""
    window = text[max(0, end - _LONGEST_PATH) : end]
    for path in paths.ending(window):
        if _word_of(reversed(window[: -len(path)])) in ("", "/."):
            return path
    return _path_in(_word_of(reversed(window))[::-1])


def _path_here(text: str, start: int, paths: _Paths) -> str:
    """Return the path that begins here, unless it has lines of its own."""
    path = paths.beginning(text, start)
    if not path:
        path = _path_in(_word_of(islice(text, start, start + _LONGEST_PATH)).rstrip(".:"))
    rest = text[start + len(path) : start + len(path) + 3]
    return "" if re.match(r"\w|:\d|#L", rest) else path


def _word_of(characters: Iterable[str]) -> str:
    """Return those that a path may have, up to the first that it may not."""
    return "".join(takewhile(lambda char: char.isalnum() or char in _OF_PATHS, characters))


def _path_in(word: str) -> str:
    """Return a word if it is a relative path; not one of another machine, a URL or an address."""
    word = word.removeprefix("./")
    is_address = "@" in word.partition("/")[0][1:]
    return word if ":" not in word and not is_address and _ANY_PATH.fullmatch(word) else ""


def _checked(reference: _Reference, text: str, files: _Files, spans: _Spans) -> Citation | None:
    """Return the citation with whether it holds; None for what is none after all."""
    candidates = files.meant(reference.path)
    if not candidates:
        path = reference.path.replace("\\", "/")
        if "/" not in path and not detect_language(path):
            return None  # a host, a version, a word with a dot
        return Citation(path, reference.first, reference.last, ok=False, reason="the file was not given")
    quotes = _quotes(reference, text, spans)
    verdicts = [(path, _problem(files.by_path[path], reference, quotes)) for path in candidates]
    path, reason = next((verdict for verdict in verdicts if not verdict[1]), verdicts[0])
    documents = (item.hit.chunk for item in files.by_path[path].headed if item.hit.chunk.origin)
    version, updated_at = next(((chunk.origin.version, chunk.updated_at) for chunk in documents if chunk.origin), ("", 0))
    return Citation(path, reference.first, reference.last, ok=not reason, reason=reason, version=version, updated_at=updated_at)


def _problem(file: _File, reference: _Reference, quotes: Sequence[str]) -> str:
    if reference.first < 1 or reference.last < reference.first:
        return "there are no such lines"
    wanted = range(reference.first, reference.last + 1)
    headed = [item for item in file.headed if _span(item) == (reference.first, reference.last)]
    missing = next((number for number in wanted if number not in file.lines), None)
    if missing is not None and not headed:
        return f"line {missing} was not given"
    if not quotes:
        return ""
    lines = file.between(reference.first, reference.last)
    here = [item for item in file.headed if _span(item)[0] <= reference.last and reference.first <= _span(item)[1]]
    symbols = " ".join(f"{item.hit.chunk.symbol} {item.hit.chunk.container}" for item in here)
    headings = {item.hit.chunk.symbol for item in here}  # as they were given: "Server (header)", "start, stop, …"
    wrong = next((quote for quote in quotes if quote not in headings and not _stands_in(quote, lines, symbols)), None)
    return "" if wrong is None else f"{wrong[:80]!r} doesn't stand in these lines"


def _span(item: ContextItem) -> tuple[int, int]:
    return item.hit.chunk.span.start_line, item.hit.chunk.span.end_line


# --- quotations beside a citation


def _quotes(reference: _Reference, text: str, spans: _Spans) -> list[str]:
    """Return what the answer quotes right before or behind a citation, in the same line."""
    start = (spans.around(reference.start) or (reference.start, 0))[0]
    line = text[max(0, start - _NEAR) : start].rpartition("\n")[2]
    quotes = [_quote_before(_CONNECTING.sub("", line))]
    rest = text[reference.end : reference.end + _NEAR].partition("\n")[0]
    if match := _QUOTE_AFTER.match(rest):
        quotes.append(_quote_behind(rest[match.end() :]))
    return [quote for quote in quotes if quote]


def _quote_before(line: str) -> str:
    opening = _QUOTES.get(line[-1:])
    if opening is None:
        return ""
    begin = line.rfind(opening, 0, -1)
    return _worth_checking(line[-1], line[begin + 1 : -1]) if begin >= 0 else ""


def _quote_behind(line: str) -> str:
    closing = "”" if line[0] == "“" else line[0]
    end = line.find(closing, 1)
    return _worth_checking(closing, line[1:end]) if end > 0 else ""


def _worth_checking(mark: str, quote: str) -> str:
    """Return the quote, or nothing where it is a path, or too short to be a quotation."""
    quote = quote.strip().strip("`")
    if mark != "`" and len(quote.split()) < _LEAST_WORDS:
        return ""
    is_path = _ANY_PATH.fullmatch(quote) is not None and bool("/" in quote or detect_language(quote))
    return "" if is_path or len(quote) < _LEAST_PART - 1 else quote


def _stands_in(quote: str, lines: str, symbols: str) -> bool:
    name = quote.removesuffix("()")
    if _is_of_word(name[-1:]) and all(_is_of_word(char) or char in _SEPARATORS for char in name):
        word = whole_word(name.translate(dict.fromkeys(map(ord, _SEPARATORS), " ")).split()[-1])
        return bool(word.search(lines) or word.search(symbols))
    parts = (_plain(part) for part in quote.replace("…", "...").split("..."))
    plain = _plain(lines)
    return all(part in plain for part in parts if len(part) >= _LEAST_PART)


def _is_of_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _plain(text: str) -> str:
    return "".join(text.split()).casefold()


def _end_of(reference: _Reference, text: str, spans: _Spans) -> int:
    """Return where a mark can stand: behind the code span or link that the citation is in."""
    end = (spans.around(reference.end - 1) or (0, reference.end))[1]
    while text[end : end + 1] in ("*", "_", "`"):
        end += 1
    if text[end : end + 2] == "](":
        closing = text.find(")", end)
        if 0 < closing < end + _NEAR and "\n" not in text[end:closing]:
            return closing + 1
    if text[end : end + 1] == ")" and "](" in text[max(0, reference.start - 3) : reference.start + 1]:
        return end + 1
    return end
