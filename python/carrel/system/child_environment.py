"""What of this process's environment another program is started with: what it needs to run, and no keys of others."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

_NAMES = frozenset(
    """
    PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TERM TMPDIR TMP TEMP
    HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE
    LD_LIBRARY_PATH DYLD_LIBRARY_PATH DYLD_FALLBACK_LIBRARY_PATH NIX_LD NIX_LD_LIBRARY_PATH
    DBUS_SESSION_BUS_ADDRESS DISPLAY WAYLAND_DISPLAY
    SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT OS USERPROFILE USERNAME USERDOMAIN HOMEDRIVE HOMEPATH APPDATA LOCALAPPDATA
    PROGRAMDATA ALLUSERSPROFILE PUBLIC PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 COMMONPROGRAMFILES
    NUMBER_OF_PROCESSORS PROCESSOR_ARCHITECTURE PROCESSOR_IDENTIFIER
    """.split()  # noqa: SIM905 - a list of words reads best as text
)
_PREFIXES = ("LC_", "XDG_")


def child_environment(
    also: Iterable[str] = (), prefixes: tuple[str, ...] = (), environment: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the variables that every program needs, those of these further names, and those that begin with `prefixes`.

    Names are compared in capitals: proxies are named in either case, and Windows knows no difference.
    """
    wanted = _NAMES | {name.upper() for name in also}
    begin = (*_PREFIXES, *prefixes)
    variables = os.environ if environment is None else environment
    return {name: value for name, value in variables.items() if name.upper() in wanted or name.upper().startswith(begin)}
