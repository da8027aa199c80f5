"""`carrel doctor`: find what is wrong, and say the remedy. Exit code 1 if anything is broken."""

from __future__ import annotations

import logging
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path

from carrel.frontends.cli.indexes.index_check import index
from carrel.frontends.cli.reports import checks
from carrel.frontends.cli.reports.checks import Finding
from carrel.frontends.cli.terminal.folders import unreadable
from carrel.frontends.cli.terminal.output import Output
from carrel.frontends.cli.terminal.terminal_text import one_line
from carrel.model.errors import CarrelError, SettingsError

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
