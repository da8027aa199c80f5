"""Run `carrel doctor`: find what is wrong, and say the remedy. Exit code 1 if anything is broken.

An index is only read, and never in the way of the process that writes it.
"""

from __future__ import annotations

import logging
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from carrel.composition.composition import Composition
from carrel.frontends.cli.reports import checks
from carrel.frontends.cli.reports.checks import Finding
from carrel.frontends.cli.terminal.folders import unreadable
from carrel.frontends.cli.terminal.output import Output, one_line
from carrel.index.left_out import FINISH, unfinished_text
from carrel.index.open_index import USE_MODEL
from carrel.model.errors import CarrelError, SettingsError, StoreError, TextRefused
from carrel.settings.settings_files import settings_of


def index(folder: Path) -> Iterator[Finding]:
    """Check the index of this folder: its format, its segments, who writes it."""
    settings, _ = settings_of(folder)
    composition = Composition()
    if not composition.index_exists(folder, settings):
        yield Finding("Index", "note", "none yet for this folder", "It is made by the first question, or by `carrel index`.")
        return
    try:
        opened = composition.open_index(folder, settings)
    except StoreError as error:
        remedy = f"{error.remedy[:1].upper()}{error.remedy[1:]}. " if error.remedy else ""
        yield Finding("Index", "error", error.reason, f"{remedy}If nothing else helps: carrel clear {folder}")
        return
    try:
        if reason := opened.model_not_used:
            yield Finding("Embedding model", "warning", reason, USE_MODEL)
        damage = opened.store.problems
        for problem in opened.other_problems:
            # The others say what mends them.
            remedy = "Run `carrel index`: it makes again what is missing." if problem in damage else ""
            yield Finding("Index", "warning", problem, remedy)
        if refused := [(path, reason) for path, reason in opened.store.failed() if TextRefused.is_reason(reason)]:
            (path, reason), more = refused[0], f" ({len(refused) - 1:,} more: `carrel status`)" if len(refused) > 1 else ""
            remedy = "Words find this text. Change it or the model's settings, or ask for all anew: carrel index --force"
            yield Finding("Index", "warning", f"{path}: {reason}{more}", remedy)
        store, snapshot = opened.store, opened.store.snapshot()
        if lacks := unfinished_text(snapshot.files, opened.unfinished, store.failed_count, complete=opened.complete):
            yield Finding("Index", "warning", lacks, FINISH)
        who = "written by this process alone" if store.role == "writer" else "another Carrel process is writing it"
        who = "read as it was left" if store.read_only else who
        size = f"{store.bytes_on_disk / 1e6:.1f} MB in {opened.directory}"
        yield Finding("Index", "ok", f"{snapshot.files:,} files, {snapshot.chunks:,} chunks, {size}; {who}")
    finally:
        opened.store.close()


CHECKS: tuple[checks.Check, ...] = (
    checks.python,
    checks.native,
    checks.settings,
    checks.cache,
    index,
    checks.models,
    checks.store,
    checks.team,
    checks.git,
    checks.limits,
    checks.extras,
)
_SIGNS = {"ok": ("✓", "green"), "note": ("·", "cyan"), "warning": ("!", "yellow"), "error": ("✗", "red")}


def run(arguments: Namespace, output: Output) -> int:
    """Look at everything; one check that fails doesn't hide the others."""
    findings = examine(arguments.path.absolute())
    broken = any(finding.level == "error" for finding in findings)
    if output.json:
        output.value({"ok": not broken, "findings": [asdict(finding) for finding in findings]})
    else:
        _show(findings, output)
    return int(broken)


def examine(folder: Path) -> list[Finding]:
    """Run every check on `folder`."""
    if not folder.is_dir():
        return [Finding("Folder", "error", f"{folder} is not a folder", "Give the folder of a project.")]
    if reason := unreadable(folder):
        return [
            Finding(
                "Folder", "error", f"{folder} can't be read: {reason}", f"Give yourself the right to read it: chmod u+rx {folder}"
            )
        ]
    findings = list(checks.memory(folder))
    if any(finding.level == "error" for finding in findings):
        return findings  # to look further would end the process
    for check in CHECKS:
        try:
            findings.extend(check(folder))
        except SettingsError:
            continue  # nobody knows where the index is; `checks.settings` says why
        except (ImportError, OSError, ValueError, CarrelError) as error:  # the check itself can't be made: that is a finding
            logging.getLogger(__name__).debug("check failed", exc_info=True)
            remedy = "If the remedies above don't help, report this with the output of `carrel doctor --json`."
            findings.append(Finding(check.__name__, "error", f"{type(error).__name__}: {error}", remedy))
    return findings


def _show(findings: list[Finding], output: Output) -> None:
    from rich.text import Text

    console = output.console()
    for finding in findings:
        sign, colour = _SIGNS[finding.level]
        line = Text.assemble((f"{sign} ", colour), (f"{finding.check}: ", "bold"), one_line(finding.detail))
        console.print(line)
        if finding.remedy:
            console.print(Text(f"  → {one_line(finding.remedy)}", style=colour))
