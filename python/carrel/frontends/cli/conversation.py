"""`carrel ask | chat | review`: the chat model that is set, on the folder's code."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from carrel.frontends.cli.in_process import bring_up_to_date, with_commands
from carrel.frontends.cli.questions import attempt_line, tell_sent
from carrel.frontends.cli.terminal import Output, folder
from carrel.frontends.cli.typed_input import confirm, read_text
from carrel.frontends.common.interrupts import told_of_interrupts
from carrel.frontends.common.wire import Wire
from carrel.frontends.lsp.commands.question_commands import Commands
from carrel.model.errors import Cancelled, CarrelError, NotAllowed, ProviderError
from carrel.model.lines import LINE_END
from carrel.model.ports import ChatModel
from carrel.model.remote import Confirmation, refuse
from carrel.model.wording import counted
from carrel.service.workspace import Workspace

_TOKEN = "terminal"  # noqa: S105 - it names who is told of steps
_SHOWN_LINES = 8
_QUIT = ("/quit", "/exit", "/q")


def run(arguments: Namespace, output: Output) -> int:
    """Ask, talk or review."""
    root = folder(arguments.path)
    listener = _Listener(output, steps=arguments.steps)
    if arguments.command == "chat":
        return _chat(root, arguments, output, listener)
    body = read_text(arguments.body) if arguments.command == "review" and arguments.body else ""

    async def work(commands: Commands, workspace: Workspace) -> Any:
        commands.chat_model(workspace, None, arguments.model)  # before anything is indexed for one that isn't there
        wait = await bring_up_to_date(commands, workspace, output)
        common = {"model": arguments.model, "maxTokens": arguments.max_tokens, "waitMs": wait, "partialResultToken": _TOKEN}
        if arguments.command == "review":
            return await commands.review({**common, "title": arguments.title, "body": body})
        common["assess"] = arguments.assess
        return await _chatted(commands, {**common, "messages": [{"role": "user", "content": arguments.query}]})

    result = with_commands(root, output, work, client=listener, confirm=_decide)
    if output.json:
        output.value(result)
    elif arguments.command == "review":
        return _show_review(result, output)
    else:
        listener.end(result)
    return 0 if (_has(result.review) if arguments.command == "review" else result.text.strip()) else 1


async def _chatted(commands: Commands, params: dict[str, Any]) -> Any:
    """Have the chat model answer. Raises `CarrelError`; of a model that can't, with what works without one."""
    try:
        return await commands.chat(params)
    except NotAllowed:
        raise
    except ProviderError as error:
        raise ProviderError(error.reason, f"{error.remedy} {_Listener.remedy}".strip(), retryable=error.retryable) from None


async def _decide(confirmation: Confirmation) -> bool:
    """Have the person at the terminal decide about tools that the model wants to run; what costs money is asked elsewhere."""
    return await (confirm if confirmation.what in ("tools", "pipeline") else refuse)(confirmation)


class _Listener:
    """Shows an answer as it comes, and steps where they are asked for. It lends no model."""

    remedy = "`carrel context` and `carrel search` need no model."

    def __init__(self, output: Output, *, steps: bool) -> None:
        self._output = output
        self._steps = steps
        self._shown = ""  # of the present answer

    def model(self, token: object) -> ChatModel | None:  # noqa: ARG002 - the model that is set is asked
        """Return none: a terminal has no model of its own."""
        return None

    def report(self, token: object, partial: Wire) -> None:  # noqa: ARG002 - there is one request at a time
        """Show a step."""
        if self._output.json:
            return
        step: Any = partial
        if step.kind == "text" and not hasattr(step, "answer"):
            self._output.piece(step.text)
            self._shown += step.text
            return
        if self._shown:
            self._output.piece("\n")
            self._shown = ""
        # A model may take minutes: who waits at a terminal sees for whom.
        if self._steps or step.kind == "askedAgain" or (step.kind == "asked" and self._output.is_watched):
            for line in LINE_END.split(_step_line(step)):
                self._output.note(line)

    def end(self, result: Any) -> None:
        """Show what the stream couldn't say: the answer with its marks where it differs, and its citations."""
        output = self._output
        if self._shown:
            output.piece("\n")
        if not result.text.strip():
            fit = "These places of the project fit the question:" if result.pack.hits else "Nothing in the project fits either."
            output.note(f"The model gave no answer. {fit}")
            for hit in result.pack.hits:
                output.text(f"  {hit.path}:{hit.start_line}-{hit.end_line}")
        elif result.text.strip() != self._shown.strip():
            if self._shown:
                output.note("The answer, with what doesn't hold marked:")
            output.whole(result.text)
        self._shown = ""
        _show_ends(result, output)


def _show_ends(result: Any, output: Output) -> None:
    for citation in result.citations:
        place = f"{citation.path}:{citation.start_line}-{citation.end_line}"
        of_document = f", version {citation.version}" if _has(citation.version) else ""
        of_document += f", updated {citation.updated_at[:10]}" if _has(citation.updated_at) else ""
        output.note(f"  {place}  given{of_document}" if citation.ok else f"  {place}  NOT VERIFIED: {citation.reason}")
    if result.cut:
        output.note("The answer was cut off: it reached the model's limit.")
    if _has(result.limit):
        output.note(f"The search for more was ended by the limit of {result.limit}.")
    if _has(result.problem):
        output.warn(f"The answer has a problem: {result.problem}")
    if _has(result.pack.error):
        output.warn(f"context: {result.pack.error}")
    usage = result.usage
    cost = f", ${usage.cost:.4f}" if isinstance(usage.cost, float) else ""
    output.note(
        f"{counted(usage.requests, 'request')}, {counted(usage.calls, 'tool call')}, "
        f"{counted(usage.prompt_tokens + usage.answer_tokens, 'token')} "
        f"({usage.tokenizer}){cost}, {result.elapsed_ms / 1000:.1f} s"
    )
    tell_sent(result, output)


