"""`carrel selftest`: ten checks of the remote parts. Exit code 1 where one fails."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from carrel.frontends.cli.terminal import Output
from carrel.frontends.common.event_loop import cancellable
from carrel.selftest.checks import Check, may_be_live, selftest
from carrel.settings.settings import resolve
from carrel.settings.settings_files import read_user
from carrel.system.background import run_blocking

_SIGNS = {"passed": "ok", "failed": "FAILED", "skipped": "skipped"}


def run(arguments: Namespace, output: Output) -> int:
    """Run them, and show each as it ends."""
    settings, _ = resolve(read_user())
    live = arguments.live or may_be_live(settings)
    output.note("GitHub is asked itself." if live else "A stand-in on this machine answers for GitHub; --live asks GitHub.")

    def show(check: Check) -> None:
        output.text(f"{check.number:>2} {_SIGNS[check.verdict]:<8}{check.name} ({check.against}): {check.detail}")

    checks = cancellable(lambda token: run_blocking(selftest(settings, live=live, program=arguments.qdrant, notify=show), token))
    failed = sum(check.verdict == "failed" for check in checks)
    skipped = sum(check.verdict == "skipped" for check in checks)
    output.value({"ok": not failed, "live": live, "skipped": skipped, "checks": [asdict(check) for check in checks]})
    output.note(f"{len(checks) - failed - skipped} of {len(checks)} passed, {failed} failed, {skipped} skipped")
    return int(bool(failed))
