"""Text and questions become the same terms, in every script."""

import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.complexity import is_linear
from zapomni_core.text import terms as analyser
from zapomni_core.text.stopwords import STOP_WORDS
from zapomni_core.text.terms import LONGEST, QueryWord, query_terms, query_words, terms, words

ANY_TEXT = st.text(st.characters(exclude_categories=())) | st.text(
    st.sampled_from("aZéßİıñ_9+#'. -ёЙжІ手机カナー々〇ไทยກ្ខאبहिन्दी한글\u0301\u00ad\u200d\ufe0f\u20e3\ud800\0€😀ΐﬁ½™")
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cats were running", ["cat", "run"]),
        ("Книгами и о книгах", ["книг", "книг"]),
        ("Ёлка ёлки", ["елк", "елк"]),
        ("don't, we'll, John's", ["don", "john"]),
        ("iPhone手机", ["iphon", "phone", "手机"]),
        ("API를 5кг", ["api", "를", "5", "кг"]),
        ("今天天气", ["今天", "天天", "天气"]),
        ("茶", ["茶"]),
        ("コーヒーを・飲む", ["コー", "ーヒ", "ヒー", "ーを", "飲む"]),
        ("二〇二四年", ["二〇", "〇二", "二四", "四年"]),
        ("ดีมาก ๒๕", ["ดี", "ีม", "มา", "าก", "๒๕"]),
        ("कीमत، قيمة", ["कीमत", "قيمة"]),
        ("get_user_name", ["get_user_nam", "get", "user", "name"]),
        ("getUserName", ["getusernam", "get", "user", "name"]),
        ("HTTPServer2", ["httpserver2", "http", "server2", "server", "2"]),
        ("имя_файла", ["имя_файл", "им", "файл"]),
        ("__init__ ____", ["__init__", "init"]),
        ("python3 and 15kg", ["python3", "python", "3", "15kg", "15", "kg"]),
        ("a3f9c2b1", ["a3f9c2b1"]),
        ("v2.3.1", ["v2", "v", "2", "3", "1"]),
        ("me@example.org", ["exampl", "org"]),
        ("/usr/lib/x.py", ["usr", "lib", "x", "py"]),
        ("C++, C# or .NET; C++17", ["c++", "c", "c#", "c", "net", "c++", "c", "17"]),
        ("ﬁne ２０２４ x²", ["fine", "2024", "x2", "x", "2"]),
        ("infor\u00admation", ["inform"]),
        ("1\ufe0f\u20e3 step", ["1", "step"]),
        ("😀 — … \u0301", []),
        ("\ud800abc\udfff\0def", ["abc", "def"]),
        ("", []),
    ],
)
def test_a_text_becomes_these_terms(text, expected):
    assert terms(text) == expected


@given(ANY_TEXT)
def test_a_term_is_made_of_letters_marks_digits_and_underscores_and_is_never_empty(text):
    for term in terms(text):
        assert term
        bare = term[:-2] if term.endswith("++") else term.removesuffix("#")
        assert all(character == "_" or unicodedata.category(character)[0] in "LMN" for character in bare)


@given(ANY_TEXT)
def test_the_same_text_gives_the_same_terms_however_it_is_composed(text):
    assert terms(unicodedata.normalize("NFKC", text)) == terms(text)
    assert terms(unicodedata.normalize("NFD", text)) == terms(text)


@given(ANY_TEXT, ANY_TEXT)
def test_white_space_separates_whatever_stands_around_it(left, right):
    assert terms(f"{left} {right}") == terms(left) + terms(right)


@given(ANY_TEXT)
def test_every_word_of_a_text_finds_the_text(text):
    found = set(terms(text))
    for word in query_words(text):
        assert set(terms(word.word)) == set(word.terms)
        assert set(word.terms) <= found


@given(st.text(st.sampled_from("abcxyz 019_'éüабвёй")))
def test_the_case_of_a_word_does_not_matter(text):
    assert terms(text.upper()) == terms(text.lower())


def test_an_identifier_is_found_by_its_parts_and_in_any_case():
    written = set(terms("call getUserName first"))
    assert set(terms("getusername")) <= written
    assert set(terms("GETUSERNAME")) <= written
    assert set(terms("user names")) <= written


def test_a_very_long_word_is_cut_to_the_length_that_stores_can_keep():
    assert [len(term) for term in terms("x" * 1_000_000)] == [LONGEST]


