"""`carrel search | context | files | compare | explain | localize`: questions to the index, which is brought up to date first."""

from __future__ import annotations

import contextlib
import os
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from carrel.frontends.cli.in_process import bring_up_to_date, with_commands
from carrel.frontends.cli.terminal import Output, folder, harmless
from carrel.frontends.cli.typed_input import STANDARD_INPUT, read_history, read_text
from carrel.frontends.lsp.commands.question_commands import Commands
from carrel.model.errors import CarrelError, InvalidInput
from carrel.model.lines import LINE_END
from carrel.model.types import Query
from carrel.model.wording import counted
from carrel.service import queries
from carrel.service.workspace import Workspace
from carrel.settings.source_settings import WORKSPACE

if TYPE_CHECKING:
    from carrel.model.types import Hit
    from carrel.search.localize import LocatedFile


_SHOWN_LINES = 12
_HITS = 10
_NOTHING_FITS = "Nothing in the project fits this question."
_OPTIONS = {
    "filters.pathGlob": "--glob",
    "filters.languages": "--language",
    "filters.sources": "--source",
    "filters.maxAgeDays": "--max-age-days",
}
"""What a person typed for a field of a request."""


def run_question(arguments: Namespace, output: Output) -> int:
    """Ask one question and show the answer."""
    root = folder(arguments.path)
    source = getattr(arguments, "history", None)
    if arguments.query == STANDARD_INPUT == source:
        raise InvalidInput("--history", "is standard input, as the query is", "Put one of the two into a file.")
    arguments.history = [] if source is None else read_history(source)
    if arguments.query == STANDARD_INPUT:
        arguments.query = read_text(STANDARD_INPUT)
        if not arguments.query.strip():
            raise InvalidInput("query", "is empty", "Pipe in what to look for.")
    try:
        result = with_commands(root, output, lambda commands, workspace: _ask(arguments, output, commands, workspace))
    except InvalidInput as wrong:
        if option := _OPTIONS.get(wrong.field):
            raise wrong.renamed(option) from None
        raise
    if error := getattr(result, "error", None):
        if not result.text:
            raise CarrelError(error)
        output.warn(error)
    if output.json:
        output.value(result)
    else:
        if arguments.command == "search" and not arguments.limit:
            result = _without_guesses(result)
        _SHOW[arguments.command](result, output)
        tell_sent(result, output)
    return 0


async def _ask(arguments: Namespace, output: Output, commands: Commands, workspace: Workspace) -> Any:
    wait = await bring_up_to_date(commands, workspace, output)
    params: dict[str, Any] = {"query": arguments.query, "waitMs": wait}
    match arguments.command:
        case "search":
            params |= {"limit": arguments.limit or _HITS, "format": arguments.format, "filters": _filters(arguments)}
            params |= {"lastChange": arguments.last_change, "history": arguments.history, "assess": arguments.assess}
            return await commands.search(params)
        case "files":
            return await commands.files({**params, "limit": arguments.limit, "filters": _filters(arguments)})
        case "compare":
            model = arguments.model if arguments.answers else None
            params |= {"answers": arguments.answers, "model": model, "limit": arguments.limit}
            return await commands.compare({**params, "budget": {"tokens": arguments.tokens}})
        case "explain":
            path, line = arguments.place
            path = _in_folder(path, workspace)
            if not (workspace.root / path).exists():
                raise CarrelError(
                    f"{path} is not there: there is no such file in {workspace.root}, so nothing of it can be found."
                )
            return await commands.explain({**params, "path": path, "line": line})
    context_budget = {"tokens": arguments.tokens} if arguments.tokens else {"chars": arguments.chars} if arguments.chars else None
    params |= {"budget": context_budget, "topK": arguments.top_k, "format": arguments.format, "filters": _filters(arguments)}
    return await commands.context({**params, "history": arguments.history, "trigger": "explicit"})


def _in_folder(path: str, workspace: Workspace) -> str:
    """Name a file as the folder knows it, however it was named: from the folder, from the current one, or in full."""
    if not (workspace.root / path).exists() or Path(path).is_absolute():
        with contextlib.suppress(ValueError):
            return Path(path).resolve().relative_to(workspace.root.resolve()).as_posix()
    return Path(path).as_posix()


