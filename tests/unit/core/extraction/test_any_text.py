"""The rules hold for any text: right places, the same every time, and no more work than the text is long."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zapomni_core.extraction import mentions, patterns, sentences
from zapomni_core.extraction.parts import parts_of
from zapomni_core.extraction.reading import StoppedError, read
from zapomni_core.extraction.sentences import sentences_of
from zapomni_db.names import key_of

FRAGMENTS = st.sampled_from(
    [
        *(
            "Anna ",
            "Bob Ray ",
            "Мария Иванова ",
            "Москве ",
            "Иваном Петровым ",
            "Зембла ",
            "Земблу ",
            "Νίκος ",
            "van ",
            "of ",
            "Dr. ",
            "J. ",
            "NASA ",
            "’s ",
            "'s ",
            "GitHub",
            "O'",
        ),
        *(
            "works at ",
            "lives in ",
            "moved from ",
            "to ",
            "uses ",
            "и ",
            "and ",
            ", ",
            "is the CEO of ",
            "живёт в ",
            "hängt von ",
        ),
        *("since 2021 ", "2023-05-08 ", "May 8, 2023 ", "8 мая 2023 ", "2023年5月", "until ", "in ", "31.02.2023"),
        *(
            "https://a.b/(c",
            ")",
            "a@b.c ",
            "a_b ",
            "f() ",
            "x.y.z ",
            "src/a.py ",
            "C:\\a\\b ",
            "`",
            "#tag",
            "@who ",
            "v1.2.3 ",
        ),
        *(
            '"',
            "“",
            "”",
            "«",
            "»",
            "„",
            "「",
            "」",
            "《",
            "》",
            ". ",
            "! ",
            "? ",
            "。",
            "\n",
            "\n\n",
            "# ",
            "- ",
            "| ",
            "\r\n",
        ),
        *(
            "```\n",
            "class A(B):\n",
            "from a import b\n",
            "def f(x):\n    ",
            "漢字",
            "한국어",
            "שלום",
            "Docker",
            "ß",
            "İ",
            "ﬁ",
            "e\u0301",
        ),
        *("\ud800", "\udc00", "\0", "\x07", "\u202e", "\u00a0", " ", "👨‍👩‍👧", "A" * 70, "a." * 40, "-" * 30),
    ]
)
TEXTS = st.text() | st.lists(FRAGMENTS, max_size=60).map("".join)


def is_named(written, name):
    """Whether a name is written there: to the letter, or in another case of Russian."""
    one, other = key_of(written), key_of(name)
    bent = "а" <= other[0] <= "я" and all(a[:2] == b[:2] for a, b in zip(one.split(), other.split(), strict=True))
    return one == other or bent


@given(TEXTS)
def test_every_place_has_the_name_that_is_said_to_be_there(text):
    for entity in read(text).entities:
        assert entity.spans == tuple(sorted(set(entity.spans)))
        for start, end in entity.spans:
            assert entity.type == "date" or is_named(text[start:end], entity.name)
            assert 0 <= start < end <= len(text)


@given(TEXTS)
def test_relations_are_between_entities_and_quote_the_text(text):
    found = read(text)
    names = {entity.name for entity in found.entities}
    for one in found.relations:
        assert {one.subject, one.object} <= names
        assert key_of(one.subject) != key_of(one.object)
        assert text[one.start : one.end].strip()
        assert re.fullmatch(r"\w{1,50}", one.type)


@given(TEXTS)
def test_names_can_be_kept_and_are_told_apart_as_a_store_does(text):
    keys = [key_of(entity.name) for entity in read(text).entities]
    assert len(set(keys)) == len(keys)
    assert all(key and key.encode() for key in keys)


@given(TEXTS)
def test_the_same_text_gives_the_same_in_the_order_of_its_places(text):
    found = read(text)
    assert read(text) == found
    assert list(found.entities) == sorted(found.entities, key=lambda entity: entity.spans[0])
    assert list(found.relations) == sorted(found.relations, key=lambda one: (one.start, one.end))


@given(TEXTS)
def test_sentences_leave_out_nothing_but_white_space(text):
    end = 0
    for sentence in sentences_of(text):
        assert text[end : sentence.start].strip() == ""
        assert text[sentence.start : sentence.end] == sentence.text
        assert sentence.code or len(sentence.text) <= sentences.LONGEST
        end = sentence.end
    assert text[end:].strip() == ""


@pytest.mark.parametrize("stop", "。！？｡।॥؟۔።။។։")
def test_a_sentence_begins_right_after_a_full_stop_that_needs_no_space(stop):
    text = f"一二三{stop}GitHub四五{stop}六七"
    assert [one.text for one in sentences_of(text)] == [f"一二三{stop}", f"GitHub四五{stop}", "六七"]


@given(TEXTS, st.integers(min_value=1, max_value=50))
def test_parts_leave_out_nothing_but_white_space_and_are_not_too_long(text, longest):
    end = 0
    for first, last in parts_of(text, longest):
        assert text[end:first].strip() == ""
        assert 0 < last - first <= max(longest, 0)
        end = last
    assert text[end:].strip() == ""


@pytest.mark.parametrize(
    "unit",
    [
        "Anna met Bob Ray. ",
        "x",
        " ",
        "a.",
        '"',
        "`a",
        "a/b/",
        "_a",
        "Anna, ",
        "Anna and ",
        "「",
        "Dr. ",
        "A\n",
        "http://",
        "f(",
        "O'",
        "#a ",
    ],
)
def test_the_work_grows_with_the_length_of_the_text_and_no_faster(unit, monkeypatch):
    """Every sentence is looked at a fixed number of times, and no sentence is long."""
    lengths = []

    def counted(work):
        def count(text, *arguments, **choices):
            lengths.append(len(text))
            return work(text, *arguments, **choices)

        return count

    monkeypatch.setattr("zapomni_core.extraction.reading.mentions_in", counted(mentions.mentions_in))
    monkeypatch.setattr("zapomni_core.extraction.reading.stated_in", counted(patterns.stated_in))
    text = unit * (60_000 // len(unit))
    read(text)
    assert sum(lengths) <= 2 * len(text)
    assert max(lengths, default=0) <= sentences.LONGEST


def test_no_text_has_more_relations_than_can_be_kept(monkeypatch):
    monkeypatch.setattr("zapomni_core.extraction.collecting.MOST_RELATIONS", 10)
    assert len(read("so `a_b` or `c_d` or `e_f` or `g_h` or `i_j` or `k_l`.").relations) == 10


def test_a_text_that_names_more_than_can_be_kept_is_read_up_to_there(monkeypatch):
    monkeypatch.setattr("zapomni_core.extraction.reading.MOST_MENTIONS", 4)
    assert len(read("so `a_b` or `c_d`.\n\nSo `e_f` or `g_h`.\n\nSo `i_j` or `k_l`.").entities) == 4
    assert (
        len(read("```\nclass A: pass\nclass B: pass\nclass C: pass\nclass D: pass\nclass E: pass\n```").entities) == 4
    )


def test_reading_stops_between_sentences_when_nobody_waits_any_more():
    asked = []

    def is_stopped():
        asked.append(1)
        return len(asked) > 10

    with pytest.raises(StoppedError):
        read("Anna met Bob Ray. " * 1000, is_stopped)
    assert len(asked) == 11
