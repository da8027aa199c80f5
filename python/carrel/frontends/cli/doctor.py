"""`carrel doctor | selftest`: find what is wrong, and say the remedy. Exit code 1 if anything is broken.

An index is only read, and never in the way of the process that writes it.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.metadata
import importlib.util
import logging
import shutil
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import asdict

from carrel.composition.composition import Composition
from carrel.frontends.cli.terminal import Output, one_line, unreadable
from carrel.frontends.common.event_loop import cancellable
from carrel.index.left_out import FINISH, unfinished_text
from carrel.index.open_index import USE_MODEL
from carrel.model.errors import CarrelError, SettingsError, StoreError, TextRefused
from carrel.model.installation import FROM_SOURCE, carrel_version, how_to_install, how_to_reinstall
from carrel.model.wording import counted
from carrel.settings.settings import resolve
from carrel.settings.settings_files import read_user, settings_of, user_file
from carrel.system.background import run_blocking

if TYPE_CHECKING:
    from carrel.index.replica import VectorReplica
    from carrel.selftest.checks import Check as SelftestCheck
    from carrel.settings.settings import Settings


Level = Literal["ok", "note", "warning", "error"]
MIN_PYTHON = (3, 11)
CORE = "carrel._core"
_MB = 1_000_000
_LOW_SPACE, _NO_SPACE = 1_000 * _MB, 50 * _MB
_WATCHES = 65_536  # Linux's own default for machines with enough memory; editors ask for more
_OPEN_FILES = 1_024
_STORE_SECONDS = 10.0
_LITTLE_MEMORY, _NO_MEMORY = 1_000 * _MB, 200 * _MB  # loading the core and its tables alone takes 150 MB


class Finding(Struct, frozen=True):
    """One thing that was looked at. `remedy` says what to do unless all is well."""

    check: str
    level: Level
    detail: str
    remedy: str = ""


Check = Callable[[Path], Iterator[Finding]]


def python(_folder: Path) -> Iterator[Finding]:
    """Check the interpreter and the packages that Carrel needs."""
    version = sys.version.split()[0]
    if sys.version_info < MIN_PYTHON:
        yield Finding("Python", "error", version, "Install Python 3.11 or newer and Carrel into it.")
    else:
        yield Finding("Python", "ok", f"{version} at {sys.executable}")
    missing = [
        name for name in ("pygls", "lsprotocol", "msgspec", "platformdirs", "rich") if importlib.util.find_spec(name) is None
    ]
    if missing:
        yield Finding("Packages", "error", f"missing: {', '.join(missing)}", how_to_install())


def native(_folder: Path) -> Iterator[Finding]:
    """Check the compiled core: there, of this version, and with the fast kernel of this processor."""
    try:
        _load_core_elsewhere()
        core = importlib.import_module("carrel.model.native")
    except ImportError as error:
        remedy = f"Install it again for this Python and system: {how_to_reinstall()}; in a checkout, `make test` builds it."
        yield Finding("Native core", "error", str(error), remedy)
        return
    installed = carrel_version()
    if installed not in (core.__version__, FROM_SOURCE):
        remedy = "Two installations are mixed; from source: `make test` builds the core again."
        yield Finding("Native core", "error", f"version {core.__version__}, but the package is {installed}", remedy)
    kernel = core.simd_kernel()
    detail = f"{core.__version__}, index format {core.FORMAT_VERSION}, vector kernel {kernel}"
    if kernel == "scalar":
        remedy = "This processor has no vector instructions that Carrel knows; large indexes search slower."
        yield Finding("Native core", "note", detail, remedy)
    else:
        yield Finding("Native core", "ok", detail)
    counts = {name: core.count_tokens("def main():", name) for name in ("o200k_base", "cl100k_base")}
    yield Finding("Tokenizers", "ok" if all(counts.values()) else "error", "exact: " + ", ".join(counts))


def _load_core_elsewhere() -> None:
    """Raise ImportError, now and for the checks that follow, where loading the core ends a process: half a file does on Linux."""
    command = [sys.executable, "-P", "-c", f"import {CORE}"]
    tried = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)  # noqa: S603 - our own interpreter
    if tried.returncode not in (0, 1):
        sys.modules[CORE] = None  # type: ignore[assignment] # Python's own way to refuse an import
        raise ImportError(f"its file is damaged or for another processor: loading it ends a process ({tried.returncode})")


def extras(_folder: Path) -> Iterator[Finding]:
    """Check the optional parts."""
    for title, extra, modules, package in (
        ("More languages", "languages", ("tree_sitter_language_pack",), "tree-sitter-language-pack"),
        ("MCP", "mcp", ("mcp_types",), "mcp"),
        ("Chat proxy", "proxy", ("httpx", "uvicorn"), "httpx"),
    ):
        if missing := [name for name in modules if importlib.util.find_spec(name) is None]:
            purpose = "grammars of rare languages" if extra == "languages" else f"`carrel {extra}`"
            yield Finding(title, "note", f"{' and '.join(missing)} not installed", f"For {purpose}: {how_to_install(extra)}")
        else:
            yield Finding(title, "ok", f"{package} {importlib.metadata.version(package)}")


def store(folder: Path) -> Iterator[Finding]:
    """Check the store of vectors that is set: its package, its program, the permission."""
    from carrel.service.model_report import store_report

    chosen, _ = settings_of(folder)
    state = store_report(Composition(), chosen)
    if state.kind == "segments":
        return
    detail = f"{state.kind}, {state.place}"
    if state.problem:
        yield Finding("Vector store", "warning", f"{detail}: {state.problem}", "Until then the index's own vectors answer.")
    elif not state.allowed:
        yield Finding("Vector store", "warning", f"{detail}: not allowed yet", "Allow it: carrel confirm")
    elif problem := _opening_problem(folder, chosen):
        yield Finding("Vector store", "warning", f"{detail}: {problem}", "Until then the index's own vectors answer.")
    else:
        yield Finding("Vector store", "ok", detail)


def _opening_problem(folder: Path, chosen: Settings) -> str:
    """Open the store for the folder's index, where there is one; return why it doesn't answer."""
    composition = Composition()
    if not composition.index_exists(folder, chosen):
        return ""
    index = composition.open_index(folder, chosen)
    try:
        composition.attach_replica(index, chosen)
        return run_blocking(_probed(index.replica)) if index.replica else index.no_replica or ""
    finally:
        if index.replica:
            run_blocking(index.close_replica())
        index.store.close()


async def _probed(replica: VectorReplica) -> str:
    try:
        async with asyncio.timeout(_STORE_SECONDS):
            await replica.probe()
    except TimeoutError:
        return str(replica.place.silent(f"gave no answer within {_STORE_SECONDS:g} s"))
    except CarrelError as error:
        return str(error)
    return ""


def models(folder: Path) -> Iterator[Finding]:
    """Check the models that are set beside the bundled one: whether each can be made, has its key and may be asked."""
    from carrel.composition.models import key_variables
    from carrel.service.model_report import report

    chosen, _ = settings_of(folder)
    composition = Composition()
    states = run_blocking(report(composition, chosen))
    composition.outbound.meter.close()
    for state in states:
        title, detail = state.role.capitalize(), f"{state.provider}, {state.model}" if state.model else state.provider
        if state.problem:
            yield Finding(title, "warning", f"{detail}: {state.problem}", "`carrel models set` chooses another.")
            continue
        if not state.allowed:
            yield Finding(title, "warning", f"{detail}: not allowed yet, so it isn't asked", "Allow it: carrel confirm")
        if state.lacks_key:
            remedy = f"Set {key_variables()[state.provider]}, or keep it: carrel models key {state.provider}"
            yield Finding(title, "warning", f"{detail}: no key found", remedy)
        if state.destinations and state.allowed and not state.lacks_key:
            yield Finding(title, "ok", f"{detail}; whether it answers: carrel models check")


def team(folder: Path) -> Iterator[Finding]:
    """Check the team's cache of vectors that is set: its package, its secret, the permission."""
    from carrel.composition.team import problem_of

    chosen = settings_of(folder)[0].team
    if not chosen.used:
        return
    detail = chosen.url or chosen.folder
    if problem := problem_of(chosen, Composition().outbound.of(settings_of(folder)[0])):
        yield Finding("Team cache", "warning", f"{detail}: {problem}", "Until then the embedding model is asked for every text.")
    else:
        yield Finding("Team cache", "ok", f"{detail}; whether it answers: carrel store status")