def _filters(arguments: Namespace) -> dict[str, Any]:
    filters = {
        "pathGlob": arguments.glob or None,
        "languages": arguments.language or None,
        "symbol": arguments.symbol,
        "sources": arguments.source or None,
        "maxAgeDays": arguments.max_age_days,
    }
    return {name: value for name, value in filters.items() if value is not None}


def _without_guesses(result: Any) -> Any:
    """Keep the nearest few places of a search that isn't sure, as assistants get them."""
    from carrel.search.certainty import GUESSES, doubt

    is_list = not isinstance(result.text, str)  # else the server wrote the places out
    return structs.replace(result, hits=result.hits[:GUESSES]) if is_list and doubt(result.confidence) else result


def _show_hits(result: Any, output: Output) -> None:
    from carrel.search.certainty import doubt

    if problem := result.plan.get("problem"):
        output.warn(problem)
    if not result.hits:
        output.note(_NOTHING_FITS)
    elif unsure := doubt(result.confidence):
        output.note(unsure)
    places = isinstance(result.text, str)
    if places and result.hits:
        output.whole(result.text)
    for number, hit in enumerate(() if places else result.hits):
        if number:
            output.gap()
        symbol = f"  {hit.symbol}" if isinstance(hit.symbol, str) else ""
        span = f":{hit.start_line}-{hit.end_line}"
        output.styled((hit.path, "bold magenta"), (span, "green"), (f"  {hit.score:.2f}", "dim"), (symbol, "cyan"))
        lines = LINE_END.split(hit.text.rstrip("\r\n"))
        for line in lines[:_SHOWN_LINES]:
            output.styled((f"    {line}", ""))
        if len(lines) > _SHOWN_LINES:
            output.styled((f"    … {len(lines) - _SHOWN_LINES} lines more", "dim"))
        if change := hit.last_change:  # UNSET is false
            output.styled((f"    changed last: {change.sha[:10]} {change.at[:10]} {change.author}: {change.subject}", "dim"))
    for attempt in result.attempts or ():
        if not attempt.problem:  # which was said above
            output.note(attempt_line(attempt))
    _tell_rewritten(result, output)
    more = (
        f"; {holding:,} places of the index hold the word"
        if (holding := result.plan.get("holding", 0)) > len(result.hits)
        else ""
    )
    output.note(f"{counted(len(result.hits), 'hit')} in {result.elapsed_ms:.0f} ms{more}")
    _tell_sources(result, output)


def attempt_line(attempt: Any) -> str:
    """Say what a chat model said of a search."""
    refined = attempt.action == "refine_query" and attempt.refined_query
    then = f"search for: {refined}" if refined else attempt.action.replace("_", " ")
    judged = "sufficient" if attempt.is_sufficient else "relevant" if attempt.is_relevant else "not relevant"
    return f"assessed: {attempt.query}: {counted(attempt.hits, 'hit')}, {attempt.problem or f'{judged}, then {then}'}"


def _show_pack(result: Any, output: Output) -> None:
    if result.text:
        output.whole(result.text)
    elif result.dropped:
        output.note("Nothing fits the budget: give more with --tokens or --chars.")
    else:
        output.note(_NOTHING_FITS)
    _tell_rewritten(result, output)
    places = len(result.hits) if result.text else 0
    output.note(f"{counted(places, 'place')}, {counted(result.tokens, 'token')} ({result.tokenizer}), {result.elapsed_ms:.0f} ms")
    _tell_sources(result, output)
    for drop in result.dropped:
        output.note(f"left out: {drop.path}:{drop.start_line}-{drop.end_line}: {drop.reason}")


def _tell_rewritten(result: Any, output: Output) -> None:
    if result.rewritten:
        output.note(f"Searched for: {result.rewritten}")


