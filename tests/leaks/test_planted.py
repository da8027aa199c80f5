"""None of some two hundred planted secrets comes out, whoever asks and however."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.leaks.planted import Planted, by_content, by_name, write

from carrel import Index
from carrel.frontends.cli import main
from carrel.model.native import (
    CancelToken,
    CutOptions,
    Embedder,
    ParsedQuery,
    SecretOptions,
    Snapshot,
    Store,
    WalkOptions,
    list_secrets,
)
from carrel.search.retriever import to_chunk

SEED = 20
PLANTED = [*by_content(SEED, 0), *by_name(SEED)]


def leaked(text: str, planted: list[Planted] = PLANTED) -> list[str]:
    """Which files' secrets a text holds."""
    return [one.path for one in planted if any(secret in text for secret in one.secrets)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("planted")
    write(root, PLANTED)
    # Hidden folders are left out anyway: here they must not be why a secret doesn't come out.
    (root / ".carrelignore").write_text("".join(f"!{name}/\n" for name in (".docker", ".kube", ".aws", ".ssh", ".m2", ".vscode")))
    return root


def open_store(root: Path, index: Path, **secrets: Any) -> Store:
    return Store.open(
        str(index),
        str(root),
        embedder_id=Embedder.hashed().id,
        dim=Embedder.hashed().dim,
        walk=WalkOptions(),
        cut=CutOptions(min_chars=1),
        secrets=SecretOptions(**secrets),
    )


def run(store: Store, *, force: bool = False) -> list[str]:
    """Index everything; gives all that an embedder was shown."""
    token, shown = CancelToken(), []
    plan = store.force(token) if force else store.scan(token)
    while (batch := store.cut(plan, token)) is not None:
        shown += batch.texts()
        batch.embed(Embedder.hashed(), token)
        store.commit(batch, token)
    return shown


def everything(view: Snapshot) -> str:
    """All that a snapshot gives out."""
    told: list[str] = []
    for path in view.paths():
        told.append(view.text(path) or "")
        chunks = view.file_chunks(path)
        told += [f"{info.symbol} {info.signature} {info.container} {info.definitions}" for info in chunks]
        for fresh in view.read_current([info.doc for info in chunks], CancelToken()):
            assert not isinstance(fresh, str), fresh
            told += [fresh.text, *fresh.imports]
            told.append(view.lines(path, fresh.info.start_line, fresh.info.end_line) or "")
    return "\n".join(told)


def test_nothing_planted_is_indexed_or_given(folder: Path, tmp_path: Path) -> None:
    store = open_store(folder, tmp_path / "index")
    shown = run(store)
    assert leaked("\n".join(shown)) == []
    view = store.snapshot()
    assert leaked(everything(view)) == []
    inside = {one.path for one in PLANTED if one.path.startswith("inside/")}
    assert inside <= set(view.paths()), "files that people need are still there"
    assert not [path for path in view.paths() if path.startswith("named/")]
    secret = ParsedQuery("", by_content(SEED, 1)[0].secrets[0])
    found = view.find([secret], pool=5, floor=1.0, filter=None, pinned=None, active_path=None, cancel=CancelToken())
    assert found == [([], [])], "no word of it is known"
    store.close()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_other_secrets_are_found_as_well(tmp_path: Path, seed: int) -> None:
    planted = by_content(seed, 0)
    write(tmp_path / "code", planted)
    store = open_store(tmp_path / "code", tmp_path / "index")
    run(store)
    assert leaked(everything(store.snapshot()), planted) == []
    store.close()


def test_unsaved_buffers_are_masked(tmp_path: Path) -> None:
    planted = by_content(SEED, 0)
    with Index() as index:
        for one in planted:
            index.add_file(one.path, one.text)
        told = [
            hit.content for name in ("password", "connect to the client", "token access key") for hit in index.search(name, 90)
        ]
        told += [index.context("password token key", 1_000_000, k=100).text, index.search_code("password", 50)]
    assert sum(map(len, told)) > 5_000
    assert leaked("\n".join(told), planted) == []


def test_lines_and_columns_stay_those_of_the_file(tmp_path: Path) -> None:
    word = by_name(SEED)[0].secrets[0]
    text = f"def f():\n    connect(password='{word}1', then=g)  # é\n\ndef g():\n    return 1\n"
    (tmp_path / "a.py").write_text(text)
    store = open_store(tmp_path, tmp_path / "index")
    run(store)
    view = store.snapshot()
    for fresh in view.read_current([info.doc for info in view.file_chunks("a.py")], CancelToken()):
        assert not isinstance(fresh, str)
        chunk = to_chunk(fresh)
        lines = text.splitlines()[chunk.span.start_line - 1 : chunk.span.end_line]
        assert chunk.text.count("\n") == len(lines) - 1
        assert (chunk.span.start_character, chunk.span.end_character) == (0, len(lines[-1]))
        assert chunk.masked == chunk.text.count("[secret: password]") == "\n".join(lines).count(word)
    store.close()


def test_other_rules_make_the_index_anew(tmp_path: Path) -> None:
    write(tmp_path / "code", [Planted("a.py", "order = 'ACME-123456'\npassword = 'hunter22'\n", ())])

    def told(**secrets: Any) -> str:
        store = open_store(tmp_path / "code", tmp_path / "index", **secrets)
        run(store)
        text = everything(store.snapshot())
        store.close()
        return text

    assert "ACME-123456" in told()
    assert "'[secret: custom]'" in told(patterns=["ACME-\\d+"])
    assert "hunter22" in told(allow_rules=["password"])
    assert "hunter22" in told(allow_paths=["*.py"])
    assert "hunter22" not in told()


def test_the_command_shows_places_and_no_values(
    folder: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert main(["secrets", str(folder), "--json"]) == 0
    told = capsys.readouterr().out
    assert leaked(told) == []
    seen = json.loads(told)
    assert {"path": "inside/config.toml", "line": 3, "kind": "password"} in seen["secrets"]
    named = {entry["path"]: entry["kind"] for entry in seen["secrets"] if entry["line"] is None}
    assert named["named/.env"] == "secret by its name"
    assert named["named/other/account.json"] == "secret: service account key"
    assert seen["masked"] >= 106
    assert main(["secrets", str(folder)]) == 0
    lines = capsys.readouterr().out
    assert "inside/config.toml:3: password, masked" in lines
    assert leaked(lines) == []
    assert main(["secrets", str(folder / "nowhere")]) == 2


def test_a_pattern_that_is_none_is_refused() -> None:
    for wrong in ({"patterns": ["("]}, {"allow_paths": ["[a"]}):
        with pytest.raises(Exception, match="not valid"):
            SecretOptions(**wrong)
    with pytest.raises(Exception, match="x-no-such-folder"):
        list_secrets("/x-no-such-folder", WalkOptions(), SecretOptions(), CancelToken())