def _step_line(step: Any) -> str:
    """Return a step of an answer or of a review in a line."""
    if hasattr(step, "query"):
        return _review_step_line(step)
    if step.kind == "assessed":
        return f"> {attempt_line(step.attempt)}"
    if step.kind == "toolFinished":
        return _said(step)
    arguments = ", ".join(f"{name}={value!r}" for name, value in step.arguments.items()) if _has(step.arguments) else ""
    lines = {
        "asked": f"> model asked, step {step.step}, {step.tokens} tokens",
        "toolStarted": f"> {step.tool}({arguments})",
        "toolRefused": f"> {step.tool} not run: {step.problem}",
        "repaired": f"> mended: {step.text}",
        "limit": f"> limit reached: {step.limit}",
        "askedAgain": f"> asked again: {step.problem}",
    }
    return lines[step.kind]


def _said(step: Any) -> str:
    """Return the beginning of what a tool said, or how many places it showed."""
    lines = LINE_END.split(step.text.strip()) if _has(step.text) else [counted(len(step.places), "place")]
    if _has(step.problem):
        lines = [f"failed: {step.problem}"]
    more = [f"… {len(lines) - _SHOWN_LINES} lines more"] if len(lines) > _SHOWN_LINES else []
    before = ["as before:"] if step.repeated is True else []
    return "\n".join(f"  {line}" for line in (*before, *lines[:_SHOWN_LINES], *more))


def _review_step_line(step: Any) -> str:
    match step.kind:
        case "searchStarted":
            return f"> search: {step.query}"
        case "searchFinished":
            return f"  {counted(len(step.places), 'place')}"
        case "askedAgain":
            return f"> asked again: {step.problem}"
    return f"> {step.text}"


def _show_review(result: Any, output: Output) -> int:
    if not _has(result.review):
        output.warn(f"carrel: the model's answer can't be used: {result.problem}. It said:")
        output.whole(result.raw_text)
        return 1
    review = result.review
    output.text(review.summary)
    output.text(f"Difficulty {review.difficulty_score} of 5, for {review.recommended_level}")
    output.text(f"Needs: {', '.join(review.concepts_required)}")
    output.whole(review.mentoring_advice)
    for place in result.places:
        symbol = f"  {place.symbol}" if _has(place.symbol) else ""
        output.text(f"  {place.path}:{place.start_line}-{place.end_line}{symbol}")
    output.note(
        f"{counted(review.chunks_used, 'place')}, {counted(result.searches, 'search', 'searches')}, "
        f"{result.elapsed_ms / 1000:.1f} s"
    )
    tell_sent(result, output)
    return 0


def _has(value: object) -> bool:
    from msgspec import UNSET

    return value is not UNSET


# --- a conversation


def _chat(root: Path, arguments: Namespace, output: Output, listener: _Listener) -> int:
    """Talk until the person ends it. Ctrl-C stops an answer; while nothing is being answered it ends the program."""
    history: list[dict[str, str]] = []

    async def work(commands: Commands, workspace: Workspace) -> None:
        commands.chat_model(workspace, None, arguments.model)  # before anything is indexed for one that isn't there
        wait = await bring_up_to_date(commands, workspace, output)
        output.note(f"About {root}. /quit ends it, Ctrl-C stops an answer.")
        while (question := _line(output)) is not None:
            if not question:
                continue
            messages = [*history, {"role": "user", "content": question}]
            params = {"messages": messages, "model": arguments.model, "maxTokens": arguments.max_tokens, "waitMs": wait}
            result = await _answered(commands, {**params, "partialResultToken": _TOKEN}, output)
            if result is not None:
                listener.end(result)
                history[:] = [*messages, {"role": "assistant", "content": result.text}] if result.text else history

    with_commands(root, output, work, client=listener, confirm=_decide, interruptible=False)
    return 0


async def _answered(commands: Commands, params: dict[str, Any], output: Output) -> Any:
    """Return the answer; None where the person stopped it or it failed, which is said."""
    task = asyncio.ensure_future(_chatted(commands, params))
    loop = asyncio.get_running_loop()
    try:
        with told_of_interrupts(lambda: loop.call_soon_threadsafe(task.cancel)):
            return await task
    except (asyncio.CancelledError, Cancelled):
        output.gap()  # behind the terminal's ^C
        output.note("Stopped.")
    except CarrelError as error:
        output.warn(f"carrel: {error}")
    return None


def _line(output: Output) -> str | None:
    """Return what the person types; None at the end. The event loop rests meanwhile: nobody else asks anything."""
    if sys.stdin is None:
        return None
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - editing of the line, where the system has it
    try:
        typed = input("> ") if sys.stdin.isatty() and not output.json else sys.stdin.readline()
    except EOFError:
        return None
    if not typed and not sys.stdin.isatty():
        return None
    typed = typed.strip().removeprefix(codecs.BOM_UTF8.decode())
    return None if typed in _QUIT else typed.encode("utf-8", "replace").decode()
