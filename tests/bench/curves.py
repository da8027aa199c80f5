"""Curves of `docs/figures/*.json` as an SVG: a panel for each series, its points joined, and what would be linear dashed.

`curves` of a file has `x` (title of the abscissa) and `series`: `title`, `unit` and `points`, each an abscissa and a value.
Linear is the first point times the growth of the abscissa.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 360, 230
LEFT, RIGHT, TOP, BOTTOM = 48, 14, 34, 38
STYLE = (
    "text{font:11px sans-serif;fill:#57606a}.title{font-size:13px;font-weight:bold}line{stroke:#8c959f}"
    "polyline{fill:none;stroke:#0969da;stroke-width:2}circle{fill:#0969da}.linear{stroke:#8c959f;stroke-dasharray:4}"
)


def drawing(curves: Mapping[str, Any]) -> str:
    """Return the SVG."""
    panels = [
        f'<g transform="translate({at * WIDTH})">\n' + "\n".join(_panel(curves["x"], series)) + "\n</g>"
        for at, series in enumerate(curves["series"])
    ]
    size = f'width="{len(panels) * WIDTH}" height="{HEIGHT}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>\n<rect {size} fill="#fff"/>'
    return "\n".join([head, *panels, "</svg>", ""])


def _panel(abscissa: str, series: Mapping[str, Any]) -> Iterator[str]:
    points: list[tuple[float, float]] = series["points"]
    (first_x, first_y), (last_x, _) = points[0], points[-1]
    linear = first_y * last_x / first_x
    top = max(linear, *(y for _, y in points))

    def place(x: float, y: float) -> tuple[float, float]:
        across = LEFT + x / last_x * (WIDTH - LEFT - RIGHT)
        return round(across, 1), round(HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM), 1)

    bottom = HEIGHT - BOTTOM
    yield f'<text class="title" x="{LEFT}" y="20">{escape(series["title"])}</text>'
    yield f'<line x1="{LEFT}" y1="{TOP}" x2="{LEFT}" y2="{bottom}"/>'
    yield f'<line x1="{LEFT}" y1="{bottom}" x2="{WIDTH - RIGHT}" y2="{bottom}"/>'
    (x0, y0), (x1, y1) = place(first_x, first_y), place(last_x, linear)
    yield f'<polyline class="linear" points="{x0},{y0} {x1},{y1}"/>'
    yield f'<polyline points="{" ".join(f"{x},{y}" for x, y in (place(*point) for point in points))}"/>'
    for x, y in points:
        across, up = place(x, y)
        yield f'<circle cx="{across}" cy="{up}" r="3"/><text x="{across}" y="{bottom + 14}" text-anchor="middle">{x:g}</text>'
        yield f'<text x="{across - 6}" y="{up - 6}" text-anchor="end">{y:g} {escape(series["unit"])}</text>'
    yield f'<text x="{WIDTH - RIGHT}" y="{bottom + 30}" text-anchor="end">{escape(abscissa)}</text>'
