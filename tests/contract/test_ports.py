"""Every implementation that Carrel has runs its port's contract, and so do the stand-ins."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from pygls.exceptions import JsonRpcException
from tests.contract import suites

from carrel.assist.rerank import ChatModelReranker
from carrel.frontends.lsp.client_model import ClientModel
from carrel.model.conversation import Completion, Message, ToolCall
from carrel.model.errors import ProviderError
from carrel.model.fakes import (
    FakeAuditLog,
    FakeChatModel,
    FakeEmbedder,
    FakeReranker,
    FakeTokenizer,
    MemoryStore,
    faulty,
)
from carrel.model.ports import (
    AuditEvent,
    AuditLog,
    ChatModel,
    Embedder,
    EmbeddingSpec,
    Reranker,
    Tokenizer,
    VectorStore,
)
from carrel.policy.audit_log import SqliteAuditLog
from carrel.providers.local import LocalEmbedder, bundled
from carrel.providers.tokenizers import ApproximateTokenizer, ExactTokenizer

DOWN = ProviderError("The service is down.", retryable=True)
CALL = Completion("", (ToolCall("c1", "search_code", {"query": "login"}),))


class TestBundledModel(suites.EmbedderContract):
    def make(self) -> Embedder:
        return bundled()


class TestHashedWords(suites.EmbedderContract):
    def make(self) -> Embedder:
        return LocalEmbedder.hashed()


class TestFakeEmbedder(suites.EmbedderContract):
    def make(self) -> Embedder:
        return FakeEmbedder(EmbeddingSpec("fake", 64, max_texts=7, max_tokens=200_000))

    def broken(self) -> Embedder:
        return faulty(self.make(), fail=DOWN)

    def stuck(self) -> Embedder:
        return faulty(self.make(), hang=True)


class TestFakeReranker(suites.RerankerContract):
    def make(self) -> Reranker:
        return FakeReranker()

    def broken(self) -> Reranker:
        return faulty(self.make(), fail=DOWN)

    def stuck(self) -> Reranker:
        return faulty(self.make(), hang=True)


class TestChatModelReranker(suites.RerankerContract):
    def make(self) -> Reranker:
        return ChatModelReranker(FakeChatModel(graded))

    def broken(self) -> Reranker:
        return ChatModelReranker(faulty(FakeChatModel(graded), fail=DOWN))

    def stuck(self) -> Reranker:
        return ChatModelReranker(faulty(FakeChatModel(graded), hang=True))


def graded(messages: Sequence[Message]) -> Completion:
    """Grade passages as a judge would that counts words."""
    question, *passages = re.split(r'<passage number="(\d+)">', messages[-1].text)
    asked = set(re.findall(r"\w+", question)) - {"question"}
    grades = [
        {"number": int(number), "grade": 10 * len(asked & set(re.findall(r"\w+", text))) / max(len(asked), 1)}
        for number, text in zip(passages[::2], (text.partition("</passage>")[0] for text in passages[1::2]), strict=True)
    ]
    return Completion(json.dumps({"passages": grades}))


class TestExactTokens(suites.TokenizerContract):
    @pytest.fixture(autouse=True, params=["cl100k_base", "o200k_base"])
    def _encoding(self, request: pytest.FixtureRequest) -> None:
        self.encoding = request.param

    def make(self) -> Tokenizer:
        return ExactTokenizer(self.encoding)


class TestEstimatedTokens(suites.TokenizerContract):
    def make(self) -> Tokenizer:
        return ApproximateTokenizer(3.5)


class TestFakeTokenizer(suites.TokenizerContract):
    def make(self) -> Tokenizer:
        return FakeTokenizer()


class TestFakeChatModel(suites.ChatModelContract):
    def make(self) -> ChatModel:
        return FakeChatModel(Completion("Hello, you."))

    def calling(self) -> ChatModel:
        return FakeChatModel(CALL, Completion("Nothing."))

    def broken(self) -> ChatModel:
        return faulty(self.make(), fail=DOWN)

    def stuck(self) -> ChatModel:
        return faulty(self.make(), hang=True)


class ScriptedClient:
    """Answers `carrel/complete` as an editor would."""

    def __init__(self, *results: Any) -> None:
        self.results = list(results)

    def ask(self, method: str, _: Any) -> asyncio.Future[Any]:
        assert method == "carrel/complete"
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        result = self.results.pop(0) if len(self.results) > 1 else self.results[0]
        if isinstance(result, Exception):
            answer.set_exception(result)
        elif result is not None:
            answer.set_result(result)
        return answer


class TestClientsModel(suites.ChatModelContract):
    def make(self) -> ChatModel:
        return ClientModel(ScriptedClient({"text": "Hello."}).ask)

    def calling(self) -> ChatModel:
        call = {"id": "c1", "name": "search_code", "arguments": {"query": "login"}}
        return ClientModel(ScriptedClient({"text": "", "toolCalls": [call]}, {"text": "Nothing."}).ask)

    def broken(self) -> ChatModel:
        return ClientModel(ScriptedClient(JsonRpcException("no quota left", code=-32000)).ask)

    def stuck(self) -> ChatModel:
        return ClientModel(ScriptedClient(None).ask)

    @pytest.mark.parametrize("answer", [3, [], {"text": 1}, {"text": "", "toolCalls": [{"id": 1}]}])
    def test_garbage_is_an_error_of_the_tree(self, answer: Any) -> None:
        client = ScriptedClient(answer)
        with pytest.raises(ProviderError):
            suites.run(cast("Any", self.use(ClientModel(client.ask))))


class TestMemoryStore(suites.VectorStoreContract):
    tolerance = 1e-6

    def make(self) -> VectorStore:
        return MemoryStore(self.DIM)

    def broken(self) -> VectorStore:
        return faulty(self.make(), fail=DOWN)

    def stuck(self) -> VectorStore:
        return faulty(self.make(), hang=True)


class TestSqliteAuditLog(suites.AuditLogContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.path = tmp_path / "audit.sqlite"

    def make(self) -> AuditLog:
        return SqliteAuditLog(self.path, clock=lambda: 20.0)

    def kept(self, log: AuditLog) -> list[AuditEvent]:
        return [entry.event for entry in reversed(cast("SqliteAuditLog", log).entries())]


class TestFakeAuditLog(suites.AuditLogContract):
    def make(self) -> AuditLog:
        return FakeAuditLog()

    def kept(self, log: AuditLog) -> list[AuditEvent]:
        return cast("FakeAuditLog", log).events
