"""Are the places that a pasted stack trace names found? `python -m tests.bench.traces FOLDER… [--count N] [--seed S] [--misses]`.

From each folder's index functions are drawn, four for a trace, in files of one language. The trace is written as the language's
runtime writes it: paths of another machine, a line within each function, frames of libraries at the outer end and, in half of
the traces, at the inner one. It is pasted alone, in a question, and with all lines 20 further down, as another version has them.
`inner` is the share whose first hit has the innermost line of this code, `in three` the same among three hits; `all` is the share
of the four lines that is among the first six hits.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import platformdirs
from tests.bench.quality import indexed

from carrel.model.local_index import SnapshotView
from carrel.model.native import CancelToken, ChunkInfo
from carrel.model.types import Query
from carrel.providers.local import bundled
from carrel.question.prepare import prepare_blocking
from carrel.search.retriever import retrieve

FRAMES = 4
HITS = 6
OTHER_VERSION = 20  # lines
ROOT = "/srv/build-71/app"
ERROR = "bad value 'customers'"
FORMS = ("alone", "in a question", "of another version")


@dataclass(frozen=True, slots=True)
class Call:
    """A function that is running: where, at which line, and its name."""

    path: str
    line: int
    name: str
    owner: str  # its class or module

    @property
    def stem(self) -> str:
        return self.path.rpartition("/")[2].rpartition(".")[0]


def _python(calls: list[Call]) -> str:
    frames = [f'  File "{call.path}", line {call.line}, in {call.name}\n    handle(value)' for call in calls]
    return "\n".join(["Traceback (most recent call last):", *frames, f"ValueError: {ERROR}"])


def _javascript(calls: list[Call]) -> str:
    frames = [f"    at {call.name} ({call.path}:{call.line}:11)" for call in reversed(calls)]
    return "\n".join([f"TypeError: {ERROR}", *frames])


def _go(calls: list[Call]) -> str:
    frames = [f"main.{call.name}(0xc000010250, 0x2)\n\t{call.path}:{call.line} +0x1d" for call in reversed(calls)]
    return "\n".join([f"panic: {ERROR}", "", "goroutine 1 [running]:", *frames])


def _java(calls: list[Call]) -> str:
    def frame(call: Call) -> str:
        package = call.path.rpartition("/")[0].rpartition("/java/")[2].rpartition("/kotlin/")[2].strip("/").replace("/", ".")
        package = ".".join(part for part in package.split(".") if part.isidentifier())
        return f"\tat {package}.{call.owner or call.stem}.{call.name}({call.path.rpartition('/')[2]}:{call.line})"

    return "\n".join([f"java.lang.IllegalStateException: {ERROR}", *map(frame, reversed(calls))])


def _csharp(calls: list[Call]) -> str:
    frames = [
        f"   at App.{call.owner or call.stem}.{call.name}(String value) in {call.path}:line {call.line}"
        for call in reversed(calls)
    ]
    return "\n".join([f"Unhandled exception. System.InvalidOperationException: {ERROR}", *frames])


def _php(calls: list[Call]) -> str:
    inner = calls[-1]
    frames = [
        f"#{at} {call.path}({call.line}): App\\{call.owner}->{call.name}('customers')" for at, call in enumerate(calls[::-1])
    ]
    head = f"PHP Fatal error:  Uncaught RuntimeException: {ERROR} in {inner.path}:{inner.line}"
    return "\n".join([head, "Stack trace:", *frames, f"#{len(frames)} {{main}}"])


def _ruby(calls: list[Call]) -> str:
    inner, *outer = reversed(calls)
    first = f"{inner.path}:{inner.line}:in `{inner.name}': {ERROR} (ArgumentError)"
    return "\n".join([first, *(f"\tfrom {call.path}:{call.line}:in `{call.name}'" for call in outer)])


def _rust(calls: list[Call]) -> str:
    inner = calls[-1]
    frames = [
        f"  {at:2}: app::{call.stem}::{call.name}\n             at {call.path}:{call.line}:9"
        for at, call in enumerate(calls[::-1])
    ]
    head = f"thread 'main' panicked at {inner.path}:{inner.line}:9:\n{ERROR}\nstack backtrace:"
    return "\n".join([head, *frames])


WRITERS: dict[str, tuple[Callable[[list[Call]], str], str]] = {
    "python": (_python, "/usr/lib/python3.11/site-packages/toolkit/core.py"),
    "javascript": (_javascript, "/srv/node_modules/toolkit/lib/core.js"),
    "typescript": (_javascript, "/srv/node_modules/toolkit/lib/core.js"),
    "go": (_go, "/root/go/pkg/mod/example.org/toolkit@v1.2.0/core.go"),
    "java": (_java, "org/toolkit/java/toolkit/Core.java"),
    "kotlin": (_java, "org/toolkit/java/toolkit/Core.kt"),
    "csharp": (_csharp, "/_/src/Toolkit/Core.cs"),
    "php": (_php, "/srv/build-71/app/vendor/toolkit/core/src/Core.php"),
    "ruby": (_ruby, "/usr/lib/ruby/gems/3.1.0/gems/toolkit-1.2/lib/toolkit/core.rb"),
    "rust": (_rust, "/root/.cargo/registry/src/index-1/toolkit-1.2.0/src/core.rs"),
}


def functions(view: SnapshotView) -> dict[str, list[ChunkInfo]]:
    """Return the pieces of at least three lines that are one function of people's code, by language."""
    found: dict[str, list[ChunkInfo]] = {}
    for path in sorted(view.paths()):
        for chunk in view.file_chunks(path):
            whole = chunk.kind in ("function", "method") and chunk.end_line - chunk.start_line >= 2
            if whole and chunk.language in WRITERS and chunk.symbol and "test" not in path.lower():
                found.setdefault(chunk.language, []).append(chunk)
    return found


