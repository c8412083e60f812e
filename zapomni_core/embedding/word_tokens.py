"""The tokens of texts, word by word: words come again, and finding the tokens of one takes a hundred times as long as looking them up.

No token of the default embedder's model reaches from one word into the next, and none of its rules for spelling does, so
that the tokens of a text are those of its words.
"""

from zapomni_core.embedding.vocabulary import UNKNOWN, Vocabulary

_BEGIN, _END = 1, 2
_MOST = 20_000
"""Words that are kept: some megabytes."""
_LONGEST = 40
"""Characters of a word that is kept. What is longer, such as a sentence in Chinese, hardly comes again."""


class WordTokens:
    """The tokens of a vocabulary, between the marks for the beginning and the end of a text."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._kept: dict[str, list[int]] = {}

    def of(self, text: str) -> list[int]:
        """The tokens of a text whose words are one space apart."""
        tokens = [_BEGIN]
        for word in text.split(" "):
            tokens += self._kept.get(word) or self._of_word(word)
        if len(tokens) == 1:
            tokens.append(UNKNOWN)
        tokens.append(_END)
        return tokens

    def _of_word(self, word: str) -> list[int]:
        tokens = self._vocabulary.tokens(word)
        if len(word) <= _LONGEST:
            if len(self._kept) >= _MOST:
                self._kept.clear()
            self._kept[word] = tokens
        return tokens