@pytest.mark.parametrize(
    "unit",
    [
        *(
            " ",
            "_",
            "a",
            "aA",
            "getUserName",
            "1",
            "1.",
            "a1",
            "C++ ",
            "#",
            "\0",
            "я",
            "aя",
            "漢",
            "漢a",
            "ﷺ",
            "한",
            "ก",
        ),
        *(
            "\u0301",
            "\u0316\u0301",
            "\u0316\uff9e",
            "a\u0301",
            "क्",
            "\u0e38\u0e48",
            "👩\u200d",
            "\u200d",
            "🇦",
            "\ufe0f",
            "\udc00",
        ),
    ],
)
@pytest.mark.parametrize("work", [terms, query_terms])
def test_the_work_grows_with_the_length_of_the_text_and_no_faster(work, unit):
    assert is_linear(work, unit, 12_000)


def test_a_word_with_piles_of_marks_is_found_with_as_many():
    assert terms("a" + "\u0301" * 30) == terms("a" + "\u0301" * 1000) != terms("a")


def test_a_question_keeps_its_words_as_they_were_written_even_stop_words():
    assert query_words("Where is getUserName") == [
        QueryWord("Where", ()),
        QueryWord("is", ()),
        QueryWord("getUserName", ("getusernam", "get", "user", "name")),
    ]


def test_each_term_of_a_question_comes_once_with_the_word_that_gave_it_first():
    assert query_terms("Cats like cats") == {"cat": ("Cats", "Cats"), "like": ("like", "like")}


def test_a_term_of_a_part_comes_with_the_part_as_it_was_written():
    assert query_terms("getUsers C++") == {
        "getus": ("getUsers", "getUsers"), "get": ("getUsers", "get"), "user": ("getUsers", "Users"),
        "c++": ("C++", "C++"), "c": ("C++", "C"),
    }  # fmt: skip


def test_a_term_of_a_script_without_spaces_stands_for_itself():
    assert query_terms("今天好") == {"今天": ("今天", "今天"), "天好": ("天好", "天好")}


def test_words_are_whole_and_case_folded_and_keep_stop_words():
    assert words("Will O'Neil, the Анна-Мария ЁЛКИНА") == ["will", "o", "neil", "the", "анна", "мария", "елкина"]


def test_names_that_are_also_common_words_are_not_stop_words():
    assert terms("Will and May and Don") == ["will", "may", "don"]
    assert terms("Ben and Kim, Mia, Ella and Dan") == ["ben", "kim", "mia", "ella", "dan"]


def test_a_word_with_a_meaning_in_another_language_is_not_a_stop_word():
    assert terms("van pod car MIT var bin dir NAS AI CI Go") == [
        "van", "pod", "car", "mit", "var", "bin", "dir", "nas", "ai", "ci", "go"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("Wo ist der Schlüssel?", ["schlüssel"]),
        ("¿Dónde está la llave?", ["llave"]),
        ("donde esta la llave", ["llave"]),
        ("Où est la clé ?", ["clé"]),
        ("Dov'è la chiave?", ["chiav"]),
        ("Onde está a chave?", ["chave"]),
        ("Waar is de sleutel?", ["sleutel"]),
        ("Gdzie są klucze?", ["klucz"]),
        ("Anahtar nerede?", ["anahtar"]),
        ("Де ці ключі?", ["ключі"]),
    ],
    ids=["de", "es", "es-plain", "fr", "it", "pt", "nl", "pl", "tr", "uk"],
)
def test_a_question_in_another_language_leaves_what_it_is_about(question, left):
    assert terms(question) == left


def test_stop_words_are_written_as_they_are_compared():
    assert all(word == word.casefold() and "ё" not in word for word in STOP_WORDS)
    assert not any(terms(word) for word in STOP_WORDS)


def test_many_threads_get_the_same_terms():
    texts = [f"running {number}s programmers книгами{number} unseen{number}words" for number in range(2000)]
    alone = [terms(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(terms, texts)) == alone


def test_the_cache_of_words_is_bounded(monkeypatch):
    monkeypatch.setattr(analyser, "_MOST_REMEMBERED", 10)
    monkeypatch.setattr(analyser, "_known", analyser._Known())
    words = [f"w{number}" for number in range(100)]
    assert [terms(word)[0] for word in words] == words
    assert 0 < len(analyser._known) <= 10
