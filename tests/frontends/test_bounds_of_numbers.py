"""Every number that comes from outside has bounds, and what lies past them is refused by name where it enters."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shop import SHOP, environment, write_files

from carrel.agent.knowledge_form import KnowledgeArguments
from carrel.agent.search_tool import SearchArguments
from carrel.agent.tools.read_lines import ReadArguments
from carrel.agent.tools.text_tools import text_tools
from carrel.composition.composition import Composition
from carrel.frontends.cli.argument_types import count, positive
from carrel.frontends.common.uris import longest_match
from carrel.frontends.lsp.commands.question_commands import Commands
from carrel.frontends.lsp.messages.methods import REQUESTS
from carrel.frontends.mcp.folders import Folders
from carrel.frontends.mcp.index_readiness import IndexReadiness
from carrel.frontends.mcp.tools import TOOLS, Tools
from carrel.library_arguments import budget_argument, filters_argument
from carrel.model.errors import CarrelError, InvalidInput
from carrel.model.structs import decode, schema
from carrel.model.types import Filters
from carrel.search.candidates import native_filter
from carrel.service.session import Session
from carrel.settings.settings import Layer, resolve
from carrel.settings.settings_docs import json_schema

PAST_ALL = (math.nan, math.inf, -math.inf, 1e308, -1e308, 10**29, -(10**29), 10**400, -(10**400), True)
Where = tuple[str, ...]


def numbers(node: Any, where: Where = ()) -> Iterator[tuple[Where, dict[str, Any]]]:
    """Yield the places of numbers in a schema; those of progress tokens come back as they are, and are left out."""
    if isinstance(node, list):
        for inner in node:
            yield from numbers(inner, where)
    if not isinstance(node, dict):
        return
    if node.get("type") in ("number", "integer") and not where[-1].endswith("Token"):
        yield where, node
    for name, inner in node.get("properties", {}).items():
        yield from numbers(inner, (*where, name))
    for key, step in (("anyOf", ()), ("items", ("[]",)), ("additionalProperties", ("{}",))):
        yield from numbers(node.get(key), (*where, *step))


MCP = {name: tool.arguments for name, tool in TOOLS.items()}
LSP = {method: params for method, (params, _) in REQUESTS.items()}
ENGINE: dict[str, Any] = {kind.__name__: kind for kind in (KnowledgeArguments, SearchArguments, ReadArguments)}
STRUCTS = {**MCP, **LSP, **ENGINE}
PLACES = [(name, where, node) for name, kind in STRUCTS.items() for where, node in numbers(schema(kind))]
OF_SETTINGS = list(numbers(json_schema()))


@pytest.mark.parametrize(
    ("name", "where", "node"),
    [
        *PLACES,
        *(("settings", *place) for place in OF_SETTINGS),
        *((tool.spec.name, *place) for tool in text_tools() for place in numbers(tool.spec.schema)),
    ],
)
def test_every_number_has_bounds(name: str, where: Where, node: dict[str, Any]) -> None:
    assert {"minimum", "exclusiveMinimum"} & set(node), (name, where)
    assert {"maximum", "exclusiveMaximum"} & set(node), (name, where)


def filled(where: Where, value: object) -> Any:
    """Return an argument that holds a value at a place, and what else its place needs."""
    if not where:
        return value
    if where[0] == "[]":
        return [filled(where[1:], value)]
    zero = {"line": 0, "character": 0}
    beside: dict[str, Any] = {
        "line": {"character": 0},
        "character": {"line": 0},
        "start": {"end": zero},
        "end": {"start": zero},
        "startLine": {"endLine": 1},
        "endLine": {"startLine": 1},
        "selection": {"uri": "file:///x"},
    }
    whole = {"uri": "file:///x"} if where[0] in ("startLine", "endLine") else {}
    return {**whole, **beside.get(where[0], {}), where[0]: filled(where[1:], value)}


KNOWN = {"path": "src/auth.py", "uri": "file:///x", "query": "login"}
EMPTY: dict[str, Any] = {"integer": 1, "array": [], "boolean": False, "object": {}}


def needed(kind: Any) -> dict[str, Any]:
    """Return values for what a struct can't be without."""

    def of(node: dict[str, Any]) -> dict[str, Any]:
        return {name: one(name, node["properties"][name]) for name in node.get("required", ())}

    def one(name: str, node: dict[str, Any]) -> Any:
        node = node["anyOf"][0] if "anyOf" in node else node
        if "enum" in node:
            return node["enum"][0]
        return of(node) if "required" in node else EMPTY.get(node.get("type", ""), KNOWN.get(name, "x"))

    return of(schema(kind))


