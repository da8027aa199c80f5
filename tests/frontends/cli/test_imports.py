"""What a command loads: a start takes most of a question's time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ANY_COMMAND = {"anyio", "email.message", "httpx", "importlib.metadata", "jsonschema", "lsprotocol", "mcp", "numpy", "pydantic"}
ANY_COMMAND |= {"pygls", "regex", "rich.console", "tomlkit", "uvicorn", "zipfile"}
NO_INDEX = {"asyncio", "carrel._core", "dataclasses", "inspect", "msgspec", "platformdirs", "sqlite3", "ssl"}
CODE = """
import sys
from carrel.frontends.cli import main
try:
    main(sys.argv[1:])
finally:
    print(*sys.modules, file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("command", "unwanted"),
    [
        (["--help"], ANY_COMMAND | NO_INDEX),
        (["search", "greeting"], ANY_COMMAND),
        (["context", "greeting"], ANY_COMMAND),
        (["status"], ANY_COMMAND),
        (["index"], ANY_COMMAND),
    ],
    ids=["help", "search", "context", "status", "index"],
)
def test_a_command_loads_nothing_heavy_that_it_does_not_need(tmp_path: Path, command: list[str], unwanted: set[str]) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.py").write_text("def greeting():\n    return 'hello'\n")
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    ran = subprocess.run(
        [sys.executable, "-c", CODE, *command],
        cwd=tmp_path / "project",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    loaded = set(ran.stderr.splitlines()[-1].split())
    assert "carrel.frontends.cli" in loaded, ran.stderr
    assert sorted(loaded & unwanted) == []


def test_a_model_of_a_service_is_made_with_its_client() -> None:
    """What is loaded for the first request would take its time from what a question gives the model."""
    code = """
import asyncio, sys
from carrel.composition.models import chat_models
from carrel.model.fakes import fake_outbound
from carrel.settings.model_settings import ModelSettings

async def make():
    chat_models().make(ModelSettings(provider="ollama", model="any"), fake_outbound())

asyncio.run(make())
print(*sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert {"httpx", "httpcore", "ssl"} <= set(ran.stdout.split())
