"""Input is kept unchanged or refused with the field and the rule."""

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zapomni_core.memory.content import (
    DEEPEST_METADATA,
    LONGEST_METADATA,
    LONGEST_TEXT,
    PREVIEW,
    KnownMetadata,
    clean_metadata,
    clean_text,
    preview,
    read_metadata,
)
from zapomni_db.errors import InvalidInputError

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)


def nested(levels):
    """An object of so many levels."""
    made = {}
    for _ in range(levels - 1):
        made = {"in": made}
    return made


class TestText:
    @pytest.mark.parametrize(
        ("text", "cleaned"),
        [
            ("plain", "plain"),
            ("  indented", "  indented"),
            ("\n\t\n    def f():\n        pass\n\n", "    def f():\n        pass"),
            ("\r\n\r\n\tindented\r\n", "\tindented"),
            ("one\n\n\ntwo  \n", "one\n\n\ntwo"),
            ("\u3000全角", "\u3000全角"),
            ("\0", "\0"),
        ],
    )
    def test_blank_lines_at_both_ends_go_and_the_first_indent_stays(self, text, cleaned):
        assert clean_text(text) == cleaned

    @pytest.mark.parametrize("text", ["", " ", "\n\n", " \t\r\n\u3000 ", "\x0b\x0c"])
    def test_blank_text_is_refused(self, text):
        with pytest.raises(InvalidInputError, match=r"^text cannot be empty or whitespace-only$"):
            clean_text(text)

    def test_text_of_the_maximum_length_is_accepted_and_one_more_character_is_refused(self):
        assert len(clean_text("x" * LONGEST_TEXT)) == LONGEST_TEXT
        with pytest.raises(InvalidInputError, match=r"^text exceeds maximum length \(10,000,000 characters\)$"):
            clean_text("x" * (LONGEST_TEXT + 1))

    @pytest.mark.parametrize("text", ["\ud800", "half \udc00 a pair", "\udfff\ud800"])
    def test_a_lone_surrogate_is_refused_with_field_and_rule(self, text):
        with pytest.raises(InvalidInputError, match=r"^text must not contain lone surrogates"):
            clean_text(text)

    @given(ANY_TEXT)
    def test_cleaning_takes_nothing_but_blank_lines_and_trailing_space_and_happens_once(self, text):
        try:
            cleaned = clean_text(text)
        except InvalidInputError:
            assert not text.strip()
            return
        assert cleaned.strip() == text.strip()
        assert cleaned in text
        assert clean_text(cleaned) == cleaned

    @given(ANY_TEXT)
    def test_a_preview_is_one_short_line(self, text):
        shown = preview(text)
        assert len(shown) <= PREVIEW
        assert len(shown.splitlines()) <= 1
        assert bool(shown) == bool(text.strip())

    def test_a_preview_says_that_it_is_cut(self):
        assert preview("word " * 50).endswith("…")
        assert preview(" " * 500 + "deep") == "deep"


