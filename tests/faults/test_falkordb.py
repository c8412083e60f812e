"""A FalkorDB that cannot be reached, answers late, loses connections or is killed: nothing acknowledged is lost."""

import asyncio
import subprocess
import traceback
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from tests.faults.proxy import proxy_to
from tests.servers import falkordb, falkordb_programs, free_port
from zapomni_core.testing.samples import WORKSPACE, add, kept, put, sample_chunk, sample_memory, searchable
from zapomni_db.errors import DatabaseError, StoreTooNewError, StoreUnavailableError
from zapomni_db.falkordb import FalkorDBClient, FalkorDBStore, client, schema
from zapomni_db.filters import Filter

pytestmark = pytest.mark.stores


@pytest.fixture
async def make_store(falkordb_server, falkordb_url):
    """Makes stores on an empty graph; arguments stand instead of those of the server."""
    stores = []

    def make(**instead):
        there = {"host": falkordb_server.host, "port": falkordb_server.port, "password": falkordb_server.password}
        stores.append(FalkorDBStore(FalkorDBClient(graph_name=falkordb_url.rpartition("/")[2], **(there | instead))))
        return stores[-1]

    yield make
    for store in stores:
        await store.close()


@pytest.fixture
async def proxy(falkordb_server):
    async with proxy_to(falkordb_server.host, falkordb_server.port) as proxy:
        yield proxy


@pytest.fixture
def own_server(tmp_path):
    """A server that a test may kill."""
    with falkordb(tmp_path / "server") as server:
        yield server