def _tell_sources(result: Any, output: Output) -> None:
    """Say which sources beside the workspace were searched and why, and which were not."""
    for route in result.routes or ():
        if route.source != WORKSPACE:
            output.note(f"searched: {route.source}: {route.reason}")
    if result.not_searched:
        output.note(f"not searched: {', '.join(result.not_searched)}: nothing in the question speaks for it")


def _show_files(result: Any, output: Output) -> None:
    if not result.files:
        output.note(_NOTHING_FITS)
    for file in result.files:
        output.text(f"{file.score:8.2f}  {file.path}")


def _show_story(result: Any, output: Output) -> None:
    for chunk in result["candidates"]:
        symbol = f"  {chunk['symbol']}" if chunk.get("symbol") else ""
        output.text(f"{chunk['path']}:{chunk['startLine']}-{chunk['endLine']}{symbol}")
        output.text(f"    {chunk['verdict']}")
        if chunk.get("relevance") is None:  # nothing was searched for it
            continue
        ranks = (chunk.get(rank) for rank in ("lexicalRank", "denseRank"))
        words, meaning = (f"number {rank}" if rank else "not among those found" for rank in ranks)
        output.text(f"    by words: {words}, {chunk.get('lexical', 0):.0%} of the question's weight")
        output.text(f"    by meaning: {meaning}, cosine {chunk.get('dense', 0):.2f}")
        if matched := chunk.get("matched"):
            output.text(f"    words of the question: {', '.join(matched)}")
        if chunk.get("defines"):
            output.text(f"    defines what the question names, {chunk['defines']:.0%} exactly")
        if chunk.get("rerank") is not None:
            output.text(f"    judged by the reranker: {chunk['rerank']:.2f}")
        output.text(f"    relevance: {chunk['relevance']:.2f}")
        for rule, share in chunk.get("contributions", ()):
            output.text(f"        {share:+.2f}  {rule.replace('_', ' ')}")


def _show_comparison(result: Any, output: Output) -> None:
    from msgspec import UnsetType
    from rich.table import Table

    if isinstance(result.problem, str):
        output.warn(result.problem)
    if not result.whole_files.tokens:
        output.note(_NOTHING_FITS)
        return
    by_lines = ((f"chunks of {way.lines} lines", way) for way in result.by_lines)
    ways = [("retrieved chunks", result.chunks), *by_lines, ("whole files", result.whole_files)]
    is_judged = any(way.judged for _, way in ways)  # UNSET is false
    table = Table(
        "",
        "tokens",
        "time",
        "files",
        "files that fit",
        *(["judged"] if is_judged else []),
        title=f"counted in {result.tokenizer}",
    )
    for name, way in ways:
        judged = [way.judged or "no answer"] if is_judged else []
        row = (name, f"{way.tokens:,}", f"{way.elapsed_ms:.0f} ms", f"{len(way.files)}", f"{way.fitting}", *judged)
        table.add_row(*row)
    output.console().print(table)
    if result.chunks.tokens:
        output.text(f"The chunks need {result.chunks.tokens / max(result.whole_files.tokens, 1):.1%} of the whole files' tokens.")
    if result.reasons:
        output.text(f"Retrieval pays here: {', '.join(result.reasons)}.")
    else:
        output.text("Whole files would do here.")
    for path in result.whole_files.files:
        output.text(f"  {'chunks' if path in result.chunks.files else 'no room':8} {path}")
    for path in result.unread:
        output.note(f"could not be read whole: {path}")
    if not isinstance(result.answers, UnsetType):
        _show_answers(result.answers, output)


def _show_answers(answers: Any, output: Output) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table("from retrieved chunks", "from whole files", show_lines=True)
    both = (answers.chunks, answers.whole_files)
    table.add_row(*(Text(harmless(answer.problem if isinstance(answer.problem, str) else answer.text)) for answer in both))
    table.add_row(
        *(
            f"{counted(answer.prompt_tokens, 'token')}, {answer.answer_tokens:,} of the answer, {answer.elapsed_ms / 1000:.1f} s"
            for answer in both
        )
    )
    table.add_row(
        *(
            f"{counted(answer.citations, 'place')} cited, {answer.unverified} unverified; "
            f"{counted(len(answer.files), 'file')} given"
            for answer in both
        )
    )
    output.console().print(table)


