"""Is the code found that wrote a pasted message? `python -m tests.bench.pasted FOLDER… [--count N] [--seed S] [--misses]`.

From each folder's code string literals are drawn that have placeholders and at least three words, on or right below a line that
raises, throws, logs or prints. Literals that stand side by side are one message. The placeholders are filled as a program would:
with numbers, paths, addresses, and names of the same project. Each message is asked alone, behind what a logger or a traceback
puts before it, in a question, with a stack trace of other code, and as the error among six lines of a log. Found is the chunk
that has the line where the literal begins.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import platformdirs
from tests.bench.needles import CODE, place, readable
from tests.bench.quality import indexed

from carrel.model.native import CancelToken
from carrel.model.types import Query
from carrel.providers.local import bundled
from carrel.question.prepare import prepare_blocking
from carrel.search.retriever import retrieve

FIRST = (1, 3)
HITS = 10
FORMS = {
    "alone": ("{message}",),
    "logged": (
        "2026-03-02 12:01:22,345 ERROR [worker-3] {message}",
        "[E 26/03/02 12:01:22] {message}",
        "RuntimeError: {message}",
        "error: {message}",
        "Caused by: java.lang.IllegalStateException: {message}",
    ),
    "in a question": ("why do I get '{message}'?", "{message} - what does that mean?", "I see {message} when I start it"),
}

ALL_FORMS = (*FORMS, "behind a trace", "in a log")
LOG = (
    "2026-03-02 12:01:2{at},34{at} {level} [worker-3] {text}",
    "time=2026-03-02T12:01:2{at}Z level={level} {text}",
    "12:01:2{at}.345 [main] {level} - {text}",
    "{level}: {text}",
)
TRACES = (
    """Traceback (most recent call last):
  File "/srv/app/start.py", line 12, in main
    run()
  File "/srv/app/jobs/nightly.py", line 80, in run
    job.start(retries=3)
RuntimeError: {message}""",
    """Exception in thread "main" java.lang.IllegalStateException: {message}
