"""Times the first and later searches of a store in a separate process, with an embedder that costs nothing."""

import asyncio
import json
import statistics
import sys
import time
from pathlib import Path

from zapomni_core.embedding import DefaultEmbedder, Embedder
from zapomni_core.embedding.default import import_numpy

import_numpy()

import numpy as np  # noqa: E402 - after the number of its threads was set

from zapomni_core.search.search import SearchRequest, search  # noqa: E402
from zapomni_db.sqlite import SQLiteStore  # noqa: E402


class Chance:
    """Returns random vectors."""

    def __init__(self, real: Embedder) -> None:
        self.identity, self.profile = real.identity, real.profile
        self._chance = np.random.default_rng(5)

    async def embed(self, texts: list[str], *, query: bool) -> np.ndarray:
        assert query
        vectors = self._chance.standard_normal((len(texts), self.identity.dimension), np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


async def main(file: Path, asked: list[str]) -> None:
    embedder = Chance(DefaultEmbedder())
    before = resident()
    store = SQLiteStore(file)
    spent = []
    for question in asked:
        started = time.perf_counter()
        await search(store, embedder, "default", SearchRequest(query=question))
        spent.append((time.perf_counter() - started) * 1000)
    after = resident()
    await store.close()
    print(json.dumps({"first": spent[0], "median": statistics.median(spent), "before_mb": before, "after_mb": after}))


def resident() -> float:
    return int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0]) / 1024


asyncio.run(main(Path(sys.argv[1]), json.loads(sys.stdin.read())))
