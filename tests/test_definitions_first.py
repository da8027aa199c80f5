"""An identifier as the whole question: its definitions come first, then its uses, whichever front end asks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.shop import write_files

import carrel
from carrel.frontends.cli import main

USE = (
    "from a.handler import parse_request\n\n\n"
    "def run_{0}(text):\n    first = parse_request(text)\n    return parse_request(first)\n"
)
FILES = {
    "a/handler.py": "def parse_request(data):\n    value = data + 1\n    return value\n",
    "b/handler.py": "class Handler:\n    def parse_request(self, data):\n        value = data + 2\n        return value\n",
    "Legacy.java": "class Legacy {\n  int parse_request(int a) {\n    return a;\n  }\n}\n",
    "tests/test_requests.py": "def parse_request():\n    return 1\n\n\ndef test_it():\n    assert parse_request() == 1\n",
    "README.md": "# parse_request\n\nparse_request is the request parser: call parse_request.\n",
    "settings.yaml": "parse_request:\n  kind: parse_request\n  more: 5\n",
    **{f"uses/use{number}.py": USE.format(number) for number in range(6)},
}
DEFINITIONS = {"a/handler.py", "b/handler.py", "Legacy.java", "tests/test_requests.py"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("definitions"), FILES)


@pytest.mark.parametrize("question", ["parse_request", "parse_request()", "`parse_request`"])
def test_definitions_of_a_name_come_before_its_uses(project: Path, question: str) -> None:
    with carrel.Index(project) as index:
        index.index()
        hits = index.search(question, k=12)
        packed = index.context(question, carrel.Budget(20_000), form="places").text.splitlines()
    paths = [hit.file_path for hit in hits]
    assert set(paths[:4]) == DEFINITIONS
    assert len(set(paths[4:])) >= 6
    assert {line.partition(":")[0] for line in packed[:4]} == DEFINITIONS


@pytest.mark.parametrize(
    ("question", "first"),
    [("Handler.parse_request", "b/handler.py"), ("where is parse_request called in run_3?", "uses/use3.py")],
)
def test_a_qualified_name_is_its_own_and_a_question_is_none(project: Path, question: str, first: str) -> None:
    with carrel.Index(project) as index:
        index.index()
        assert index.search(question, k=1)[0].file_path == first


def test_the_command_line_gives_places_alone(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "parse_request", "--path", str(project), "--format", "places", "--limit", "4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "a/handler.py:1-3 parse_request" in lines
    assert {line.partition(":")[0] for line in lines} == DEFINITIONS
    assert main(["search", "parse_request", "--path", str(project), "--format", "places", "--limit", "4", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["text"].splitlines() == lines
    assert [hit["text"] for hit in result["hits"]] == [""] * 4
    assert main(["context", "parse_request", "--path", str(project), "--format", "places", "--tokens", "60"]) == 0
    assert {line.partition(":")[0] for line in capsys.readouterr().out.splitlines()} <= set(FILES)
