"""`carrel store | publish`: vectors of a folder's index kept elsewhere, and an index that is searched without a checkout."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from carrel.composition import stores
from carrel.composition.composition import Composition
from carrel.composition.models import published_repository
from carrel.frontends.cli.in_process import current_index, publish_vectors, settings, with_progress
from carrel.frontends.cli.terminal import Output, folder
from carrel.frontends.cli.typed_input import agreed
from carrel.frontends.common.event_loop import cancellable
from carrel.index.open_index import OpenIndex
from carrel.model.errors import CarrelError, InvalidInput
from carrel.model.native import CancelToken
from carrel.model.published import PublishedAddress, check_name
from carrel.model.wording import counted
from carrel.settings.setting_checks import options_of
from carrel.settings.settings import Settings, resolve
from carrel.settings.settings_files import read_user
from carrel.settings.settings_writer import set_store
from carrel.settings.store_settings import read_store
from carrel.sources import publishing
from carrel.system.background import run_blocking
from carrel.system.jobs import Work
from carrel.upkeep.index_jobs import IndexRunner

if TYPE_CHECKING:
    from pathlib import Path

    from carrel.composition.models import PublishedStore
    from carrel.composition.stores import VectorReplica
    from carrel.composition.team import TeamStatus
    from carrel.model.local_index import Progress as ShowProgress


def run_store(arguments: Namespace, output: Output) -> int:
    """Do what the action says."""
    actions = {"status": _status, "migrate": _migrate, "verify": _verify, "install": _install}
    return actions[arguments.action](arguments, output)


def _status(arguments: Namespace, output: Output) -> int:
    with _index(arguments, output) as (index, chosen):
        replica, team = index.replica, _team(chosen)
        more = {"team": asdict(team)} if team else {}
        if replica is None:
            held = index.store.snapshot().chunks
            output.value({"kind": "segments", "state": "ready", "held": held, "backlog": 0, **more})
            output.text(f"The index itself holds the vectors: {held:,} chunks in {index.directory}")
            _show_team(team, output)
            return int(bool(team and team.problem))
        with suppress(CarrelError):  # the state says it
            cancellable(lambda token: run_blocking(replica.probe(), token))
        state = replica.status()
        output.value({**asdict(state), **more})
        output.text(f"{state.kind}, {state.place}: {state.state}, {state.held:,} chunks, {state.backlog:,} wait")
        if state.leaves_machine:
            output.text("  vectors go to another machine")
        if state.problem:
            output.text(f"  problem: {state.problem}")
        _show_team(team, output)
        return int(bool(state.problem or (team and team.problem)))


def _team(chosen: Settings) -> TeamStatus | None:
    """Ask the team's cache, if one is set."""
    composition = Composition()
    cache = composition.team_cache(chosen)
    if cache is None:
        return None
    status = cancellable(lambda token: run_blocking(cache.probe(), token))
    composition.outbound.meter.close()
    return status


def _show_team(team: TeamStatus | None, output: Output) -> None:
    if team is None:
        return
    output.text(f"The team's cache, {team.place}: {team.state}")
    counts = f"{team.hits:,} vectors found, {team.missed:,} not there, {team.refused:,} refused"
    waits = f"{team.waiting:,} wait" + (f" (for {team.lag_seconds:,.0f} s)" if team.waiting else "")
    output.text(f"  {counts}; {team.shared:,} given, {waits}")
    if team.problem:
        output.text(f"  problem: {team.problem}")


def _migrate(arguments: Namespace, output: Output) -> int:
    fields = {name: getattr(arguments, name) for name in ("kind", "url", "key", "collection")}
    try:
        wanted = read_store({name: value for name, value in fields.items() if value})
    except ValueError as error:
        raise InvalidInput("store", str(error)) from None
    with _index(arguments, output) as (index, chosen):
        former, index.replica = index.replica, None
        try:
            target = replace(chosen, store=wanted)
            held = _fill(index, target, output) if wanted.kind != "segments" else index.store.snapshot().chunks
            path = set_store(options_of(wanted) if wanted.kind != "segments" else None)
            if arguments.delete_old and former is not None and (index.replica is None or former.place != index.replica.place):
                cancellable(lambda token: run_blocking(former.clear(), token))
                output.note(f"{former.place.name} holds nothing of this folder any more.")
        finally:
            if former is not None:
                run_blocking(former.close())
        output.value({"kind": wanted.kind, "held": held, "file": str(path)})
        output.text(f"{wanted.kind} holds {held:,} chunks of {index.root} and answers from now on (written to {path}).")
    return 0


def _fill(index: OpenIndex, target: Settings, output: Output) -> int:
    """Publish all vectors of the index to the store of these settings; return how many it holds."""
    Composition().attach_replica(index, target)
    replica = _replica(index)
    publish_vectors(replica, output, sweep=True)
    if index.store.role != "writer":
        raise CarrelError("Another Carrel process writes this index", "Close the editors that have the folder open.")
    comparison = cancellable(lambda token: run_blocking(replica.verify(mend=False), token))
    if not comparison.same:
        raise CarrelError(
            f"{replica.place.name} lacks {comparison.missing:,} chunks and has {comparison.orphans:,} too many", "Run it again."
        )
    return comparison.held


