"""The requests about the index itself: decode, call, encode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import structs

from carrel.frontends.common.wire import encode, iso_time
from carrel.frontends.lsp.messages import index_messages as wire
from carrel.model.errors import CarrelError
from carrel.model.structs import decode
from carrel.model.wording import counted
from carrel.service import queries

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from carrel.frontends.lsp.convert.request_targets import RequestTargets
    from carrel.frontends.lsp.progress import ProgressBars
    from carrel.index.status import Status
    from carrel.service.workspace import Workspace


_UNREADY = {"empty": "isn't indexed yet.", "error": "can't be indexed: ask for its own status."}
"""Words about another folder in the status of the first, by the state that it is in."""


class IndexCommands:
    """One coroutine a request."""

    def __init__(self, targets: RequestTargets, bars: ProgressBars | None) -> None:
        self._targets = targets
        self._bars = bars

    def table(self) -> dict[str, Callable[[Any], Coroutine[Any, Any, Any]]]:
        """Return the handler of every method."""
        return {"carrel/status": self.status, "carrel/index": self.index, "carrel/clear": self.clear}

    async def status(self, raw: Any) -> wire.StatusResult:
        """Answer `carrel/status`."""
        params = decode(wire.StatusParams, raw)
        workspace = self._targets.workspace(params)
        status = await workspace.status()
        if params.workspace_folder is None:  # what is said of the first must not pass for all
            states = {name: (await other.status(most_files=0)).state for name, other in self._targets.others(workspace).items()}
            unready = [f"{name} {_UNREADY[state]}" for name, state in states.items() if state in _UNREADY]
            status = structs.replace(status, problems=(*status.problems, *unready))
        return status_result(workspace, self._targets.name_of(workspace), status)

    async def index(self, raw: Any) -> wire.IndexResult:
        """Answer `carrel/index`."""
        params = decode(wire.IndexParams, raw)
        workspace = self._targets.workspace(params)
        await workspace.settle()
        report = await self._run_index(workspace, params)
        return wire.IndexResult(**structs.asdict(report))

    async def clear(self, raw: Any) -> wire.ClearResult:
        """Answer `carrel/clear`."""
        workspace = self._targets.workspace(decode(wire.ClearParams, raw))
        return wire.ClearResult(freed_bytes=await workspace.clear())

    async def _run_index(self, workspace: Workspace, params: wire.IndexParams) -> Any:
        index = await workspace.open()
        if index.store.role == "follower":
            return await queries.followed_index(workspace, force=bool(params.force))
        job = workspace.request_index(force=params.force)
        bar = None
        if params.work_done_token is not None and self._bars:
            bar = self._bars.open(
                job, params.work_done_token, f"Indexing {self._targets.name_of(workspace)}", lambda: workspace.queue.cancel(job)
            )
        message = "cancelled"
        try:
            report = await workspace.queue.wait(job)
            message = f"{counted(report.added + report.changed, 'file')} indexed, {report.unchanged} unchanged"
        except CarrelError as error:
            message = str(error)
            raise
        finally:
            if bar and self._bars:
                self._bars.end(job, bar, message)
        return report


def status_result(workspace: Workspace, name: str, status: Status) -> wire.StatusResult:
    """Encode the status of a folder that answers call by this name."""
    return encode(
        wire.StatusResult,
        status,
        workspace_folder=workspace.uri,
        name=name,
        model=wire.ModelInfo(id=status.model_id, dims=status.dims),
        vectors=encode(wire.VectorsInfo, status.vectors) if status.vectors else None,
        last_indexed=None if status.last_indexed is None else iso_time(status.last_indexed),
        last_commit_sha=status.last_commit,
        skipped=tuple(wire.SkippedFile(path=path, reason=reason) for path, reason in status.skipped),
        failed=tuple(wire.FailedFile(path=path, reason=reason) for path, reason in status.failed),
        masked_files=status.masked[0],
        masked_secrets=status.masked[1],
    )