def drawn(view: SnapshotView, count: int, rng: random.Random) -> list[tuple[str, list[Call]]]:
    """Return so many traces as (language, calls of this code), the innermost last."""
    by_language = {language: chunks for language, chunks in functions(view).items() if len(chunks) >= 50}
    if not by_language:
        return []
    most = max(by_language, key=lambda language: len(by_language[language]))
    traces: list[tuple[str, list[Call]]] = []
    for _ in range(count):
        chunks = rng.sample(by_language[most], FRAMES)
        calls = [Call(chunk.path, rng.randint(chunk.start_line + 1, chunk.end_line), *_names(chunk.symbol)) for chunk in chunks]
        traces.append((most, calls))
    return traces


def _names(symbol: str) -> tuple[str, str]:
    owner, _, name = symbol.rpartition(".")
    return name, owner.rpartition(".")[2]


def text_of(language: str, calls: list[Call], form: str, rng: random.Random) -> str:
    """Write a trace as its runtime does, in one of `FORMS`."""
    write, library = WRITERS[language]
    further = OTHER_VERSION if form == "of another version" else 0
    absolute = language not in ("java", "kotlin")
    own = [Call(f"{ROOT}/{call.path}" if absolute else call.path, call.line + further, call.name, call.owner) for call in calls]
    beyond = [Call(library, line, name, "Core") for line, name in ((80, "dispatch"), (12, "convert"))]
    trace = write([beyond[0], *own, *(beyond[1:] if rng.random() < 0.5 else [])])
    return f"why does this fail since yesterday?\n\n```\n{trace}\n```" if form == "in a question" else trace


def main() -> None:
    """Print a table with a row a project."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="a folder of code")
    parser.add_argument("--count", type=int, default=30, help="traces of each folder (30)")
    parser.add_argument("--seed", type=int, default=1, help="what is drawn (1)")
    parser.add_argument("--misses", action="store_true", help="also print what came first instead of the innermost line")
    arguments = parser.parse_args()
    embedder, cache = bundled(), Path(platformdirs.user_cache_dir("carrel-bench-index")) / "needles"
    print("| project | language | traces | " + " | ".join(f"{form}: inner / in three / all" for form in FORMS) + " | ms |")
    print("|" + " --- |" * (len(FORMS) + 4))
    sums = {form: [0.0, 0.0, 0.0] for form in FORMS}
    rows, misses = 0, list[str]()
    for folder in arguments.folders:
        store, view = indexed(str(folder.resolve()), embedder, cache)
        rng = random.Random(arguments.seed)  # noqa: S311 - repeatable, no secret
        traces = drawn(view, arguments.count, rng)
        if not traces:
            continue
        cells, times = list[str](), list[float]()
        for form in FORMS:
            inner = three = every = 0
            for language, calls in traces:
                text = text_of(language, calls, form, rng)
                began = time.perf_counter()
                hits = retrieve(view, prepare_blocking(Query(text, limit=HITS), embedder), CancelToken()).hits
                times.append(1000 * (time.perf_counter() - began))
                places = [(hit.chunk.path, hit.chunk.span.start_line, hit.chunk.span.end_line) for hit in hits]

                def at(call: Call, places: list[tuple[str, int, int]] = places) -> int:
                    return next(
                        (n for n, (path, first, last) in enumerate(places) if path == call.path and first <= call.line <= last),
                        HITS,
                    )

                inner += at(calls[-1]) == 0
                three += at(calls[-1]) < 3
                every += sum(at(call) < HITS for call in calls)
                if at(calls[-1]):
                    misses.append(f"{folder.name} [{form}] {calls[-1]}: {places[:3]}")
            shares = [100 * inner / len(traces), 100 * three / len(traces), 100 * every / len(traces) / FRAMES]
            sums[form] = [total + share for total, share in zip(sums[form], shares, strict=True)]
            cells.append(" / ".join(f"{share:.0f}" for share in shares))
        rows += 1
        print(
            f"| {folder.name} | {traces[0][0]} | {len(traces)} | {' | '.join(cells)} | {sorted(times)[len(times) // 2]:.1f} |",
            flush=True,
        )
        del store
    print(
        "| mean | | | " + " | ".join(" / ".join(f"{total / max(rows, 1):.1f}" for total in sums[form]) for form in FORMS) + " | |"
    )
    if arguments.misses:
        print(*misses, sep="\n")


if __name__ == "__main__":
    main()
