"""Options as sent to settings in force: the valid part counts, the rest is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.shop import write_files

from carrel.composition.composition import Composition
from carrel.model.errors import SettingsError
from carrel.model.native import CancelToken
from carrel.model.types import Budget
from carrel.settings import settings_docs
from carrel.settings.settings import Layer, Settings, resolve
from carrel.settings.settings_files import read_user, read_workspace
from carrel.system.jobs import Work
from carrel.upkeep.index_jobs import IndexRunner


def editor(**options: object) -> Layer:
    return Layer("editor", options)


def workspace(**options: object) -> Layer:
    return Layer(".carrel.toml", options, workspace=True, report_unknown=True)


def test_defaults_are_those_of_the_specification() -> None:
    settings, problems = resolve()
    assert (settings.rag_enabled, settings.rag_top_k, settings.rag_auto_index) == (False, 5, False)
    assert settings.budget == Budget(4_000, "chars")
    assert problems == ()


def test_later_layers_win_and_null_says_nothing() -> None:
    settings, _ = resolve(Layer("user", {"ragTopK": 7, "ragEnabled": True}), editor(ragTopK=3, ragEnabled=None))
    assert (settings.rag_top_k, settings.rag_enabled) == (3, True)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("ragTopK", 0),
        ("ragTopK", 21),
        ("ragTopK", "5"),
        ("ragTopK", True),
        ("ragEnabled", 1),
        ("budget", {"chars": 0}),
        ("budget", {"chars": 10, "tokens": 10}),
        ("budget", {"words": 10}),
        ("budget", 4000),
        ("exclude", "*.py"),
        ("storage", "desk"),
        ("cacheFolder", "relative/folder"),
        ("maxFileBytes", -1),
        ("chunking", "line"),
        ("chunkLines", 9),
        ("chunkLines", 50.5),
        ("chunkOverlap", -1),
        ("chunkOverlap", 26),
        ("classLines", 0),
    ],
)
def test_a_bad_value_is_reported_and_the_rest_stands(key: str, value: object) -> None:
    settings, problems = resolve(editor(**{key: value, "ragAutoIndex": True}))
    assert settings == Settings(rag_auto_index=True)
    assert [(problem.source, problem.key) for problem in problems] == [("editor", key)]


def test_a_bad_value_is_told_with_what_is_possible() -> None:
    _, problems = resolve(editor(chunking="line", chunkLines=2_000, classLines="all"), workspace(ragTopK=0))
    assert [str(problem) for problem in problems] == [
        'editor: chunking: must be "syntax" or "lines", not \'line\'',
        "editor: chunkLines: must be a whole number from 10 to 1,000, not 2000",
        "editor: classLines: must be a whole number from 1 to 1,000, not 'all'",
        ".carrel.toml: ragTopK: must be a whole number from 1 to 20, not 0",
    ]


def test_an_overlap_must_fit_the_chunks_whoever_set_their_size() -> None:
    settings, problems = resolve(editor(chunkOverlap=20), workspace(chunkLines=20))
    assert (settings.chunk_lines, settings.chunk_overlap) == (20, 5)
    assert [str(problem) for problem in problems] == [
        "editor: chunkOverlap: must be at most half of `chunkLines`, which is 20, not 20"
    ]
    settings, problems = resolve(editor(chunkOverlap=30), workspace(chunkLines=60))
    assert (settings.chunk_lines, settings.chunk_overlap, problems) == (60, 30, ())


def test_a_workspace_says_how_its_files_are_cut() -> None:
    settings, problems = resolve(
        editor(chunkLines=20, classLines=10), workspace(chunking="lines", chunkLines=100, chunkOverlap=10, classLines=300)
    )
    assert (settings.chunking, settings.chunk_lines, settings.chunk_overlap, settings.class_lines) == ("lines", 100, 10, 300)
    assert problems == ()


def test_changed_chunks_cut_the_index_again(tmp_path: Path) -> None:
    methods = "".join(f"    def step_{n}(self):\n        return self.values[{n}] + {n}\n\n" for n in range(40))
    root = write_files(tmp_path / "root", {"a.py": f"class Machine:\n    values = ()\n\n{methods}", "b.txt": "a word\n" * 12})
    cache = {"cacheFolder": str(tmp_path / "cache")}

    def cut(**options: object) -> tuple[int, list[str]]:
        """How many files were cut, and the chunks of a.py: the first three."""
        settings, problems = resolve(editor(**cache, **options))
        assert problems == ()
        index = Composition().open_index(root, settings)
        try:
            report = IndexRunner().run_blocking(index, Work(full=True), CancelToken(), lambda *_: None)
            chunks = index.store.snapshot().file_chunks("a.py")[:3]
            return report.added + report.changed, [f"{c.start_line}-{c.end_line} {c.symbol or c.kind}" for c in chunks]
        finally:
            index.store.close()

    by_syntax = cut()
    assert by_syntax == (2, ["1-5 Machine (header)", "7-8 Machine.step_1", "10-11 Machine.step_2"])
    assert cut(chunking="lines") == (2, ["1-50 lines", "46-95 lines", "91-122 lines"])
    assert cut(chunking="lines", chunkLines=20, chunkOverlap=0) == (2, ["1-20 lines", "21-40 lines", "41-59 lines"])
    assert cut(chunking="lines", chunkLines=20, chunkOverlap=0, classLines=300)[0] == 0, "no chunk depends on it"
    assert cut(classLines=300) == (2, ["1-122 Machine"])
    assert cut() == by_syntax
    assert cut(chunkLines=100)[0] == 0, "no chunk depends on it"


def test_a_pattern_that_is_none_is_named_and_the_others_count() -> None:
    settings, problems = resolve(
        editor(exclude=["*.gen.ts", "keys[", "!keep.ts", "a/{b"], excludedFolders=["old", "x["]), workspace(exclude=["c["])
    )
    assert (settings.exclude, settings.excluded_folders) == (("*.gen.ts", "!keep.ts"), ("old",))
    assert [(p.source, p.key, p.message.partition(" leaves")[0]) for p in problems] == [
        ("editor", "exclude", "'keys['"),
        ("editor", "exclude", "'a/{b'"),
        ("editor", "excludedFolders", "'x['"),
        (".carrel.toml", "exclude", "'c['"),
    ]
    assert "unclosed character class" in problems[0].message


def test_a_folder_comes_back_and_what_was_said_last_of_it_counts(tmp_path: Path) -> None:
    for name in ("a.py", "build/b.py", ".tool/c.py", "out/d.py", "mine/e.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("def alpha(value):\n    return value + 1  # long enough to be a chunk\n")

    def paths(*layers: Layer) -> list[str]:
        settings, problems = resolve(editor(storage="workspace"), *layers)
        assert problems == ()
        index = Composition().open_index(tmp_path, settings)
        try:
            return [
                path for path in ("a.py", "build/b.py", ".tool/c.py", "out/d.py", "mine/e.py") if not index.store.refusal(path)
            ]
        finally:
            index.store.close()

    assert paths() == ["a.py", "mine/e.py"]
    back = editor(excludedFolders=["!build", "!.tool", "mine", "!nowhere"])
    assert paths(back) == ["a.py", "build/b.py", ".tool/c.py"]
    assert paths(back, workspace(excludedFolders=["build", ".tool"])) == ["a.py"]
    assert paths(editor(excludedFolders=["build", "!build"])) == ["a.py", "build/b.py", "mine/e.py"]


def test_what_the_editor_excludes_comes_before_a_persons_own_patterns(tmp_path: Path) -> None:
    root = write_files(tmp_path / "root", dict.fromkeys(("shown.gen.py", "hidden.gen.py", "own/a.py", "kept.py"), "x = 1\n"))
    settings, _ = resolve(
        editor(editorExclude=["**/*.gen.py"], exclude=["!shown.gen.py"], cacheFolder=str(tmp_path / "cache")),
        workspace(exclude=["/own/"]),
    )
    index = Composition().open_index(root, settings)
    IndexRunner().run_blocking(index, Work(full=True), CancelToken(), lambda *_: None)
    assert sorted(index.store.snapshot().paths()) == ["kept.py", "shown.gen.py"]
    index.store.close()


def test_the_editors_languages_count_where_carrel_knows_them_and_a_person_says_nothing_else(tmp_path: Path) -> None:
    files = {"a.inc": "<?php\nfunction load_account($id) {\n    return find($id);\n}\n", "b.box": "def open_box(): pass\n"}
    root = write_files(tmp_path / "root", files)
    associations = {"*.inc": "php", "*.box": "shellscript", "*.x": "no-such-language", "[z-a]": "python"}
    settings, problems = resolve(
        editor(editorLanguages=associations, languages={"b.box": "python"}, cacheFolder=str(tmp_path / "cache"))
    )
    assert problems == ()
    assert settings.editor_languages == (("*.inc", "php"), ("*.box", "bash"))
    index = Composition().open_index(root, settings)
    IndexRunner().run_blocking(index, Work(full=True), CancelToken(), lambda *_: None)
    assert index.store.snapshot().languages() == {"php": 1, "python": 1}
    index.store.close()


def test_unknown_keys_are_reported_where_a_person_typed_them() -> None:
    assert resolve(editor(serverPath="x"))[1] == ()
    assert [p.key for p in resolve(Layer("user", {"ragEnable": True}, report_unknown=True))[1]] == ["ragEnable"]


def test_a_workspace_narrows() -> None:
    settings, problems = resolve(
        editor(ragEnabled=True, exclude=["a"], maxFileBytes=100_000, ragTopK=10),
        workspace(ragEnabled=False, exclude=["b", "a"], maxFileBytes=50_000, ragTopK=3),
    )
    assert (settings.rag_enabled, settings.exclude, settings.max_file_bytes, settings.rag_top_k) == (False, ("a", "b"), 50_000, 3)
    assert problems == ()


@pytest.mark.parametrize(
    "options",
    [
        {"ragEnabled": True},
        {"ragAutoIndex": True},
        {"exclude": ["!secret.key"]},
        {"excludedFolders": ["!build"]},
        {"storage": "workspace"},
        {"cacheFolder": "/var/elsewhere"},
        {"budget": {"chars": 9_000_000}},
        {"logLevel": "debug"},
        {"tokenizer": "cl100k_base"},
    ],
)
def test_a_workspace_never_widens(options: dict[str, object]) -> None:
    base = editor(exclude=["*.key"])
    settings, problems = resolve(base, workspace(**options))
    assert settings == resolve(base)[0]
    assert [problem.key for problem in problems] == list(options)


def test_a_workspace_cannot_raise_limits() -> None:
    settings, _ = resolve(editor(ragTopK=2), workspace(ragTopK=20, maxFileBytes=50_000_000))
    assert (settings.rag_top_k, settings.max_file_bytes) == (2, 500_000)


@pytest.mark.parametrize(
    ("values", "budget", "places"),
    [
        ({}, Budget(4_000, "chars"), 5),
        ({}, Budget(8_000, "tokens"), 26),
        ({}, Budget(100_000, "tokens"), 50),
        ({"ragTopK": 3}, Budget(8_000, "tokens"), 3),
        ({"ragTopK": 20}, Budget(100, "tokens"), 20),
    ],
)
def test_a_larger_budget_has_more_places_unless_somebody_says_how_many(
    values: dict[str, int], budget: Budget, places: int
) -> None:
    assert resolve(editor(**values))[0].places(budget) == places


@pytest.mark.parametrize(("name", "text"), [("settings.toml", "ragTopK = 9\n"), ("settings.json", '\ufeff{"ragTopK": 9}')])
def test_the_user_file_is_toml_or_json(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    assert resolve(read_user(path))[0].rag_top_k == 9


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (b"ragTopK = 3\nexclude = ['*.sql'\n", "at end of document"),
        (b"exclude = 1 2", "at line 1, column 13"),
        (b"\nx = '\xff'", "at line 2, column 6"),
        (b"x = " + b"[" * 5_000, "nested too deep"),
        (b"a = 1\n" * 200_000, "larger than 1,000,000 bytes"),
    ],
)
def test_an_unreadable_file_stops_what_would_read_the_workspace(tmp_path: Path, text: bytes, cause: str) -> None:
    path = tmp_path / ".carrel.toml"
    path.write_bytes(text)
    with pytest.raises(SettingsError) as error:
        read_workspace(tmp_path)
    assert str(path) in str(error.value)
    assert cause in str(error.value)
    assert "Correct or remove it" in str(error.value)


def test_a_linked_workspace_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("ragTopK = 1\n")
    root = tmp_path / "root"
    root.mkdir()
    (root / ".carrel.toml").symlink_to(tmp_path / "mine.toml")
    with pytest.raises(SettingsError, match="a link"):
        read_workspace(root)


def test_no_file_is_no_problem(tmp_path: Path) -> None:
    assert read_workspace(tmp_path).options == read_user(tmp_path / "none.toml").options == {}


def test_the_documentation_is_up_to_date() -> None:
    assert Path("docs/settings.md").read_text("utf-8") == settings_docs.render(), "run python -m carrel.settings.settings_docs"


def test_what_may_go_out_unmasked_is_the_persons_alone_to_say() -> None:
    own = Layer("settings.toml", {"secretAllowPaths": ["tests/**"], "secretAllowRules": ["token"]}, personal=True)
    settings, problems = resolve(own)
    assert (settings.secret_allow_paths, settings.secret_allow_rules, problems) == (("tests/**",), ("token",), ())
    for layer in (editor(secretAllowPaths=["**"]), workspace(secretAllowPaths=["**"])):
        settings, [problem] = resolve(own, layer)
        assert settings.secret_allow_paths == ("tests/**",)
        assert "only in your own settings file" in str(problem)
    settings, _ = resolve(editor(secretPatterns=["A-\\d+"]), workspace(secretPatterns=["B-\\d+"]))
    assert settings.secret_patterns == ("A-\\d+", "B-\\d+")
    settings, [problem] = resolve(editor(secretPatterns=["(", "C"]))
    assert settings.secret_patterns == ("C",)
    assert "'(' counts for nothing" in str(problem)


def test_other_rules_for_secrets_need_the_index_anew() -> None:
    assert Composition().needs_reopening(Settings(), Settings(secret_patterns=("A",)))


@pytest.mark.parametrize(
    "changed", [Settings(chunking="lines"), Settings(chunk_lines=20), Settings(chunk_overlap=0), Settings(class_lines=300)]
)
def test_other_chunks_need_the_index_anew(changed: Settings) -> None:
    assert Composition().needs_reopening(Settings(), changed)
    assert not Composition().needs_reopening(changed, changed)


def test_an_editor_cannot_name_the_program_of_a_store() -> None:
    store = {"kind": "qdrant", "program": "/clone/qdrant"}
    settings, problems = resolve(editor(store=store))
    assert (settings.store.kind, settings.store.program) == ("qdrant", "")
    assert ["`program`" in str(problem) for problem in problems] == [True]
    assert resolve(Layer("settings.toml", {"store": store}, personal=True))[0].store.program == "/clone/qdrant"
