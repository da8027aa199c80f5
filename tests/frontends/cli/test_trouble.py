"""What goes wrong around a command: bytes that are no text, outputs that take none, names that a terminal would obey."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import shutil
import signal
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from tests.frontends.cli.conftest import Run, one_json
from tests.frontends.cli.terminal import CARREL, on_terminal, posix_only
from tests.waiting import wait_until

from carrel.composition import composition
from carrel.frontends.cli.terminal import one_line

EVIL = "\x1b[31mred\nFORGED:1-1  1.00\u202e.py"
SHOWN = "\\x1b[31mred\\x0aFORGED:1-1  1.00\\u202e.py"


@posix_only
@pytest.mark.parametrize(
    "arguments",
    [
        (b"search", b"a\xff"),
        (b"files", b"\xff", b"--json"),
        (b"context", b"\xff"),
        (b"compare", b"\xff"),
        (b"explain", b"\xff", b"src/auth.py:3"),
        (b"explain", b"x", b"\xff:3"),
        (b"search", b"x", b"--glob", b"\xff"),
        (b"search", b"x", b"--path", b"\xff"),
        (b"index", b"\xff"),
        (b"status", b"\xff"),
        (b"clear", b"\xff"),
        (b"doctor", b"\xff"),
    ],
)
def test_bytes_that_are_no_text_are_wrong_usage(run: Run, project: Path, arguments: tuple[bytes, ...]) -> None:
    (project / os.fsdecode(b"\xff")).mkdir()
    code, _, err = run(*map(os.fsdecode, arguments))
    assert code == 2
    assert "is not UTF-8" in err
    assert "Traceback" not in err


@posix_only
def test_a_folder_below_one_whose_name_is_no_text_is_refused_too(project: Path) -> None:
    inside = project / os.fsdecode(b"\xff") / "inside"
    inside.mkdir(parents=True)
    done = subprocess.run([*CARREL, "search", "x"], cwd=inside, capture_output=True, check=False)
    assert done.returncode == 2
    assert b"is not UTF-8" in done.stderr


@posix_only
def test_names_and_code_forge_no_line_and_move_no_cursor(run: Run, project: Path) -> None:
    (project / EVIL).write_text("def wombat_counter(herd):\n    # \x1b[2J clears the screen\n    return len(herd)\n")
    for command in (("search", "wombat_counter"), ("files", "wombat_counter"), ("explain", "wombat_counter", f"{EVIL}:1")):
        code, out, err = run(*command)
        assert code == 0
        assert SHOWN in out
        assert not {"\x1b", "\u202e"} & set(out + err)
        assert not any(line.startswith("FORGED") for line in out.splitlines())
    code, out, err = run("context", "wombat_counter", "--tokens", "8")
    assert "\x1b" not in err
    assert SHOWN in err


@posix_only
def test_context_is_byte_true_in_a_pipe_and_harmless_on_a_terminal(run: Run, project: Path) -> None:
    (project / "wombat.py").write_bytes(b"def wombat_counter(herd):\r    # \x1b[2J clears\r    return len(herd)\r")
    _, out, _ = run("context", "wombat_counter", "--top-k", "1")
    assert "def wombat_counter(herd):\r    # \x1b[2J clears\r    return len(herd)\n" in out
    shown = on_terminal("context", "wombat_counter", "--top-k", "1")
    assert b"\x1b" not in shown
    assert b"def wombat_counter(herd):\r\n    # \\x1b[2J clears\r\n    return len(herd)\r\n" in shown


def test_no_two_names_that_differ_in_what_has_no_width_look_the_same() -> None:
    drawn = random.SystemRandom()
    formats = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) == "Cf"]
    unseen = [sign for sign in formats if unicodedata.bidirectional(sign) == "BN"]
    unseen += [*"\u034f\u115f\u1160\u3164\uffa0", *map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))]
    for sign in (*drawn.sample(unseen, 60), *"\u00ad\u180e\u200c\u200d\ufe0f"):
        for name in (
            f"auth{sign}.py",
            f"{sign}auth.py",
            f"auth.py{sign}",
            f"größe{sign}.py",
            f"1{sign}2",
            f"👍\ufe0f{sign}{sign}a",
        ):
            assert f"{ord(sign):x}" in one_line(name), ascii(name)


def test_tabs_and_other_letters_stay_as_they_are() -> None:
    for text in (
        "\tif größe > 中:  # ✓ 👍🏽",
        "❤\ufe0f\u200d🔥 👨\u200d👩\u200d👧 1\ufe0f\u20e3 ©\ufe0f",
        "می\u200cشود क्\u200dष 葛\U000e0100",
    ):
        assert one_line(text) == text


@posix_only
@pytest.mark.parametrize("redirection", [">/dev/full", ">&-"])
@pytest.mark.parametrize("command", ["search password", "context password", "status --json", "search x --path nowhere --json"])
def test_an_output_that_takes_nothing_is_told(run: Run, redirection: str, command: str) -> None:
    run("index")
    line = f'"{sys.executable}" -m carrel {command} {redirection}'
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "standard output can't be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


@posix_only
def test_a_reader_that_leaves_early_and_a_closed_error_stream_are_no_failure(run: Run) -> None:
    run("index")
    line = f'"{sys.executable}" -m carrel search password 2>&- | true; "{sys.executable}" -m carrel status 2>&-'
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("ready: 2 files")


def test_the_index_of_a_folder_that_is_gone_can_be_seen_and_deleted(run: Run, project: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    shutil.copytree(project, gone)
    run("index", str(gone))
    shutil.rmtree(gone)
    assert run("index", str(gone))[0] == 2
    code, out, _ = run("status", str(gone), "--json")
    assert (code, one_json(out)["files"]) == (0, 2)
    code, out, _ = run("clear", str(gone))
    assert (code, "is deleted" in out) == (0, True)
    assert run("status", str(gone))[0] == 2
    assert not list((tmp_path / "cache").glob("carrel/indexes/gone-*"))


def test_a_cache_that_cannot_be_written_is_told_and_not_called_cleared(run: Run, tmp_path: Path) -> None:
    cache = tmp_path / "cache" / "carrel" / "indexes"
    assert run("index")[0] == 0
    [index] = cache.glob("project-*")
    # A file where the folder's label should be written refuses everybody, root included.
    (index / "workspace.json").unlink()
    (index / "workspace.json").mkdir()
    code, out, err = run("clear")
    assert (code, out) == (1, "")
    assert "was not deleted" in err
    for command in (("search", "password"), ("context", "password"), ("search", "password", "--json")):
        code, _, err = run(*command)
        assert code == 0
        assert "can't be written" in err
        assert "is read as it was left" in err


def test_doctor_does_not_advise_a_run_that_would_fail(run: Run, tmp_path: Path) -> None:
    assert run("index")[0] == 0
    [index] = (tmp_path / "cache" / "carrel" / "indexes").glob("project-*")
    (index / "workspace.json").unlink()
    (index / "workspace.json").mkdir()
    findings = one_json(run("doctor", "--json")[1])["findings"]
    [finding] = [finding for finding in findings if "is read as it was left" in finding["detail"]]
    assert "make the folder writable" in finding["detail"]
    assert "carrel index" not in finding["remedy"]


@pytest.mark.parametrize(
    ("number", "remedy"), [(errno.ENOSPC, "Free some disk space"), (errno.EACCES, "Make the folder writable")]
)
def test_an_index_that_cannot_be_made_is_refused_with_what_mends_it(
    run: Run, monkeypatch: pytest.MonkeyPatch, number: int, remedy: str
) -> None:
    def refused(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(composition, "prepare", refused)
    code, _, err = run("index")
    assert (code, os.strerror(number) in err, remedy in err) == (1, True, True), err
    assert err.count("older writable") + err.count("disk space") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process lock a file against being opened")
def test_a_file_that_cannot_be_read_is_kept_as_it_was_and_tried_again(
    run: Run, project: Path, request: pytest.FixtureRequest
) -> None:
    # By this signal the system tells who wants to open the file; it ends a process that doesn't expect it.
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)
    request.addfinalizer(lambda: signal.signal(signal.SIGIO, before))
    assert run("index")[0] == 0
    (project / "src" / "auth.py").write_text("def later():\n    return 'zebra'\n")
    (project / "src" / "more.py").write_text("def more():\n    return 'okapi'\n")
    (project / "src" / "new.py").write_text("def fresh():\n    return 'quagga'\n")
    with (project / "src" / "auth.py").open("r+") as held, (project / "src" / "new.py").open("r+") as new:
        try:
            fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            fcntl.fcntl(new, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except OSError:
            pytest.skip("this file system has no leases")
        code, out, err = run("index")
        assert (code, "1 added, 0 changed, 0 removed" in out, "2 failed" in out) == (1, True, True), out + err
        assert "2 files were not indexed in full" in err
        assert "src/auth.py: read failed: " in err
        assert "close the program that uses it" in err
        assert "src/pool.ts" not in err
        assert "src/auth.py" in run("files", "compare the salted hash of a password")[1]
        assert "src/more.py" in run("files", "okapi")[1]
    code, out, _ = run("index")
    assert (code, "1 added, 1 changed, 0 removed" in out, "0 failed" in out) == (0, True, True), out
    assert "src/auth.py" in run("files", "zebra")[1]
    assert "src/new.py" in run("files", "quagga")[1]


def test_a_question_without_an_answer_says_so(run: Run) -> None:
    code, out, err = run("files", "password", "--glob", "*.none")
    assert (code, out) == (0, "")
    assert "Nothing in the project fits this question." in err
    _, out, err = run("context", "password", "--tokens", "1")
    assert out == ""
    assert "Nothing fits the budget" in err
    _, out, err = run("context", "password", "--glob", "*.none")
    assert out == ""
    assert "Nothing in the project fits this question." in err


def test_beside_another_writer_force_is_refused_and_figures_are_measured(
    run: Run, project: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("index")
    request.getfixturevalue("editor")
    code, out, err = run("index", "--force")
    assert (code, out) == (1, "")
    assert "Another Carrel process writes this index" in err
    report = one_json(run("index", "--json")[1])
    assert (report["unchanged"], report["skipped"], report["elapsedMs"] > 0) == (2, 1, True)
    # The other process doesn't look at the disk here: what changed waits for it.
    monkeypatch.setattr("carrel.index.indexer._WRITER_WAIT_S", 0.3)
    (project / "src" / "new.py").write_text("def brand_new_function():\n    return 'nobody has indexed this yet'\n")
    code, out, err = run("index")
    assert (code, out) == (1, "")
    assert "1 changed file waits" in err
    assert run("search", "password")[0] == 0


@posix_only
def test_a_folder_taken_away_meanwhile_is_no_success(project: Path) -> None:
    for number in range(2_000):
        (project / f"module_{number}.py").write_text(f"def function_{number}(value):\n    return value + {number}\n\n\n" * 30)
    process = subprocess.Popen([*CARREL, "index"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    index = Path(os.environ["XDG_CACHE_HOME"]) / "carrel" / "indexes"
    wait_until(lambda: list(index.glob("*/index.db")))
    project.rename(project.with_name("elsewhere"))
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, b"")
    assert b"is gone" in err
    assert b"carrel clear" in err


@posix_only
@pytest.mark.parametrize(("kilobytes", "code", "sign"), [(90_000, 1, "✗ Memory"), (400_000, 0, "! Memory")])
def test_doctor_knows_too_little_memory(project: Path, kilobytes: int, code: int, sign: str) -> None:
    line = f'ulimit -v {kilobytes}; "{sys.executable}" -m carrel doctor'
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert done.stdout.startswith(sign)
    assert "ulimit -v unlimited" in done.stdout


def test_a_folder_without_the_right_to_read_is_told(run: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("carrel.frontends.cli.terminal.os.scandir", refuse)  # root may read everything
    code, _, err = run("search", "password")
    assert (code, f"{project} can't be read: Permission denied" in err) == (1, True)
    code, out, _ = run("doctor", "--json")
    [finding] = one_json(out)["findings"]
    assert (code, finding["check"], "chmod u+rx" in finding["remedy"]) == (1, "Folder", True)


def test_explain_says_why_a_file_was_left_out_on_reading(run: Run, project: Path) -> None:
    (project / "blob.py").write_bytes(b"x = 1\n\x00\x01\x02")
    code, out, _ = run("explain", "x", "blob.py:1")
    assert code == 0
    assert "the file is not in the index: binary" in out


def test_who_asks_for_a_file_that_was_left_out_hears_why(run: Run, project: Path) -> None:
    (project / "blob.py").write_bytes(b"x = 1\n\x00\x01\x02")
    (project / "secrets.yml").touch()
    assert "blob.py is not in the index: binary." in run("search", "blob.py")[2]
    assert "secrets.yml is not in the index: secret." in run("search", "secrets.yml")[2]
    for text in ("auth.py", "blob", "why is blob.py here"):
        assert "is not in the index" not in run("search", text)[2], text


def test_the_demo_shows_names_that_are_no_markup(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "{shop} [red]\x1b[31m"
    folder.mkdir()
    (folder / "[bold]\x1b[2J.py").write_text("def wombat_counter(herd):\n    # counts \x1b[5m the herd\n    return len(herd)\n")
    code, out, _ = run("demo", str(folder), "wombat_counter")
    assert code == 0
    assert "\x1b" not in out
    assert "{shop} [red]\\x1b[31m: 1 file" in out
    assert "[bold]\\x1b[2J.py" in out


@posix_only
def test_doctor_outlives_a_core_of_which_half_arrived(tmp_path: Path) -> None:
    installed = Path(composition.__file__).parents[1]
    package = tmp_path / "damaged/carrel"
    package.mkdir(parents=True)
    for file in installed.iterdir():
        (package / file.name).symlink_to(file)
    (core,) = package.glob("_core*.so")
    whole = core.read_bytes()
    core.unlink()
    core.write_bytes(whole[: len(whole) // 4])
    command = [sys.executable, "-m", "carrel", "doctor", "--json", str(tmp_path)]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(package.parent)}, capture_output=True, text=True, check=False
    )
    broken = {finding["check"]: finding for finding in one_json(done.stdout)["findings"] if finding["level"] == "error"}
    assert done.returncode == 1
    assert "Install it again" in broken["Native core"]["remedy"]
