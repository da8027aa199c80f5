"""Changes to the sources in a person's settings file: checked whole, written as they were shown, one after the other."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from carrel.model.errors import CarrelError, InvalidInput
from carrel.settings.settings_files import user_file
from carrel.settings.source_settings import MOST_SOURCES
from carrel.sources.source_editing import WantedSource, command_of, confirmation, planned, removal, write


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the person's settings file, which is in a folder of its own and isn't there yet."""
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.delenv("CARREL_CONFIG", raising=False)
    path = user_file()
    assert tmp_path in path.parents
    path.parent.mkdir(parents=True)
    return path


def folder(parent: Path, name: str) -> str:
    path = parent / name
    path.mkdir()
    return str(path)


def sources(settings: Path) -> dict[str, dict[str, str]]:
    return tomllib.loads(settings.read_text("utf-8")).get("sources", {}) if settings.exists() else {}


def test_what_another_window_changed_meanwhile_is_left(tmp_path: Path, settings: Path) -> None:
    ours, theirs = folder(tmp_path, "ours"), folder(tmp_path, "theirs")
    adding = planned(WantedSource("ops", ours))
    write(planned(WantedSource("ops", theirs)))
    with pytest.raises(CarrelError, match="changed elsewhere while you were asked"):
        write(adding)
    leaving = removal("ops")
    write(planned(WantedSource("ops", ours)))
    with pytest.raises(CarrelError, match="changed elsewhere"):
        write(leaving)
    assert sources(settings)["ops"]["folder"] == ours
    write(removal("ops"))
    assert sources(settings) == {}


def test_a_folder_below_home_is_the_same_place_however_it_is_written(
    tmp_path: Path, settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USERPROFILE" if sys.platform == "win32" else "HOME", str(tmp_path))
    ours, other = folder(tmp_path, "ours"), folder(tmp_path, "other")
    settings.write_text('[sources.ops]\nkind = "documents"\nfolder = "~/ours"\n')
    assert planned(WantedSource("ops", ours, description="Runbooks")).leaves is None
    left = planned(WantedSource("ops", other)).leaves
    assert left is not None
    assert left.folder == "~/ours"


def test_changes_at_the_same_time_are_all_kept(tmp_path: Path, settings: Path) -> None:
    changes = [planned(WantedSource(f"s{n}", folder(tmp_path, f"s{n}"))) for n in range(8)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write, changes))
    assert sorted(sources(settings)) == [f"s{n}" for n in range(8)]


def test_changes_of_several_processes_are_all_kept(tmp_path: Path, settings: Path) -> None:
    program = """
import sys
from carrel.sources.source_editing import WantedSource, planned, write
for name in sys.argv[2:]:
    write(planned(WantedSource(name, sys.argv[1])))
"""
    names = [[f"p{process}n{n}" for n in range(6)] for process in range(3)]
    running = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path), *some]) for some in names]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert sorted(sources(settings)) == sorted(name for some in names for name in some)


COMMENTED = """\
# Mine.

[sources.a]  # first
folder = "{a}"
# not yet sure
description = "A"

# What b is for.
[sources.b]
folder = "{b}"

# The model.
[models.chat]
provider = "x"
"""


def commented(tmp_path: Path, settings: Path) -> str:
    places = {name: folder(tmp_path, name) for name in "ab"}
    text = COMMENTED.format(**places)
    settings.write_text(text, "utf-8")
    return text


def test_everything_else_stays_where_it_is(tmp_path: Path, settings: Path) -> None:
    text = commented(tmp_path, settings)
    write(planned(WantedSource("a", description="Ours", outdated_after_days=3)))
    changed = text.replace('description = "A"\n', 'description = "Ours"\noutdatedAfterDays = 3\n')
    assert settings.read_text("utf-8") == changed
    write(planned(WantedSource("c", str(tmp_path))))
    assert f'\n[sources.c]\nfolder = "{tmp_path}"\n\n# The model.\n' in settings.read_text("utf-8")
    write(removal("c"))
    assert settings.read_text("utf-8") == changed
    write(removal("a"))
    assert settings.read_text("utf-8") == "# Mine.\n\n" + text[text.index("# What b") :]


