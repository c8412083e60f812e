"""How a store is opened: once, whoever comes first."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

from zapomni_core.testing.samples import WORKSPACE, put, sample_memory

THREADS = 4
EACH = 5


def test_event_loops_of_several_threads_open_a_store_once(store):
    before, begin = set(threading.enumerate()), threading.Barrier(THREADS)

    async def add(thread):
        for number in range(EACH):
            await put(store, sample_memory(f"{number} of {thread}"))

    def work(thread):
        begin.wait()
        asyncio.run(add(thread))

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    begun = [thread.name for thread in threading.enumerate() if thread not in before]
    assert begun.count("zapomni-writer") == 1
    assert asyncio.run(store.stats(WORKSPACE)).memories == THREADS * EACH
    asyncio.run(store.close())
