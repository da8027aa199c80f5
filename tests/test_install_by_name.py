"""No text tells people to install Carrel by a name that nobody holds, and no program does: who takes the name runs code there.

docs/publishing.md says what is to be reserved first. Packages of others may be named.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NAME = re.compile(r"(?<![\w-])carrel[-_]context(?![\w])")
"""The distribution's name. `x-carrel-context` is a header."""
ALLOWED = {
    "pyproject.toml": r'^name = "carrel-context"$|^carrel-context = "carrel\.__main__:main"  #',
    "requirements/dev.txt": r"^ +# +(via )?carrel-context \(pyproject\.toml\)$",
    "python/carrel/model/installation.py": r'^DISTRIBUTION = "carrel-context"$',
    ".github/workflows/release.yml": r"publish --trusted-publishing always dist/carrel_context-\*$",
    "tests/release/test_workflows.py": r"dist/carrel_context-\*",
    "docs/examples/Containerfile": r"--no-index --find-links /tmp/wheels carrel_context ",
    "tests/release/packages.py": r'pattern = f"carrel_context-',
    "tests/release/test_packages.py": r'f"carrel_context-\{VERSION\}|carrel_context\[\^',
    "docs/editors.md": r"\(defun carrel-context |M-x carrel-context`",
    "docs/publishing.md": "",
    "CHANGELOG.md": "",  # what was
    "tests/test_install_by_name.py": "",
    "tests/frontends/cli/test_extras.py": r'wanted = \["carrel-context"\]|"carrel-context" not in',
    # The file of a wheel, and its folder of metadata.
    "editors/intellij/core/src/test/java/carrel/server/RealMachineTest.java": "",
    "editors/intellij/plugin/src/main/assembly/plugin.xml": r"<include>carrel_context-\*\.whl</include>",
    "editors/intellij/plugin/src/test/java/carrel/ide/PluginZipIT.java": r"carrel_context-\[\^/\]\+",
    "editors/intellij/lsp4ij-template/installer.json": r"/PATH/TO/carrel_context\.whl",
    "editors/intellij/lsp4ij-template/README.md": r"/PATH/TO/carrel_context\.whl",
}
BY_NAME = re.compile(
    r"""(?:\b(?:install|uvx|npx)\b|\bpipx\ run\b|\b(?:uv|poetry|npm|yarn|pnpm|bun|cargo)\ add\b
        |--install-extension|--upgrade|--from)
        (?:[\ \t"',=]+-[\w-]+(?:[\ =]\d\S*)?)*                   # options
        [\ \t"',=]+(?:carrel(?:[-_]context)?|carrel\.carrel)
        (?=[\s"'`\[\])<>=~,;:]|\.?$|\.\s)""",
    re.VERBOSE | re.MULTILINE,
)
"""A command of an installer that has one of our names behind it, as words or as a list of arguments."""


def tracked() -> list[str]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in done.stdout.split("\0") if name]


def text_of(name: str) -> str:
    file = ROOT / name
    data = file.read_bytes() if file.is_file() and not file.is_symlink() else b""
    return "" if b"\0" in data[:8_000] else data.decode("utf-8", "replace")


def test_nothing_installs_or_advises_to_install_by_name() -> None:
    advice = []
    for name in tracked():
        text = text_of(name)
        for line in (line for line in text.splitlines() if NAME.search(line)) if NAME.search(text) else ():
            allowed = ALLOWED.get(name)
            if allowed is None or not re.search(allowed, line):
                advice.append(f"{name}: {line.strip()[:160]}")
        if name not in ("docs/publishing.md", "CHANGELOG.md", "tests/test_install_by_name.py"):
            advice += [f"{name}: {match[0]}" for match in BY_NAME.finditer(text)]
    assert not advice, "see docs/publishing.md: " + "\n".join(advice)


@pytest.mark.parametrize(
    "advice",
    [
        "pip install carrel",
        "pip install --upgrade carrel-context",
        "python -m pip install -U 'carrel-context[mcp]'",
        "uv tool install carrel",
        "run `uvx carrel`",
        "uvx --from carrel carrel serve",
        "pipx run carrel",
        "npm install carrel",
        "brew install carrel.",
        "luarocks install carrel",
        "cargo install carrel",
        "code --install-extension carrel.carrel",
        '["-m", "pip", "install", "--upgrade", "carrel"]',
    ],
)
def test_such_advice_is_seen(advice: str) -> None:
    assert BY_NAME.search(advice)


@pytest.mark.parametrize(
    "advice",
    [
        "pip install .",
        "pip install '.[mcp]'",
        "pip install /path/to/carrel",
        '"python" -m pip install "mcp>=2,<3"',
        "carrel mcp install --client zed",
        "npx --prefix tests/frontends/mcp/clients mcp-inspector --cli carrel mcp",
        "Install Carrel from a checkout",
    ],
)
def test_other_advice_may_stand(advice: str) -> None:
    assert not BY_NAME.search(advice)
