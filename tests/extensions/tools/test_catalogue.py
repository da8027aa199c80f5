from __future__ import annotations

import asyncio
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from carrel.composition.tools import tool_index
from carrel.extensions.tools.catalogue.exports import ExportForm, export, exported_names, problems_of, resolve
from carrel.extensions.tools.catalogue.files import from_file, from_mcp, read_document, schema_problem
from carrel.extensions.tools.catalogue.search import ToolIndex, ToolQuery
from carrel.model.catalogue_tool import CatalogueTool
from carrel.model.errors import CarrelError, InvalidInput

TEXT_TOOLS = [
    ("grep", "Print the lines of a text that match a pattern.", ["text", "logs"], ["find errors in logs"]),
    ("tail", "Print the last lines of a file, and follow a log while it grows.", ["logs"], []),
    ("jq", "Query and filter JSON, also logs of JSON lines.", ["json", "logs"], []),
    ("sort", "Sort lines.", ["text"], []),
    ("curl", "Transfer data from a URL.", ["network"], []),
    ("tar", "Pack files into an archive.", ["files"], []),
    ("ping", "See whether a host answers.", ["network"], []),
    ("convert", "Change the size of images.", ["images"], []),
]
TOOLS = from_file(
    {
        "tools": [
            {
                "name": name,
                "description": text,
                "tags": tags,
                "examples": examples,
                "risk": "safe" if name != "curl" else "moderate",
            }
            for name, text, tags, examples in TEXT_TOOLS
        ]
    },
    "unix",
)[0]


@pytest.fixture(scope="module")
def index() -> ToolIndex:
    return ToolIndex(TOOLS, *tool_index())


def found(index: ToolIndex, query: ToolQuery) -> list[str]:
    _, model = tool_index()
    vector = asyncio.run(model.embed([query.text], "query"))[0]
    return [item.tool.name for item in index.search(query, vector)]


def test_tools_are_found_by_description_tags_and_meaning(index: ToolIndex) -> None:
    assert {"grep", "tail", "jq"} <= set(found(index, ToolQuery("find errors in logs")))
    assert found(index, ToolQuery("filter lines by pattern"))[0] == "grep"
    assert found(index, ToolQuery("shrink a photo", 1)) == ["convert"]


def test_limits_and_filters_hold(index: ToolIndex) -> None:
    assert len(found(index, ToolQuery("lines of a text", 3))) == 3
    assert set(found(index, ToolQuery("anything", 20, tags=("network",)))) <= {"curl", "ping"}
    assert "curl" not in found(index, ToolQuery("transfer data from a URL", 20, risk="safe"))
    assert found(index, ToolQuery("   ")) == found(index, ToolQuery("x", 0)) == []


def test_among_a_thousand_tools_the_five_best_are_found() -> None:
    """Spec D10: it works with 1,000 and more, and never gives more than k."""
    nouns, verbs = ("invoice", "parcel", "ticket", "meeting", "contract"), ("Create", "Cancel", "Rename", "Move", "Archive")
    others = [
        CatalogueTool(source=f"s{number}", name=f"{verb.lower()}_{noun}_{number}", description=f"{verb} the {noun} {number}.")
        for number in range(48)
        for noun in nouns
        for verb in verbs
    ]
    index = ToolIndex([*others, *TOOLS], *tool_index())
    assert len(others) + len(TOOLS) > 1_200
    names = found(index, ToolQuery("find errors in logs"))
    assert {"grep", "tail", "jq"} <= set(names)
    assert len(names) <= 5
    assert len(found(index, ToolQuery("archive a contract"))) == 5


@pytest.mark.parametrize("form", ["openai", "anthropic", "mcp"])
def test_exports_have_the_names_and_schemas_that_providers_take(form: ExportForm) -> None:
    tools = [CatalogueTool(source=source, name="read.file", description="Reads.") for source in ("a", "b")]
    tools.append(CatalogueTool(source="c", name="x" * 100, schema={"type": "object", "properties": {"y": {}}}))
    rows = export(tools, form)
    flat = [row.get("function", row) for row in rows]
    names = [row["name"] for row in flat]
    assert len(set(names)) == 3
    assert all(len(name) <= 64 and name.replace("_", "").isalnum() for name in names)
    schemas = [next(row[key] for key in ("parameters", "input_schema", "inputSchema") if key in row) for row in flat]
    assert [schema["type"] for schema in schemas] == ["object"] * 3
    assert schemas[2]["properties"] == {"y": {}}


def test_names_that_clash_get_their_source() -> None:
    tools = [CatalogueTool(source=source, name="search") for source in ("wiki", "code")]
    assert exported_names(tools) == {"wiki.search": "wiki__search", "code.search": "code__search"}


