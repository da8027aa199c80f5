"""Numbers that come from outside, with the bounds of each: what is past them is refused where it enters."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

Days = Annotated[float, Meta(gt=0, le=36_500)]
"""An age."""
MOST_LINES = 100_000_000
Line = Annotated[int, Meta(ge=1, le=MOST_LINES)]
"""A line of a file, counted from 1."""
MOST_WHOLE = 2**53 - 1
"""The largest whole number of JavaScript, by which some editors name the end of a line or of a file."""
EditorLine = Annotated[int, Meta(ge=0, le=MOST_WHOLE)]
"""A line as LSP counts it, from 0."""
Character = Annotated[int, Meta(ge=0, le=MOST_WHOLE)]
"""A place in a line."""
Amount = Annotated[int, Meta(ge=1, le=1_000_000_000)]
"""Tokens or characters."""
Milliseconds = Annotated[int, Meta(ge=1, le=86_400_000)]
"""A day at most."""
MOST = 1_000_000_000
"""Of a setting that needs no other bound: nothing that is counted, paid or waited for reaches it."""
