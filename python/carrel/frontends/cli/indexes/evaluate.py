"""`carrel eval`: how well search works on this repository, measured on its own history, texts and questions from elsewhere."""

from __future__ import annotations

from argparse import Namespace
from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING

from carrel.composition.composition import Composition
from carrel.frontends.cli.indexes.broad_folders import confirm_broad_folder
from carrel.frontends.cli.indexes.commits import commits_of
from carrel.frontends.cli.questions.in_process import current_index, folder, settings
from carrel.frontends.cli.terminal.cancellable import cancellable
from carrel.model.errors import CarrelError
from carrel.model.types import Query
from carrel.question.prepare import prepare_blocking

if TYPE_CHECKING:
    from carrel.frontends.cli.terminal.output import Output
    from carrel.model.native import CancelToken
    from carrel.service.evaluate import Case, Summary
    from carrel.service.own_questions import OwnFigures

_COMMITS_A_CASE = 10
"""So many commits are read for each question that is wanted: most are merges, sweeps, or change no code."""


def run(arguments: Namespace, output: Output) -> int:
    """Index, ask, sum up."""
    from carrel.service.evaluate import Figures, cases, measure, summarize
    from carrel.service.own_questions import measure as measure_own

    root = folder(arguments.path)
    chosen_settings = settings(root, output)
    confirm_broad_folder(root, chosen_settings)
    commits, _ = commits_of(root, arguments.commits * _COMMITS_A_CASE, "measure on")
    figures: list[Figures] = []
    own: list[OwnFigures] = []

    def work(token: CancelToken) -> None:
        with output.progress("Indexing") as progress:
            index = current_index(root, chosen_settings, token, progress)
        with closing(index.store):
            view = index.store.snapshot()
            tokenizer = Composition().tokenizer(chosen_settings, None)
            chosen: list[Case] = cases(commits, frozenset(view.paths()), arguments.commits)
            with output.progress("Asking", unit="questions") as progress:
                for number, case in enumerate(chosen):
                    progress(number, len(chosen), case.question)
                    figures.append(
                        measure(view, prepare_blocking(Query(case.question, limit=50), index.embedder), tokenizer, case, token)
                    )
            with output.progress("Asking for its own texts", unit="questions") as progress:
                own.append(
                    measure_own(
                        view,
                        lambda query: prepare_blocking(query, index.embedder),
                        [case.question for case in chosen],
                        arguments.needles,
                        arguments.seed,
                        arguments.seconds,
                        token,
                        progress,
                    )
                )

    cancellable(work)
    if not figures:
        raise CarrelError(
            f"none of the last {len(commits)} commits can be asked about",
            "Each needs a subject of a few words and up to 8 changed files of code that still exist.",
        )
    summary = summarize(figures, arguments.misses)
    if output.json:
        output.value({**_plain(summary), **_plain_own(own[0], arguments.misses)})
    else:
        _show(summary, output)
        _show_own(own[0], arguments, output)
    return 0


def _plain(summary: Summary) -> dict[str, object]:
    return {
        **{key: value for key, value in asdict(summary).items() if key != "misses"},
        "misses": [
            {"sha": m.case.sha, "question": m.case.question, "wanted": sorted(m.case.paths), "found": m.found, "ndcg10": m.ndcg}
            for m in summary.misses
        ],
    }


def _show(summary: Summary, output: Output) -> None:
    output.text(f"{summary.questions} questions (subjects of commits; the answers are the files they changed)")
    output.text(
        f"  NDCG@10 {summary.ndcg10:.3f}   files among the first ten {summary.recall10:.1%}   best hit right {summary.hit1:.1%}"
    )
    shares = "   ".join(f"{tokens} tokens {share:.1%}" for tokens, share in summary.recall_at.items())
    output.text(f"  files shown by a context of {shares}")
    output.text(f"  a query takes {summary.query_ms:.1f} ms (median)")
    if summary.misses:
        output.text("What went worst:")
    for miss in summary.misses:
        output.text(f"  {miss.ndcg:.2f}  {miss.case.sha[:10]}  {miss.case.question}")
        output.text(f"        wanted {', '.join(sorted(miss.case.paths))}")
        output.text(f"        found  {', '.join(miss.found[:4]) or 'nothing'}")


def _plain_own(own: OwnFigures, most_misses: int) -> dict[str, object]:
    return {
        "needles": [asdict(tally) for tally in own.needles],
        "needle_misses": [asdict(needle) for needle in own.misses[:most_misses]],
        "confidence": asdict(own.confidence) if own.confidence else None,
        "complete": own.complete,
    }


def _show_own(own: OwnFigures, arguments: Namespace, output: Output) -> None:
    if own.needles:
        output.text("Texts that stand in one of its files; found is what one of the first three files holds")
        output.text(f"  {'':<12}{'asked':>6}{'alone':>8}{'in a sentence':>15}")
    for tally in own.needles:
        alone, sentence = tally.alone / tally.asked, tally.in_sentence / tally.asked
        output.text(f"  {tally.kind:<12}{tally.asked:>6}{alone:>8.0%}{sentence:>15.0%}")
    for needle in own.misses[: arguments.misses]:
        output.text(f"  missed: {needle.text}  ({needle.path})")
    if own.confidence:
        found = own.confidence
        output.text(f"Is there anything here at all: {found.own} questions of its own, {found.foreign} from elsewhere")
        output.text(f"  an own one has the higher confidence in {found.area:.1%} of all pairs")
        output.text(f"  own ones that would get nothing {found.refused}, others that would get something {found.sent}")
    if not own.complete:
        output.note(f"The time was up after {arguments.seconds} seconds: give more with --seconds.")
