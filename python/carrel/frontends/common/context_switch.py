"""Whether a proxy puts context in. Starting one switches context on; `ragEnabled = false` in the user's settings switches it off.

There is no editor to ask here, so the settings file is looked at again whenever its time stamp has changed.
"""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path
from typing import Any, get_args

from carrel.model.errors import SettingsError
from carrel.settings.settings import LogLevel
from carrel.settings.settings_files import read_user, user_file

log = logging.getLogger(__name__)

QUIET = "warning"


class ContextSwitch:
    """The user's settings as they are at this moment. Cheap to ask: one look at a time stamp."""

    def __init__(self) -> None:
        self._path = user_file()
        self._stamp: int | None = None
        self._on = True
        self._log_level = QUIET
        self._read()

    @property
    def on(self) -> bool:
        """True unless the user said no, or something that is no answer."""
        if self._time() != self._stamp:
            self._read()
            self._changed = True
        return self._on

    @property
    def options(self) -> dict[str, Any]:
        """What a proxy hands to the server in an editor's place."""
        return {"ragEnabled": self._on, "logLevel": self._log_level}

    @property
    def log_level(self) -> str:
        """How much is logged: what the user set, else little, for a proxy's log stands among another program's."""
        return self._log_level

    def changed(self) -> bool:
        """Return true once after each change."""
        changed, self._changed = self._changed, False
        return changed

    def _read(self) -> None:
        self._changed = False
        self._stamp = self._time()
        with contextlib.suppress(SettingsError):  # the session refuses to answer then, and says why
            options = read_user(self._path).options
            level = options.get("logLevel")
            self._log_level = str(level) if level in get_args(LogLevel) else QUIET
            wanted = options.get("ragEnabled")
            self._on = wanted is None or wanted is True
            if not self._on and wanted is not False:  # who writes "false" or 0 doesn't want context
                log.warning("%s: ragEnabled is neither true nor false, so no context is put in: correct it there", self._path)

    def _time(self) -> int | None:
        try:
            return Path(self._path).stat().st_mtime_ns
        except OSError:
            return None
