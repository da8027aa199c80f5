"""Which files are read, in which language and encoding, and what is said of the others."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.frontends.cli.conftest import Run, one_json

HEADER = """#pragma once
namespace rail {
class Track : public Base {
 public:
  int gauge_of_track() const;
  int length_of_track() const;
};
}
"""


def languages(run: Run) -> dict[str, int]:
    run("index")
    counts: dict[str, int] = one_json(run("status", "--json")[1])["languages"]
    return counts


def places(run: Run, question: str) -> str:
    return run("search", question, "--limit", "3", "--format", "places")[1]


def test_a_text_is_read_whatever_it_is_called(run: Run, project: Path) -> None:
    (project / "deploy.rego").write_text(
        'package deploy\n\ndeny[msg] {\n  input.day == "Friday"\n  msg := "no deploys on Friday"\n}\n'
    )
    (project / "numbers.obj").write_text("v 0.123 4.567 8.901\n" * 50)
    (project / "picture.xyz").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    assert languages(run)["other"] == 1
    assert "deploy.rego" in places(run, "no deploys on Friday")
    skipped = {item["path"]: item["reason"] for item in one_json(run("status", "--json")[1])["skipped"]}
    assert (skipped["numbers.obj"], skipped["picture.xyz"]) == ("no words", "binary")


def test_a_page_for_people_is_a_document_whatever_it_is_called(run: Run, project: Path) -> None:
    page = (
        "The siding of the yard\nAsk the person on call before a train stops there.\nThe password of the gate is {}.\n"
        "It changes every month.\n"
    )
    (project / "RUNBOOK").write_text(page.format("Harbor-falcon29!"))
    (project / "siding.1").write_text(".TH SIDING 1\n.SH NAME\nsiding \\- stop a train in the yard\n")
    (project / "siding.rules").write_text("# Stops a train there before it is too late.\nsiding = yard\nstop = 3\n")
    assert (languages(run)["text"], languages(run)["other"]) == (2, 1)
    documents = run("search", "siding of the yard", "--source", "docs")[1]
    assert all(word in documents for word in ("RUNBOOK", "siding.1", page.format("[secret: password]").splitlines()[2]))
    assert not any(word in documents for word in ("siding.rules", "falcon"))


def test_a_header_is_read_as_what_is_in_it_or_as_the_setting_says(run: Run, project: Path) -> None:
    (project / "track.h").write_text(HEADER)
    assert languages(run)["cpp"] == 1
    (project / ".carrel.toml").write_text('[languages]\n"*.h" = "c"\n')
    assert "cpp" not in languages(run), "a changed setting cuts the file anew"
    (project / ".carrel.toml").write_text('[languages]\n"*.h" = "klingon"\n')
    code, _, err = run("index")
    assert (code, "languages" in err, "klingon" in err) == (0, True, True)


def test_a_tracked_folder_is_no_output(run: Run, project: Path) -> None:
    read = ("src/build/planner.py", "third_party/own.py", ".ci/pipeline.py", "scripts/.hidden/steps.py")
    others = ("vendor/lib/code.py", "vendor/modules.txt", "node_modules/m/module.py", ".ssh/keys.py")
    for path in (*read, *others, "build/made.py", ".state/cached.py", "go.mod", "Makefile"):
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(f"def of_{Path(path).stem}(value):\n    return value + 1  # long enough to be a chunk\n")
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    subprocess.run(["git", "add", *read, *others], cwd=project, check=True)
    (project / ".env").write_text("TOKEN=x\n")
    err = run("index")[2]
    assert "Not read: 1 secret; folders by their names: build/, vendor/, .ssh/ and 1 more. " in err
    err = run("context", "of_planner", "--tokens", "1")[2]
    assert "Nothing fits the budget" in err, "what was left out isn't why nothing is shown"
    for path in read:
        assert path in places(run, f"of_{Path(path).stem}")
    for path in (*others, "build/made.py", ".state/cached.py"):
        assert path not in places(run, f"of_{Path(path).stem}")
    subprocess.run(["git", "add", "build"], cwd=project, check=True)
    run("index")
    assert "build/made.py" in places(run, "of_made")


def test_a_line_of_data_hides_nothing_but_itself(run: Run, project: Path) -> None:
    picture = "iVBORw0KGgo" * 2_000
    (project / "logo.ts").write_text(
        f"const LOGO = '{picture}';\n\nexport function stampInvoice(page) {{\n  return page.draw(LOGO);\n}}\n"
    )
    run("index")
    assert "logo.ts:3-5" in places(run, "stampInvoice")
    shown = run("search", "const LOGO", "--limit", "1")[1]
    assert "characters left out" in shown
    assert len(shown) < 2_000


def test_an_encoding_is_guessed_and_said_so_or_named(run: Run, project: Path) -> None:
    text = "/* 超时的订单重新入队 */\nvoid requeue_expired_orders(void) {\n  queue_all();\n}\n"
    (project / "queue.c").write_bytes(text.encode("gbk"))
    assert "超时的订单重新入队" in run("search", "requeue_expired_orders", "--limit", "1")[1]
    assert "encoding guessed: 1 file;" in run("status")[1]
    (project / ".editorconfig").write_text("[*.c]\ncharset = gbk\n")
    run("index")
    assert "encoding guessed" not in run("status")[1], "what names it now has the file read again"
    (project / ".editorconfig").write_text("[*.c]\ncharset = latin1\n")
    assert "超时的订单重新入队" not in run("search", "requeue_expired_orders", "--limit", "1")[1]


@pytest.mark.parametrize("count", [5, 6])
def test_a_reason_that_hides_more_than_a_handful_is_told(run: Run, project: Path, count: int) -> None:
    for number in range(count):
        (project / f"{number}.png").write_bytes(b"\x89PNG\0")
    err = run("index")[2]
    assert ("Not read: 6 binary" in err) == (count == 6)
    out, err = run("search", "zyxwvut qponmlk", "--json")[1:]
    assert f"{count} binary" in json.dumps(json.loads(out))
    assert f"{count} binary" in run("context", "zyxwvut qponmlk")[2]