def test_duplicates_and_clashes_are_told_apart() -> None:
    one, same = (CatalogueTool(source=source, name="echo", description="Says it.") for source in ("a", "b"))
    other = CatalogueTool(source="c", name="echo", description="Shouts it.")
    assert "with one text and schema: a.echo, b.echo" in problems_of([one, same])[0]
    assert "Different tools are called echo: a.echo, c.echo" in problems_of([one, other])[0]
    assert resolve("echo", [one, other]) == (None, "echo may be a.echo or c.echo: name it with its source")
    assert resolve("c.echo", [one, other])[0] is other
    assert resolve("rm", [one])[1] == "tool rm not allowed"


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"name": "a b"}, "no name"),
        ({"name": "x" * 200}, "no name"),
        ({"name": "a", "inputSchema": {"type": "nonsense"}}, "must describe an object"),
        ({"name": "a", "inputSchema": {"type": "object", "properties": {"b": {"type": 5}}}}, "not a JSON schema"),
        (
            {"name": "a", "inputSchema": {"properties": {"b": {"items": [{"required": 5}]}}}},
            "properties.items[0].required must be true or false or a list",
        ),
        ({"name": "a", "inputSchema": {"properties": []}}, "properties must be an object, not a list"),
        ({"name": "a", "inputSchema": {"additionalProperties": 5}}, "additionalProperties must be true or false or an object"),
        ({"name": "a", "inputSchema": {"properties": {"b": {"minLength": -1}}}}, "properties.minLength must be 0 or more"),
        ({"name": "a", "inputSchema": {"properties": {"b": {"enum": "x"}}}}, "properties.enum must be a list"),
        (
            {"name": "a", "outputSchema": {"properties": {"b": {"maximum": "x"}}}},
            "properties.maximum must be a whole number or a number",
        ),
        ({"name": "a", "inputSchema": []}, "must be an object"),
        ({"name": "a", "inputSchema": {"x": "y" * 200_000}}, "longer than"),
        ("no object", "no name"),
    ],
)
def test_a_tool_that_cant_be_used_is_left_out_and_told(row: Any, problem: str) -> None:
    tools, problems = from_mcp([row, {"name": "good", "inputSchema": {"type": "object"}}], "s")
    assert [tool.name for tool in tools] == ["good"]
    assert problem in problems[0]


def test_what_no_part_of_carrel_reads_of_a_schema_is_not_judged() -> None:
    """Its own check of some patterns fails or takes minutes, and so do some lists'."""
    patterns = [{"pattern": "a{99999999999}"}, {"pattern": "(?i)" + "[\u0100-\uffff]" * 5_000}, {"pattern": "("}]
    mixed = {"$schema": "http://json-schema.org/draft-04/schema#", "enum": [item for n in range(5_000) for item in (n, str(n))]}
    rows = [
        {"name": f"t{n}", "inputSchema": {"properties": {"x": part}}} for n, part in enumerate([*patterns, mixed, {"$ref": 5}])
    ]
    tools, problems = from_mcp(rows, "s")
    assert (len(tools), problems) == (5, [])


def test_a_source_says_a_bounded_amount_in_all() -> None:
    rows = [{"name": f"t{n}", "description": "x" * 9_000, "inputSchema": {"title": "y" * 90_000}} for n in range(50)]
    tools, problems = from_mcp(rows, "s")
    assert len(tools) == 40
    assert problems == ["s: its tools say more than 4,000,000 characters; the first 40 count"]


def test_a_servers_word_never_makes_a_tool_safe() -> None:
    rows = [
        {"name": "read", "annotations": {"readOnlyHint": True}, "risk": "safe"},
        {"name": "write", "annotations": {"destructiveHint": False}},
        {"name": "silent", "risk": "safe"},
    ]
    tools = from_mcp(rows, "s")[0]
    assert [tool.risk for tool in tools] == ["moderate", "moderate", "dangerous"]
    assert [tool.acts for tool in tools] == [False, True, True]
    assert replace(tools[0], risk="dangerous").acts, "what a person says of it comes before"


def test_words_that_a_name_writes_as_one_count_and_those_of_every_name_do_not() -> None:
    names = ["home_backup_create", "home_log_create", "home_state_get", "home_create", "home_light_set"]
    tools = from_file({"tools": [{"name": name, "description": "x"} for name in names]}, "t")[0]
    index = ToolIndex(tools, *tool_index())
    signals = {}
    for text in ("back up", "create"):
        query = ToolQuery(text)
        vector = asyncio.run(tool_index()[1].embed([text], "query"))[0]
        signals[text] = {tool.name: known[5:7] for tool, known, _ in index.signals(query, vector)}
    assert signals["back up"]["home_backup_create"][0] > 0
    assert signals["create"]["home_create"][1] == 1.0, "`home` is in each name, and tells nothing"


def test_files_that_cant_be_read_say_why(tmp_path: Path) -> None:
    for name, content in (
        ("a.toml", "x = ["),
        ("b.json", "{"),
    ):
        (tmp_path / name).write_text(content, "utf-8")
        with pytest.raises(InvalidInput, match="can't be read"):
            read_document(tmp_path / name)
    with pytest.raises(CarrelError, match="can't be read"):
        read_document(tmp_path / "missing.json")


def test_a_flaw_deep_in_a_schema_is_told_briefly() -> None:
    long = {"type": "object", "properties": {"n" * 30_000: {"items": [1] * 20_000}}}
    tracemalloc.start()
    problem = schema_problem(long)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert problem.startswith("its schema is not a JSON schema: properties.items[0] must be")
    assert peak < 20_000_000
