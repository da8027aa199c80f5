"""The sign-in that editors left goes to GitHub, and to nobody else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from carrel.model.errors import ProviderError
from carrel.model.fakes import fake_outbound
from carrel.providers import copilot_embeddings
from carrel.providers.copilot_embeddings import CopilotEmbedder
from carrel.settings.model_settings import ModelSettings

TOKEN = "gho_planted"  # noqa: S105 - made up
EVIL = "https://evil.example/copilot_internal/v2/token"


@pytest.fixture(autouse=True)
def signed_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "apps.json"
    file.write_text(json.dumps({"github.com:Iv1": {"oauth_token": TOKEN}}))
    monkeypatch.setattr(copilot_embeddings, "token_files", lambda: (file,))


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        ({}, True),
        ({"base_url": "https://api.githubcopilot.com/"}, True),
        ({"base_url": "http://127.0.0.1:9/", "token_url": "http://127.0.0.1:9/v2/token"}, True),
        ({"base_url": "https://evil.example"}, False),
        ({"token_url": EVIL}, False),
        ({"base_url": "http://api.githubcopilot.com"}, False),
        ({"base_url": "https://api.githubcopilot.com.evil.example"}, False),
        ({"key": "none"}, False),
        ({"key": "env:GONE"}, False),
    ],
)
async def test_the_sign_in_is_sent_to_github_or_this_machine_only(options: dict[str, Any], sent: bool) -> None:
    sign_in = CopilotEmbedder(fake_outbound(), ModelSettings(**options))._sign_in
    if sent:
        assert await sign_in.headers() == {"Authorization": f"token {TOKEN}"}
    else:
        with pytest.raises(ProviderError) as raised:
            await sign_in.headers()
        assert TOKEN not in str(raised.value)
