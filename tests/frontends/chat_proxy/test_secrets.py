"""Planted secrets don't reach the API behind the proxy."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from tests.frontends.chat_proxy.conftest import Start, Upstream
from tests.leaks.planted import by_content, by_name, write
from tests.shop import index

PLANTED = [*by_content(47, 0), *by_name(47)]


@pytest.fixture
def project(tmp_path: Path, env: dict[str, str]) -> Path:
    write(tmp_path / "shop", PLANTED)
    index(tmp_path / "shop", env)
    return tmp_path / "shop"


@pytest.mark.usefixtures("project")
async def test_no_question_is_given_a_secret(start: Start, upstream: Upstream) -> None:
    proxy = start("--tokens", "8000")
    questions = [*sorted({Path(one.path).stem for one in PLANTED}), "which password has the database?", "where is the api token?"]
    async with httpx.AsyncClient(timeout=30) as client:
        for question in questions:
            body = {"model": "m", "messages": [{"role": "user", "content": f"what about {question} ?"}]}
            await client.post(proxy.url + "/v1/chat/completions", json=body)
    proxy.stop()
    text = json.dumps([body for _, _, body in upstream.requests])
    assert len(upstream.requests) == len(questions)
    assert text.count("[secret: ") > 106
    assert [one.path for one in PLANTED if any(secret in text for secret in one.secrets)] == []