def test_a_string_that_looks_like_a_table_misleads_nobody(tmp_path: Path, settings: Path) -> None:
    text = '[models.chat]\nnote = """\n[sources.a]\nfolder = "no"\n"""\n\n[sources.a]\nfolder = "{a}"\n'
    settings.write_text(text.format(a=folder(tmp_path, "a")), "utf-8")
    write(planned(WantedSource("a", description="A")))
    write(removal("a"))
    assert tomllib.loads(settings.read_text("utf-8")) == {"models": {"chat": {"note": '[sources.a]\nfolder = "no"\n'}}}


def test_line_ends_and_the_byte_order_mark_stay(tmp_path: Path, settings: Path) -> None:
    text = commented(tmp_path, settings)
    settings.write_bytes(("\ufeff" + text.replace("\n", "\r\n")).encode())
    write(planned(WantedSource("a", description="Ours")))
    assert settings.read_bytes() == ("\ufeff" + text.replace('"A"', '"Ours"').replace("\n", "\r\n")).encode()


def test_a_read_only_file_is_not_replaced(tmp_path: Path, settings: Path) -> None:
    text = commented(tmp_path, settings)
    settings.chmod(0o444)
    with pytest.raises(CarrelError, match=r"is read-only\. Make it writable"):
        write(removal("a"))
    assert settings.read_text("utf-8") == text
    settings.chmod(0o600)


def test_a_published_source_keeps_its_key_when_its_description_changes(settings: Path) -> None:
    write(planned(WantedSource("lib", "qdrant://localhost:6333/lib", key="env:LIB_KEY")))
    write(planned(WantedSource("lib", description="Ours")))
    entry = {"kind": "repository", "url": "qdrant://localhost:6333/lib", "key": "env:LIB_KEY", "description": "Ours"}
    assert sources(settings)["lib"] == entry
    write(planned(WantedSource("lib", "qdrant://elsewhere.example:6333/lib")))
    assert "key" not in sources(settings)["lib"], "it was for the other server"


def test_what_is_wrong_is_told_without_passwords_and_control_characters(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="control characters"):
        planned(WantedSource("ops", str(tmp_path), description="a\x1b[2Jb"))
    with pytest.raises(InvalidInput) as error:
        planned(WantedSource("lib", "qdrant://me:hunter2@host:port/lib"))
    assert "hunter2" not in str(error.value)


def test_one_source_too_many_is_refused_and_a_broken_one_can_be_removed(tmp_path: Path, settings: Path) -> None:
    place = folder(tmp_path, "docs")
    settings.write_text("".join(f"[sources.s{n}]\nfolder = '{place}'\n" for n in range(MOST_SOURCES)), "utf-8")
    with pytest.raises(InvalidInput, match=str(MOST_SOURCES)):
        planned(WantedSource("more", place))
    settings.write_text(f"[sources.good]\nfolder = '{place}'\n[sources.bad]\nfolder = 7\n", "utf-8")
    with pytest.raises(InvalidInput, match="bad"):
        planned(WantedSource("more", place))
    write(removal("bad"))
    assert sorted(sources(settings)) == ["good"]


def test_the_question_tells_all_that_is_written(tmp_path: Path) -> None:
    change = planned(WantedSource("ops", folder(tmp_path, "ops"), description="runbooks", outdated_after_days=90))
    assert confirmation(change).details["Outdated after days"] == "90"
    kept = planned(WantedSource("lib", "qdrant://localhost:6333/lib", key="env:LIB_KEY"))
    assert confirmation(kept).details["Key"] == "env:LIB_KEY"
    assert confirmation(kept).hash != confirmation(planned(WantedSource("lib", "qdrant://localhost:6333/lib"))).hash


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal there quotes in another way")
def test_the_command_says_the_same_in_a_terminal() -> None:
    wanted = WantedSource("ops", "/srv/my docs; touch x", git=True, description="what on-call does", outdated_after_days=9)
    words = ["carrel", "sources", "add", "ops", "/srv/my docs; touch x", "--git", "--description", "what on-call does"]
    assert shlex.split(command_of(wanted)) == [*words, "--outdated-after", "9"]


@pytest.mark.parametrize("place", ["/{long}", "/a\0b", "~nobody\0x"])
def test_a_place_that_cannot_be_opened_is_told(place: str) -> None:
    with pytest.raises(InvalidInput, match="place"):
        planned(WantedSource("ops", place.format(long="x" * 300)))
