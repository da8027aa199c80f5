"""The receipt: what was given and why, and changing it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.neovim.conftest import Edit
from tests.neovim.nvim import Neovim

GONE = "return vim.fn.search('\\\\V' .. args[1], 'nw') == 0"
SHOWN = "return vim.fn.search('\\\\V' .. args[1], 'nw') > 0"


def ask(nvim: Neovim, question: str = "how is a login checked") -> None:
    told = len(nvim.notes())
    nvim.command(f"Carrel context {question}")
    nvim.wait(
        "for i = args[1] + 1, #notes do if notes[i].text:find('tokens in register', 1, true) then return true end end", told
    )
    nvim.command("Carrel receipt")


def press(nvim: Neovim, key: str, line: str) -> None:
    """Press a key on the line that contains some words."""
    nvim.lua("vim.fn.cursor(vim.fn.search('\\\\V' .. args[1], 'cw'), 1)", line)
    nvim.lua("vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(args[1], true, false, true), 'xt', false)", key)


@pytest.mark.every_neovim
def test_receipt_lists_places_scores_words_and_the_text(edit: Edit) -> None:
    nvim = edit(register="c")
    nvim.command("Carrel receipt")
    assert "no context was asked for yet" in nvim.notes()[0]
    ask(nvim)
    text = nvim.text()
    assert text.startswith("# how is a login checked\n\nshown to you, not sent\n")
    assert re.search(r"^Budget: [\d,]+ of 4,000 characters, \d places, ", text, re.MULTILINE), text
    assert "Sent while searching: nothing, it ran on this machine" in text
    assert re.search(r"^- src/auth\.py:1-4 · 0\.\d\d · Defines authenticate_user and holds .*“login”", text, re.MULTILINE), text
    assert re.search(r"^Confidence: 0\.\d\d that the project holds anything", text, re.MULTILINE), text
    assert nvim.lua("return vim.fn.getreg('c')") in text


def test_receipt_says_where_a_question_went(edit: Edit, env: dict[str, str], tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "restart.md").write_text("# Restart of the shop\n\nTake the host off the load balancer, then restart the shop.\n")
    settings = Path(env["XDG_CONFIG_HOME"]) / "carrel" / "settings.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(f"[sources.ops]\nfolder = '{notes}'\n[sources.past]\nkind = 'git'\n")
    nvim = edit()
    ask(nvim, "restart the shop according to protocol")
    assert re.search(r"^Searched: ops, \w", nvim.text(), re.MULTILINE), nvim.text()
    ask(nvim)
    assert "Not searched: past: nothing in the question speaks for it" in nvim.text()


@pytest.mark.every_neovim
def test_a_place_can_be_opened(edit: Edit) -> None:
    nvim = edit()
    ask(nvim)
    press(nvim, "<CR>", "src/auth.py:1-4")
    assert nvim.lua("return vim.fn.expand('%:t')") == "auth.py"


def test_a_place_says_why_it_was_picked(edit: Edit) -> None:
    nvim = edit()
    ask(nvim)
    press(nvim, "K", "src/auth.py:1-4")
    windows = "for _, w in ipairs(vim.api.nvim_list_wins()) do if vim.api.nvim_win_get_config(w).relative ~= '' then "
    read = "return table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(w), 0, -1, false), '\\n') end end"
    why = nvim.wait(windows + read)
    assert why.startswith("Defines authenticate_user and holds ")
    score = float(re.search(r"^How the score adds up: (.*)$", why, re.MULTILINE)[1])  # type: ignore[index]
    shares = re.findall(r"^([+\u2212])(\d\.\d\d)  (.*)$", why, re.MULTILINE)
    assert "words of the question" in {words for _, _, words in shares}
    assert abs(sum(float(share) * (1 if sign == "+" else -1) for sign, share, _ in shares) - score) < 0.015, why


def test_a_file_can_be_pinned_and_let_go(edit: Edit) -> None:
    nvim = edit(file="README.md")
    ask(nvim)
    press(nvim, "p", "README.md:")
    nvim.wait("return vim.fn.search('README.md:.*s pinned by you', 'nw') > 0")
    press(nvim, "p", "README.md:")
    nvim.wait("return vim.fn.search('README.md:.*s pinned by you', 'nw') == 0")
    assert nvim.lua("return require('carrel.receipt').last().query") == "how is a login checked"


def test_one_place_can_be_left_out_and_taken_in_again(edit: Edit, project: Path) -> None:
    functions = [
        'def stamp_parcel(weight):\n    """Stamp a parcel by its weight."""\n    first = weight * 2\n    return first + 1\n',
        *(f"def fold_{i}(paper):\n    return paper.half({i})\n" for i in range(20)),
        'def stamp_letter(weight):\n    """Stamp a letter by its weight."""\n    second = weight * 3\n    return second + 2\n',
    ]
    (project / "src/post.py").write_text("\n\n".join(functions))
    nvim = edit()
    ask(nvim, "how is a parcel or a letter stamped by its weight")
    first = re.search(r"src/post\.py:1-\d+", nvim.text())
    assert first, nvim.text()
    place = first.group()
    press(nvim, "x", place)
    nvim.wait(SHOWN, "Excluded by you")
    text = nvim.text()
    assert "first = weight" not in text
    assert "second = weight" in text, "the rest of the file may still answer"
    assert text.count(place) == 1, "what the person left out is told once"
    press(nvim, "x", place)
    nvim.wait(GONE, "Excluded by you")
    assert "first = weight" in nvim.text()


def test_a_file_can_be_left_out_and_taken_in_again_without_its_namesakes(edit: Edit, project: Path) -> None:
    (project / "docs").mkdir()
    (project / "docs/README.md").write_text("# Invoices\n\nAn invoice is printed on yellow paper by the clerk.\n")
    (project / "README.md").write_text("# Letters\n\nA letter is printed on yellow paper by the postman.\n")
    nvim = edit()
    ask(nvim, "printed on yellow paper")
    press(nvim, "X", "- README.md:")
    nvim.wait(SHOWN, "Excluded by you")
    assert nvim.lua(GONE, "- README.md:")
    assert nvim.lua(SHOWN, "docs/README.md:")
    press(nvim, "x", "- {README.md,")
    nvim.wait(GONE, "Excluded by you")
    assert nvim.lua(SHOWN, "- README.md:")


def test_the_project_that_was_asked_is_asked_again(edit: Edit, project: Path, tmp_path: Path) -> None:
    nvim = edit(cwd=tmp_path)
    nvim.command(f"edit {project / 'src/auth.py'}")
    ask(nvim)
    press(nvim, "x", "src/auth.py:1-4")
    nvim.wait(SHOWN, "Excluded by you")
    assert nvim.lua(SHOWN, "- src/auth.py:1-4")
    assert len(nvim.server_pids()) == 1


def test_the_question_can_be_repeated_after_an_edit(edit: Edit) -> None:
    nvim = edit(file="src/auth.py")
    ask(nvim)
    nvim.command("wincmd p")
    nvim.lua("vim.api.nvim_buf_set_lines(0, 1, 1, false, {'    # how a login is checked by moonlight'})")
    nvim.command("wincmd p")
    press(nvim, "r", "# how")
    nvim.wait("return vim.fn.search('moonlight', 'nw') > 0")


def test_review_asks_before_a_chat_gets_anything(edit: Edit) -> None:
    nvim = edit(review=True)
    nvim.lua("choose = 2; require('carrel.config').current.chat = function(q) sent = q end")
    nvim.command("Carrel ask how is a login checked")
    nvim.wait("return #asked > 0")
    assert nvim.lua("return sent") is None
    nvim.command("Carrel receipt")
    assert "\nnot sent: you declined\n" in nvim.text()
    assert "carrel://receipt" in nvim.lua("return vim.api.nvim_buf_get_name(0)")
    nvim.lua("choose = 1")
    nvim.command("Carrel ask how is a login checked")
    assert nvim.wait("return sent") == "how is a login checked"
    nvim.command("Carrel receipt")
    assert "\nsent to your chat\n" in nvim.text()
