"""Embedding models of services, asked on this machine; a test's models are closed when it ends."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.services.embeddings import KEY, SIGN_IN, EmbeddingService

from carrel.model.fakes import fake_outbound
from carrel.model.remote import RemoteEmbedder
from carrel.providers.copilot_embeddings import CopilotEmbedder, token_files
from carrel.providers.ollama import OllamaEmbedder
from carrel.providers.openai import OpenAIEmbedder
from carrel.settings.model_settings import ModelSettings

M = TypeVar("M", bound=RemoteEmbedder)


async def at_once(_: float) -> None:
    """Wait for nothing."""


@pytest.fixture
def signed_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "config"))
    sign_in(SIGN_IN)


def sign_in(token: str | None) -> None:
    path = token_files()[0]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if token:
        other = {"oauth_token": "ghu_of_another_host"}
        path.write_text(json.dumps({"ghe.example:Iv1": other, "github.com:Iv1.b507": {"user": "me", "oauth_token": token}}))


MADE: list[RemoteEmbedder] = []


@pytest.fixture
async def models_closed() -> AsyncIterator[None]:
    yield
    while MADE:
        await MADE.pop().aclose()


def made(model: M) -> M:
    """Close the model's connections when the test ends."""
    MADE.append(model)
    return model


def options_of(more: dict[str, Any], **usual: Any) -> ModelSettings:
    """Take the fields of a model's settings out of the arguments of a test."""
    return ModelSettings(**{**usual, **{name: more.pop(name) for name in ModelSettings.__struct_fields__ if name in more}})


def openai(service: EmbeddingService, **more: Any) -> OpenAIEmbedder:
    outbound = more.pop("outbound", None) or fake_outbound(openai=KEY)
    return made(OpenAIEmbedder(outbound, options_of(more, base_url=f"{service.url}/v1"), sleep=at_once, **more))


def ollama(service: EmbeddingService, **more: Any) -> OllamaEmbedder:
    return made(OllamaEmbedder(fake_outbound(), options_of(more, base_url=service.url), sleep=at_once, **more))


def copilot(service: EmbeddingService, **more: Any) -> CopilotEmbedder:
    more = {"sleep": at_once, **more}
    outbound = more.pop("outbound", None) or fake_outbound()
    token_url = f"{service.url}/copilot_internal/v2/token"
    return made(CopilotEmbedder(outbound, options_of(more, base_url=service.url, token_url=token_url), **more))
