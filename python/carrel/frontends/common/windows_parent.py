"""Wait for the end of processes on Windows, by their handles. Nothing here is called on other systems."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_ACCESS = 0x00100000 | 0x1000
"""SYNCHRONIZE and PROCESS_QUERY_LIMITED_INFORMATION."""
_THIS_PROCESS = -1
_NO_SUCH_PROCESS = 87
_INFINITE = _FAILED = 0xFFFFFFFF
_LONGEST_PATH = 32_768


def wait_for_process(pid: int) -> bool:
    """Return true when a process has ended, false where it can't be watched."""
    handle = _opened(pid)
    return bool(handle) and _wait_for_any([handle])


def wait_for_parent(pid: int) -> bool:
    """Return true when the parent has ended, or what started it where that only launches: `carrel.exe`, a venv's `python.exe`.

    A number that is free, or that of a younger process, was that of a parent that has ended. False where none can be watched.
    """
    launchers = {os.path.normcase(Path(sys.argv[0]).absolute()).removesuffix(".exe") + ".exe"}
    if sys.prefix != sys.base_prefix:
        launchers.add(os.path.normcase(sys.executable))
    handles, child = list[int](), _THIS_PROCESS
    while handle := _opened(pid):
        handles.append(handle)
        if _began(handle) > _began(child):
            return True
        image = os.path.normcase(_image(handle))
        if image not in launchers:
            break
        launchers.remove(image)
        pid, child = _parent_of(handle), handle
    else:
        if _last_error() == _NO_SUCH_PROCESS:
            return True
    return bool(handles) and _wait_for_any(handles)


def _library(name: str) -> Any:
    if sys.platform == "win32":
        return ctypes.WinDLL(name, use_last_error=True)
    raise OSError(name)


def _last_error() -> int:
    if sys.platform == "win32":
        return ctypes.get_last_error()
    return 0


def _opened(pid: int) -> int:
    """Return a handle, 0 where there is none."""
    kernel = _library("kernel32")
    kernel.OpenProcess.restype = ctypes.c_void_p
    return kernel.OpenProcess(_ACCESS, False, pid) or 0


def _wait_for_any(handles: Sequence[int]) -> bool:
    array = (ctypes.c_void_p * len(handles))(*handles)
    wait = _library("kernel32").WaitForMultipleObjects
    wait.restype = ctypes.c_uint32
    return bool(wait(len(handles), array, False, _INFINITE) != _FAILED)


def _began(handle: int) -> int:
    """Return when a process was made, in the system's ticks; 0 where it doesn't tell."""
    times = [ctypes.c_uint64() for _ in range(4)]
    _library("kernel32").GetProcessTimes(ctypes.c_void_p(handle), *map(ctypes.byref, times))
    return times[0].value


def _image(handle: int) -> str:
    """Return the path of a process's program; empty where the system doesn't tell."""
    path, size = ctypes.create_unicode_buffer(_LONGEST_PATH), ctypes.c_uint32(_LONGEST_PATH)
    _library("kernel32").QueryFullProcessImageNameW(ctypes.c_void_p(handle), 0, path, ctypes.byref(size))
    return path.value


def _parent_of(handle: int) -> int:
    """Return the number of the process that started one; the last field of PROCESS_BASIC_INFORMATION."""
    fields = (ctypes.c_void_p * 6)()
    _library("ntdll").NtQueryInformationProcess(ctypes.c_void_p(handle), 0, ctypes.byref(fields), ctypes.sizeof(fields), None)
    return fields[5] or 0
