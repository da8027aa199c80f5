"""For all tests: property tests aren't timed, machines are shared; Ctrl-C works in what tests start."""

from __future__ import annotations

import signal

from hypothesis import settings

settings.register_profile("shared", deadline=None)
settings.load_profile("shared")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job, whose children would ignore it too
    signal.signal(signal.SIGINT, signal.default_int_handler)
