"""A program that uses a store, and prints what it asked for and what was acknowledged.

    store_process.py PATH COMMAND [ARGUMENT]

A command that waits for the test reads a line from standard input.
"""

import asyncio
import codecs
import os
import random
import resource
import signal
import sys
from pathlib import Path

from zapomni_core import MemoryEngine, MemoryManager
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_core.testing.samples import delete, put, restore, sample_memory
from zapomni_db.errors import DatabaseError
from zapomni_db.sqlite import SQLiteStore

WORKSPACE = "default"


def say(*words):
    """Print one line with a single write."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


async def add_and_die(store, count):
    """Add memories, then die with everything open."""
    for number in range(int(count)):
        added = await put(store, sample_memory(f"kept {number}"))
        say("added", added.memory_id)
    os.kill(os.getpid(), signal.SIGKILL)


async def add_at_once(store, name):
    """Wait for the test, then add a text that every process adds, and five of its own."""
    say("ready")
    sys.stdin.readline()
    texts = ["shared", *(f"{name}'s {number}" for number in range(5))]
    added = await asyncio.gather(*(put(store, sample_memory(text)) for text in texts))
    say(*(one.memory_id for one in added))


async def add_within(store, megabytes):
    """Add memories up to a limit of the file size, then report what still works."""
    await put(store, sample_memory("first"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(float(megabytes) * 1e6), resource.RLIM_INFINITY))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    kept = 1
    try:
        for number in range(10_000):
            await put(store, sample_memory(f"{number} " + "long" * 5000))
            kept += 1
    except DatabaseError as error:
        say(type(error).__name__)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    stats = await store.stats(WORKSPACE)
    say(stats.memories - kept, await store.check())
    say((await put(store, sample_memory("last"))).outcome)


async def read_without_permission(store, _):
    """Use the store as a user without permission."""
    sys.path_importer_cache.clear()
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    for attempt in (store.stats(WORKSPACE), put(store, sample_memory("text"))):
        try:
            await attempt
        except DatabaseError as error:
            say(type(error).__name__, error)


async def lose_access_to_the_directory(store, _):
    """Keep using a store whose directory becomes inaccessible and accessible again."""
    sys.path_importer_cache.clear()
    codecs.lookup("ascii")
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    added = await put(store, sample_memory("text"))
    await store.stats(WORKSPACE)
    directory = Path(sys.argv[1]).parent
    directory.chmod(0)
    for attempt in (store.get(WORKSPACE, added.memory_id), put(store, sample_memory("more"))):
        try:
            await attempt
        except DatabaseError as error:
            say(type(error).__name__, error)
    say("StoreUnavailableError", *await store.health())
    directory.chmod(0o700)
    say((await put(store, sample_memory("again"))).outcome, await store.check())


async def add_traced(store, _):
    """Print each request and acknowledgement for a tracer."""
    await put(store, sample_memory("first"))
    for number in range(3):
        say("request", number)
        await put(store, sample_memory(f"m {number}"))
        say("acknowledged", number)


async def change_at_random(store, name):
    """Add, delete, restore and purge until killed; print each intent and each acknowledgement."""
    chance = random.Random(name)
    await asyncio.gather(*(_change_at_random(store, f"{name}.{strand}", chance) for strand in range(4)))


async def _change_at_random(store, name, chance):
    live, deleted = [], []
    for number in range(1_000_000):
        action = chance.choices(["add", "delete", "restore", "purge"], [80, 12, 6, 0.5])[0]
        if action == "add":
            text = f"{name}.{number}"
            say("intent", "add", text)
            live.append((await put(store, sample_memory(text))).memory_id)
            say("done", "add", text, live[-1])
        elif action == "delete" and live:
            deleted.append(live.pop(chance.randrange(len(live))))
            say("intent", "delete", deleted[-1])
            await delete(store, deleted[-1])
            say("done", "delete", deleted[-1])
        elif action == "restore" and deleted:
            live.append(deleted.pop(chance.randrange(len(deleted))))
            say("intent", "restore", live[-1])
            await restore(store, live[-1])
            say("done", "restore", live[-1])
        elif action == "purge" and deleted:
            gone = deleted.pop()
            say("intent", "purge", gone)
            await store.purge(WORKSPACE, [gone])
            say("done", "purge", gone)


async def store_messages(store, name):
    """Store messages in the session named after the `@`, in three concurrent strands, until killed."""
    speaker, session = name.split("@")
    memory = MemoryManager(MemoryEngine(store=store, embedder=HashingEmbedder()))

    async def go_on(strand):
        for number in range(1_000_000):
            text = f"{speaker}.{strand}.{number}"
            say("intent", text)
            say("done", text, await memory.store_message(session, "user", text, {"number": number}))

    await asyncio.gather(*map(go_on, range(3)))


async def main(path, command, argument="") -> None:
    store = SQLiteStore(Path(path))
    await globals()[command](store, argument)
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
