"""The contracts of tools and of the audit log."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Sequence
from typing import Any

import pytest
from tests.contract.suites.common import TEXTS, Contract, run

from carrel.model.ports import (
    AuditEvent,
    AuditLog,
    Tool,
    ToolResult,
)


class ToolContract(Contract[Tool]):
    """`model.ports.Tool`. `arguments` are such as its schema allows."""

    arguments: dict[str, Any]

    def failing(self) -> Tool:
        """An instance that can't do it, for a cause that the model may do something about."""
        pytest.skip("never fails")

    def use(self, port: Tool) -> Awaitable[Any]:
        return port.run(self.arguments)

    def test_its_spec_can_be_offered(self) -> None:
        spec = self.make().spec
        assert spec.name.replace("_", "").replace("-", "").isalnum()
        assert spec.description.strip()
        assert spec.schema["type"] == "object"
        json.dumps(dict(spec.schema))

    def test_it_gives_text_and_says_when_it_failed(self) -> None:
        async def work() -> None:
            result = await self.use(self.make())
            assert isinstance(result, ToolResult)
            assert not result.is_error
            failed = await self.use(self.failing())
            assert failed.is_error
            assert failed.text.strip()

        run(work())

    def test_runs_may_overlap(self) -> None:
        async def work() -> None:
            tool = self.make()
            assert all(isinstance(result, ToolResult) for result in await asyncio.gather(self.use(tool), self.use(tool)))

        run(work())


class AuditLogContract:
    """`model.ports.AuditLog`. `kept` gives what a log has kept, in order."""

    def make(self) -> AuditLog:
        """An empty one."""
        raise NotImplementedError

    def kept(self, log: AuditLog) -> Sequence[AuditEvent]:
        """What it has kept so far."""
        raise NotImplementedError

    def test_events_are_kept_in_order(self) -> None:
        log = self.make()
        events = [AuditEvent("search", 1.0 + n, "somebody", {"hits": n, "scores": [0.5, 0.25]}) for n in range(20)]
        for event in events:
            log.record(event)
        assert list(self.kept(log)) == events

    def test_nothing_is_raised(self) -> None:
        log = self.make()
        for details in ({}, {"text": TEXTS[2]}, {"not JSON": object()}, {"nan": math.nan}):
            log.record(AuditEvent("", -1.0, TEXTS[2], details))
