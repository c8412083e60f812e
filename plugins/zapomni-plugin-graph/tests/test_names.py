# ruff: noqa: RUF001 (letters of several scripts)

import time
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from zapomni_plugin_graph.names import MOST_NAMES, NamesExtractor, extract_names

from zapomni_core.plugin.graph import MENTIONED_WITH

SENTENCES = tomllib.loads(Path(__file__).with_name("sentences.toml").read_text(encoding="utf-8"))["sentence"]
ALPHABET = "aB zЯя9_./\\:@#'\"«»„“`-–!?\n()&ß字"
NOTE = "We moved Kafka to db-1.example.com with Maria Lopez, see src/main.py. Die Suche läuft mit „Leise Systeme“. "
HARD = ["A. ", '"A ', "„A", "` 1", "a/", "a:1", "x.", "_a", "-", "слово Имя "]


def names_in(text):
    return [entity.name for entity in extract_names(text).entities]


def types_in(text):
    return {entity.name: entity.type for entity in extract_names(text).entities}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see parse_invoice, loadCart, run() and Foo::bar", ["parse_invoice", "loadCart", "run", "Foo::bar"]),
        ("ticket PAY-318, commit 3f2a9bc, host k8s-01 and sha256", ["PAY-318", "3f2a9bc", "k8s-01", "sha256"]),
        ("set `retry budget` and `flush()`", ["retry budget", "flush"]),
    ],
)
def test_identifiers_are_names(text, found):
    assert types_in(text) == dict.fromkeys(found, "identifier")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("/etc/app/app.toml", "path"),
        ("src/main.py", "path"),
        ("~/notes/todo", "path"),
        ("C:\\Users\\ann", "path"),
        ("tests/e2e", "path"),
        ("README.md", "path"),
        (".env", "path"),
        ("db-1.internal", "host"),
        ("example.com", "host"),
        ("10.0.0.5", "host"),
        ("https://example.com/a?b=c", "url"),
        ("ops@acme.example", "email"),
        ("@dkim", "handle"),
        ("#checkout", "tag"),
        ("os.path", "identifier"),
    ],
)
def test_the_type_follows_from_the_form_of_the_name(name, kind):
    assert types_in(f"it is in {name}, as before.") == {name: kind}


def test_the_line_of_a_path_and_the_port_of_a_host_are_not_part_of_the_name():
    assert types_in("see src/main.py:42 and db.internal:5432") == {"src/main.py": "path", "db.internal": "host"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("we asked Maria Lopez of AT&T", ["Maria Lopez", "AT&T"]),
        ("it is Maria's, not Redis-backed", ["Maria", "Redis"]),
        ("books by J. R. R. Tolkien and Dr. Weber", ["J. R. R. Tolkien", "Dr. Weber"]),
        ("así lo dijo Inés de la Torre", ["Inés de la Torre"]),
        ("за это отвечает Анна Соколова", ["Анна Соколова"]),
        ("το είπε ο Γιώργος Παπάς", ["Γιώργος Παπάς"]),
        ("we use Kafka/RabbitMQ and C++", ["Kafka", "RabbitMQ", "C++"]),
        ("使用Kafka和Redis。", ["Kafka", "Redis"]),
    ],
)
def test_capitalised_words_are_names_and_consecutive_ones_form_one_name(text, found):
    assert names_in(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "Backups run at night. Restores are rare!",
        "- Backups run at night\n- Restores are rare",
        "# Deployment Guide For Beginners",
        "ALL OF THIS WAS SHOUTED",
        "She said that I'm late, and that We are too.",
        'He answered "Yes" and "We should go home."',
        "Die Sicherung der Datenbank läuft in der Nacht und im Keller.",
        "Файл лежит в папке. Отчёт готов.",
        "Memory is 8 GB and/or 24/7, e.g. he/she at 5 km/h.",
    ],
)
def test_the_first_word_of_a_sentence_alone_is_not_a_name(text):
    assert names_in(text) == []


def test_the_first_word_of_a_sentence_is_a_name_if_its_form_or_another_mention_says_so():
    assert names_in("PgBouncer is slow. Lena can wait; we believe Lena.") == ["PgBouncer", "Lena"]
    assert extract_names("Lena can wait. We believe Lena.").entities[0].spans == ((0, 4), (26, 30))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Anna works at Acme.", ["Anna", "Acme"]),
        ("Priya moved it.", ["Priya"]),
        ("Documentation lives in a folder.", []),
        ("Guarda copias en Vault.", ["Vault"]),
        ("im Team arbeitet Jonas mit Docker", ["Jonas", "Docker"]),
        ("der Plan ist in Option B. und danach Ruhe", []),
    ],
)
def test_neighbouring_words_can_mark_a_name(text, found):
    assert names_in(text) == found


