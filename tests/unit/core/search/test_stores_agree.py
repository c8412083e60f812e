"""Each store and the reference store give the same answers where both compare everything."""

import random

import pytest
import pytest_asyncio

from zapomni_core.memory.add import prepare
from zapomni_core.search.search import SearchRequest, search
from zapomni_core.testing.embedder import HashingEmbedder
from zapomni_db.falkordb import FalkorDBClient, FalkorDBStore
from zapomni_db.filters import parse_filter
from zapomni_db.reference import ReferenceStore
from zapomni_db.sqlite import SQLiteStore

MEMORIES, QUESTIONS = 200, 60
WORDS = {
    "en": [
        "heron",
        "piano",
        "lamp",
        "garden",
        "ticket",
        "river",
        "window",
        "doctor",
        "invoice",
        "bicycle",
        "kettle",
        "harbour",
        "never",
        "Tuesday",
        "market",
    ],
    "ru": [
        "цапля",
        "рояль",
        "лампа",
        "огород",
        "билет",
        "река",
        "окно",
        "врач",
        "счёт",
        "велосипед",
        "чайник",
        "гавань",
        "вторник",
        "рынок",
        "не",
    ],
    "de": [
        "Reiher",
        "Klavier",
        "Lampe",
        "Garten",
        "Fahrkarte",
        "Fluss",
        "Fenster",
        "Rechnung",
        "Fahrrad",
        "Kessel",
        "Hafen",
        "Dienstag",
        "Markt",
        "kein",
    ],
    "zh": [
        "苍鹭",
        "钢琴",
        "台灯",
        "花园",
        "车票",
        "河流",
        "窗户",
        "医生",
        "发票",
        "自行车",
        "水壶",
        "港口",
        "星期二",
        "市场",
        "从不",
    ],
}
AUTHORS = ("Ada Lovelace", "Пётр", "Grace", "")
FILTERS = (
    None,
    {"tags": ["home"]},
    {"author": ["Ada Lovelace", "Grace"]},
    {"conversation": "talk1"},
    {"date_from": "2024-05-04", "date_to": "2024-05-09"},
    {"room": 3},
    {"tags": ["home"], "author": "Пётр"},
)


def corpus(chance):
    """Texts in several languages, mostly conversation turns, with all filterable metadata and some near duplicates."""
    made = []
    for number in range(MEMORIES):
        words = WORDS[chance.choice(list(WORDS))]
        text = " ".join(chance.choices(words, k=chance.choice((1, 4, 9, 30))))
        if made and not number % 9:
            text = made[-1][0] + chance.choice((" again", " 17", " not"))
        metadata = {
            "timestamp": f"2024-05-{1 + number % 12:02}T10:{number % 60:02}:00",
            "author": chance.choice(AUTHORS),
            "conversation": chance.choice(("talk1", "talk2", "talk3", "")),
            "tags": chance.sample(["home", "work", "old"], chance.randrange(3)),
            "room": chance.randrange(5),
        }
        made.append((text, {key: value for key, value in metadata.items() if value != ""}))
    return made


def questions(chance):
    for _ in range(QUESTIONS):
        words = WORDS[chance.choice(list(WORDS))]
        asked = chance.choices(words, k=chance.choice((1, 2, 3, 6))) + chance.choices(
            ("Ada", "Пётр", "where", "17"), k=1
        )
        yield " ".join(asked), parse_filter(chance.choice(FILTERS)), chance.choice((1, 5, 10, 20))


@pytest_asyncio.fixture(
    scope="module", loop_scope="module", params=["sqlite", pytest.param("falkordb", marks=pytest.mark.stores)]
)
async def stores(request, tmp_path_factory):
    embedder, new = HashingEmbedder(128), []
    for text, metadata in corpus(random.Random(3)):
        new.append(await prepare(text, metadata, embedder))
    if request.param == "sqlite":
        tested = SQLiteStore(tmp_path_factory.mktemp("agree") / "memory.db")
    else:
        url = request.getfixturevalue("falkordb_server").url("agree")
        tested = FalkorDBStore(FalkorDBClient.from_url(url))
    stores = tested, ReferenceStore()
    for store in stores:
        await store.add("default", new)
    yield stores
    for store in stores:
        await store.close()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("query", "wanted", "limit"), list(questions(random.Random(5))), ids=range(QUESTIONS))
async def test_both_stores_give_the_same_hits(stores, query, wanted, limit):
    request = SearchRequest(query=query, wanted=wanted, limit=limit)
    one, other = [await search(store, HashingEmbedder(128), "default", request) for store in stores]
    assert (one.memories_searched, one.filtered) == (other.memories_searched, other.filtered)
    assert one.confidence == pytest.approx(other.confidence, abs=1e-3)
    assert len(one.hits) == len(other.hits)
    for mine, theirs in zip(one.hits, other.hits, strict=True):
        assert mine.similarity_score == pytest.approx(theirs.similarity_score, abs=1e-3)
    scores = {hit.text: hit.similarity_score for hit in other.hits}
    for mine, theirs in zip(one.hits, other.hits, strict=True):
        if mine.text != theirs.text:  # then they are as good as equal
            last = other.hits[-1].similarity_score
            assert scores.get(mine.text, last) == pytest.approx(theirs.similarity_score, abs=1e-3), mine.text
        else:
            assert (mine.why, len(mine.copies)) == (theirs.why, len(theirs.copies))
