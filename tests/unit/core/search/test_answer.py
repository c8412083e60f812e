"""A hit says how good it is, why it matched, and no more than was asked for."""

from datetime import UTC, datetime

import pytest
from zapomni_core.search.answers import cut_to

from zapomni_core.errors import ProcessingError
from zapomni_core.models import SearchHit
from zapomni_core.search import answers


def _hit(text):
    moment = datetime(2024, 5, 8, tzinfo=UTC)
    nothing = dict.fromkeys(("kind", "heading", "source", "author", "conversation"), "")
    return SearchHit(
        memory_id=text[:3], text=text, similarity_score=0.5, why=(), tags=(), timestamp=None, created_at=moment, **nothing
    )  # fmt: skip


@pytest.mark.parametrize(
    ("texts", "tokens", "expected"),
    [
        (["Four.", "Four."], 100, ["Four.", "Four."]),
        (["12345678", "12345678"], 4, ["12345678", "12345678"]),
        (["12345678", "12345678"], 3, ["12345678"]),
        (["12345678", "Ab. Cdefg hijk."], 3, ["12345678", "Ab."]),
        (["One is here. Two is there. Three."], 7, ["One is here. Two is there."]),
        (["One is here. Two is there. Three."], 5, ["One is here."]),
        (["Version 2.3.1 came out. Then more."], 6, ["Version 2.3.1 came out."]),
        (["第一句。第二句。第三句。"], 2, ["第一句。第二句。"]),
        (["a line\nand another line"], 3, ["a line"]),
        (["no end in sight"], 1, ["no…"]),
        (["no end in sight", "b"], 0, ["n…"]),
        (["Due are 4,312.50 EUR"], 4, ["Due are…"]),
        (["Dr. Okafor prescribed omeprazole"], 6, ["Dr. Okafor prescribed…"]),
        (["港口是，八零八零，今天没有人"], 3, ["港口是，八零八零，…"]),
        (["\U0001f468\u200d\U0001f469\u200d\U0001f467" * 3], 2, ["\U0001f468\u200d\U0001f469\u200d\U0001f467…"]),
        (["12345678", "4,312.50 EUR"], 4, ["12345678"]),
        ([], 5, []),
    ],
)
def test_whole_hits_come_first_and_the_last_is_cut_at_a_sentence(texts, tokens, expected, monkeypatch):
    monkeypatch.setattr(answers, "ABOUT_ALL", 0)
    monkeypatch.setattr(answers, "ABOUT_HIT", 0)
    assert [hit.text for hit in cut_to([_hit(text) for text in texts], tokens)] == expected


@pytest.mark.parametrize(("tokens", "count"), [(20, 1), (80, 1), (130, 2), (200, 3), (1000, 5)])
async def test_an_answer_is_no_larger_than_asked_for(engine, tokens, count):
    for number in range(5):
        await engine.add_memory(f"The gate code of house {number} is 44{number}.")
    hits = (await engine.search_memory("gate code", max_tokens=tokens)).hits
    assert [hit.text for hit in hits] == [hit.text for hit in (await engine.search_memory("gate code")).hits][:count]


async def test_the_gap_after_what_was_found_is_no_part_of_the_answer(engine):
    await engine.add_memory("The gate code is 4417." + " \n" * 100_000 + "Ada likes her tea black.")
    (hit,) = (await engine.search_memory("gate code")).hits
    assert hit.text == "The gate code is 4417."


async def test_the_best_hit_has_the_confidence_as_its_score_and_the_others_less(engine):
    for text in ("The gate code is 4417.", "The gate is green.", "Ada likes her tea black."):
        await engine.add_memory(text)
    result = await engine.search_memory("gate code")
    scores = [hit.similarity_score for hit in result.hits]
    assert scores[0] == pytest.approx(result.confidence)
    assert scores == sorted(scores, reverse=True)
    assert scores[2] < scores[0]


async def test_one_memory_that_shares_no_word_is_as_good_as_the_search_is_sure(engine):
    await engine.add_memory("Ключ под ковриком.")
    result = await engine.search_memory("where is it?")
    assert [hit.similarity_score for hit in result.hits] == [pytest.approx(result.confidence)]
    assert result.confidence > 0


async def test_a_hit_names_the_words_of_the_question_as_they_were_written(engine, embedder):
    await engine.add_memory("getUserName returns the gates of users")
    embedder.failure = ProcessingError("broken")
    (hit,) = (await engine.search_memory("Which Gate does getUserName return? gate, Gates")).hits
    assert hit.why == ("Gate", "getUserName", "return")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("getUserName is new", ("getUserName",)),
        ("the name of the user", ("User", "Name")),
        ("Python is old", ("python",)),
        ("a C compiler", ("C",)),
    ],
)
async def test_a_hit_that_holds_parts_of_an_identifier_names_those_and_not_the_identifier(engine, embedder, text, why):
    await engine.add_memory(text)
    embedder.failure = ProcessingError("broken")
    (hit,) = (await engine.search_memory("getUserName python3 C++")).hits
    assert hit.why == why


