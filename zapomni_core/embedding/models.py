"""Known embedding models by name: the prefixes that they were trained with."""

import re
from typing import NamedTuple


class Prefixes(NamedTuple):
    """The prefixes of questions and passages."""

    query: str = ""
    passage: str = ""


_SENTENCE = Prefixes("Represent this sentence for searching relevant passages: ")
_E5 = Prefixes("query: ", "passage: ")
# The first that occurs in a name counts: newer generations of a family stand before the older ones.
_PREFIXES = (
    (r"nomic-embed-text", Prefixes("search_query: ", "search_document: ")),
    (r"arctic-embed2|arctic-embed-\w+-v2", Prefixes("query: ")),
    (r"arctic-embed", _SENTENCE),
    (r"mxbai-embed", _SENTENCE),
    (r"bge-(small|base|large)-en", _SENTENCE),
    (r"e5-[\w.-]*instruct", Prefixes("Instruct: Given a question, retrieve passages that answer it\nQuery: ")),
    (r"\be5-", _E5),
    (r"embeddinggemma", Prefixes("task: search result | query: ", "title: none | text: ")),
    (r"qwen3-embedding", Prefixes("Instruct: Given a question, retrieve passages that answer it\nQuery:")),
)


def prefixes_of(model: str) -> Prefixes:
    """The prefixes of a model, by its name at any provider; none for an unknown one."""
    found = (prefixes for pattern, prefixes in _PREFIXES if re.search(pattern, model, re.IGNORECASE))
    return next(found, Prefixes())
