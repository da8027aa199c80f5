"""A workspace folder that gave nothing to an answer of several."""

from __future__ import annotations

from dataclasses import dataclass

from carrel.model.errors import CarrelError


@dataclass(frozen=True, slots=True)
class MissingFolder:
    """A folder that gave nothing to an answer, and why."""

    name: str
    uri: str
    cause: CarrelError

    def __str__(self) -> str:
        return f"The folder {self.name} was not searched: {self.cause}"