@given(place=st.sampled_from(PLACES), value=st.one_of(st.sampled_from(PAST_ALL), st.integers(), st.floats()))
def test_a_number_is_within_its_bounds_or_refused_by_its_name(place: tuple[str, Where, dict[str, Any]], value: float) -> None:
    name, where, node = place
    kind = STRUCTS[name]
    refused = None
    try:
        decode(kind, {**needed(kind), **filled(where, value)})
    except InvalidInput as error:
        refused = error
    if refused:
        assert where[0] in refused.field, (where, str(refused))
        assert "must be" in refused.reason or "out of every range" in refused.reason, refused.reason
        return
    assert not isinstance(value, bool)
    assert math.isfinite(value)
    assert node.get("minimum", -math.inf) <= value <= node["maximum"]
    assert value > node.get("exclusiveMinimum", -math.inf)


@pytest.fixture
async def front_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Tools, Commands, Path]]:
    for name, value in environment(tmp_path / "home").items():
        monkeypatch.setenv(name, value)
    root = write_files(tmp_path / "shop", SHOP)
    session = Session(Composition(), longest_match)
    session.configure({"ragEnabled": True})
    tools = Tools(Folders(session, [root], fallback=root), IndexReadiness())
    commands = Commands(session, None)
    await commands.search({"query": "login", "waitMs": 60_000})
    yield tools, commands, root
    await session.close()


async def test_what_lies_at_the_bounds_is_answered_by_every_tool_and_request(front_ends: tuple[Tools, Commands, Path]) -> None:
    tools, commands, root = front_ends

    async def report(*_: Any) -> None:
        pass

    table = commands.table()
    waits = {"carrel/chat", "carrel/review", "carrel/compare"}  # they ask a model
    for name, where, node in PLACES:
        ends = {node.get("minimum", node.get("exclusiveMinimum", 0) + 1e-9), node["maximum"]}
        for value in (*ends, *PAST_ALL):
            arguments = {**needed(STRUCTS[name]), **filled(where, value)}
            arguments = _in(arguments, (root / "src" / "auth.py").as_uri())
            problem = ""
            try:
                if name in MCP:
                    await tools.call(name, arguments, report)
                elif name in LSP and name not in waits:
                    await table[name](arguments)
            except CarrelError as error:
                problem = str(error)
            assert isinstance(value, bool) or value not in ends or "must be" not in problem, (name, where, value)
    for value in (36_500, 1e-9):
        assert native_filter(Filters(max_age_days=value))


def _in(arguments: Any, uri: str) -> Any:
    """Return arguments whose URIs name a file that is there."""
    if isinstance(arguments, list):
        return [_in(item, uri) for item in arguments]
    if not isinstance(arguments, dict):
        return arguments
    return {name: uri if name == "uri" else _in(item, uri) for name, item in arguments.items()}


@pytest.mark.parametrize("value", PAST_ALL)
def test_the_library_the_command_line_and_settings_refuse_them_too(value: float) -> None:
    with pytest.raises(InvalidInput, match="max_age_days"):
        filters_argument(Filters(max_age_days=value))
    if isinstance(value, int):
        with pytest.raises(InvalidInput, match="budget"):
            budget_argument(value)
    for read in (count, positive):
        with pytest.raises(Exception, match="is not a number"):
            read(str(value))
    for where, _ in OF_SETTINGS:
        if "{}" not in where:
            _, problems = resolve(Layer("mine", filled(where, value), personal=True))
            assert where[0] in str(problems), where