def _verify(arguments: Namespace, output: Output) -> int:
    with _index(arguments, output) as (index, _):
        if index.replica is None:
            raise InvalidInput("store", "is the index itself", "Set another one first: `carrel store migrate KIND`.")
        replica = index.replica
        comparison = cancellable(lambda token: run_blocking(replica.verify(mend=arguments.mend), token))
        waits = replica.status().backlog
        same = comparison.same and not waits
        output.value({**asdict(comparison), "backlog": waits, "same": same, "mended": arguments.mend})
        if same:
            output.text(f"{replica.place.name} holds exactly the {comparison.held:,} chunks of the index.")
        else:
            output.text(
                f"{replica.place.name} holds {comparison.held:,} chunks: {comparison.missing:,} are missing, "
                f"{comparison.orphans:,} too much, {waits:,} wait."
            )
            output.note("Mended." if arguments.mend else "Mend it: carrel store verify --mend")
        return 0 if same or arguments.mend else 1


def _install(_: Namespace, output: Output) -> int:
    chosen = resolve(read_user())[0]
    if (program := stores.qdrant_program(chosen.store)) is not None:
        output.note(f"{program} is there already.")
        output.value({"program": str(program), "installed": False})
        return 0
    release = cancellable(lambda token: run_blocking(stores.find_qdrant(chosen.http_proxy), token))
    lines = [
        f"Qdrant {release.version} is downloaded and will be run on this machine.",
        f"  from: {release.url}",
        f"  size: {release.bytes / 1e6:.0f} MB" if release.bytes else "  size: unknown",
        f"  SHA-256: {release.digest}",
        f"  to: {stores.qdrant_folder()}",
    ]
    if not agreed(lines):
        raise CarrelError("Nothing was downloaded: the code was not typed")

    def work(token: CancelToken, progress: ShowProgress) -> Path:
        download = stores.install_qdrant(release, chosen.http_proxy, lambda done, total: progress(done, total, ""))
        return run_blocking(download, token)

    program = with_progress(output, "Downloading Qdrant", work, unit="bytes")
    output.value({"program": str(program), "installed": True})
    output.text(f"{program} is installed. Use it: carrel store migrate qdrant")
    return 0


@contextmanager
def _index(arguments: Namespace, output: Output) -> Iterator[tuple[OpenIndex, Settings]]:
    """Open the index of a folder, current and with its copy, and release both."""
    root = folder(arguments.path)
    chosen, composition = settings(root, output), Composition()
    index = composition.open_index(root, chosen)
    try:
        composition.attach_replica(index, chosen)
        if index.no_replica:
            raise CarrelError(index.no_replica)
        if arguments.action != "status" and index.store.role == "writer":
            with_progress(output, f"Indexing {root.name}", partial(IndexRunner().run_blocking, index, Work(full=True)))
        yield index, chosen
    finally:
        run_blocking(index.close_replica())
        index.store.close()


def _replica(index: OpenIndex) -> VectorReplica:
    if index.replica is None:
        raise CarrelError(index.no_replica or f"The index of {index.root} isn't ready to be copied", "Run `carrel index` first.")
    return index.replica


_KEY_VARIABLE = "QDRANT_API_KEY"


def run_publish(arguments: Namespace, output: Output) -> int:
    """Index the repository and publish what changed."""
    root = folder(arguments.path)
    chosen = settings(root, output)
    address, key = _published_address(arguments, chosen)
    checkout = publishing.checkout_of(root, allow_dirty=arguments.allow_dirty)
    repository = published_repository(str(address), key, Composition().outbound.of(chosen))

    index = with_progress(output, f"Indexing {root.name}", partial(current_index, root, chosen))
    try:
        if index.store.role != "writer":
            raise CarrelError("Another Carrel process writes this index", "Close the editors that have the folder open.")
        if index.wanted:
            raise CarrelError(f"The index has no vectors of {index.wanted} yet", "Run `carrel index` first.")
        if publishing.checkout_of(root, allow_dirty=arguments.allow_dirty) != checkout:
            raise CarrelError("The checkout changed while it was indexed", "Run it again.")
        publication = publishing.Publication(index.store, index.embedder.spec, checkout, arguments.text == "yes")
        report = with_progress(
            output, f"Publishing to {repository.address}", partial(_run_publication, publication, repository), unit="chunks"
        )
    finally:
        index.store.close()
    output.value({"address": str(address), **asdict(report)})
    output.text(
        f"{address} shows {report.commit[:12]} now: {counted(report.chunks, 'chunk')} of {counted(report.files, 'file')}; "
        f"{report.added + report.taken_over:,} are new, {report.removed:,} are gone."
    )
    output.note(f"Search it from anywhere: carrel sources add {address}")
    return 0


def _run_publication(
    publication: publishing.Publication, repository: PublishedStore, token: CancelToken, progress: ShowProgress
) -> publishing.PublishReport:
    async def work() -> publishing.PublishReport:
        try:
            return await publication.run(repository, lambda done, total: progress(done, total, ""))
        finally:
            await repository.aclose()

    return run_blocking(work(), token)


def _published_address(arguments: Namespace, chosen: Settings) -> tuple[PublishedAddress, str]:
    """Return the address, and where its key is: by the arguments, else by the setting `store`."""
    name = check_name(arguments.repo)
    of_environment = f"env:{_KEY_VARIABLE}" if os.environ.get(_KEY_VARIABLE) else ""
    if arguments.to:
        return PublishedAddress.read(f"{arguments.to.rstrip('/')}/{name}"), arguments.key or of_environment
    if chosen.store.kind != "qdrant" or not chosen.store.url:
        raise InvalidInput("--to", "is missing, and no Qdrant server is set", "Name one: `--to qdrant://HOST:PORT`.")
    host = chosen.store.url.partition("://")[2].strip("/")
    return PublishedAddress.read(f"qdrant://{host}/{name}"), arguments.key or chosen.store.key or of_environment