@pytest.mark.parametrize(
    "text",
    ["on 2024-03-05, 2024-03 or 5.3.2024", "in March 2024, Q3-2024, at 10:05 on Friday", "ab Montag, im Mai, v1.2.3"],
)
def test_dates_and_numbers_are_not_names(text):
    assert names_in(text) == []


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ('the talk "Boring Deploys" was good', "Boring Deploys"),
        ("es heißt »Leise Systeme« und gilt", "Leise Systeme"),
        ("клиент «Северный ветер» ждёт", "Северный ветер"),
        ("es heißt „Der Prozess“ und liegt hier", "Der Prozess"),
    ],
)
def test_quoted_titles_are_names(text, title):
    assert types_in(text) == {title: "title"}


def test_code_in_fences_gives_identifiers_only():
    text = "see\n```python\nimport Something\nmy_value = Another\n```\nby Anna"
    assert types_in(text) == {"my_value": "identifier", "Anna": "name"}


def test_names_that_share_a_sentence_are_mentioned_together():
    text = "We pay Anna and Bob. They know Anna and Bob, or Carla."
    relations = extract_names(text).relations
    assert {(one.subject, one.object): text[one.start : one.end] for one in relations} == {
        ("Anna", "Bob"): "We pay Anna and Bob",
        ("Anna", "Carla"): "They know Anna and Bob, or Carla",
        ("Bob", "Carla"): "They know Anna and Bob, or Carla",
    }
    assert {(one.type, one.basis) for one in relations} == {(MENTIONED_WITH, "mention")}


def test_the_most_frequent_names_of_a_text_are_kept():
    text = " ".join(f"it is name_{number}." for number in range(30)) + " it is name_29. it is name_28."
    assert names_in(text) == [f"name_{number}" for number in (*range(MOST_NAMES - 2), 28, 29)]


async def test_an_extraction_names_its_extractor():
    extractor = NamesExtractor()
    found = await extractor.extract("we ask Anna and Bob")
    await extractor.close()
    assert found == extract_names("we ask Anna and Bob")
    assert found.extractor == extractor.name == "names"


@pytest.mark.parametrize(("piece", "size"), [(NOTE, 200_000), *((piece, 50_000) for piece in HARD)])
def test_extraction_takes_linear_time(piece, size):
    few, many = (_work(piece, size) for size in (size // 10, size))
    assert many < 40 * few + 0.2  # ten times the length; a hundred times the work would be quadratic


def _work(piece, size):
    """CPU time of this thread, which other processes do not affect."""
    text = (piece * (size // len(piece) + 1))[:size]
    before = time.thread_time()
    assert len(extract_names(text).entities) <= MOST_NAMES
    return time.thread_time() - before


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(alphabet=ALPHABET, max_size=80), st.text(max_size=80)))
def test_names_and_relations_of_any_text_lie_within_it(text):
    found = extract_names(text)
    names = {entity.name for entity in found.entities}
    assert len(names) <= MOST_NAMES
    for entity in found.entities:
        assert entity.name.strip()
        for start, end in entity.spans:
            assert 0 <= start < end <= len(text)
        first, last = entity.spans[0]
        assert text[first:last] == entity.name
    for relation in found.relations:
        assert {relation.subject, relation.object} <= names
        assert 0 <= relation.start < relation.end <= len(text)


@pytest.mark.parametrize(
    ("language", "precision", "recall"),
    [("English", 0.9, 0.8), ("Russian", 0.85, 0.8), ("German", 0.75, 0.8), ("Spanish", 0.9, 0.85)],
)
def test_most_names_of_ordinary_notes_are_found(language, precision, recall):
    counts = Counter()
    for sentence in (one for one in SENTENCES if one["language"] == language):
        found = {name.casefold() for name in names_in(sentence["text"])}
        wanted = [{form.casefold() for form in name.split("|")} for name in sentence["names"]]
        known = {form.casefold() for form in sentence.get("optional", ())}.union(*wanted)
        counts["right"] += sum(not forms.isdisjoint(found) for forms in wanted)
        counts["wanted"] += len(wanted)
        counts["wrong"] += len(found - known)
    assert counts["right"] / (counts["right"] + counts["wrong"]) >= precision
    assert counts["right"] / counts["wanted"] >= recall


async def test_the_direction_of_a_co_mention_does_not_depend_on_the_order_of_names():
    texts = ("We told Kafka and Acme.", "We told Acme and Kafka.")
    found = [(await NamesExtractor().extract(text)).relations for text in texts]
    assert [[(one.subject, one.object) for one in relations] for relations in found] == [[("Acme", "Kafka")]] * 2
