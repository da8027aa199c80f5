"""Check that the compiled files of wheels take nothing from a system but what each machine of their platform has.

`python -m tests.release.wheel_links WHEEL…`. Needs lief, which reads the files of any system (requirements/wheels.txt).
"""

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import lief

lief.logging.disable()  # what Zig leaves empty in files for macOS

GNU = r"(lib(c|m|dl|pthread|rt|gcc_s)|ld-linux-[\w-]+)\.so\.\d"
APPLE = r"/usr/lib/lib(System\.B|iconv\.2|charset\.1)\.dylib|/System/Library/Frameworks/Core(Foundation|Services)\.framework/.*"
WINDOWS = r"(?i:python3|kernel32|ntdll|advapi32|bcryptprimitives|ws2_32|userenv|msvcrt|vcruntime140|api-ms-win-[\w-]+)\.dll"
PLATFORMS = {
    "manylinux.*x86_64": ("ARCH.X86_64", GNU),
    "manylinux.*aarch64": ("ARCH.AARCH64", GNU),
    "musllinux.*x86_64": ("ARCH.X86_64", r"libc\.so"),
    "musllinux.*aarch64": ("ARCH.AARCH64", r"libc\.so"),
    "macosx.*x86_64": ("CPU_TYPE.X86_64", APPLE),
    "macosx.*arm64": ("CPU_TYPE.ARM64", APPLE),
    "win_amd64": ("MACHINE_TYPES.AMD64", WINDOWS),
    "win_arm64": ("MACHINE_TYPES.ARM64", WINDOWS),
}
"""By a wheel's tag, the processor, and the libraries that may be needed."""


def problems_of(wheel: Path) -> Iterator[str]:
    """Yield what doesn't fit the wheel's platform, and print what its compiled files need."""
    tag = wheel.stem.rsplit("-", 1)[1]
    wanted, allowed = next(fits for pattern, fits in PLATFORMS.items() if re.match(pattern, tag))
    with zipfile.ZipFile(wheel) as archive, TemporaryDirectory() as folder:
        names = [name for name in archive.namelist() if re.match(r"carrel/(_core\.(abi3\.so|pyd)|bin/carrel-hook)", name)]
        if len(names) != 2:
            yield f"holds {names}, not the module and the program of hooks"
        for name in names:
            processor, needed, problems = read(Path(archive.extract(name, folder)))
            print(f"{wheel.name}: {name}, {archive.getinfo(name).file_size:,} bytes, {processor}, needs {', '.join(needed)}")
            if processor != wanted:
                problems.append(f"is for {processor}")
            problems += [f"needs {library}" for library in needed if not re.fullmatch(allowed, library)]
            yield from (f"{name} {problem}" for problem in problems)


def read(file: Path) -> tuple[str, list[str], list[str]]:
    """Return the processor, the libraries that are needed, and what is wrong on any system."""
    binary: Any = lief.parse(file)
    if isinstance(binary, lief.ELF.Binary):
        searched = (lief.ELF.DynamicEntryRpath, lief.ELF.DynamicEntryRunPath)
        problems = [f"searches {entry}" for entry in binary.dynamic_entries if isinstance(entry, searched)]
        return str(binary.header.machine_type), list(binary.libraries), problems
    if isinstance(binary, lief.PE.Binary):
        return str(binary.header.machine), [library.name for library in binary.imports], []
    needed = [library.name for library in binary.libraries if library.command != lief.MachO.LoadCommand.TYPE.ID_DYLIB]
    problems = [f"searches {path.path}" for path in binary.rpaths]
    bound = [symbol for symbol in binary.imported_symbols if symbol.has_binding_info]
    loose = [symbol.name for symbol in bound if not symbol.binding_info.has_library]
    problems += [f"takes {name} from nowhere" for name in loose if not re.match("__?Py", name)]
    return str(binary.header.cpu_type), needed, problems


if __name__ == "__main__":
    found = [f"{wheel}: {problem}" for wheel in sys.argv[1:] for problem in problems_of(Path(wheel))]
    sys.exit("\n".join(found) or None)