async def test_a_hit_found_by_its_vector_says_meaning(engine):
    await engine.add_memory("The locksmithery of Heidelberg")
    await engine.add_memory("Nothing else")
    hits = (await engine.search_memory("locksmith")).hits
    assert hits[0].why == ("meaning",)


async def test_a_hit_in_another_language_is_found_by_its_words_and_says_translation(engine, embedder):
    embedder.failure = ProcessingError("broken")
    for text in (
        "Die Miete ist am Dritten fällig.",
        "图书馆九点关门。",
        "The bees swarmed in May.",
        "Сестра купила велосипед.",
    ):
        await engine.add_memory(text)
    for question, text in {
        "When is the rent due?": "Die Miete ist am Dritten fällig.",
        "when does the library close": "图书馆九点关门。",
        "who bought a bicycle": "Сестра купила велосипед.",
        "когда роились пчёлы": "The bees swarmed in May.",
    }.items():
        (hit,) = (await engine.search_memory(question, 1)).hits
        assert (hit.text, hit.why) == (text, ("translation",))


async def test_a_part_of_a_translation_is_none(engine, embedder):
    embedder.failure = ProcessingError("broken")
    for text in ("冷蔵庫は台所です。", "冷蔵品は明日です。"):
        await engine.add_memory(text)
    (hit,) = (await engine.search_memory("where is the refrigerator")).hits
    assert (hit.text, hit.why) == ("冷蔵庫は台所です。", ("translation",))


async def test_a_word_itself_counts_more_than_its_translation(engine, embedder):
    embedder.failure = ProcessingError("broken")
    await engine.add_memory("Miete Haus")
    await engine.add_memory("rent Haus")
    hits = (await engine.search_memory("rent of the blue unknown qwrtp")).hits
    assert [(hit.text, hit.why) for hit in hits] == [("rent Haus", ("rent",)), ("Miete Haus", ("translation",))]


async def test_where_words_cover_a_question_translations_do_not_count(engine, embedder):
    embedder.failure = ProcessingError("broken")
    await engine.add_memory("The rent is due.")
    await engine.add_memory("Die Miete ist fällig.")
    assert [hit.text for hit in (await engine.search_memory("rent due")).hits] == ["The rent is due."]


async def test_what_is_too_long_for_a_question_is_not_translated(engine, embedder):
    embedder.failure = ProcessingError("broken")
    await engine.add_memory("Die Miete ist fällig.")
    for others, found in ((48, 1), (49, 0)):
        question = "rent due " + " ".join(
            f"{'bcdfghklmn'[number // 10]}x{'bcdfghklmn'[number % 10]}" for number in range(others)
        )
        assert len((await engine.search_memory(question)).hits) == found


async def test_a_hit_found_by_words_alone_does_not_say_meaning(engine, embedder):
    await engine.add_memory("gate code")
    embedder.failure = ProcessingError("broken")
    assert (await engine.search_memory("gate code")).hits[0].why == ("gate", "code")


async def test_a_turn_whose_neighbours_hold_a_word_that_it_lacks_says_conversation(engine, embedder):
    embedder.failure = ProcessingError("broken")
    for minute, (author, text) in enumerate([("Ada", "When is the camping?"), ("Ben", "On Sunday."), ("Ada", "Good.")]):
        moment = f"2024-05-08T10:{minute:02}:00"
        await engine.add_memory(text, {"author": author, "conversation": "a", "timestamp": moment})
    hits = {hit.text: hit.why for hit in (await engine.search_memory("when does Ben go camping")).hits}
    assert hits["On Sunday."] == ("Ben", "conversation", "author")
    assert hits["Good."] == ("conversation",)
    assert "camping" in hits["When is the camping?"]


async def test_a_hit_tells_what_is_known_of_its_memory(engine):
    metadata = {
        "tags": ["home"], "source": "notes", "author": "Ada", "conversation": "a", "timestamp": "2024-05-08T10:00:00+02:00",
        "language": "markdown",
    }  # fmt: skip
    added = await engine.add_memory("# House\n\n## Gate\n\nThe code is 4417.", metadata)
    (hit,) = (await engine.search_memory("gate code", filters={"tags": "home"})).hits
    assert (hit.memory_id, hit.kind, hit.tags) == (added.memory_id, "memory", ("home",))
    assert (hit.source, hit.author, hit.conversation) == ("notes", "Ada", "a")
    assert hit.timestamp == datetime(2024, 5, 8, 8, tzinfo=UTC)
    assert "House" in hit.heading
