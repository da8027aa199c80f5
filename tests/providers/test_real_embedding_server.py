"""The contract against a real OpenAI-compatible server: llama.cpp's, in an environment of its own.

python -m venv llama && llama/bin/pip install xllamacpp gguf
CARREL_LLAMA_PYTHON=llama/bin/python pytest tests/providers/test_real_embedding_server.py
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.contract import suites
from tests.shop import SHOP, write_files

import carrel
from carrel.model.fakes import fake_outbound
from carrel.model.ports import Embedder
from carrel.providers.openai import OpenAIEmbedder
from carrel.settings.model_settings import ModelSettings

PYTHON = os.environ.get("CARREL_LLAMA_PYTHON")
SERVER = Path(__file__).parent.parent / "services" / "llama_server.py"
DIM = 64


def model_of(url: str) -> OpenAIEmbedder:
    """Make one that keeps no connection: nobody closes it."""
    transport = httpx.AsyncHTTPTransport(limits=httpx.Limits(max_keepalive_connections=0))
    return OpenAIEmbedder(fake_outbound(), ModelSettings(model="tiny", base_url=url), transport=transport).with_dim(DIM)


pytestmark = pytest.mark.skipif(not PYTHON, reason="needs CARREL_LLAMA_PYTHON, a Python with xllamacpp and gguf")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    command = [str(PYTHON), str(SERVER), str(tmp_path_factory.mktemp("llama"))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        yield process.stdout.readline().strip() + "/v1"
        process.kill()


class TestLlamaCpp(suites.EmbedderContract):
    @pytest.fixture(autouse=True)
    def _url(self, url: str) -> None:
        self.url = url

    def make(self) -> Embedder:
        return model_of(self.url)


async def test_the_dimension_is_learned(url: str) -> None:
    assert await model_of(url).learn_dim() == DIM


def test_an_index_is_filled_and_searched(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, env: dict[str, str]) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    root = write_files(tmp_path / "shop", SHOP)
    model = model_of(url)
    with carrel.Index(root, embedder=model) as index:
        assert index.index().failed == 0
        assert index.search("authenticate_user", k=1)[0].file_path == "src/auth.py"
