"""The examples of docs/rag.md, taken from there and run one after the other."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.shop import SHOP, write_files

PAGE = Path(__file__).parents[3] / "docs" / "rag.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path / "path/to/project", SHOP)
    asked: list[dict[str, Any]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        asked.append(body)
        if not body["stream"]:
            return httpx.Response(200, json={"choices": [{"message": {"content": f"Answer {len(asked)}."}}]})
        pieces = [json.dumps({"choices": [{"delta": {"content": piece}}]}) for piece in ("Stre", "amed.")]
        return httpx.Response(200, text="".join(f"data: {piece}\n\n" for piece in (*pieces, "[DONE]")))

    client = httpx.Client(base_url="http://localhost/v1", transport=httpx.MockTransport(answer))
    names: dict[str, Any] = runpy.run_path(str(PAGE.parent / "examples" / "rag_parts.py"))
    monkeypatch.setattr(httpx, "Client", lambda **_: client)
    for number, block in enumerate(BLOCKS):
        exec(compile(block, f"docs/rag.md (example {number})", "exec"), names)  # noqa: S102 - our own page
    names["index"].close()
    client.close()

    told = capsys.readouterr().out
    assert [f"Answer {n}." in told for n in (1, 3, 4)] == [True] * 3
    assert "Streamed." in told
    prompts = [body["messages"][-1]["content"] for body in asked]
    assert "Source: src/auth.py:1-4\ndef authenticate_user" in prompts[0]
    assert "README.md" in prompts[0]
    assert "README.md" not in prompts[1]
    assert prompts[2] == "Notes:\nSource: vpn.md\nStart the VPN, then log in.\n\nAnswer this: vpn"
    assert prompts[3].startswith("Context:\nSource: src/auth.py:1-4\n")
    assert "Source: vpn.md\nStart the VPN" in prompts[3]
    assert prompts[3].endswith("Question: why does the login fail without the VPN?")
    assert [body["temperature"] for body in asked] == [0.3, 0.3, 0.3, 0.0]
