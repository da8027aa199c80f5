"""The providers of chat models and rerankers, in front of the stand-in."""

from __future__ import annotations

from carrel.composition.models import chat_models, rerankers
from carrel.model.conversation import Message, ToolSpec
from carrel.model.fakes import fake_outbound
from carrel.model.outbound import Outbound
from carrel.model.ports import ChatModel, Reranker
from carrel.settings.model_settings import ModelSettings

KEY = "sk-planted-0123456789"
TOOL = ToolSpec("search_code", "Finds code.", {"type": "object", "properties": {"query": {"type": "string"}}})
ASKED = [Message("user", "Say hello.")]
SEARCH = [Message("user", "Search for login.")]
PROVIDERS = ("openai", "openrouter", "ollama")


def chat(provider: str, url: str, outbound: Outbound | None = None, **more: object) -> ChatModel:
    settings = {"key": "keyring" if provider != "ollama" else "", "model": "tiny", **more}
    base = url if provider == "ollama" else f"{url}/v1"
    return chat_models().make(ModelSettings(provider=provider, base_url=base, **settings), outbound or keyed())  # type: ignore[arg-type]


def reranker(provider: str, url: str, outbound: Outbound | None = None, **more: object) -> Reranker:
    return rerankers().make(ModelSettings(provider=provider, base_url=url, **more), outbound or keyed())  # type: ignore[arg-type]


def keyed() -> Outbound:
    """Surroundings with a key for everybody."""
    return fake_outbound(openai=KEY, openrouter=KEY, cohere=KEY, jina=KEY, voyage=KEY, tei=KEY)
