"""The corpus of the recall test is what its README says it is."""

import json
import re
import unicodedata
from collections import Counter, defaultdict
from datetime import datetime
from pathlib import Path

import pytest

CORPUS = Path(__file__).parents[1] / "recall" / "corpus"

TONGUES = {"en", "ru", "de", "es", "zh", "ja", "fr", "uk"}
CODE = {
    "dockerfile", "go", "ini", "javascript", "lua", "nginx", "python", "rust", "shell", "sql", "toml", "typescript",
    "yaml",
}  # fmt: skip
CONFIGURATION = {"dockerfile", "ini", "nginx", "toml", "yaml"}
KINDS = {
    "fact", "paraphrase", "identifier", "conversation", "note", "code", "near_miss", "crosslingual",
    "same_language_other", "unanswerable",
}  # fmt: skip
METADATA = {"author", "conversation", "source", "timestamp", "tags"}

STOP = re.compile(
    "about|after|again|also|because|been|before|being|both|could|does|doing|down|each|every|from|have|here|into|just|many"
    "|more|most|much|must|only|other|over|same|should|some|such|than|that|their|them|then|there|these|they|this|those"
    "|through|under|until|very|were|what|when|where|which|while|whom|whose|will|with|would|your"
)
# Proper names of the corpus, in Cyrillic as they begin.
NAME = re.compile(
    r"\b(abel|aas|alcachofa|amparo|anna|artyom|baumann|bohdan|brandl|bursztyn|chen wei|clickhouse|duckdb|federkiel"
    r"|fjällsäker|gdańsk|gustav|hangzhou|haruka|henning|heron|ilya|inés|ingrid|jonas|karelia|kedr|kessler|kestrel|kresse"
    r"|kyoto|larch|leo|lviv|lyon|malmö|marta|mathilde|mishka|morand|möckel|nadia|nats|nordfrakt|octavia|odile|okafor"
    r"|oksana|olya|osprey|ostkorn|pablo|parcelbuddy|plover|postgres|priya|pulga|querbeet|rabbitmq|redis|robotik|rosa"
    r"|sagunto|sasha|sewernaja|sopot|speicher|sven|tamara|tanner|tbilisi|tidewell|timur|valencia|velocargo|vera|vespa"
    r"|vicent|wren)\b"
    r"|\b(артём|бердск|брандл|бублик|богдан|гриш|дрозд|жанн|карели|кедр|лейпциг|мельников|мойр|оксан|пабло|рустам"
    r"|сагунто|саш[аиеу]\b|северн|тамар|тимур|шишк|львов)",
    re.IGNORECASE,
)
IDENTIFIER = re.compile(r"\w*[A-Za-z]\w*[-./:]?\d|\d[-./:]\w|\d{3,}|\w_\w|[a-z][A-Z]|\w/\w|/\w+/|[КK]-\d")


