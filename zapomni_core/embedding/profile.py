"""What search and chunking must know of an embedder: measured for each, never taken from another."""

from dataclasses import dataclass

LARGE_STORE = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How an embedder is best used. The defaults are those of the default embedder.

    The prefixes are put before what is embedded, by the embedder itself. A question's vector is that of the question
    and, `telling_weight` times, that of its words without stop words. `alpha_low` and `alpha_high` bound the weight
    of words against vectors; up to three quarters of it go where the best cosine is not `cosine_doubtful` but
    `cosine_sure`. A candidate whose cosine is `cosine_scale` below the best counts e times less. Where words
    cover less than `unclear_below` of a question, their translations count too, and an embedder that gives fragments
    looks at `aligned_tokens` tokens of the best hits more closely: what it sees counts `alignment_weight` times as a
    cosine, and what words tell `told_weight` times. Confidence is the logistic function of the bias and the weighted
    cover, cosine, z, and luck, which is how near something comes by chance where so many chunks are searched. A chunk
    has about `chunk_tokens` of the embedder's tokens, after `overlap_tokens` of the chunk before. `rescored` candidates
    get their exact cosine, `rescored_in_large` in a store of more than 200,000 chunks. A batch ends at `batch_texts`
    texts or `batch_characters` characters, whichever comes first.
    """

    query_prefix: str = ""
    passage_prefix: str = ""
    telling_weight: float = 1.0
    alpha_low: float = 0.2
    alpha_high: float = 0.8
    cosine_doubtful: float = 0.3
    cosine_sure: float = 0.6
    cosine_scale: float = 0.14
    unclear_below: float = 0.7
    aligned_tokens: int = 800
    alignment_weight: float = 0.09
    told_weight: float = 0.5
    confidence_bias: float = -1.56
    confidence_cover: float = 7.67
    confidence_cosine: float = 15.76
    confidence_luck: float = -1.58
    confidence_z: float = 0.0
    chunk_tokens: int = 200
    overlap_tokens: int = 30
    rescored: int = 1000
    rescored_in_large: int = 2000
    batch_texts: int = 32
    batch_characters: int = 4000

    def rescore(self, chunks: int) -> int:
        """How many candidates get their exact cosine in a store of so many chunks."""
        return self.rescored_in_large if chunks > LARGE_STORE else self.rescored
