"""A process of its own that gives a workspace another embedder, or searches it meanwhile.

    reindexer.py PATH URL fill COUNT
    reindexer.py PATH URL reindex NAME
    reindexer.py PATH URL search

The embedders are the default one and an Ollama at the URL. A reindexing process says how far it is. A searching one asks for
memories by their vectors alone until its standard input ends, and says for each what it found.
"""

import asyncio
import os
import sys
import threading

from zapomni_core import MemoryEngine, Settings
from zapomni_core.memory import reindex as reindexing
from zapomni_db.records import Question, TermCounts

STEP = 4
WORKSPACE = "default"


def say(*words):
    """One line, at once and whole."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def fact(number):
    return f"Fact {number}: the lamp number {number * 7919 % 104729} hangs in room {number}"


async def fill(engine, count):
    """Adds memories."""
    for number in range(int(count)):
        await engine.add_memory(fact(number))


async def reindex(engine, name):
    """Gives the workspace another embedder, in small steps."""
    reindexing.BATCH = STEP

    async def tell(done, total):
        say("progress", done, total)

    say("done", await engine.reindex(name, tell))


async def search(engine, _):
    """Asks for memories by their vectors, each with the embedder that serves."""
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    count = (await engine.get_stats()).total_memories
    number = 0
    while not ended.is_set():
        number = (number + 1) % count
        say(*await engine.with_embedder(lambda embedder, asked=number: nearest(engine, embedder, asked)))


async def nearest(engine, embedder, number):
    """Who embedded the question, whether the nearest chunk is the right one, its cosine, and how many have no vector."""
    vector = (await embedder.embed([fact(number)]))[0]
    question = Question(terms=(), counts=TermCounts(0, ()), vector=vector, embedder=embedder.identity)
    proposed = await engine.memories.candidates(WORKSPACE, question)
    best = max(proposed.found, key=lambda one: one.cosine)
    (found,) = await engine.memories.chunks(WORKSPACE, [best.chunk])
    is_right = "right" if found.text == fact(number) else "wrong"
    return embedder.identity.name, is_right, f"{best.cosine:.3f}", proposed.without_vector


async def main(path, url, command, argument="") -> None:
    settings = {"store": f"sqlite://{path}", "embedding": {"ollama": {"base_url": url, "model": "wise"}}}
    engine = MemoryEngine(Settings.model_validate(settings))
    await globals()[command](engine, argument)
    await engine.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