_SHOW = {
    "search": _show_hits,
    "context": _show_pack,
    "files": _show_files,
    "compare": _show_comparison,
    "explain": _show_story,
}


def tell_sent(result: Any, output: Output) -> None:
    """Say which services were asked, with how much; nothing where none was."""
    sent = getattr(result, "sent", None)
    for service in sent if isinstance(sent, tuple) else ():
        cost = f", ${service.cost:.4f}" if service.cost else ""
        output.note(
            f"sent to {service.provider} at {service.host} ({service.what}): "
            f"{counted(service.requests, 'request')}, {counted(service.texts, 'text')}, "
            f"{counted(service.bytes, 'byte')}, {counted(service.tokens, 'token')}{cost}"
        )


_HITS_A_FILE = 5
"""So many hits are looked for for each file that is wanted: several stand in one."""


def run_localize(arguments: Namespace, output: Output) -> int:
    """Locate one text and show where."""
    root = folder(arguments.path)
    text = _issue_text(arguments)
    files, hits, is_issue, elapsed_ms = with_commands(
        root, output, lambda commands, workspace: _located(text, arguments.limit, output, commands, workspace)
    )
    output.value(
        {
            "files": [{"path": file.path, "reasons": file.reasons} for file in files],
            "places": list(map(_plain_place, hits)),
            "issue": is_issue,
            "elapsedMs": round(elapsed_ms, 3),
        }
    )
    _show_located(files, hits, output)
    if files:
        how = "an issue" if is_issue else "a question: it is too short for an issue, so files stand by their best hit"
        output.note(f"{counted(len(files), 'file')} in {elapsed_ms:.0f} ms; read as {how}")
    if arguments.text and os.path.isfile(arguments.text):  # noqa: PTH113 - false, not an error, for what can't be a path
        output.warn(f"{arguments.text} is a file, but its name was taken for the text: `--file {arguments.text}` reads it.")
    return 0


def _issue_text(arguments: Namespace) -> str:
    """Return the text that was typed, or that stands in the file or on standard input."""
    source = arguments.file or (STANDARD_INPUT if arguments.text == STANDARD_INPUT else None)
    text = arguments.text if source is None else read_text(source)
    if not text.strip():
        raise InvalidInput("text", "is empty", "Give the text of an issue, a trace or a question.")
    return str(text)


async def _located(
    text: str, limit: int, output: Output, commands: Commands, workspace: Workspace
) -> tuple[Sequence[LocatedFile], Sequence[Hit], bool, float]:
    """Return files and places, best first, whether the text was read as an issue, and the milliseconds that it took."""
    from carrel.search.files import located_files

    wait_ms = await bring_up_to_date(commands, workspace, output)
    began = time.perf_counter()
    found = await queries.search(workspace, Query(text, _HITS_A_FILE * limit), wait_ms, plan="never", rerank=False)
    elapsed_ms = 1000 * (time.perf_counter() - began)
    files = located_files(found.retrieval) if found.with_evidence else ()
    return files[:limit], found.with_evidence[:limit], found.diagnostics.is_issue, elapsed_ms


def _plain_place(hit: Hit) -> dict[str, Any]:
    chunk, span = hit.chunk, hit.chunk.span
    place = {"path": chunk.path, "startLine": span.start_line, "endLine": span.end_line}
    return {"symbol": chunk.symbol, "kind": chunk.kind, **place, "score": hit.score}


def _show_located(files: Sequence[LocatedFile], hits: Sequence[Hit], output: Output) -> None:
    if not files:
        output.note(_NOTHING_FITS)
        return
    output.text("Files:")
    for file in files:
        output.text(f"  {file.path}")
        if file.reasons:
            output.text(f"      {'; '.join(file.reasons)}")
    output.text("Functions and other places:")
    for hit in hits:
        symbol = f"  {hit.chunk.symbol}" if hit.chunk.symbol else ""
        span = hit.chunk.span
        output.text(f"  {hit.chunk.path}:{span.start_line}-{span.end_line}  {hit.score:.2f}{symbol}")
