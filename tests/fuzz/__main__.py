"""Fuzz a reader with Atheris, guided by the lines that an input reaches: `python -m tests.fuzz NAME [options of libFuzzer]`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any


def main() -> None:
    """Start the fuzzer; it ends the process."""
    import atheris  # noqa: PLC0415 - `make fuzz` installs it beside the environment

    with atheris.instrument_imports(include=["carrel"]):
        from tests.fuzz.targets import TARGETS  # noqa: PLC0415 - what is imported in this block is watched

    name, *options = sys.argv[1:]
    target = TARGETS[name]
    corpus: Any = Path(tempfile.mkdtemp(prefix="carrel-fuzz-"))
    for number, seed in enumerate(target.seeds):
        (corpus / f"seed{number}").write_bytes(seed)
    atheris.Setup([sys.argv[0], str(corpus), *options], target.run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
