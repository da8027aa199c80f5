"""Numbers that come from outside, with the bounds of each: what is past them is refused where it enters."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

Days = Annotated[float, Meta(gt=0, le=36_500)]
"""An age."""
Line = Annotated[int, Meta(ge=1, le=100_000_000)]
"""A line of a file, counted from 1."""
EditorLine = Annotated[int, Meta(ge=0, le=2**31 - 1)]
"""A line as LSP counts it, from 0, with LSP's own bound."""
Character = Annotated[int, Meta(ge=0, le=2**53 - 1)]
"""A place in a line. Some editors name the end of it by the largest whole number of JavaScript."""
Amount = Annotated[int, Meta(ge=1, le=1_000_000_000)]
"""Tokens or characters."""
Milliseconds = Annotated[int, Meta(ge=1, le=86_400_000)]
"""A day at most."""
MOST = 1_000_000_000
"""Of a setting that needs no other bound: nothing that is counted, paid or waited for reaches it."""
