"""The folder of the texts that stand for what the core can't read; it belongs to the person alone."""

from __future__ import annotations

from pathlib import Path

from carrel.model.errors import StoreError


def make(folder: Path) -> None:
    """Make the folder. Raises `StoreError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError(
            f"{folder} can't be made ({error.strerror})", "Set `cacheFolder` to a folder that can be written."
        ) from None


def not_readable(path: Path, fault: OSError | str) -> StoreError:
    """Return what is to be raised where the machine failed over a path, which says nothing of what is there."""
    reason = fault if isinstance(fault, str) else fault.strerror
    return StoreError(f"{path} can't be read ({reason})", "Mend that, then index again: what was read before is kept.")


def not_writable(folder: Path, error: OSError) -> StoreError:
    """Return what is to be raised where a text can't be written."""
    return StoreError(f"{folder} can't be written ({error.strerror})", "Free some space, or set `cacheFolder`.")