\tat com.acme.shop.Nightly.run(Nightly.java:80)
\tat com.acme.shop.Start.main(Start.java:12)""",
    """Error: {message}
    at run (/srv/app/jobs/nightly.js:80:11)
    at main (/srv/app/start.js:12:3)
    at node:internal/main:1:1""",
)

_LITERAL = r"(?:[rfbuLFRBU]{0,2}|\$@?)(?:\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\\n]|\\.)*`)"
_LITERALS = re.compile(rf"(?<!\w){_LITERAL}(?:[ \t]*[+.\\]?[ \t]*\n?[ \t]*[+.]?[ \t]*{_LITERAL})*")
_ONE = re.compile(_LITERAL)
_PLACEHOLDER = re.compile(
    r"%\(\w+\)[sdrif]|%[-+#0 ]*\d*(?:\.\d+)?(?:[hlzjt]|ll)?[sdvqifuxXTrpcgw]|%@"
    r"|[#$]\{[^{}\n]{0,60}\}|\\\([^()\n]{0,60}\)|\{[\w.\[\]()!:'\" ]{0,60}\}|(?<=[ '\"`(\[])\$[a-z]\w+(?:->\w+)*"
)
_SAYS = re.compile(
    r"rais|throw|rror|xception|\blog|\.log|warn|fatal|panic|fail|abort|assert|print|debug|info|trace|verbose|die|bail|ensure|require"
    r"|expect|message|msg",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z]{3,}")
_NAME = re.compile(r"\b[A-Za-z]\w{5,24}\b")
_NUMBERED = re.compile(
    r"%[-+#0 ]*\d*(?:\.\d+)?(?:[hlzjt]|ll)?[diuxX]|count|size|len|num|port|line|index|code|id\b", re.IGNORECASE
)
LEAST_WORDS = 3
PATHS = (
    "/home/ana/data/train.csv",
    "/var/lib/app/state.db",
    "/opt/build-71/out.json",
    "C:\\Users\\ana\\report.txt",
    "conf/local.yaml",
)
OTHERS = (
    "https://example.org/api/v2",
    "127.0.0.1:8443",
    "3fa85f64-5717-4562-b3fc-2c963f66afa6",
    "None",
    "customers",
    "blue",
    "2026-03-02",
)


@dataclass(frozen=True, slots=True)
class Message:
    """A message as the program writes it, and where it stands (line from 1)."""

    text: str
    path: str
    line: int


def templates(path: str, text: str) -> Iterator[tuple[int, str]]:
    """The message literals of a file with their lines, placeholders as they stand."""
    if PurePosixPath(path).suffix.lstrip(".") not in CODE or place(path) != "code":
        return
    lines = text.splitlines()
    for match in _LITERALS.finditer(text):
        line = text.count("\n", 0, match.start())
        if not _SAYS.search("\n".join(lines[max(0, line - 1) : line + 1]).replace(match[0], "")):
            continue
        bodies = [literal[0].lstrip("rfbuLFRBU$@")[1:-1] for literal in _ONE.finditer(match[0])]
        whole = re.sub(r"\\[nt]", " ", "".join(bodies)).replace("\\'", "'").replace('\\"', '"')
        if not _PLACEHOLDER.search(whole) or "\\" in _PLACEHOLDER.sub("", whole) or "<" in whole:
            continue
        if len(_WORD.findall(_PLACEHOLDER.sub(" ", whole))) >= LEAST_WORDS:
            yield line + 1, whole


def value(placeholder: str, names: list[str], rng: random.Random) -> str:
    """What a program could put in."""
    if _NUMBERED.search(placeholder):
        return str(rng.choice((0, 2, 3, 17, 404, 5000, 86400)))
    kind = rng.random()
    if kind < 0.4:
        return rng.choice(names)
    return rng.choice(PATHS) if kind < 0.6 else rng.choice(OTHERS) if kind < 0.85 else str(rng.randrange(2000))


def drawn(texts: Mapping[str, str], count: int, rng: random.Random) -> list[Message]:
    """So many messages whose literal stands once in the project."""
    found = [(path, line, template) for path in sorted(texts) for line, template in templates(path, texts[path])]
    often: dict[str, int] = {}
    for _, _, template in found:
        often[template] = often.get(template, 0) + 1
    names = sorted({name for text in rng.sample(sorted(texts.values()), min(50, len(texts))) for name in _NAME.findall(text)})
    once = [entry for entry in found if often[entry[2]] == 1]
    rng.shuffle(once)
    messages: list[Message] = []
    of_file: dict[str, int] = {}
    for path, line, template in once:
        if of_file.get(path, 0) < 3 and len(messages) < count:
            of_file[path] = of_file.get(path, 0) + 1
            text = _PLACEHOLDER.sub(lambda match: value(match[0], names, rng), template).replace("%%", "%").strip()
            messages.append(Message(text, path, line))
    return messages


def _line(line: str, at: int, level: str, text: str) -> str:
    return line.format(at=at, level=level, text=text)


def asked(form: str, message: Message, messages: list[Message], rng: random.Random) -> str:
    """A text in which a person pastes the message: `log` has it at the level of an error among five others."""
    if form == "behind a trace":
        return rng.choice(TRACES).replace("{message}", message.text)
    if form == "in a log":
        others = rng.sample([other.text for other in messages if other is not message], min(5, len(messages) - 1))
        lines = [(rng.choice(("INFO", "DEBUG", "INFO", "WARNING")), text) for text in others]
        lines.insert(rng.randrange(len(lines) + 1), ("ERROR", message.text))
        line = rng.choice(LOG)
        return "\n".join(_line(line, at, level, text) for at, (level, text) in enumerate(lines))
    return rng.choice(FORMS[form]).format(message=message.text)


def main() -> None:
    """Print a table for each project."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="a folder of code")
    parser.add_argument("--count", type=int, default=100, help="messages of each folder (100)")
    parser.add_argument("--seed", type=int, default=1, help="what is drawn (1)")
    parser.add_argument("--misses", action="store_true", help="also print each question whose first hit is another place")
    arguments = parser.parse_args()
    embedder, cache = bundled(), Path(platformdirs.user_cache_dir("carrel-bench-index")) / "needles"
    print("| project | messages | " + " | ".join(f"{form}, first {FIRST[0]} / {FIRST[1]}" for form in ALL_FORMS) + " | ms |")
    print("|" + " --- |" * (len(ALL_FORMS) + 3))
    misses: list[str] = []
    for folder in arguments.folders:
        store, view = indexed(str(folder.resolve()), embedder, cache)
        rng = random.Random(arguments.seed)  # noqa: S311 - repeatable, no secret
        messages = drawn(readable(view), arguments.count, rng)
        cells: list[str] = []
        times: list[float] = []
        for form in ALL_FORMS:
            found = dict.fromkeys(FIRST, 0)
            for message in messages:
                question = asked(form, message, messages, rng)
                began = time.perf_counter()
                hits = retrieve(view, prepare_blocking(Query(question, limit=HITS), embedder), CancelToken()).hits
                times.append(1000 * (time.perf_counter() - began))
                right = [
                    h.chunk.path == message.path and h.chunk.span.start_line <= message.line <= h.chunk.span.end_line
                    for h in hits
                ]
                for first in FIRST:
                    found[first] += any(right[:first])
                if not any(right[:1]):
                    at = right.index(True) + 1 if any(right) else "-"
                    first_hit = f"{hits[0].chunk.path}:{hits[0].chunk.span.start_line}" if hits else "nothing"
                    misses.append(f"{folder.name} {form} [{at}]: {question} | {message.path}:{message.line} | {first_hit}")
            cells.append(" / ".join(f"{100 * number / max(1, len(messages)):.0f}" for number in found.values()))
        print(f"| {folder.name} | {len(messages)} | {' | '.join(cells)} | {statistics.median(times or [0.0]):.1f} |", flush=True)
        del store, view
    if arguments.misses:
        print("\n".join(misses))


if __name__ == "__main__":
    main()
