"""Turn PDF, Word and HTML documents into Markdown, by libraries of the extra `documents`.

`python -m carrel.sources.documents.to_markdown KIND SECONDS` reads one document on standard input (a line with its length, then
its bytes) and writes JSON: such files come from anywhere, and their parsers may hang or eat memory, so each one is converted in a
process that limits itself and ends when its input does.
"""

# ruff: noqa: PLC0415 - each kind of document needs one of the libraries
from __future__ import annotations

import faulthandler
import io
import json
import math
import os
import re
import sys
import threading
import zipfile
from typing import Any

LONGEST_TEXT = 4_000_000
"""Characters of a converted document: more is cut off, and the note says so."""
MOST_OUTPUT = 13 * LONGEST_TEXT
"""Bytes of a converted document as JSON."""
_LONGEST_FACT = 500
"""Characters of what a document says of itself."""
_MEMORY = 2_000_000_000
_GRACE = 10.0
"""Seconds after which a conversion ends itself that nobody ended in time."""
_MOST_UNPACKED = 300_000_000
_MOST_PAGES = 5_000
_DATE_NAMES = ("article:modified_time", "last-modified", "dcterms.modified", "date", "dc.date")


class UnreadableDocumentError(ValueError):
    """A document that has no text to give; the message ends the sentence "was not read: it …"."""


def to_markdown(kind: str, data: bytes) -> dict[str, str]:
    """Return the `text` of a document with what it says of itself: `title`, `updated_at` (ISO 8601), `version`."""
    document = {"pdf": _pdf, "docx": _word}.get(kind, _html)(data)
    text = document["text"].replace("\r\n", "\n").strip()
    if not re.search(r"\w", text):
        raise UnreadableDocumentError("holds no text (a scan has none until it was recognised)")
    return {**{name: str(value)[:_LONGEST_FACT] for name, value in document.items()}, "text": text[:LONGEST_TEXT]}


def _pdf(data: bytes) -> dict[str, str]:
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise UnreadableDocumentError("is encrypted")
    pages, length = [], 0
    for number, page in enumerate(reader.pages, 1):
        text = _escaped(page.extract_text())
        if text.strip():
            pages.append(f"## Page {number}\n\n{text.strip()}")
        length += len(text)
        if length > LONGEST_TEXT or number == _MOST_PAGES:
            break
    metadata = reader.metadata
    changed = metadata.modification_date if metadata else None
    return {
        "text": "\n\n".join(pages),
        "title": (metadata.title if metadata else None) or "",
        "updated_at": changed.isoformat() if changed else "",
    }


def _word(data: bytes) -> dict[str, str]:
    import mammoth

    with zipfile.ZipFile(io.BytesIO(data)) as parts:
        if sum(part.file_size for part in parts.infolist()) > _MOST_UNPACKED:
            raise UnreadableDocumentError(f"holds more than {_MOST_UNPACKED:,} bytes when it is unpacked")
        properties = parts.read("docProps/core.xml").decode("utf-8", "replace") if "docProps/core.xml" in parts.namelist() else ""
    nothing = mammoth.images.img_element(lambda _: {"src": ""})
    html = mammoth.convert_to_html(io.BytesIO(data), convert_image=nothing, external_file_access=False).value
    return {
        "text": _markdown(html),
        "title": _element(properties, "dc:title"),
        "updated_at": _element(properties, "dcterms:modified"),
        "version": _element(properties, "cp:version"),
    }


def _html(data: bytes) -> dict[str, str]:
    from bs4 import BeautifulSoup

    page = BeautifulSoup(data, "html.parser")
    title = page.title.get_text(" ", strip=True) if page.title else ""
    named = {str(meta.get("name") or meta.get("property") or "").lower(): str(meta.get("content") or "") for meta in page("meta")}
    for element in page(["script", "style", "template", "noscript", "head", "title", "meta", "nav", "svg", "iframe"]):
        element.decompose()
    return {
        "text": _markdown(str(page)),
        "title": title,
        "updated_at": next((named[name] for name in _DATE_NAMES if named.get(name)), ""),
        "version": named.get("version", ""),
    }


def _markdown(html: str) -> str:
    from markdownify import markdownify

    # Nothing is escaped: an escaped secret is no longer recognised as one.
    text: str = markdownify(
        html,
        heading_style="ATX",
        strip=["img", "a"],
        escape_underscores=False,
        escape_asterisks=False,
        escape_misc=False,
    )
    return re.sub(r"\n{3,}", "\n\n", text)


def _escaped(text: str) -> str:
    """Return plain text in which no line is a heading."""
    return re.sub(r"^(?=#)", r"\\", text, flags=re.MULTILINE)


def _element(xml: str, name: str) -> str:
    match = re.search(rf"<{name}[^>]*>([^<]*)</{name}>", xml)
    return match[1].strip() if match else ""


def _limit(seconds: float) -> None:
    """Bound time and memory: by the system where it can, and by a timer that needs no turn of the interpreter everywhere."""
    faulthandler.dump_traceback_later(seconds + _GRACE, exit=True)
    if sys.platform == "win32":
        return
    import resource

    processor = math.ceil(seconds)
    # At the first limit of time the process gets a signal that says why, at the second it is killed.
    limits = ((resource.RLIMIT_AS, _MEMORY, _MEMORY), (resource.RLIMIT_CPU, processor, processor + 1))
    for limit, soft, hard in limits:
        try:
            resource.setrlimit(limit, (soft, hard))
        except (OSError, ValueError):  # a system that has another limit
            continue


def _end_with_parent() -> None:
    """End when the process that started this one does: it holds our input open as long as it lives."""
    if sys.platform == "linux":
        import ctypes
        import signal

        # The thread below needs a turn, which a parser that is inside one long call doesn't give.
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG

    def watch() -> None:
        while os.read(0, 1024):
            pass
        os._exit(1)

    threading.Thread(target=watch, name="carrel-parent", daemon=True).start()


def _main() -> None:
    _limit(float(sys.argv[2]))
    length = int(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read(length)
    _end_with_parent()
    answer: dict[str, Any]
    try:
        answer = to_markdown(sys.argv[1], data)
    except ImportError as error:
        answer = {"missing": error.name or ""}
    except UnreadableDocumentError as error:
        answer = {"problem": str(error)}
    except Exception as error:  # what a parser raises for a broken document has no common base
        answer = {"problem": f"can't be understood ({type(error).__name__})"}
    sys.stdout.buffer.write(json.dumps(answer).encode())
    sys.stdout.flush()


if __name__ == "__main__":
    _main()
