"""`carrel sources` as a person types it, and questions that sources answer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.documents import write_documents
from tests.frontends.cli.conftest import Run, one_json


def settings_file(tmp_path: Path) -> Path:
    return tmp_path / "config" / "carrel" / "settings.toml"


def test_a_source_is_added_searched_listed_and_removed(run: Run, tmp_path: Path, project: Path) -> None:
    folder = write_documents(tmp_path / "runbooks")
    settings_file(tmp_path).parent.mkdir(parents=True, exist_ok=True)
    settings_file(tmp_path).write_text("# mine\nragTopK = 7\n", "utf-8")
    code, _, err = run("sources", "add", "ops", str(folder), "--outdated-after", "365")
    assert code == 0, err
    text = settings_file(tmp_path).read_text("utf-8")
    assert text.startswith("# mine\nragTopK = 7\n")
    assert "[sources.ops]" in text
    code, out, err = run("search", "restart the Phoenix server according to protocol", "--path", str(project), "--json")
    assert code == 0, err
    found = one_json(out)
    assert found["hits"][0]["path"] == "@ops/phoenix.md"
    code, out, _ = run("sources", "list", "--path", str(project))
    assert "ops: documents, ready, 7 files" in out
    assert "not read: broken.pdf: can't be understood" in out
    assert run("sources", "remove", "ops")[0] == 0
    assert "[sources" not in settings_file(tmp_path).read_text("utf-8")
    kept = [path for path in tmp_path.rglob("*") if "vendor-contract" in path.name and folder not in path.parents]
    assert kept == [], "texts of converted documents are deleted with the source"


def test_a_published_repository_is_named_by_its_address(run: Run, tmp_path: Path, project: Path) -> None:
    typed = ("sources", "add", "qdrant://Q.example.com/acme/Billing", "--key", "env:BILLING_KEY")
    assert "carrel confirm qdrant q.example.com:6333" in run(*typed)[2]
    code, out, err = run(*typed, "--json")
    assert (code, one_json(out)["id"], one_json(out)["url"]) == (0, "acme-billing", "qdrant://q.example.com:6333/acme/Billing"), (
        err
    )
    assert run("sources", "add", "mine", "qdrant://localhost:1/billing")[0] == 0
    text = settings_file(tmp_path).read_text("utf-8")
    assert "[sources.acme-billing]" in text
    assert 'key = "env:BILLING_KEY"' in text
    code, out, _ = run("sources", "list", "--path", str(project))
    assert "mine: repository, error" in out
    assert "Nothing was sent to qdrant at q.example.com:6333: nobody allowed it yet" in out
    code, _, err = run("sources", "remove", "mine")
    assert (code, "What is published stays." in err) == (0, True)


def test_resources_of_an_mcp_server_are_a_source(run: Run, tmp_path: Path, project: Path) -> None:
    told = tmp_path / "told"
    told.write_text("Greet somebody.", "utf-8")
    server = Path(__file__).parents[1] / "mcp" / "tool_server.py"
    assert "there is no MCP server 't'" in run("sources", "add", "notes", "mcp://t")[2]
    assert run("tools", "add", "t", "--", sys.executable, str(server), str(told))[0] == 0
    code, _, err = run("sources", "add", "notes", "mcp://t/note://runbooks/")
    assert code == 0, err
    code, out, err = run("search", "restart the Phoenix server according to protocol", "--path", str(project), "--json")
    assert code == 0, err
    hits = [hit for hit in one_json(out)["hits"] if hit.get("sourceId") == "notes"]
    [path] = {hit["path"] for hit in hits}  # the draft has another prefix
    assert path == "@notes/runbooks/phoenix", "the name that the server gives it"
    assert {hit["note"].partition(",")[0] for hit in hits} == {"Restarting Phoenix"}
    assert any("tell the wombat desk" in hit["text"] for hit in hits)
    assert "AKIAQYLPMN5HHHFPZAM2" not in out, "secrets are masked"
    _, out, _ = run("sources", "list", "--path", str(project), "--index")
    assert "notes: mcp, ready, 1 file" in out
    assert "not read: note://runbooks/drawing: its kind, image/png, is no text" in out
    assert run("sources", "remove", "notes")[0] == 0
    assert [path for path in (tmp_path / "cache").rglob("*.md") if "wombat" in path.read_text("utf-8")] == []


def test_the_history_of_the_workspace_is_forgotten_with_its_source(run: Run, tmp_path: Path, project: Path) -> None:
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Add the wombat"]):
        person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        subprocess.run(["git", *person, *command], cwd=project, check=True)
    assert run("sources", "add", "history", "--git")[0] == 0
    assert run("sources", "list", "--index", "--path", str(project))[0] == 0

    def kept() -> list[Path]:
        texts = [path for path in (tmp_path / "cache").rglob("*.md") if "Add the wombat" in path.read_text("utf-8")]
        return texts + [path for path in (tmp_path / "cache").rglob("sources/indexes/*") if path.is_dir()]

    assert len(kept()) == 2
    assert run("sources", "remove", "history")[0] == 0
    assert kept() == []


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("add", "qdrant://h/a/b/c"), "is no name of a repository"),
        (("add", "qdrant://u:p@h/a"), "must hold no user name or password"),
        (("add", "ops", "qdrant://h/a", "--git"), "is no folder"),
        (("add", "ops", "qdrant://h/a", "--key", "sk-123456"), "says where the key is"),
        (("add", "ops", ".", "--key", "env:A"), "is for repositories"),
        (("add", "workspace", "."), "can't be the id of a source"),
        (("add", "ops"), "must name the folder"),
        (("add", "ops", "nowhere"), "is no folder"),
        (("remove", "ops"), "there are none"),
    ],
)
def test_what_cannot_be_a_source_is_named_and_nothing_is_written(
    run: Run, tmp_path: Path, typed: tuple[str, ...], said: str
) -> None:
    code, _, err = run("sources", *typed)
    assert (code, said in err) == (2, True), err
    assert not settings_file(tmp_path).exists()


def test_a_source_that_is_there_is_changed_and_keeps_the_rest(run: Run, tmp_path: Path) -> None:
    folder, other = write_documents(tmp_path / "runbooks"), write_documents(tmp_path / "moved")
    assert run("sources", "add", "ops", str(folder), "--description", "Runbooks", "--outdated-after", "365")[0] == 0
    code, _, err = run("sources", "add", "ops", str(other))
    assert (code, "was a source already" in err) == (0, True), err
    text = settings_file(tmp_path).read_text("utf-8")
    assert 'description = "Runbooks"' in text
    assert "outdatedAfterDays = 365" in text
    assert str(other.resolve()) in text
    assert run("sources", "add", "ops", "--outdated-after", "30")[0] == 0, "the folder need not be named again"
    assert "outdatedAfterDays = 30" in settings_file(tmp_path).read_text("utf-8")
