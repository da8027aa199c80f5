"""Decide where a workspace's index lives, and look after that place: labels, and what nobody needs any more."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import stat
import tempfile
import time
from pathlib import Path

from msgspec import Struct

from carrel.model.errors import StoreError
from carrel.settings.settings import Settings
from carrel.system.filesystem import is_network, locked, private_folder

INDEX_FILE = "index.db"
LOCK_FILE = "writer.lock"
_PROBE_BYTES = 1 << 16
KEEP_GONE_SECONDS = 30 * 24 * 3600
"""An index whose folder is gone is deleted after 30 days without use."""

_OWNER = "workspace.json"
_CACHEDIR_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# Caches of Carrel; backups may leave them out.\n"
_README = """Carrel's search indexes, one folder for each workspace. Nothing here is the only copy of anything: each folder
can be deleted while no editor uses it, and is made again when needed. `carrel clear PATH` deletes one.
"""


class IndexLocation(Struct, frozen=True):
    """The folder of one index. `problems` says why it isn't where it was asked to be."""

    directory: Path
    in_workspace: bool
    problems: tuple[str, ...] = ()


def cache_root(settings: Settings) -> tuple[Path, tuple[str, ...]]:
    """Return the folder of all indexes in the cache, and what is wrong with it."""
    if settings.cache_folder:
        return Path(settings.cache_folder).expanduser() / "indexes", ()
    import platformdirs  # noqa: PLC0415 - not every start needs it

    root = platformdirs.user_cache_path("carrel", appauthor=False)
    if not is_network(_existing(root)):
        return root / "indexes", ()
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    local = Path(tempfile.gettempdir()) / f"carrel-{user}"
    return local / "indexes", (f"{root} is on a network mount, which can't hold an index; {local} is used.",)


def locate(root: Path, settings: Settings) -> IndexLocation:
    """Decide where the index of `root` lives. Touches nothing."""
    unfit = ""
    if settings.storage == "workspace":
        folder = root / ".carrel"
        if is_network(root):
            unfit = f"{root} is on a network mount, which can't hold an index"
        elif _leads_away(folder):  # a project that somebody else wrote must not choose what is written to
            unfit = f"{folder} is a link, which an index doesn't follow"
        else:
            return IndexLocation(folder, in_workspace=True)
    cache, problems = cache_root(settings)
    if unfit:
        problems = (*problems, f"{unfit}; it is kept in {cache}.")
    return IndexLocation(cache / folder_name(root), False, problems)


def folder_name(root: Path) -> str:
    """Make a readable name that is unique to the absolute, link-free path."""
    real = os.path.normcase(os.path.realpath(root))
    digest = hashlib.sha256(real.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    # Of the real path as well: a folder that is named by a link, or by `..`, has the same index.
    label = "".join(char if char.isalnum() or char in "-_." else "-" for char in Path(real).name)[:40].strip(".-")
    return f"{label or 'root'}-{digest}"


def prepare(location: IndexLocation, root: Path) -> None:
    """Create the folder with its labels and note that it is in use; raises OSError where nothing can be written."""
    directory = location.directory
    if location.in_workspace:
        private_folder(directory, close=False)  # files of the project may be their owner's alone
        _write_once(directory / ".gitignore", "*\n")
        _write_once(directory / "CACHEDIR.TAG", _CACHEDIR_TAG)
        return
    parent = directory.parent
    # Others would learn from an index what is in folders that they may not read. Who owns the outer folder may swap the inner.
    for folder in (parent.parent, parent):
        private_folder(folder, close=False)
        _check_owner(folder, parent)
    directory.mkdir(exist_ok=True)
    _write_once(parent / "CACHEDIR.TAG", _CACHEDIR_TAG)
    _write_once(parent / "README.txt", _README)
    # Rewritten at each opening: its time is the last use.
    (directory / _OWNER).write_text(json.dumps({"root": os.path.realpath(root)}), "utf-8")


def why_not_writable(directory: Path) -> str | None:
    """Return why nothing can be written into the folder of an index; None if something can. Leaves nothing there."""
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            file.write(bytes(_PROBE_BYTES))
    except OSError as error:
        return error.strerror or str(error)
    return None


def discard(directory: Path) -> int:
    """Delete an index that this Carrel can't open; return its bytes. Raises `StoreError` where it stays."""
    freed = 0
    try:
        with locked(directory / LOCK_FILE, 0) as alone:
            if not alone:
                reason = f"A newer Carrel is writing the index in {directory}"
                raise StoreError(reason, "End it first, or clear the index with it.")
            for file in (*directory.glob(f"{INDEX_FILE}*"), *directory.glob("*.seg")):
                with contextlib.suppress(FileNotFoundError):  # another process cleared it
                    size = file.stat().st_size
                    file.unlink()
                    freed += size
    except OSError as error:
        remedy = f"End the programs that use it, make {directory} yours to write, and clear it again."
        raise StoreError(f"The index in {directory} can't be deleted ({error})", remedy) from error
    return freed


def clean_up(indexes: Path, *, now: float | None = None) -> list[Path]:
    """Delete the indexes whose workspace is gone and which nobody opened for 30 days; return those deleted."""
    now = time.time() if now is None else now
    deleted = []
    for owner in indexes.glob(f"*/{_OWNER}"):
        try:
            root = json.loads(owner.read_text("utf-8"))["root"]
            if _is_gone(Path(root)) and now - owner.stat().st_mtime > KEEP_GONE_SECONDS:
                shutil.rmtree(owner.parent)
                deleted.append(owner.parent)
        except (OSError, ValueError, KeyError, TypeError):
            continue  # another process is at it, or it isn't ours
    return deleted


def _is_gone(path: Path) -> bool:
    """Tell whether nothing is there. Raises `OSError` where that can't be told."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    return False


def _leads_away(path: Path) -> bool:
    """Tell whether the last part of a path is a link, or a junction of Windows."""
    real = os.path.realpath
    return os.path.normcase(real(path)) != os.path.normcase(os.path.join(real(path.parent), path.name))  # noqa: PTH118


def _existing(path: Path) -> Path:
    while not path.exists() and path != path.parent:
        path = path.parent
    return path


def _write_once(path: Path, text: str) -> None:
    # Making it anew follows no link, not even one that leads nowhere or comes at the last moment.
    with contextlib.suppress(FileExistsError), path.open("x", encoding="utf-8") as file:
        file.write(text)


def _check_owner(folder: Path, inner: Path) -> None:
    """Refuse a folder that somebody else owns: in a shared temporary folder another user could have made it first.

    The system's administrator may own it, who can do everything anyway. The inner one is no link, and nobody else's to write.
    """
    if not hasattr(os, "getuid"):
        return
    state = folder.lstat()
    loose, is_mine = state.st_mode & 0o022, state.st_uid == os.getuid()
    inner_is_doubtful = folder == inner and (stat.S_ISLNK(state.st_mode) or (loose and not is_mine))
    if inner_is_doubtful or not (is_mine or state.st_uid == 0):
        raise PermissionError(f"{folder} belongs to somebody else; set `cacheFolder` to a folder of your own")
    if is_mine and folder == inner and state.st_mode & 0o077:
        with contextlib.suppress(OSError):  # a file system without rights
            folder.chmod(0o700)
