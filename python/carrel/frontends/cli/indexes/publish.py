"""`carrel publish`: put the index of a repository on a Qdrant server, so that others can search it without a checkout."""

from __future__ import annotations

import os
from argparse import Namespace
from dataclasses import asdict

from carrel.composition.composition import Composition
from carrel.composition.models import published_repository
from carrel.frontends.cli.questions.in_process import current_index, settings
from carrel.frontends.cli.terminal.folders import folder
from carrel.frontends.cli.terminal.output import Output
from carrel.frontends.common.event_loop import cancellable
from carrel.index.open_index import OpenIndex
from carrel.model.errors import CarrelError, InvalidInput
from carrel.model.native import CancelToken
from carrel.model.published import PublishedAddress, PublishedStore, check_name
from carrel.settings.settings import Settings
from carrel.sources import publishing
from carrel.system.background import run_blocking

_KEY_VARIABLE = "QDRANT_API_KEY"


def run(arguments: Namespace, output: Output) -> int:
    """Index the repository and publish what changed."""
    root = folder(arguments.path)
    chosen = settings(root, output)
    address, key = _where(arguments, chosen)
    checkout = publishing.checkout_of(root, allow_dirty=arguments.allow_dirty)
    repository = published_repository(str(address), key, Composition().outbound.of(chosen))

    def indexed(token: CancelToken) -> OpenIndex:
        with output.progress(f"Indexing {root.name}") as progress:
            return current_index(root, chosen, token, progress)

    index = cancellable(indexed)
    try:
        if index.store.role != "writer":
            raise CarrelError("Another Carrel process writes this index", "Close the editors that have the folder open.")
        if index.wanted:
            raise CarrelError(f"The index has no vectors of {index.wanted} yet", "Run `carrel index` first.")
        if publishing.checkout_of(root, allow_dirty=arguments.allow_dirty) != checkout:
            raise CarrelError("The checkout changed while it was indexed", "Run it again.")
        publication = publishing.Publication(index.store, index.embedder.spec, checkout, arguments.text == "yes")
        report = cancellable(lambda token: _publish(publication, repository, token, output))
    finally:
        index.store.close()
    if output.json:
        output.value({"address": str(address), **asdict(report)})
    else:
        output.text(
            f"{address} shows {report.commit[:12]} now: {report.chunks:,} chunks of {report.files:,} files; "
            f"{report.added + report.taken_over:,} are new, {report.removed:,} are gone."
        )
        output.note(f"Search it from anywhere: carrel sources add {address}")
    return 0


def _publish(
    publication: publishing.Publication, repository: PublishedStore, token: CancelToken, output: Output
) -> publishing.PublishReport:
    with output.progress(f"Publishing to {repository.address}", unit="chunks") as progress:

        async def work() -> publishing.PublishReport:
            try:
                return await publication.run(repository, lambda done, total: progress(done, total, ""))
            finally:
                await repository.aclose()

        return run_blocking(work(), token)


def _where(arguments: Namespace, chosen: Settings) -> tuple[PublishedAddress, str]:
    """Return the address, and where its key is: by the arguments, else by the setting `store`."""
    name = check_name(arguments.repo)
    of_environment = f"env:{_KEY_VARIABLE}" if os.environ.get(_KEY_VARIABLE) else ""
    if arguments.to:
        return PublishedAddress.read(f"{arguments.to.rstrip('/')}/{name}"), arguments.key or of_environment
    if chosen.store.kind != "qdrant" or not chosen.store.url:
        raise InvalidInput("--to", "is missing, and no Qdrant server is set", "Name one: `--to qdrant://HOST:PORT`.")
    host = chosen.store.url.partition("://")[2].strip("/")
    return PublishedAddress.read(f"qdrant://{host}/{name}"), arguments.key or chosen.store.key or of_environment
