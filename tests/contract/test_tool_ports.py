"""The tools for models keep the contract of the port."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.contract import suites
from tests.contract.test_ports import DOWN
from tests.support.indexing import run_index_blocking

from carrel.agent.search_tool import SearchCode, SearchPage
from carrel.agent.tools.catalogue_tools import ExecutePipeline, SearchTools
from carrel.agent.tools.names import FindDefinition, FindUses
from carrel.agent.tools.read_lines import ReadLines
from carrel.agent.tools.scope import Scope
from carrel.agent.tools.text_tools import text_tools
from carrel.model.conversation import ToolSpec
from carrel.model.errors import InvalidInput
from carrel.model.fakes import (
    FakeTool,
    faulty,
)
from carrel.model.native import CancelToken, CutOptions, Store, WalkOptions
from carrel.model.ports import (
    Tool,
)
from carrel.providers.local import LocalEmbedder
from carrel.providers.tokenizers import ExactTokenizer

SEARCH = ToolSpec("search_code", "Finds code.", {"type": "object"})


class TestFakeTool(suites.ToolContract):
    arguments = {"query": "login"}  # noqa: RUF012 - never changed

    def make(self) -> Tool:
        return FakeTool(SEARCH, lambda arguments: f"found {arguments['query']}")

    def failing(self) -> Tool:
        return FakeTool(SEARCH, lambda arguments: str(arguments["path"]))

    def broken(self) -> Tool:
        return faulty(self.make(), fail=DOWN)

    def stuck(self) -> Tool:
        return faulty(self.make(), hang=True)


class Index:
    """Reads an index where the test stands."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def read(self, work: Callable[[Any, Any, CancelToken], Any]) -> Any:
        return work(self.store.snapshot(), self.store.refusal, CancelToken())


class WorkspaceTool(suites.ToolContract):
    @pytest.fixture(autouse=True)
    def _index(self, tmp_path: Path) -> Iterator[None]:
        root, embedder = tmp_path / "project", LocalEmbedder.hashed()
        root.mkdir()
        (root / "login.py").write_text("def login(user, password):\n    return check(user, hash(password))\n" * 2)
        spec = embedder.spec
        store = Store.open(
            str(tmp_path / "index"), str(root), embedder_id=spec.id, dim=spec.dim, walk=WalkOptions(), cut=CutOptions()
        )
        run_index_blocking(store, embedder, CancelToken())
        self.index = Index(store)
        yield
        store.close()


class TestReadLines(WorkspaceTool):
    arguments = {"path": "login.py"}  # noqa: RUF012 - never changed

    def make(self) -> Tool:
        return ReadLines(self.index, ExactTokenizer(), Scope())

    def failing(self) -> Tool:
        return ReadLines(self.index, ExactTokenizer(), Scope(("*.py",)))


class TestFindDefinition(WorkspaceTool):
    arguments = {"name": "login"}  # noqa: RUF012 - never changed

    def make(self) -> Tool:
        return FindDefinition(self.index, ExactTokenizer(), Scope())


class TestFindUses(WorkspaceTool):
    arguments = {"name": "login"}  # noqa: RUF012 - never changed

    def make(self) -> Tool:
        return FindUses(self.index, ExactTokenizer(), Scope())


TEXTS = {tool.spec.name: tool for tool in text_tools()}


class TestGrep(suites.ToolContract):
    arguments = {"pattern": "b+", "input": "a\nb\n"}  # noqa: RUF012 - never changed

    def make(self) -> Tool:
        return TEXTS["grep"]


class TestHead(suites.ToolContract):
    arguments = {"input": "b\na\n", "lines": 1}  # noqa: RUF012 - never changed

    def make(self) -> Tool:
        return TEXTS["head"]


class TestSearchTools(suites.ToolContract):
    arguments = {"query": "sort lines"}  # noqa: RUF012 - never changed

    def make(self) -> Tool:
        async def find(_: object) -> list[dict[str, Any]]:
            return [{"name": "carrel.sort"}]

        return SearchTools(find)


class TestExecutePipeline(suites.ToolContract):
    arguments = {"pipeline": '{"steps": []}', "input_data": ""}  # noqa: RUF012 - never changed

    def make(self) -> Tool:
        async def execute(_: object) -> tuple[str, str]:
            return "done", ""

        return ExecutePipeline(execute)

    def failing(self) -> Tool:
        async def execute(_: object) -> tuple[str, str]:
            return "", "step 0 failed: it is broken"

        return ExecutePipeline(execute)


class TestSearchCode(suites.ToolContract):
    arguments = {"query": "login"}  # noqa: RUF012 - never changed

    def make(self) -> Tool:
        async def search(*_: object) -> SearchPage:
            return SearchPage("found", ())

        return SearchCode(search)

    def failing(self) -> Tool:
        async def search(*_: object) -> SearchPage:
            raise InvalidInput("path_globs", "is no glob")

        return SearchCode(search)
