"""The examples of docs/extending.md: each passes its port's contract."""

from __future__ import annotations

import asyncio
import json
import runpy
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.contract import suites

import carrel
from carrel.model.fakes import FakeEmbedder
from carrel.model.ports import Embedder, EmbeddingSpec, VectorStore

DIM = 64
EXAMPLES = Path(__file__).parent.parent / "docs" / "examples"


def example(file: str, name: str) -> Any:
    """Return the class of that name."""
    return runpy.run_path(str(EXAMPLES / f"{file}.py"))[name]


def test_each_example_is_short_and_shown() -> None:
    page = (EXAMPLES.parent / "extending.md").read_text("utf-8")
    files = [EXAMPLES / f"{name}.py" for name in ("embedder", "store")]
    assert all(f"examples/{file.name}" in page for file in files)
    assert all(len([line for line in file.read_text("utf-8").splitlines() if line.strip()]) < 45 for file in files)


async def embeddings(request: httpx.Request) -> httpx.Response:
    """What an OpenAI-compatible server answers, in some order."""
    asked = json.loads(request.content)
    assert request.url.path == "/v1/embeddings"
    assert asked["model"] == "tiny"
    if not asked["input"] or not all(asked["input"]):
        return httpx.Response(400)
    vectors = await FakeEmbedder(EmbeddingSpec("fake", DIM)).embed(asked["input"], "document")
    data = [{"index": n, "embedding": [3 * value for value in vectors.floats(n)]} for n in range(len(vectors))]
    return httpx.Response(200, json={"data": data[::-1]})


async def silence(_: httpx.Request) -> httpx.Response:
    await asyncio.Event().wait()
    raise AssertionError


async def unreachable(_: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused")


def embedder(handler: Callable[[httpx.Request], Awaitable[httpx.Response]]) -> Embedder:
    client = httpx.AsyncClient(base_url="http://localhost/v1", transport=httpx.MockTransport(handler))  # type: ignore[arg-type]
    made: Embedder = example("embedder", "OpenAIEmbedder")(client, "tiny", DIM)
    return made


async def answer(response: httpx.Response) -> httpx.Response:
    return response


class TestEmbedder(suites.EmbedderContract):
    def make(self) -> Embedder:
        return embedder(embeddings)

    @pytest.fixture(
        autouse=True,
        params=[
            unreachable,
            lambda _: answer(httpx.Response(401)),
            lambda _: answer(httpx.Response(200, text="<html>")),
            lambda _: answer(httpx.Response(200, json={"data": [{"index": 0}]})),
            lambda _: answer(httpx.Response(200, json=[])),
        ],
    )
    def _fault(self, request: pytest.FixtureRequest) -> None:
        self.fault = request.param

    def broken(self) -> Embedder:
        return embedder(self.fault)

    def stuck(self) -> Embedder:
        return embedder(silence)


def test_the_embedder_makes_an_index() -> None:
    with carrel.Index(embedder=embedder(embeddings)) as index:
        index.add_file("login.py", "def check_password(user, password):\n    return hash(password) == user.digest\n")
        index.add_file("circle.py", "def draw_circle(radius, colour):\n    return Circle(radius, colour).draw()\n")
        assert index.search("check password")[0].file_path == "login.py"


class TestStore(suites.VectorStoreContract):
    @pytest.fixture(autouse=True)
    def _file(self, tmp_path: Path) -> None:
        self.file = tmp_path / "vectors.db"

    def make(self) -> VectorStore:
        store: VectorStore = example("store", "SqliteStore")(self.file, self.DIM)
        return store

    def broken(self) -> VectorStore:
        store = self.make()
        self.file.write_bytes(b"no database at all " * 100)
        return store
