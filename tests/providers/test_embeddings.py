"""Embedding services against a local server that behaves as each API does."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import httpx
import msgspec
import pytest
from msgspec.structs import replace
from tests.contract import suites
from tests.contract.suites.common import cosine
from tests.services.embeddings import KEY, SESSION, SIGN_IN, EmbeddingService, Fault, meaning, running, unit
from tests.support.embedders import copilot, made, ollama, openai

from carrel.composition.models import BUNDLED, HASHED_WORDS, embedders
from carrel.model.errors import InvalidInput, NotAllowed, ProviderError
from carrel.model.fakes import FakeMeter, FakePermissions, fake_outbound
from carrel.model.outbound import Destination
from carrel.model.ports import Embedder
from carrel.model.remote import RemoteEmbedder
from carrel.model.vectors import Vectors
from carrel.providers.copilot_embeddings import SECONDS_BETWEEN
from carrel.providers.ollama import OllamaEmbedder
from carrel.providers.openai import OpenAIEmbedder
from carrel.settings.model_settings import ModelSettings

pytestmark = pytest.mark.usefixtures("signed_in", "models_closed")


@pytest.fixture(scope="module")
def servers() -> Iterator[Sequence[EmbeddingService]]:
    """One answers, one fails, one never answers. They close each connection, since the suite closes nothing that it makes."""
    good, bad, silent = (EmbeddingService(keeps_connections=False, always=always) for always in (None, DOWN, SILENT))
    with running(good), running(bad), running(silent):
        yield good, bad, silent


DOWN, SILENT = Fault("status", 500), Fault("hang")
MAKERS = [openai, ollama, copilot]


# A request that is cancelled as the suite closes its loop may leave its socket to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
class ServiceContract(suites.EmbedderContract):
    """The contract against a server of its own."""

    maker: Any

    @pytest.fixture(autouse=True)
    def _services(self, servers: Sequence[EmbeddingService]) -> None:
        self.good, self.bad, self.silent = servers

    def make(self) -> Embedder:
        return type(self).maker(self.good)  # type: ignore[no-any-return]

    def broken(self) -> Embedder:
        return type(self).maker(self.bad)  # type: ignore[no-any-return]

    def stuck(self) -> Embedder:
        return type(self).maker(self.silent)  # type: ignore[no-any-return]


class TestOpenAI(ServiceContract):
    maker = staticmethod(openai)


class TestOllama(ServiceContract):
    maker = staticmethod(ollama)


class TestCopilot(ServiceContract):
    maker = staticmethod(copilot)


@pytest.mark.parametrize("maker", MAKERS)
async def test_a_text_has_the_vector_that_the_service_gave_it(service: EmbeddingService, maker: Any) -> None:
    model: RemoteEmbedder = maker(service)
    prefix = "search_document: " if maker is ollama else ""
    vectors = await model.embed(["total price", "", "check a \ud800 login"], "document")
    expected = [
        unit(f"{prefix}total price", model.spec.dim),
        bytes(4 * model.spec.dim),
        unit(f"{prefix}check a ? login", model.spec.dim),
    ]
    assert [cosine(vectors.floats(row), Vectors(data, model.spec.dim).floats(0)) for row, data in enumerate(expected)] == [
        pytest.approx(1.0, abs=1e-3)
    ] * 3
    assert await model.learn_dim() == model.spec.dim
    assert model.destinations[0] == Destination(model.spec.id.split("@")[0].split(":")[0], service.url.removeprefix("http://"))


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault("dim", value=7), r"vectors of 7 values where \d+ were due. Set `dimensions` of the model to 7, or remove it"),
        (Fault("fewer"), "1 vectors for 2 texts|no embeddings"),
        (Fault("nan"), "not a finite number|not JSON"),
        (Fault("words"), "something that is no vector"),
        (Fault("zeros"), r"a vector whose values are all 0, by which nothing can be found. Set `model` to an embedding model"),
        (Fault("flat"), "a vector whose values are all 1"),
        (Fault("html"), "not JSON"),
        (Fault("cut"), "cut the connection in the middle"),
        (Fault("status", 500), r"failed \(500\)"),
        (Fault("status", 403), r"(doesn't allow this with your (key|sign-in)|wants a key) \(403\)"),
        (Fault("endless"), "more than 2 MB"),
    ],
)
async def test_what_no_service_should_do_is_a_clear_error(
    service: EmbeddingService, maker: Any, fault: Fault, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("carrel.providers.http.MOST_BYTES", 2_000_000)
    model: RemoteEmbedder = maker(service)
    service.faults = [fault]
    with pytest.raises(ProviderError, match=said):
        await model.embed(["one", "two"], "document")
    assert len(await model.embed(["one", "two"], "document")) == 2  # the next request finds nothing wrong


@pytest.mark.parametrize("maker", MAKERS)
async def test_a_model_that_gives_every_text_the_same_vector_is_refused(service: EmbeddingService, maker: Any) -> None:
    model: RemoteEmbedder = maker(service)
    service.always = Fault("alike")
    for asked in (model.learn_dim(), model.embed(["def total(): ...", "def login(): ..."], "document")):
        with pytest.raises(ProviderError, match=r"the same vector for different texts, by which nothing can be found\. Set"):
            await asked


@pytest.mark.parametrize("maker", MAKERS)
async def test_texts_that_are_alike_to_a_model_have_the_same_vector(service: EmbeddingService, maker: Any) -> None:
    model: RemoteEmbedder = maker(service)
    for texts in (["Total price"], ["total price", "total price", ""], ["Total price", "total Price", "TOTAL PRICE"]):
        vectors = await model.embed(texts, "document")
        assert set(vectors) - {bytes(4 * model.spec.dim)} == {vectors[0]}
    assert await openai(service, max_texts=1).learn_dim() == 1536


@pytest.mark.parametrize("maker", MAKERS)
async def test_a_rate_that_is_refused_is_waited_for_and_a_slow_body_is_read_to_its_end(
    service: EmbeddingService, maker: Any
) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    model = maker(service)
    model._client._sleep = sleep
    service.faults = [Fault("status", 429, {"retry-after": "3"}), Fault("status", 429), Fault("slow")]
    assert len(await model.embed(["one", "two"], "document")) == 2
    assert [pause for pause in pauses if pause > SECONDS_BETWEEN] == [3.0, 1.0]


@pytest.mark.parametrize(("fault", "rows"), [("no index", 2), ("same index", None)])
async def test_rows_stand_by_their_index(service: EmbeddingService, fault: str, rows: int | None) -> None:
    model = openai(service)
    service.faults = [Fault(fault)]
    if rows is None:
        with pytest.raises(ProviderError, match="no embeddings"):
            await model.embed(["one", "two"], "document")
    else:
        vectors = await model.embed(["one", "two"], "document")
        assert cosine(vectors.floats(1), meaning("two", 1536)) == pytest.approx(1.0, abs=1e-3)


async def test_openai_is_asked_for_packed_numbers_of_the_size_that_is_set_with_exact_token_counts() -> None:
    sent: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append((str(request.url), json.loads(request.content), request.headers))
        data = [{"index": n, "embedding": [1.0 + n] + [0.5] * 255} for n in range(len(sent[-1][1]["input"]))]
        return httpx.Response(200, json={"data": data})

    outbound = fake_outbound(openai=KEY)
    model = OpenAIEmbedder(outbound, ModelSettings(dimensions=256), transport=httpx.MockTransport(answer))
    vectors = await model.embed(["word " * 20_000, "def f(): return 1"], "document")
    assert vectors.fault(256, 2) is None
    url, body, headers = sent[0]
    assert url == "https://api.openai.com/v1/embeddings"
    assert (body["model"], body["dimensions"], body["encoding_format"]) == ("text-embedding-3-small", 256, "base64")
    assert headers["authorization"] == f"Bearer {KEY}"
    assert "helicone-auth" not in headers
    assert model.spec.id == "openai:text-embedding-3-small:256"
    assert isinstance(outbound.meter, FakeMeter)
    ((_, load),) = outbound.meter.used
    assert load.tokens == 8_191 + 6
    assert load.dollars == pytest.approx(load.tokens * 0.02 / 1e6)
    assert len(body["input"][0]) < 8_192 * 5


@pytest.mark.parametrize(("limit", "longest"), [(0, 512), (4_000, 4_000)])
async def test_texts_for_a_model_that_nobody_knows_are_short_unless_its_limit_is_set(
    service: EmbeddingService, limit: int, longest: int
) -> None:
    await openai(service, model="new-model", dimensions=64, max_tokens=limit).embed(["word " * 20_000], "document")
    assert len(service.texts[0]) == 3 * longest


async def test_helicone_stands_before_openai_where_it_has_a_key_and_is_a_place_of_its_own() -> None:
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json={"data": [{"index": 0, "embedding": [1.0] + [0.5] * 1535}]})

    outbound = fake_outbound(openai=KEY, helicone="hel-planted")
    transport = httpx.MockTransport(answer)
    await OpenAIEmbedder(outbound, transport=transport).embed(["a"], "query")
    assert str(sent[0].url) == "https://oai.helicone.ai/v1/embeddings"
    assert sent[0].headers["helicone-auth"] == "Bearer hel-planted"
    assert sent[0].headers["authorization"] == f"Bearer {KEY}"
    allowed = replace(outbound, permissions=FakePermissions([Destination("openai", "api.openai.com")]))
    with pytest.raises(NotAllowed, match=r"carrel confirm openai oai\.helicone\.ai"):
        await OpenAIEmbedder(allowed, transport=transport).embed(["a"], "query")
    await OpenAIEmbedder(allowed, ModelSettings(base_url="https://api.openai.com/v1"), transport=transport).embed(["a"], "query")
    assert "helicone-auth" not in sent[-1].headers
    assert len(sent) == 2


async def test_a_missing_key_is_named() -> None:
    model = OpenAIEmbedder(fake_outbound())
    for asked in (model.check(), model.embed(["a"], "query")):
        with pytest.raises(
            ProviderError, match=r"no key for openai. Enter one with `carrel models key openai` or set `OPENAI_API_KEY`"
        ):
            await asked


async def test_a_model_that_was_not_pulled_is_named_with_the_command(service: EmbeddingService) -> None:
    with pytest.raises(ProviderError, match=r"Ollama doesn't have the model bge-m3 \(404\). Run `ollama pull bge-m3`"):
        await ollama(service, model="bge-m3").embed(["a"], "query")


async def test_the_dimension_of_an_unknown_model_is_learned(service: EmbeddingService) -> None:
    service.dims["new-model"] = 96
    model = ollama(service, model="new-model:latest")
    assert model.spec.dim == 0
    with pytest.raises(ProviderError, match="isn't known yet"):
        await model.embed(["a"], "query")
    model = model.with_dim(await model.learn_dim())
    assert model.spec == replace(model.spec, id="ollama:new-model", dim=96, leaves_machine=False)
    assert (await model.embed(["a"], "query")).fault(96, 1) is None


@pytest.mark.parametrize("provider", sorted({*embedders().names} - {BUNDLED, HASHED_WORDS}))
def test_settings_reach_each_provider(provider: str) -> None:
    settings = ModelSettings(
        provider=provider, model="mine", base_url="https://llm.example/v1", dimensions=77, max_texts=20, floor=0.5
    )
    model = embedders().make(settings, fake_outbound())
    assert isinstance(model, RemoteEmbedder)
    assert (model.spec.dim, model.spec.max_texts, model.spec.floor, model.spec.leaves_machine) == (77, 20, 0.5, True)
    assert model.destinations[0] == Destination(provider, "llm.example")
    with pytest.raises(InvalidInput):
        embedders().make(replace_url(settings, "ftp://x"), fake_outbound())


def replace_url(settings: ModelSettings, url: str) -> ModelSettings:
    return msgspec.structs.replace(settings, base_url=url)


@pytest.mark.parametrize("maker", MAKERS)
async def test_no_key_is_in_an_error_or_a_log(service: EmbeddingService, maker: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    service.always = Fault("status", 401)
    model = maker(service)
    with pytest.raises(ProviderError) as raised:
        await model.embed(["def private_code(): ..."], "document")
    told = f"{raised.value!r} {raised.value.__dict__} {caplog.text}"
    for planted in (KEY, SIGN_IN, SESSION, "private_code"):
        assert planted not in told


LIVE: dict[str, tuple[str, Callable[[], RemoteEmbedder]]] = {
    "openai": ("CARREL_LIVE_OPENAI", lambda: OpenAIEmbedder(fake_outbound(openai=os.environ.get("OPENAI_API_KEY", "")))),
    "ollama": ("CARREL_LIVE_OLLAMA", lambda: OllamaEmbedder(fake_outbound())),
}


@pytest.mark.parametrize("name", LIVE)
async def test_live(name: str) -> None:
    variable, make = LIVE[name]
    if not os.environ.get(variable):
        pytest.skip(f"asks the real service where {variable} is set")
    model = made(make())
    texts = ["def authenticate_user(name, password)", "def check_login(user, secret)", "draw a red circle"]
    vectors = [(await model.embed([text], "document")).floats(0) for text in texts]
    assert cosine(vectors[0], vectors[1]) > max(cosine(vectors[0], vectors[2]), cosine(vectors[1], vectors[2]))