def settings(folder: Path) -> Iterator[Finding]:
    """Check the user's settings file and what the workspace asks for."""
    try:
        _, problems = settings_of(folder)
    except SettingsError as error:
        yield Finding("Settings", "error", error.reason, f"Correct {error.path}, or remove it.")
        return
    if not problems:
        yield Finding("Settings", "ok", str(user_file()) if user_file().exists() else f"defaults (no {user_file()})")
    for problem in problems:
        yield Finding("Settings", "warning", str(problem), "Correct or remove it; until then the default counts.")


def cache(folder: Path) -> Iterator[Finding]:
    """Check the folder that indexes live in: writable, local, with space."""
    from carrel.index.index_location import locate

    location = locate(folder, settings_of(folder)[0])
    for problem in location.problems:
        yield Finding("Index folder", "warning", problem, "Set `cacheFolder` to a folder on a local disk.")
    place = location.directory
    while not place.exists():
        place = place.parent
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        remedy = "Make it writable, or set `cacheFolder` in your settings to a folder that is."
        yield Finding("Index folder", "error", f"{place} can't be written: {error.strerror}", remedy)
        return
    free = shutil.disk_usage(place).free
    detail = f"{location.directory}, {free / 1e9:.1f} GB free"
    if free < _LOW_SPACE:
        level: Level = "error" if free < _NO_SPACE else "warning"
        yield Finding("Index folder", level, detail, "Free some space: an index takes about half the size of the source.")
    else:
        yield Finding("Index folder", "ok", detail)


