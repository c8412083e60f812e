"""Cuts a text into the chunks that are embedded and found. Offsets count characters of the text as it was given."""

from zapomni_core.chunking.chunks import Chunk, chunk

__all__ = ["Chunk", "chunk"]
