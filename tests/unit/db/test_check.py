"""The check finds damage anywhere in the file."""

from contextlib import closing

import apsw
import pytest

from zapomni_core.testing.samples import put, sample_memory
from zapomni_db.sqlite import SQLiteStore

DAMAGE = {
    "a text": ("UPDATE body SET bytes = CAST('something else' AS BLOB)", "is not what was stored"),
    "metadata": ("UPDATE memory SET metadata = '{}'", "is not what was stored"),
    "a chunk's place": ("UPDATE chunk SET last_byte = 1", "is not what was stored"),
    "a vector": ("UPDATE vector SET value = zeroblob(length(value))", "vectors or codes are not"),
    "a code": ("UPDATE code SET bits = zeroblob(length(bits))", "vectors or codes are not"),
    "a missing vector": ("DELETE FROM vector", "codes have no vector"),
    "a missing code": ("DELETE FROM code", "vectors have no code"),
    "a missing chunk": ("DELETE FROM chunk", "not the chunks that they had"),
    "a missing memory": ("DELETE FROM memory", "belong to no memory"),
    "missing words": ("DELETE FROM term", "cannot be found by words"),
    "words of no chunk": ("INSERT INTO term(rowid, terms) VALUES(99, 'a')", "belong to no chunk"),
    "a missing filter entry": ("DELETE FROM filter_entry", "cannot be filtered"),
    "the word index": ("UPDATE term_data SET block = zeroblob(length(block)) WHERE id > 100", "structure"),
}


@pytest.mark.parametrize(("statement", "sentence"), DAMAGE.values(), ids=DAMAGE)
async def test_damage_is_found(store, path, statement, sentence):
    await put(store, sample_memory("one two", metadata={"a": 1}), "default")
    assert await store.check() == []
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute(statement)
    found = await store.check()
    assert any(sentence in each for each in found), found


async def test_a_flipped_byte_in_a_text_is_found(store, path):
    """SQLite's own integrity check does not notice it."""
    await put(store, sample_memory("an elephant never forgets"), "default")
    await store.close()
    path.write_bytes(path.read_bytes().replace(b"elephant never", b"elephant Never"))
    again = SQLiteStore(path)
    assert ["is not what was stored" in each for each in await again.check()] == [True]
    await again.close()


async def test_many_problems_are_summarised(store, path):
    for number in range(30):
        await put(store, sample_memory(f"m {number}"), "default")
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("UPDATE body SET bytes = CAST('something else' AS BLOB)")
    found = await store.check()
    assert found[-1] == "There are 10 more problems."