def moment(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


async def until(ask, is_right, seconds=60):
    """Ask again and again until the answer is right; errors of the store are no answer."""
    async with asyncio.timeout(seconds):
        while True:
            try:
                answer = ask()
                answer = await answer if asyncio.iscoroutine(answer) else answer
            except StoreUnavailableError:
                pass
            else:
                if is_right(answer):
                    return answer
            await asyncio.sleep(0.01)


async def test_a_wrong_password_is_refused_without_showing_it(make_store):
    password = uuid4().hex
    with pytest.raises(StoreUnavailableError, match="password") as caught:
        await make_store(password=password).stats(WORKSPACE)
    assert password not in "".join(traceback.format_exception(caught.value))


async def test_a_user_needs_few_rights_and_an_error_names_them(make_store, falkordb_server, falkordb_url):
    graph = falkordb_url.rpartition("/")[2]
    rights = ["on", ">secret", f"~{graph}", "+graph.query", "+graph.ro_query", "+graph.constraint", "+info"]
    with falkordb_server.client() as admin:
        admin.execute_command("ACL", "SETUSER", graph, *rights)
        try:
            store = make_store(username=graph, password="secret")
            await add(store, "text")
            assert (await store.health(), (await store.stats(WORKSPACE)).memories) == ([], 1)
            admin.execute_command("ACL", "SETUSER", graph, "-graph.query")
            with pytest.raises(StoreUnavailableError, match=r"GRAPH\.QUERY"):
                await add(store, "more")
        finally:
            admin.execute_command("ACL", "DELUSER", graph)


@pytest.mark.parametrize("where", [{"port": 1}, {"host": "nowhere.invalid"}], ids=["port", "host"])
async def test_a_server_that_is_not_there_is_named(make_store, where):
    store = make_store(**where)
    (problem,) = await store.health()
    assert all(str(part) in problem for part in where.values())
    with pytest.raises(StoreUnavailableError):
        await add(store, "text")


async def test_a_redis_without_the_module_is_refused(make_store, tmp_path):
    port = free_port()
    command = [falkordb_programs() / "redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", tmp_path]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as plain:  # noqa: ASYNC220 (it takes a moment)
        try:
            store = make_store(port=port, password=None)
            problems = await until(store.health, lambda found: "without the FalkorDB module" in found[0])
            assert len(problems) == 1
        finally:
            plain.kill()


async def test_a_server_that_is_too_old_is_refused(make_store, monkeypatch):
    monkeypatch.setattr(client, "OLDEST_MODULE", (99, 0, 0))
    with pytest.raises(StoreUnavailableError, match=r"at least 99\.0\.0"):
        await make_store().stats(WORKSPACE)


async def test_a_graph_of_a_newer_zapomni_is_left_alone(make_store):
    await add(make_store(), "text")
    newer = make_store()
    await newer._client.query("MATCH (z:Zapomni {id: 'schema'}) SET z.version = $version", {"version": 99})
    with pytest.raises(StoreTooNewError):
        await add(make_store(), "text")


async def test_clients_that_come_at_once_make_one_schema(make_store):
    stores = [make_store() for _ in range(8)]
    await asyncio.gather(*[add(store, f"text {number}") for number, store in enumerate(stores)])
    found = await stores[0]._client.read("MATCH (z:Zapomni) RETURN z.version")
    assert found == [[schema.VERSION]]
    assert len(await searchable(stores[0])) == 8


async def test_a_read_is_repeated_when_its_connection_is_lost(make_store, proxy):
    store = make_store(port=proxy.port)
    memory_id = await add(store, "text")
    proxy.swallow = 1
    assert (await store.get(WORKSPACE, memory_id)).text == "text"
    assert proxy.swallow == 0


async def test_a_write_whose_answer_is_lost_is_not_sent_again_and_can_be_repeated(make_store, proxy):
    store, direct = make_store(port=proxy.port), make_store()
    await add(store, "first")
    proxy.swallow = 1
    with pytest.raises(StoreUnavailableError, match="repeating it is harmless"):
        await store._client.query("CREATE (:Sent)")
    assert await direct._client.read("MATCH (s:Sent) RETURN count(s)") == [[1]]
    assert (await put(store, sample_memory("first"))).outcome == "existing"


async def test_an_add_that_is_cut_anywhere_is_kept_whole_or_not_at_all(make_store, proxy):
    store, direct = make_store(port=proxy.port), make_store()
    await add(store, "first")
    for number in range(30):
        new = sample_memory(f"a{number} b{number}", sample_chunk(f"a{number} b{number}"))
        adding = asyncio.create_task(put(store, new))
        await asyncio.sleep(0.0005 * (number % 10))
        proxy.cut()
        try:
            acknowledged = (await adding).memory_id
        except DatabaseError:
            acknowledged = None
        there = await direct.get(WORKSPACE, key=new.key)
        assert there or not acknowledged
        assert (await put(store, new)).outcome == ("existing" if there else "stored")
    assert len(await searchable(direct)) == (await direct.stats(WORKSPACE)).chunks == 31


async def test_a_server_that_does_not_answer_in_time_is_an_error_and_the_next_call_works(make_store, proxy):
    store = make_store(port=proxy.port, statement_seconds=0.3)
    memory_id = await add(store, "text")
    proxy.delay = 60
    with pytest.raises(StoreUnavailableError, match=r"0\.3 seconds"):
        await store.get(WORKSPACE, memory_id)
    proxy.delay = 0
    assert await store.get(WORKSPACE, memory_id)


async def test_what_was_acknowledged_is_there_after_the_server_was_killed_while_writing(own_server):
    store = FalkorDBStore(FalkorDBClient.from_url(own_server.url()))
    acknowledged: set[str] = set()
    failed: list[Exception] = []

    async def write(writer):
        for number in range(120):
            text = f"w{writer} n{number}"
            while text not in acknowledged:
                try:
                    await add(store, text)
                except DatabaseError as error:
                    failed.append(error)
                    await asyncio.sleep(0.01)
                else:
                    acknowledged.add(text)

    async def kill():
        for least in (40, 120, 200):
            await until(lambda: len(acknowledged), lambda count, least=least: count >= least)
            own_server.kill()
            known = set(acknowledged)
            await asyncio.sleep(0.05)
            own_server.start()
            assert known <= set(await until(lambda: searchable(store), bool))

    try:
        await asyncio.gather(*map(write, range(3)), kill())
        assert failed
        assert all(isinstance(error, StoreUnavailableError) for error in failed)
        assert sorted(await searchable(store)) == sorted(acknowledged)
        assert (await store.stats(WORKSPACE)).memories == 360
    finally:
        await store.close()


async def test_values_that_indexes_get_wrong_are_found_after_a_restart(own_server):
    metadata = {"zero": 0, "real": 0.0, "false": False, "empty": "", "large": 2**63 + 1, "nul": "a\0b", "null": None}
    epoch = {"date_from": moment("1970-01-01"), "date_to": moment("1970-01-01")}
    early = {"date_from": moment("0001-01-01"), "date_to": moment("0001-01-01T00:00:00.000001")}
    store = FalkorDBStore(FalkorDBClient.from_url(own_server.url()))
    memory_id = await add(store, "text\0\ue000", metadata=metadata, author="'\"\\", timestamp=moment("1970-01-01"))
    await add(store, "early", timestamp=moment("0001-01-01T00:00:00.000001"))
    try:
        for _ in range(2):
            memory = await kept(store, memory_id)
            assert (memory.text, memory.author, repr(dict(memory.metadata))) == (
                "text\0\ue000",
                "'\"\\",
                repr(metadata),
            )
            for key, value in metadata.items():
                assert await searchable(store, wanted=Filter(metadata={key: (value,)})) == ["text\0\ue000"], key
            assert await searchable(store, wanted=Filter(metadata={"zero": (False,)})) == []
            assert await searchable(store, wanted=Filter(**epoch)) == ["text\0\ue000"]
            assert await searchable(store, wanted=Filter(**early)) == ["early"]
            assert await searchable(store, wanted=Filter(**early | {"date_to": early["date_from"]})) == []
            own_server.kill()
            own_server.start()
    finally:
        await store.close()


@pytest.mark.parametrize(
    ("option", "word"), [(("--appendonly", "no"), "append-only"), (("--appendfsync", "everysec"), "everysec")], ids=str
)
async def test_a_server_that_may_lose_what_it_acknowledged_is_reported_and_logged(tmp_path, caplog, option, word):
    with falkordb(tmp_path / "server", *option) as server:
        store = FalkorDBStore(FalkorDBClient.from_url(server.url()))
        try:
            (warning,) = (await store.stats(WORKSPACE)).warnings
            assert word in warning
            assert caplog.messages.count("store_may_lose_memories") == 1
            assert await store.health() == []
        finally:
            await store.close()


async def test_a_server_that_keeps_everything_gives_no_warning(make_store):
    stats = await make_store().stats(WORKSPACE)
    assert stats.warnings == ()
    assert {"falkordb_version", "redis_version"} <= stats.details.keys()


async def test_a_closed_store_says_so(make_store):
    store = make_store()
    await add(store, "text")
    await store.close()
    await store.close()
    with pytest.raises(StoreUnavailableError, match="closed"):
        await add(store, "text")