class TestMetadata:
    def test_many_short_texts_that_are_too_long_together_are_refused(self):
        with pytest.raises(InvalidInputError, match="metadata exceeds maximum length"):
            clean_metadata({f"{number:04}" + "\x01" * 996: "\x01" * 1000 for number in range(100)})

    def test_metadata_is_optional(self):
        assert clean_metadata(None) == clean_metadata({}) == {}

    @given(st.dictionaries(ANY_TEXT, JSON, max_size=5))
    def test_plain_json_is_kept_unchanged(self, metadata):
        assert clean_metadata(metadata) == metadata

    @pytest.mark.parametrize("metadata", ["text", 5, ["a"], [("a", 1)], object()])
    def test_anything_but_an_object_is_refused(self, metadata):
        with pytest.raises(InvalidInputError, match=r"^metadata\b.*object"):
            clean_metadata(metadata)

    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, object(), {1, 2}, b"bytes", datetime.now(UTC)])
    def test_values_that_json_cannot_hold_are_refused(self, value):
        with pytest.raises(InvalidInputError, match=r"^metadata must be plain JSON"):
            clean_metadata({"key": [value]})

    @pytest.mark.parametrize("metadata", [{1: "a"}, {"in": [{None: 1}]}, {True: 1}])
    def test_keys_that_would_come_back_as_texts_are_refused(self, metadata):
        with pytest.raises(InvalidInputError, match=r"^metadata\b.*keys"):
            clean_metadata(metadata)

    @pytest.mark.parametrize("metadata", [{"\ud800": 1}, {"a": "\udc00"}, {"a": [{"b": "\ud800"}]}])
    def test_a_lone_surrogate_is_refused_at_any_depth(self, metadata):
        with pytest.raises(InvalidInputError, match=r"^metadata must not contain lone surrogates"):
            clean_metadata(metadata)

    def test_a_hundred_levels_and_ten_thousand_keys_are_taken(self):
        for metadata in (nested(DEEPEST_METADATA), {f"key {number}": number for number in range(10_000)}):
            assert clean_metadata(metadata) == metadata

    @pytest.mark.parametrize("levels", [DEEPEST_METADATA + 1, 100_000])
    def test_more_levels_are_refused(self, levels):
        with pytest.raises(InvalidInputError, match=r"^metadata\b.*\b100\b"):
            clean_metadata(nested(levels))

    def test_a_cyclic_object_is_refused(self):
        metadata = {}
        metadata["itself"] = metadata
        with pytest.raises(InvalidInputError, match=r"^metadata\b.*\b100\b"):
            clean_metadata(metadata)

    def test_a_million_characters_are_the_limit(self):
        assert clean_metadata({"a": "x" * (LONGEST_METADATA - 9)})
        with pytest.raises(InvalidInputError, match=r"^metadata exceeds maximum length"):
            clean_metadata({"a": "x" * LONGEST_METADATA})


class TestKnownMetadata:
    def test_without_metadata_there_are_none(self):
        assert read_metadata({}) == read_metadata({"tags": None, "source": None}) == KnownMetadata()

    def test_the_metadata_that_the_pipeline_uses_is_read(self):
        read = read_metadata(
            {
                "tags": ["a", "b", "a"],
                "source": "chat",
                "author": "Ada",
                "conversation": "c1",
                "timestamp": "2023-05-08T15:00:00+03:00",
                "language": "python",
                "other": 1,
            }
        )
        when = datetime(2023, 5, 8, 12, tzinfo=UTC)
        assert read == KnownMetadata(
            tags=("a", "b"), source="chat", author="Ada", conversation="c1", timestamp=when, language="python"
        )

    @pytest.mark.parametrize(
        ("timestamp", "moment"),
        [
            ("2023-05-08", datetime(2023, 5, 8, tzinfo=UTC)),
            ("2023-05-08T12:00:00", datetime(2023, 5, 8, 12, tzinfo=UTC)),
            ("2023-05-08T12:00:00Z", datetime(2023, 5, 8, 12, tzinfo=UTC)),
        ],
    )
    def test_a_time_without_a_zone_is_utc(self, timestamp, moment):
        assert read_metadata({"timestamp": timestamp}).timestamp == moment

    @pytest.mark.parametrize("timestamp", ["yesterday", "", 1683547200, "2023-13-01", "0001-01-01T00:00:00+14:00", []])
    def test_an_invalid_timestamp_is_refused(self, timestamp):
        with pytest.raises(InvalidInputError, match=r"^metadata\.timestamp must be ISO 8601"):
            read_metadata({"timestamp": timestamp})

    @pytest.mark.parametrize("tags", ["one", [1], [""], {"a": 1}, [None]])
    def test_invalid_tags_are_refused(self, tags):
        with pytest.raises(InvalidInputError, match=r"^metadata\.tags "):
            read_metadata({"tags": tags})

    @pytest.mark.parametrize("key", ["source", "author", "conversation", "language"])
    def test_a_metadata_field_that_is_not_a_string_is_refused_by_name(self, key):
        with pytest.raises(InvalidInputError, match=rf"^metadata\.{key} "):
            read_metadata({key: 5})
