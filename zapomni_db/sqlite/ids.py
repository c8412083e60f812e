"""Ids of memories: UUIDs that begin with their moment, so that the index of ids grows at its end.

A random id changes a page of that index for itself: with a hundred thousand messages, 64 at once, more than half of all that is
written to the disk.
"""

import os


def new_id(micros: int) -> str:
    """A UUID of version 7: the millisecond of a moment, and 74 random bits."""
    moment, drawn = f"{micros // 1000:012x}", os.urandom(10)
    variant, random = "89ab"[drawn[9] & 3], drawn.hex()
    return f"{moment[:8]}-{moment[8:]}-7{random[:3]}-{variant}{random[3:6]}-{random[6:18]}"
