"""`carrel tune`: learn from the folder's own commits which files a change touches, and keep it only where it helps."""

from __future__ import annotations

import time
from argparse import Namespace
from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING

from carrel.core.errors import InvalidInput
from carrel.frontends.cli.broad_folders import confirm_broad_folder
from carrel.frontends.cli.cancellable import cancellable
from carrel.frontends.cli.commits import commits_of
from carrel.frontends.cli.in_process import current_index, folder, indexed_folder, settings
from carrel.server.tuning import TuningFigures, TuningFile, TuningRecord

if TYPE_CHECKING:
    from carrel.core.native import CancelToken
    from carrel.engine.tune import Tuning
    from carrel.frontends.cli.output import Output

_MOST_COMMITS = 4_000
"""So many are read: the newest that changed something in the folder."""


def run(arguments: Namespace, output: Output) -> int:
    """Learn and keep, learn and keep nothing, or forget."""
    if arguments.reset and arguments.dry_run:
        raise InvalidInput("--reset", "it forgets what was learned, and --dry-run changes nothing", "Give one of them.")
    if arguments.reset:
        return _reset(arguments, output)
    from carrel.engine.prepare import prepare_blocking
    from carrel.engine.tune import learn

    root = folder(arguments.path)
    chosen_settings = settings(root, output)
    confirm_broad_folder(root, chosen_settings)
    commits, newest = commits_of(root, _MOST_COMMITS, "learn from")
    file = TuningFile(root, chosen_settings)
    found: list[tuple[Tuning, str]] = []

    def work(token: CancelToken) -> None:
        with output.progress("Indexing") as progress:
            index = current_index(root, chosen_settings, token, progress)
        with closing(index.store), output.progress("Asking for the files of commits", unit="commits") as progress:
            tuning = learn(
                index.store.snapshot(),
                lambda query: prepare_blocking(query, index.embedder),
                commits,
                arguments.seconds,
                token,
                progress,
            )
            found.append((tuning, index.embedder.spec.id))

    cancellable(work)
    [(tuning, model)] = found
    if not arguments.dry_run:
        _keep(tuning, file, model, newest)
    if output.json:
        output.value(_plain(tuning, dry_run=arguments.dry_run))
    else:
        _show(tuning, file, output, dry_run=arguments.dry_run)
    return 0


def _reset(arguments: Namespace, output: Output) -> int:
    root = indexed_folder(arguments.path)
    forgotten = TuningFile(root, settings(root, output)).delete()
    if output.json:
        output.value({"reset": forgotten})
    else:
        output.text(f"What was learned of {root} is forgotten." if forgotten else f"Nothing was learned of {root}.")
    return 0


def _keep(tuning: Tuning, file: TuningFile, model: str, commit: str) -> None:
    """Keep what helps; what was kept before and helps no more is forgotten."""
    judgement = tuning.judgement
    if tuning.adapter is None or judgement is None:
        file.delete()
        return
    figures = TuningFigures(**asdict(judgement))
    file.write(TuningRecord.of(tuning.adapter, figures, model=model, commit=commit, at=time.time()))


def _plain(tuning: Tuning, *, dry_run: bool) -> dict[str, object]:
    return {
        "helps": tuning.adapter is not None,
        "kept": tuning.adapter is not None and not dry_run,
        "reason": tuning.reason,
        "remembered": tuning.remembered,
        "fitted": tuning.fitted,
        "weight": tuning.weight,
        "judgement": asdict(tuning.judgement) if tuning.judgement else None,
        "complete": tuning.complete,
    }


def _show(tuning: Tuning, file: TuningFile, output: Output, *, dry_run: bool) -> None:
    output.text(f"{tuning.remembered:,} commits remembered, {tuning.fitted} asked to fit the weight ({tuning.weight:g})")
    if found := tuning.judgement:
        output.text(f"{found.questions} newer commits, held back, asked by their subjects for the files that they changed:")
        output.text(
            f"  NDCG@10 {found.without:.3f} without, {found.with_it:.3f} with what was learned: "
            f"{found.gain:+.3f} (90 % between {found.low:+.3f} and {found.high:+.3f})"
        )
    if tuning.adapter is None:
        output.text(f"off: {tuning.reason}. Nothing is kept; answers are as without it.")
    elif dry_run:
        output.text("It helps. Nothing was kept (--dry-run).")
    else:
        output.text(
            f"on: texts that ask for a change are ranked with it. Kept in {file.path}; forget it with: carrel tune --reset"
        )
    if not tuning.complete:
        output.note("The time was up before all commits were asked: give more with --seconds.")
