"""How servers of tools are started."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from carrel.core.errors import ProviderError
from carrel.core.fakes import fake_outbound
from carrel.providers.mcp_tools import McpServerSpec, connected


async def test_a_program_is_not_taken_from_the_folder_that_carrel_was_started_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tmp_path / "ran"
    (tmp_path / "planted_server.py").write_text(f"open({str(seen)!r}, 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ProviderError):
        async with connected(McpServerSpec("s", sys.executable, ("-m", "planted_server")), fake_outbound()):
            pass
    assert not seen.exists()
