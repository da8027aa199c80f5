"""The switch of the proxies, as it stands in the user's settings file."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from carrel.frontends.common.context_switch import ContextSwitch


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("platformdirs.user_config_path", lambda *_args, **_options: tmp_path)
    return tmp_path / "settings.toml"


@pytest.mark.parametrize(
    ("text", "on", "warnings"),
    [
        ("", True, 0),
        ("ragEnabled = true", True, 0),
        ("ragEnabled = false", False, 0),
        ('ragEnabled = "false"', False, 1),
        ('ragEnabled = "true"', False, 1),
        ("ragEnabled = 0", False, 1),
        ("ragEnabled = 1", False, 1),
        ("ragEnabled = []", False, 1),
    ],
)
def test_only_a_clear_yes_or_nothing_is_on(
    settings: Path, caplog: pytest.LogCaptureFixture, text: str, on: bool, warnings: int
) -> None:
    settings.write_text(text)
    with caplog.at_level(logging.WARNING):
        switch = ContextSwitch()
        assert [switch.on, switch.on, switch.options["ragEnabled"]] == [on, on, on]
    assert len(caplog.messages) == warnings
    assert all(str(settings) in told and "ragEnabled" in told for told in caplog.messages)


def test_a_corrected_file_counts_at_once(settings: Path) -> None:
    settings.write_text('ragEnabled = "no"')
    switch = ContextSwitch()
    assert not switch.on
    settings.write_text("ragEnabled = true")
    later = settings.stat().st_mtime_ns + 1_000_000_000
    os.utime(settings, ns=(later, later))
    assert switch.on
    assert [switch.changed(), switch.changed()] == [True, False]


@pytest.mark.parametrize(("text", "level"), [("", "warning"), ('logLevel = "debug"', "debug"), ('logLevel = "loud"', "warning")])
def test_a_proxy_logs_little_unless_the_user_wants_more(settings: Path, text: str, level: str) -> None:
    settings.write_text(text)
    assert ContextSwitch().log_level == ContextSwitch().options["logLevel"] == level
