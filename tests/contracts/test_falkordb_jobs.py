"""The queue of the FalkorDB store keeps the contract of a queue."""

import asyncio

from tests.contracts.test_falkordb_memories import OnFalkorDB
from zapomni_core.testing.samples import WORKSPACE, put, sample_memory
from zapomni_core.testing.store_contracts import JobStoreContract
from zapomni_db.records import NewJob


class TestFalkorDBJobs(OnFalkorDB, JobStoreContract):
    """The contract of a queue."""

    async def test_a_key_that_many_ask_for_at_once_is_one_job(self, store, other):
        job = NewJob(kind="read", key="k")
        memories = [sample_memory(f"memory {number}", jobs=(job,)) for number in range(8)]
        asked = [where.jobs.enqueue(WORKSPACE, [job, job]) for where in (store, other) * 8]
        added = [put(where, memory) for where, memory in zip((store, other) * 4, memories, strict=True)]
        answers = await asyncio.gather(*asked, *added)
        ids = {one.id for jobs in answers[:16] for one in jobs} | {one for new in answers[16:] for one in new.job_ids}
        assert [one.id for one in await store.jobs.list(WORKSPACE)] == list(ids)