def _rows(name):
    return [json.loads(line) for line in (CORPUS / name).read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def memories():
    return _rows("memories.jsonl")


@pytest.fixture(scope="module")
def by_key(memories):
    return {memory["key"]: memory for memory in memories}


@pytest.fixture(scope="module")
def questions():
    return _rows("questions.jsonl")


def _of(questions, kind):
    return [question for question in questions if question["kind"] == kind]


def _same(text):
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _words(text):
    """Beginnings of the content words, so that `invoice` and `invoices` are one."""
    return {word[:5] for word in re.findall(r"[^\W\d_]{4,}", text.casefold()) if not STOP.fullmatch(word)}


def _share(text, pattern):
    letters = [char for char in text if char.isalpha()]
    return sum(bool(re.match(pattern, char)) for char in letters) / max(1, len(letters))


def _named(question):
    return bool(IDENTIFIER.search(question) or NAME.search(question))


@pytest.mark.parametrize("name", ["memories.jsonl", "questions.jsonl"])
def test_a_file_is_lines_of_readable_json(name):
    raw = (CORPUS / name).read_bytes()
    assert raw.endswith(b"\n")
    assert b"\r" not in raw
    assert b"\\u" not in raw
    for line in raw.decode("utf-8").splitlines():
        assert json.dumps(json.loads(line), ensure_ascii=False) == line


def test_memories_have_the_fields_of_the_readme_and_nothing_else(memories):
    for memory in memories:
        assert list(memory) == ["key", "text", "metadata", "language", "tongue"], memory["key"]
        assert memory["text"] == memory["text"].strip() != "", memory["key"]
        assert set(memory["metadata"]) <= METADATA, memory["key"]
        assert memory["language"] in {None, "markdown"} | CODE, memory["key"]
        assert memory["tongue"] in TONGUES, memory["key"]


def test_questions_have_the_fields_of_the_readme_and_nothing_else(questions):
    for question in questions:
        more = ["close"] if question["kind"] == "unanswerable" else []
        assert list(question) == ["key", "question", "answers", "kind", "language", *more], question["key"]
        assert question["question"] == question["question"].strip() != "", question["key"]
        assert question["kind"] in KINDS, question["key"]
        assert question["language"] in TONGUES, question["key"]


def test_keys_count_up_from_one(memories, questions):
    assert [memory["key"] for memory in memories] == [f"m{n:03}" for n in range(1, len(memories) + 1)]
    assert [question["key"] for question in questions] == [f"q{n:03}" for n in range(1, len(questions) + 1)]


def test_answers_are_memories_and_only_the_unanswerable_have_none(by_key, questions):
    for question in questions:
        assert set(question["answers"]) <= set(by_key), question["key"]
        assert len(set(question["answers"])) == len(question["answers"]), question["key"]
        assert bool(question["answers"]) != (question["kind"] == "unanswerable"), question["key"]


def test_no_text_stands_twice(memories, questions):
    assert not [text for text, n in Counter(_same(memory["text"]) for memory in memories).items() if n > 1]
    assert not [text for text, n in Counter(_same(question["question"]) for question in questions).items() if n > 1]


def test_times_are_iso_with_a_zone(memories):
    for memory in memories:
        if "timestamp" in memory["metadata"]:
            assert datetime.fromisoformat(memory["metadata"]["timestamp"]).tzinfo, memory["key"]


def test_it_is_large_enough_in_every_kind(memories, questions):
    assert len(memories) >= 420
    assert len(questions) >= 220
    counts = Counter(question["kind"] for question in questions)
    assert set(counts) == KINDS
    assert min(counts.values()) >= 18
    assert counts["crosslingual"] >= 30
    assert counts["same_language_other"] >= 24


def test_the_languages_have_their_shares(memories, questions):
    counts = Counter(memory["tongue"] for memory in memories)
    assert 0.55 <= counts["en"] / len(memories) <= 0.65
    assert counts["ru"] >= 60
    assert min(counts[tongue] for tongue in ("de", "es", "zh")) >= 15
    assert min(counts[tongue] for tongue in ("ja", "fr", "uk")) >= 8
    assert {question["language"] for question in questions} == TONGUES


def test_a_memory_is_written_in_its_tongue(memories):
    for memory in memories:
        text = memory["text"]
        if memory["language"] in CODE or not any(char.isalpha() for char in text):
            continue
        cyrillic, han_kana = _share(text, r"[\u0400-\u04ff]"), _share(text, r"[\u3040-\u30ff\u4e00-\u9fff]")
        assert (cyrillic > 0.5) == (memory["tongue"] in {"ru", "uk"}), memory["key"]
        assert (han_kana > 0.5) == (memory["tongue"] in {"zh", "ja"}), memory["key"]
        assert bool(re.search("[іїєґІЇЄҐ]", text)) == (memory["tongue"] == "uk"), memory["key"]
        assert bool(re.search("[\u3040-\u30ff]", text)) == (memory["tongue"] == "ja"), memory["key"]


def test_conversations_are_long_enough_to_have_neighbours(memories):
    conversations = defaultdict(list)
    for memory in memories:
        if "conversation" in memory["metadata"]:
            conversations[memory["metadata"]["conversation"]].append(memory["metadata"])
    assert len(conversations) >= 6
    for name, turns in conversations.items():
        assert 12 <= len(turns) <= 25, name
        assert 2 <= len({turn["author"] for turn in turns}) <= 3, name
        times = [datetime.fromisoformat(turn["timestamp"]) for turn in turns]
        assert times == sorted(times), name


def test_notes_have_sections_and_some_are_long(memories):
    notes = [memory["text"] for memory in memories if memory["language"] == "markdown"]
    assert len(notes) >= 15
    assert all(len(re.findall(r"^#+ ", note, re.MULTILINE)) >= 4 for note in notes)
    assert sum(len(note.split()) >= 400 for note in notes) >= 6


def test_code_comes_in_several_languages(memories):
    counts = Counter(memory["language"] for memory in memories if memory["language"] in CODE)
    assert counts.total() >= 40
    assert counts["python"] >= 10
    assert counts["javascript"] + counts["typescript"] >= 5
    assert min(counts["go"], counts["sql"], counts["shell"]) >= 4
    assert sum(counts[language] for language in CONFIGURATION) >= 5


def test_memories_differ_in_length(memories):
    lengths = [len(memory["text"].split()) for memory in memories if memory["tongue"] not in {"zh", "ja"}]
    assert max(lengths) <= 600
    assert sum(n < 15 for n in lengths) >= 40
    assert sum(15 <= n < 50 for n in lengths) >= 200
    assert sum(n >= 100 for n in lengths) >= 20


def test_a_question_has_the_answers_of_its_kind(by_key, questions):
    for question in questions:
        answers = [by_key[key] for key in question["answers"]]
        tongues = {answer["tongue"] for answer in answers}
        match question["kind"]:
            case "conversation":
                fits = all("conversation" in answer["metadata"] for answer in answers)
            case "note":
                fits = all(answer["language"] == "markdown" for answer in answers)
            case "code":
                fits = all(answer["language"] in CODE for answer in answers)
            case "crosslingual":
                fits = question["language"] not in tongues
            case "same_language_other":
                fits = tongues == {question["language"]} != {"en"}
            case _:
                fits = True
        assert fits, question["key"]


def test_a_paraphrase_shares_at_most_one_word_with_its_answer(by_key, questions):
    for question in _of(questions, "paraphrase"):
        for key in question["answers"]:
            shared = _words(question["question"]) & _words(by_key[key]["text"])
            assert len(shared) <= 1, (question["key"], shared)


def test_enough_questions_have_no_answer_and_half_of_these_come_close(questions):
    without = _of(questions, "unanswerable")
    assert len(without) >= 0.15 * len(questions)
    assert 0.45 <= sum(question["close"] for question in without) / len(without) <= 0.55


def test_a_third_of_the_questions_has_a_name_or_an_identifier(questions):
    assert sum(_named(question["question"]) for question in questions) >= len(questions) / 3
