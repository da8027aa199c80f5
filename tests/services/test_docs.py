"""The examples in docs/models.md can be used as they stand."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from carrel.composition.models import JUDGE, chat_models, rerankers
from carrel.model.fakes import fake_outbound
from carrel.settings.model_settings import read_models

_PAGE = (Path(__file__).parents[2] / "docs" / "models.md").read_text("utf-8")
EXAMPLES = [text for text in re.findall(r"```toml\n(.*?)```", _PAGE, re.DOTALL) if re.search(r"models\.(chat|reranker)", text)]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_makes_a_model(example: str) -> None:
    models = read_models(tomllib.loads(example)["models"])
    if models.chat.provider:
        assert chat_models().make(models.chat, fake_outbound()).spec.id.startswith(models.chat.provider)
    else:
        assert rerankers().make(models.reranker, fake_outbound()).spec.id.startswith(models.reranker.provider)


def test_every_provider_has_an_example() -> None:
    shown = set(re.findall(r'provider = "(\w+)"', "".join(EXAMPLES)))
    assert shown == {*chat_models().names, *rerankers().names, JUDGE}
