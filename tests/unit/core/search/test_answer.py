"""A hit has a score, the reasons for its match, and no more text than was asked for."""

import math
from datetime import UTC, datetime

import pytest

from zapomni_core.embedding import Profile
from zapomni_core.errors import ProcessingError
from zapomni_core.models import SearchHit
from zapomni_core.search import answer
from zapomni_core.search.answer import cut_to, verdict


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
    monkeypatch.setattr(answer, "ANSWER_OVERHEAD", 0)
    monkeypatch.setattr(answer, "HIT_OVERHEAD", 0)
    assert [hit.text for hit in cut_to([_hit(text) for text in texts], tokens)] == expected


@pytest.mark.parametrize(("tokens", "count"), [(20, 1), (80, 1), (130, 2), (200, 2), (1000, 5)])
async def test_an_answer_has_at_most_the_tokens_asked_for(engine, tokens, count):
    for number in range(5):
        await engine.add_memory(f"The gate code of house {number} is 44{number}.")
    hits = (await engine.search_memory("gate code", max_tokens=tokens)).hits
    assert [hit.text for hit in hits] == [hit.text for hit in (await engine.search_memory("gate code")).hits][:count]


async def test_white_space_after_a_chunk_is_not_in_the_answer(engine):
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
    assert scores[-1] < scores[0]


async def add_all(engine, *texts):
    """The ids of memories by their texts, added from the oldest to the newest."""
    return {text: (await engine.add_memory(text)).memory_id for text in texts}


async def found(engine, query, **options):
    return [hit.text for hit in (await engine.search_memory(query, **options)).hits]


async def test_of_texts_that_say_the_same_the_best_is_a_hit_and_names_the_others(engine):
    first = "The gate code of the summer house by the lake is on the note behind the mirror"
    again = "the GATE code of the summer house by the lake is on the note behind the mirror!"
    nearly = "The gate code of the summer house by the lake is on a note behind the mirror"
    other = "The gate of the summer house squeaks"
    ids = await add_all(engine, first, again, nearly, other)
    hits = (await engine.search_memory("gate code of the summer house")).hits
    assert [hit.memory_id in {ids[first], ids[again], ids[nearly]} for hit in hits] == [True, False]
    assert {hits[0].memory_id, *hits[0].copies} == {ids[first], ids[again], ids[nearly]}
    assert hits[1].copies == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The rent of the flat in the old town is due on the 3rd of each month", "3rd|5th"),
        ("The rent of the flat in the old town is paid for this month", "paid|not paid"),
        ("Die Miete der Wohnung in der alten Stadt ist für diesen Monat bezahlt", "bezahlt|nicht bezahlt"),
        ("Аренда квартиры в старом городе за этот месяц уже полностью оплачена нами", "оплачена|не оплачена"),
    ],
)
async def test_texts_that_differ_by_a_number_or_a_negation_are_two_hits(engine, one, other):
    texts = one, one.replace(*other.split("|"))
    await add_all(engine, *texts)
    assert sorted(await found(engine, one)) == sorted(texts)


async def test_copies_do_not_displace_other_memories(engine, embedder):
    embedder.failure = ProcessingError("broken")
    said = [f"gate code gate code gate code by the neighbour in green, says {name}" for name in ("ada", "ben")]
    others = ["The gate code was changed by Grace", "A code for gate two was chosen"]
    await add_all(engine, *said, *others)
    texts = await found(engine, "gate code", limit=3)
    assert len(texts) == 3
    assert set(texts) > set(others)


async def test_hits_far_below_the_best_are_left_out(engine, embedder):
    embedder.failure = ProcessingError("broken")
    await add_all(engine, "alpha beta gamma delta", "alpha beta", "alpha is all that this has")
    assert await found(engine, "alpha beta gamma delta") == ["alpha beta gamma delta", "alpha beta"]


async def test_without_a_relevant_memory_the_nearest_three_are_returned(engine):
    await add_all(engine, *(f"filler{number} words{number}" for number in range(60)))
    result = await engine.search_memory("quantum zoology")
    assert (result.verdict, len(result.hits)) == ("nothing relevant", 3)
    assert [hit.similarity_score <= result.confidence for hit in result.hits] == [True] * 3


async def test_an_irrelevant_memory_is_returned_if_only_it_matches_the_filter(engine):
    for text in ("x\"'", "Кириллица", "100 %", "some plain words"):
        await engine.add_memory(text, {"source": text})
        result = await engine.search_memory("anything at all", filters={"source": text})
        assert [hit.text for hit in result.hits] == [text]
        assert 0 <= result.hits[0].similarity_score <= 1


async def test_equally_good_memories_come_newest_first(engine, embedder):
    embedder.failure = ProcessingError("broken")
    for day in (3, 1, 2):
        await engine.add_memory(f"heron number{day}", {"timestamp": f"2024-05-0{day}"})
    assert await found(engine, "heron") == ["heron number3", "heron number2", "heron number1"]


@pytest.mark.parametrize(
    ("confidence", "word"),
    [(0.0, "nothing relevant"), (0.0999, "nothing relevant"), (0.1, "weak"), (0.4999, "weak"), (0.5, "good"), (1, "good")],
)  # fmt: skip
def test_a_confidence_has_a_word(confidence, word):
    assert verdict(confidence) == word


async def test_without_vectors_the_confidence_grows_with_the_cover_of_the_words(engine, embedder):
    for text in ("gate code", "black tea", "green door"):
        await engine.add_memory(text)
    embedder.failure = ProcessingError("broken")
    whole = await engine.search_memory("gate code")
    assert (whole.verdict, whole.confidence) == ("good", pytest.approx(1 / (1 + math.exp(-1.6))))
    half = await engine.search_memory("gate heron")
    assert half.verdict == "weak"
    assert (await engine.search_memory("osprey heron")).confidence == 0


async def test_the_confidence_goes_by_words_and_cosine_and_the_size_of_the_workspace(engine, embedder):
    embedder.profile = Profile(vector_weight=0.75, confidence=(-1, 1, 2, -0.5))
    await engine.add_memory("gate code", {"source": "house"})
    assert (await engine.search_memory("gate code")).confidence == pytest.approx(1 / (1 + math.exp(-2)), abs=1e-3)
    for number in range(20):
        await engine.add_memory(f"filler{number} words{number}")
    expected = 1 / (1 + math.exp(-(2 - 0.5 * math.log(21))))
    assert (await engine.search_memory("gate code")).confidence == pytest.approx(expected, abs=1e-3)
    filtered = await engine.search_memory("gate code", filters={"source": "house"})
    assert filtered.confidence == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(("before", "sure"), [(4, True), (5, False)])
async def test_the_confidence_is_that_of_the_best_five_hits(engine, embedder, before, sure):
    """Here hits come first because of their author, and another one has the words."""
    embedder.failure, embedder.profile = ProcessingError("broken"), Profile(vector_weight=0.75, author_bonus=2.0)
    for number in range(before):
        await engine.add_memory(f"unrelated{number}", {"author": "gate"})
    await engine.add_memory("gate code lies here")
    assert ((await engine.search_memory("gate code")).confidence > 0.5) == sure


async def test_an_embedder_without_a_measured_confidence_goes_by_the_words(engine, embedder):
    embedder.profile = Profile(vector_weight=0.75, confidence=None)
    await engine.add_memory("gate code")
    assert (await engine.search_memory("gate code")).confidence == pytest.approx(1 / (1 + math.exp(-1.6)))


async def test_the_score_of_a_single_hit_without_common_words_is_the_confidence(engine):
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


async def test_a_hit_has_the_metadata_of_its_memory(engine):
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
