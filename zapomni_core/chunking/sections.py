"""What a text is made of before it is cut: sections under a heading, and the blocks of a section."""

from dataclasses import dataclass

from zapomni_core.chunking.layout import Layout


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of text of one layout. One that is `whole` is only cut if it does not fit into a chunk."""

    start: int
    end: int
    layout: Layout
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks, one after the other, with one path of headings above them. A chunk never spans two sections."""

    heading: str
    blocks: tuple[Block, ...]
