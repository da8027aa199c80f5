"""`carrel status | clear`: what the index holds, and its end."""

from __future__ import annotations

import shutil
from argparse import Namespace

from msgspec import UnsetType

from carrel.composition.composition import Composition
from carrel.frontends.cli.questions.in_process import indexed_folder, with_commands
from carrel.frontends.cli.terminal.output import Output
from carrel.frontends.lsp.commands.index_commands import status_result
from carrel.frontends.lsp.commands.question_commands import Commands
from carrel.frontends.lsp.messages.index_messages import FailedFile, StatusResult, VectorsInfo
from carrel.index.left_out import FINISH, unfinished_text
from carrel.model.errors import TextRefused
from carrel.service.queries import MOST_SKIPPED
from carrel.service.workspace import Workspace
from carrel.settings.settings_files import settings_of

_SHOWN_SKIPPED = 12
_SHOWN_FAILED = 5


def run(arguments: Namespace, output: Output) -> int:
    """Show or delete."""
    root = indexed_folder(arguments.path)
    if arguments.command == "clear":
        cleared = with_commands(root, output, lambda commands, _: commands.indexes.clear({}))
        if not root.exists():
            shutil.rmtree(Composition().index_folder(root, settings_of(root)[0]))  # nobody will use it again
        if output.json:
            output.value(cleared)
        else:
            output.text(f"The index of {root} is deleted ({cleared.freed_bytes / 1e6:.1f} MB).")
        return 0
    status = with_commands(root, output, _status)
    if output.json:
        output.value(status)
    elif status.store or isinstance(status.error, str):
        _show(status, output)
    else:
        output.text(f"not indexed: {root}. `carrel index` there makes its index, as the first question does.")
        for problem in status.problems:
            output.text(f"problem: {problem}")
    if not root.exists():
        output.note(f"{root} is gone; its index goes 30 days after its last use, or with: carrel clear {root}")
    return 0


async def _status(_: Commands, workspace: Workspace) -> StatusResult:
    return status_result(workspace, await workspace.status(most_files=MOST_SKIPPED))


def _show_vectors(vectors: VectorsInfo | UnsetType, output: Output) -> None:
    if isinstance(vectors, UnsetType):
        return
    waiting = f"; {vectors.backlog:,} wait, the oldest for {vectors.lag_seconds:,.0f} s" if vectors.backlog else ""
    output.text(f"vectors also in {vectors.kind}, {vectors.place}: {vectors.held:,} chunks{waiting}")
    if not isinstance(vectors.problem, UnsetType):
        output.text(f"  problem: {vectors.problem}")


def _show(status: StatusResult, output: Output) -> None:
    lacks = unfinished_text(status.files, status.unfinished, status.failed_files, complete=status.complete)
    state = "unfinished" if lacks and status.state in ("ready", "empty") else status.state
    output.text(
        f"{state}: {status.files:,} files, {status.chunks:,} chunks, {status.bytes / 1e6:.1f} MB in {status.store or '-'}"
    )
    if lacks:
        output.text(f"{lacks}. {FINISH}")
    if isinstance(status.last_indexed, str):
        commit = f", at commit {status.last_commit_sha[:12]}" if isinstance(status.last_commit_sha, str) else ""
        output.text(f"last indexed {status.last_indexed}{commit}, model {status.model.id}")
    _show_vectors(status.vectors, output)
    for language, files in sorted(status.languages.items(), key=lambda item: -item[1]):
        output.text(f"  {language:<14}{files:>8,}")
    files, secrets = status.masked_files, status.masked_secrets
    if secrets:
        output.text(f"{secrets:,} secret{'s are' if secrets > 1 else ' is'} masked in {files:,} file{'s' if files > 1 else ''}")
    if guesses := status.guessed_encodings:
        output.text(
            f"encoding guessed: {guesses:,} file{'s' if guesses > 1 else ''}; a `charset` in .editorconfig says it for good"
        )
    reasons = status.left_out
    if reasons:
        output.text(
            "left out: " + ", ".join(f"{count:,} {reason}" for reason, count in sorted(reasons.items(), key=lambda i: -i[1]))
        )
    # The rare reasons first: a thousand pictures surprise nobody.
    for skipped in sorted(status.skipped, key=lambda file: reasons.get(file.reason, 0))[:_SHOWN_SKIPPED]:
        output.text(f"  {skipped.reason}: {skipped.path}")
    if (more := sum(reasons.values()) - _SHOWN_SKIPPED) > 0:
        output.text(f"  … {more:,} more: `carrel status --json` names them all")
    _show_failed(status, output)
    if isinstance(status.error, str):
        output.text(f"error: {status.error}")
    for problem in status.problems:
        output.text(f"problem: {problem}")


def _show_failed(status: StatusResult, output: Output) -> None:
    refused = [file for file in status.failed if TextRefused.is_reason(file.reason)]
    failed = [file for file in status.failed if file not in refused]
    if lacking := status.chunks_without_vectors:
        output.text(f"without a vector: {lacking:,} chunk{'s' if lacking > 1 else ''}, found by words")
    _show_files("failed", "tried again by the next run", status.failed_files - status.refused_files, failed, output)
    _show_files("refused", "of which the embedding model gave a text no vector", status.refused_files, refused, output)


def _show_files(what: str, outcome: str, count: int, files: list[FailedFile], output: Output) -> None:
    if not count:
        return
    output.text(f"{what}: {count:,} file{'s' if count > 1 else ''}, {outcome}")
    for file in files[:_SHOWN_FAILED]:
        output.text(f"  {file.path}: {file.reason}")
    if (more := count - _SHOWN_FAILED) > 0:
        output.text(f"  … {more:,} more: `carrel status --json` names them")
