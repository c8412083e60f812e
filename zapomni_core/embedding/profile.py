"""How an embedder is best used: measured for each, never taken from another."""

from dataclasses import dataclass

Confidence = tuple[float, float, float, float]
"""Weights of the logistic function: bias, cover of the words, cosine, logarithm of the number of chunks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How an embedder is best used. The defaults are those of the default embedder.

    The embedder itself puts the prefixes before what it embeds. A chunk's score is that of its words, plus
    `vector_weight` times its cosine, plus `author_bonus` where the question names its author. Without `confidence`, how
    sure a search is goes by its words. A chunk has about `chunk_tokens` of the embedder's tokens, of which about
    `overlap_tokens` repeat the chunk before. A batch ends at `batch_texts` texts or `batch_characters` characters,
    whichever comes first.
    """

    query_prefix: str = ""
    passage_prefix: str = ""
    vector_weight: float = 0.75
    author_bonus: float = 0.3
    confidence: Confidence | None = (-3.0, 1.6, 10.7, -0.22)
    chunk_tokens: int = 200
    overlap_tokens: int = 30
    batch_texts: int = 32
    batch_characters: int = 4000
