"""Write what package managers take, beside a release's wheels: `python -m tests.release.packages DIST REPOSITORY`.

REPOSITORY is the project's address at its host, where the release's files will lie. Written are a Homebrew formula (`carrel.rb`,
for a tap), a Scoop manifest (`carrel.json`), the MCP registry's `server.json`, Neovim's part as an archive with its rockspec, and
the server's locked packages (`server.txt`), which formula and manifest install by hash.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[2]
NEOVIM = ROOT / "editors/neovim"
PROJECT: Any = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
VERSION: str = PROJECT["version"]
SUMMARY = "The right pages of your own code in front of every chat request"
"""At most 80 characters for Homebrew, 100 for the MCP registry."""
MCP = next(text for text in PROJECT["optional-dependencies"]["mcp"] if text.startswith("mcp"))
WHEELS = {
    ("macos", "arm"): "macosx*arm64",
    ("macos", "intel"): "macosx*x86_64",
    ("linux", "arm"): "manylinux*aarch64",
    ("linux", "intel"): "manylinux*x86_64",
    ("windows", "intel"): "win_amd64",
}


class Release:
    """The files of a release and their addresses."""

    def __init__(self, folder: Path, repository: str) -> None:
        """Take DIST and REPOSITORY as the command line has them; raise `ValueError` for an address that isn't one."""
        self.folder = folder
        self.repository = repository.rstrip("/")
        if urlsplit(self.repository).scheme != "https" or self.repository.count("/") != 4:
            raise ValueError(f"{repository} is not https://HOST/OWNER/NAME: name the project's address")

    def url(self, name: str) -> str:
        """Return where this file of the release will lie."""
        return f"{self.repository}/releases/download/v{VERSION}/{name}"

    def sha256(self, name: str) -> str:
        """Return the hash of a file of the release."""
        return hashlib.sha256((self.folder / name).read_bytes()).hexdigest()

    def wheel(self, system: str, processor: str) -> str:
        """Return the one wheel for a platform; raise `FileNotFoundError` where none or several are there."""
        pattern = f"carrel_context-{VERSION}-*{WHEELS[system, processor]}.whl"
        names = [file.name for file in self.folder.glob(pattern)]
        if len(names) != 1:
            raise FileNotFoundError(f"{len(names)} files are called {pattern} in {self.folder}: .ci/wheels builds them")
        return names[0]


def formula(release: Release) -> str:
    """Return a Homebrew formula that installs the wheel into a virtual environment of its own."""
    platforms = ""
    for system in ("macos", "linux"):
        platforms += f"  on_{system} do\n"
        for processor in ("arm", "intel"):
            wheel = release.wheel(system, processor)
            platforms += f'    on_{processor} do\n      url "{release.url(wheel)}", using: :nounzip\n'
            platforms += f'      sha256 "{release.sha256(wheel)}"\n    end\n'
        platforms += "  end\n"
    return f"""\
class Carrel < Formula
  desc "{SUMMARY}"
  homepage "{release.repository}"
  version "{VERSION}"
  license "{PROJECT["license"]}"

{platforms}
  depends_on "python@3.13"

  resource "packages" do
    url "{release.url("server.txt")}"
    sha256 "{release.sha256("server.txt")}"
  end

  def install
    system "python3.13", "-m", "venv", libexec
    resource("packages").stage do
      system libexec/"bin/pip", "install", "--require-hashes", "--only-binary", ":all:", "-r", "server.txt"
    end
    system libexec/"bin/pip", "install", "--no-deps", "--no-index", *Dir["*.whl"]
    bin.install_symlink libexec/"bin/carrel"
  end

  test do
    system bin/"carrel", "selftest"
  end
end
"""