def git(folder: Path) -> Iterator[Finding]:
    """Check git, which tells branch switches and renames apart; without it hashes do."""
    from carrel.git import git as repository
    from carrel.git.git_process import git_program

    if git_program(folder) is None:
        remedy = "Install git to have HEAD and renames in the status; the index works without."
        yield Finding("Git", "note", "not found on PATH", remedy)
        return
    state = repository.state(folder)
    if state is None and any((parent / ".git").exists() for parent in (folder, *folder.parents)):
        remedy = "Try `git status` there: it says whether the repository is damaged or belongs to another user (safe.directory)."
        yield Finding("Git", "warning", "there is a repository, but git can't read it", remedy)
    elif state is None:
        yield Finding("Git", "ok", "found; this folder is in no repository")
    else:
        commit = state.head[:12] if state.head else "no commit yet"
        yield Finding("Git", "ok", f"{state.branch or 'detached'} at {commit}, {counted(len(state.dirty), 'file')} changed since")


def memory(_folder: Path) -> Iterator[Finding]:
    """Check the memory that the system allows the process: where there is too little, it ends without a word."""
    if sys.platform == "win32":
        return
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY and soft < _LITTLE_MEMORY:
        level: Level = "error" if soft < _NO_MEMORY else "warning"
        detail = f"{soft / _MB:,.0f} MB of addresses allowed; threads reserve more of these than they use of memory"
        yield Finding("Memory", level, detail, "ulimit -v unlimited")


def limits(_folder: Path) -> Iterator[Finding]:
    """Check the system's limits on watched folders and open files."""
    watches = Path("/proc/sys/fs/inotify/max_user_watches")
    if watches.exists():
        number = int(watches.read_text())
        if number < _WATCHES:
            remedy = f"sudo sysctl fs.inotify.max_user_watches={_WATCHES * 8} (and the same line in /etc/sysctl.d to keep it)"
            detail = f"the system allows {number:,}; editors and Carrel may miss changes until you ask"
            yield Finding("Watched folders", "warning", detail, remedy)
        else:
            yield Finding("Watched folders", "ok", f"{number:,} allowed")
    if sys.platform != "win32":
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY and soft < _OPEN_FILES:
            yield Finding("Open files", "warning", f"{soft} allowed", f"ulimit -n {_OPEN_FILES * 4}")


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
        yield Finding("Index", "ok", f"{counted(snapshot.files, 'file')}, {counted(snapshot.chunks, 'chunk')}, {size}; {who}")
    finally:
        opened.store.close()


CHECKS: tuple[Check, ...] = (python, native, settings, cache, index, models, store, team, git, limits, extras)
_SIGNS = {"ok": ("✓", "green"), "note": ("·", "cyan"), "warning": ("!", "yellow"), "error": ("✗", "red")}


def run_doctor(arguments: Namespace, output: Output) -> int:
    """Look at everything; one check that fails doesn't hide the others."""
    findings = examine(arguments.path.absolute())
    broken = any(finding.level == "error" for finding in findings)
    output.value({"ok": not broken, "findings": [asdict(finding) for finding in findings]})
    if not output.json:
        _show(findings, output)
    return int(broken)


def examine(folder: Path) -> list[Finding]:
    """Run every check on `folder`."""
    if not folder.is_dir():
        return [Finding("Folder", "error", f"{folder} is not a folder", "Give the folder of a project.")]
    if reason := unreadable(folder):
        remedy = f"Give yourself the right to read it: chmod u+rx {folder}"
        return [Finding("Folder", "error", f"{folder} can't be read: {reason}", remedy)]
    findings = list(memory(folder))
    if any(finding.level == "error" for finding in findings):
        return findings  # to look further would end the process
    for check in CHECKS:
        try:
            findings.extend(check(folder))
        except SettingsError:
            continue  # nobody knows where the index is; `settings` says why
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


_VERDICTS = {"passed": "ok", "failed": "FAILED", "skipped": "skipped"}


def run_selftest(arguments: Namespace, output: Output) -> int:
    """Run ten checks of the remote parts, and show each as it ends."""
    from carrel.selftest.checks import may_be_live, selftest

    chosen, _ = resolve(read_user())
    live = arguments.live or may_be_live(chosen)
    output.note("GitHub is asked itself." if live else "A stand-in on this machine answers for GitHub; --live asks GitHub.")

    def show(check: SelftestCheck) -> None:
        output.text(f"{check.number:>2} {_VERDICTS[check.verdict]:<8}{check.name} ({check.against}): {check.detail}")

    checks = cancellable(lambda token: run_blocking(selftest(chosen, live=live, program=arguments.qdrant, notify=show), token))
    failed = sum(check.verdict == "failed" for check in checks)
    skipped = sum(check.verdict == "skipped" for check in checks)
    output.value({"ok": not failed, "live": live, "skipped": skipped, "checks": [asdict(check) for check in checks]})
    output.note(f"{len(checks) - failed - skipped} of {len(checks)} passed, {failed} failed, {skipped} skipped")
    return int(bool(failed))
