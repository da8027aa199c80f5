"""Every provider of chat models and rerankers runs its port's contract against the stand-in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.contract import suites
from tests.services.models import PROVIDERS, chat, reranker
from tests.services.standin import HANG, Reply, failure, running

from carrel.model.ports import ChatModel, Reranker


class Served:
    """Runs a stand-in for each instance of a test."""

    @pytest.fixture(autouse=True)
    def _services(self) -> Iterator[None]:
        with ExitStack() as stack:
            self.stack = stack
            yield

    def url(self, *script: Reply) -> str:
        return self.stack.enter_context(running(*script)).url


@pytest.mark.parametrize("provider", PROVIDERS)
class TestChat(Served, suites.ChatModelContract):
    @pytest.fixture(autouse=True)
    def _provider(self, provider: str) -> None:
        self.provider = provider

    def make(self) -> ChatModel:
        return chat(self.provider, self.url())

    def calling(self) -> ChatModel:
        return self.make()

    def broken(self) -> ChatModel:
        return chat(self.provider, self.url(failure(500)))

    def stuck(self) -> ChatModel:
        return chat(self.provider, self.url(HANG))


@pytest.mark.parametrize("provider", ["cohere", "jina", "voyage", "tei"])
class TestRerank(Served, suites.RerankerContract):
    @pytest.fixture(autouse=True)
    def _provider(self, provider: str) -> None:
        self.provider = provider

    def make(self) -> Reranker:
        return reranker(self.provider, self.url())

    def broken(self) -> Reranker:
        return reranker(self.provider, self.url(failure(500)))

    def stuck(self) -> Reranker:
        return reranker(self.provider, self.url(HANG))