def scoop(release: Release) -> dict[str, Any]:
    """Return a Scoop manifest that does the same on Windows."""
    wheel = release.wheel("windows", "intel")
    python = '& "$dir\\venv\\Scripts\\python.exe" -m pip install --quiet --disable-pip-version-check'
    failed = "if ($LASTEXITCODE) { abort 'pip could not install Carrel: what it printed above says why' }"
    return {
        "version": VERSION,
        "description": SUMMARY,
        "homepage": release.repository,
        "license": PROJECT["license"],
        "depends": "python",
        "architecture": {
            "64bit": {
                "url": [release.url(name) for name in (wheel, "server.txt")],
                "hash": [release.sha256(name) for name in (wheel, "server.txt")],
            }
        },
        "installer": {
            "script": [
                'python -m venv "$dir\\venv"',
                f'{python} --require-hashes --only-binary :all: -r "$dir\\server.txt"',
                failed,
                f'{python} --no-deps --no-index "$dir\\{wheel}"',
                failed,
            ]
        },
        "bin": "venv\\Scripts\\carrel.exe",
    }


def mcp_server(release: Release) -> dict[str, Any]:
    """Return the MCP registry's entry: the package on PyPI, run by uv with MCP's SDK beside it."""
    owner = urlsplit(release.repository).path.split("/")[1]
    host = ".".join(reversed((urlsplit(release.repository).hostname or "").replace("github.com", "github.io").split(".")))
    return {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": f"{host}.{owner}/carrel",
        "description": SUMMARY,
        "version": VERSION,
        "repository": {"url": release.repository, "source": "github"},
        "packages": [
            {
                "registryType": "pypi",
                "identifier": PROJECT["name"],
                "version": VERSION,
                "runtimeHint": "uvx",
                "runtimeArguments": [{"type": "named", "name": "--with", "value": MCP}],
                "packageArguments": [{"type": "positional", "value": "mcp"}],
                "transport": {"type": "stdio"},
            }
        ],
    }


def neovim(release: Release) -> tuple[str, str]:
    """Write Neovim's part as an archive, the same bytes each time; return the name of its rockspec and its text."""
    name = f"carrel.nvim-{VERSION}"
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        files = [(file.relative_to(NEOVIM), file) for file in NEOVIM.rglob("*")]
        files.append((Path("LICENSE"), ROOT / "LICENSE"))
        for inside, file in sorted(files):
            if file.is_file() and inside.name != "tags":  # Neovim writes the tags of help itself
                entry = tarfile.TarInfo(f"{name}/{inside.as_posix()}")
                entry.size = file.stat().st_size
                with file.open("rb") as content:
                    archive.addfile(entry, content)
    (release.folder / f"{name}.tar.gz").write_bytes(gzip.compress(data.getvalue(), mtime=0))
    modules = "".join(
        f'         ["{".".join(file.relative_to(NEOVIM / "lua").with_suffix("").parts).removesuffix(".init")}"]'
        f' = "{file.relative_to(NEOVIM).as_posix()}",\n'
        for file in sorted((NEOVIM / "lua").rglob("*.lua"))
    )
    return (
        f"{name}-1.rockspec",
        f"""\
rockspec_format = "3.0"
package = "carrel.nvim"
version = "{VERSION}-1"
source = {{ url = "{release.url(f"{name}.tar.gz")}", dir = "{name}" }}
description = {{
   summary = "{SUMMARY}",
   homepage = "{release.repository}",
   license = "{PROJECT["license"]}",
   labels = {{ "neovim" }},
}}
dependencies = {{ "lua >= 5.1" }}
build = {{
   type = "builtin",
   modules = {{
{modules}   }},
   copy_directories = {{ "doc", "plugin" }},
}}
""",
    )


def main(arguments: list[str]) -> int:
    """Write the files; print their names, or why they can't be written."""
    try:
        folder, repository = arguments
        release = Release(Path(folder), repository)
        (release.folder / "server.txt").write_bytes((ROOT / "requirements/server.txt").read_bytes())
        texts = {
            "carrel.rb": formula(release),
            "carrel.json": json.dumps(scoop(release), indent=4) + "\n",
            "server.json": json.dumps(mcp_server(release), indent=2) + "\n",
        }
        name, text = neovim(release)
        texts[name] = text
        for name, text in texts.items():
            (release.folder / name).write_text(text, "utf-8", newline="\n")
    except (OSError, ValueError) as error:
        print(f"{error}\nUsage: python -m tests.release.packages DIST REPOSITORY", file=sys.stderr)
        return 2
    print(*sorted(texts), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
