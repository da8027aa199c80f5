"""A folder of Markdown files as a source, one chunk a file."""

import asyncio
import hashlib
import re
from dataclasses import replace
from fnmatch import fnmatchcase

from carrel.model.ports import ChunkId, ChunkRef, SourceCandidate, Unavailable
from carrel.model.types import Chunk, Filters, Span


class FolderSource:
    """Markdown files, by the words that they share with a question."""

    leaves_machine = False

    def __init__(self, root, name, description):
        self.root, self.name, self.description = root, name, description

    async def candidates(self, query, k):
        words, wanted = set(re.findall(r"\w+", query.text.lower())), query.filters
        if replace(wanted, path_globs=(), exclude=(), sources=()) != Filters() or wanted.sources == ("code",):
            return []
        found = []
        for chunk in (await asyncio.to_thread(self._chunks)).values():
            named = not wanted.path_globs or any(fnmatchcase(chunk.path, glob) for glob in wanted.path_globs)
            if named and not any(fnmatchcase(chunk.path, glob) for glob in wanted.exclude):
                share = len(words & set(re.findall(r"\w+", chunk.text.lower()))) / max(len(words), 1)
                ref = ChunkRef(self.name, ChunkId(chunk.id))
                found += [SourceCandidate(ref, share, chunk.path, 1, chunk.span.end_line)] if share else []
        return sorted(found, key=lambda candidate: (-candidate.relevance, candidate.path))[: max(k, 0)]

    async def read(self, refs):
        chunks = await asyncio.to_thread(self._chunks)
        own = [chunks.get(ref.id) if ref.source == self.name else None for ref in refs]
        return [chunk or Unavailable(ref, "was changed or deleted") for ref, chunk in zip(refs, own, strict=True)]

    def _chunks(self):
        texts = {p.relative_to(self.root).as_posix(): p.read_text("utf-8", "replace") for p in self.root.rglob("*.md")}
        ids = {p: hashlib.blake2b(f"{p}\0{text}".encode(), digest_size=16).hexdigest() for p, text in texts.items()}
        spans = {p: Span(1, max(1, text.count("\n"))) for p, text in texts.items()}
        return {ids[p]: Chunk(id=ids[p], path=p, source="docs", span=spans[p], text=text) for p, text in texts.items()}
