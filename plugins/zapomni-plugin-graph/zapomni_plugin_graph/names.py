"""The extractor `names`: finds names in a text by their form, offline, and relates those that share a sentence."""

# ruff: noqa: PLR2004, RUF001, SIM905 (lengths of words; letters of other scripts; long lists of words)

import asyncio
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from itertools import combinations, groupby, takewhile
from typing import NamedTuple

from zapomni_core.plugin.extractors import Extraction, NewEntity, NewRelation
from zapomni_core.plugin.graph import MENTIONED_WITH

MOST_NAMES = 12
"""Names of one memory that are kept: those that it mentions most often."""
LONGEST_NAME = 120
LONGEST_SENTENCE = 500
MOST_WORDS = 5

# With a capital letter these begin a sentence, or name no one thing: function words, verbs that notes begin with, the calendar.
_NO_NAMES = frozenset(
    """
    the an this that these those it its he she we you they my your his her our their who what which when where why how if as at by for from in into of
    off on out over to under until up with without about after against although among another any are be because before both but can could did do does
    each every everyone few first finally had has have here however is just last later like many may might more most must never next no not nothing
    now often ok okay once one only or and other please several should since so some sometimes soon still such than then there though through today
    tomorrow too two us very was were while will would yes yesterday yet all also always again already currently usually api apis id ids pr prs ui url
    urls am pm add ask avoid build call change check choose create delete deploy disable do enable find fix follow get give install keep let make
    merge move open put read remember remove replace restart run see send set start stop switch tell test try update use write note todo fixme warning
    true false null monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays january
    february march april june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec der die das den dem ein
    eine sie es wir ihr ihre ihnen unser unsere mein meine sein seine dieser dieses jeder jede ich und oder aber wenn weil dass ob als wie wo wer wann
    warum welche welcher diese alle auch nur nicht kein keine bei mit von vom für auf aus nach vor seit bis ab über unter zwischen gegen ohne durch um
    im ans beim ins zu zum zur wegen während dann danach dort hier heute gestern morgen jetzt immer laut ist sind hat wird kann bitte falls montag
    dienstag mittwoch donnerstag freitag samstag sonntag januar februar märz mai juni juli oktober dezember мы вы вас вам ваш он она они кто что это
    где когда куда почему зачем как если но или да нет не ни во на со ко об от до по за из под над при про для без через между перед после кроме
    вместо около вчера сегодня завтра сейчас теперь потом затем уже ещё только всегда также тоже там тут здесь все чтобы el la los las un una lo le ni
    que qué quien quién cual cuál como cómo cuando cuándo donde dónde porque por para con sin sobre de del al desde hasta en entre según tras ante si
    sí ya hay es son está están fue hoy ayer mañana ahora siempre nunca también pero aunque mientras cada todo todos
    """.split()
)
_PARTICLES = frozenset("de del la las los da do dos di du van von der den bin ibn &".split())
_TITLES = frozenset(("dr", "mr", "mrs", "ms", "prof", "st", "sr", "sra", "hr", "fr"))
# German writes every noun with a capital. Names have no article: one word counts only after these and after verbs in -t.
_BEFORE_NAME = frozenset("mit von bei für auf über nach aus in gegen ohne zu durch an um statt via weil dass".split())
_GERMAN = "der die das den dem ein eine einen einer und oder ist hat wird sich nicht im zum zur beim vom mit bei für auf über nach aus durch auch wie wir".split()
_GERMAN_NOUN = re.compile(r"(ung|heit|keit|schaft|tion|tät|ment|nis|ismus)(e?n|e?s|e|se)?$")
# In English, a word that begins a sentence with a verb in -s or -ed behind it is mostly a name: nouns have an article.
_ROMANCE = frozenset("de la el los las en con que y por para un una del al se es no le les et".split())
_VERB = re.compile(r"[a-z]{2,}[^s]s|[a-z]{2,}ed")
_NO_SUBJECT = re.compile(r"(s|ing|tion|sion|ity|ness|ment|ance|ence|ware|age|ly)$")
_EXTENSIONS = "c cfg conf cpp cs css csv db go h html ini java jpg js json jsonl kt log md mjs pdf php png py rb rs sh sql svg toml ts tsx txt xml yaml yml zip".split()

_BREAK = r"\s,;:!?¿¡()\[\]{}<>\"'’`«»„“”|=*—。！？\u3000-\u9fff\uac00-\ud7af\uff00-\uffef"
_TOKEN = re.compile(
    rf"""
    (?P<fence> ^ [ ]{{0,3}} (?: ``` | ~~~ ) [^\n]* )
    | ` [ ]? (?P<code> (?= [^`\n]* [^\W\d_] ) [^`\s] [^`\n]{{0,80}} ) `
    | (?: « | (?<!\w)"(?![\s"]) | [„“] ) (?P<quoted> [^«»"„“”\n]{{2,80}} ) [»"“”] | » (?P<quoted2> [^«»\n]{{2,80}} ) «
    | (?P<url> (?<![A-Za-z0-9]) [A-Za-z][A-Za-z0-9+]{{1,14}} :// [^\s<>"'`()\[\]{{}}«»|\\\u3000-\u9fff]{{1,1000}} )
    | (?P<word> (?! (?<=[)\]]) \. ) [^{_BREAK}]+ (?: (?: :: | ['’] | : (?=[\\/\d]) ) [^{_BREAK}]+ )* )
    | (?P<end> \n | [!?](?=\s) | [。！？] )
    """,
    re.VERBOSE | re.MULTILINE,
)
_BULLET = re.compile(r"[-+•–#]+|\d{1,3}[.)]?")
_FORMS = {
    "email": re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+"),
    "handle": re.compile(r"@[A-Za-z_][\w.-]*(?:/[\w.-]+)?"),
    "tag": re.compile(r"#(?![0-9a-fA-F]{6}$|[0-9a-fA-F]{3}$)[^\W\d_][\w-]*"),  # no colours
    "host": re.compile(r"\d{1,3}(?:\.\d{1,3}){3}(?:[:/]\d+)?"),
}
_DOTTED = re.compile(r"\.?[A-Za-z_][\w-]*(?:\.[\w-]*[A-Za-z_][\w-]*)+|\.[A-Za-z][\w-]{2,}", re.ASCII)
_HOST = re.compile(r"-|\d\.|\.([a-z]{2}|com|org|net|dev|app|info|local|internal|lan|example)$")
_PATH = re.compile(r"(?:[A-Za-z]:\\|~/|\.{1,2}/|/)?[\w.@+-]+(?:[/\\][\w.@+-]+)*[/\\]?")
_ROOTED = re.compile(r"(?:[A-Za-z]:\\|~/|\.{1,2}/|/)[\w.]*[^\W\d_]{2}")
_PORT_OR_LINE = re.compile(r"(?::\d+){1,2}$")
_IDENTIFIER = re.compile(
    r"""
    _*(?=\w*[^\W\d_])[^\W_]+(?:_+[^\W_]+)+_* | __\w+__            # snake_case, dunders
    | [a-zа-яё]+[A-ZА-ЯЁ][^\W_]*                                  # camelCase
    | (?!Q[1-4]-)[A-Z][A-Z0-9]+-\d+                               # tickets
    | (?!.*-(?:19|20)\d\d$)(?=.*\d)[a-z][a-z0-9]+(?:-[a-z0-9]+)+  # host-01
    | [a-z]{2,}\d+[a-z]* | [a-z]\d{1,3}[a-z]+ | (?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64} | [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}
    """,
    re.VERBOSE,
)
_CAPITALISED = re.compile(r"[^\W\d_](?:[^\W_]+(?:[-'’&][^\W_]+)*|\+\+|\#|['’&][^\W\d_]+|\.)")
_INITIAL = re.compile(r"[^\W\d_]\.")


class _Token(NamedTuple):
    """A piece of a text. `type` is empty for a plain word, which is a name only if it has a capital letter."""

    start: int
    end: int
    text: str
    type: str
    sentence: int
    begins: bool


class NamesExtractor:
    """Finds names by their form."""

    name = "names"

    async def extract(self, text: str, *, timestamp: datetime | None = None) -> Extraction:  # noqa: ARG002 (the protocol's)
        """Return the names that a text mentions most often; each two that share a sentence are related."""
        return await asyncio.to_thread(extract_names, text)

    async def close(self) -> None:
        """There is nothing to close."""


def extract_names(text: str) -> Extraction:
    """Find the names in a text, and relate those that share a sentence."""
    sentences = [list(group) for _, group in groupby(_tokens(text), key=lambda token: token.sentence)]
    found = [token for sentence in sentences for token in sentence if token.type]
    names = [name for sentence in sentences for name in _capitalised(text, sentence) if name.text[-1] != "."]
    sure = {name.text for name in names if not name.begins}
    found += [name for name in names if name.text in sure]
    places: dict[str, list[_Token]] = defaultdict(list)
    for token in sorted(found):
        places[unicodedata.normalize("NFKC", token.text).casefold()].append(token)
    most = sorted(places.values(), key=lambda one: -len(one))[:MOST_NAMES]
    entities = tuple(
        NewEntity(name=one[0].text, type=one[0].type, spans=tuple((at.start, at.end) for at in one))
        for one in sorted(most)
    )
    spans = {sentence[0].sentence: (sentence[0].start, sentence[-1].end) for sentence in sentences}
    return Extraction(extractor="names", entities=entities, relations=tuple(_related(most, spans)))


def _related(most: list[list[_Token]], spans: dict[int, tuple[int, int]]) -> Iterator[NewRelation]:
    """Relate each two names once, by the first sentence that holds both, and in one order whichever comes first."""
    mentions = sorted((place.sentence, place.start, one[0].text) for one in most for place in one)
    known: set[frozenset[str]] = set()
    for sentence, group in groupby(mentions, key=lambda mention: mention[0]):
        start, end = spans[sentence]
        for one, other in combinations(sorted({name for _, _, name in group}, key=str.casefold), 2):
            if {one, other} not in known:
                known.add(frozenset((one, other)))
                yield NewRelation(subject=one, type=MENTIONED_WITH, object=other, basis="mention", start=start, end=end)


def _tokens(text: str) -> Iterator[_Token]:
    """All words and other pieces of a text, in order."""
    sentence = sentence_start = 0
    begins, stopped, bullet = True, False, False
    for kind, start, end in _pieces(text):
        if kind == "end":
            begins = True
            continue
        begins |= stopped and not text[start].islower()
        begins &= not text[start - 1 : start].isalnum()  # a script without spaces
        if (begins and not bullet) or start - sentence_start > LONGEST_SENTENCE:
            sentence, sentence_start = sentence + 1, start
        stopped = bullet = False
        if kind == "word":
            raw = text[start:end]
            stopped = raw[-1] in ".…" and not _INITIAL.fullmatch(raw) and raw[:-1].casefold() not in _TITLES
            yield from (_Token(*word, sentence, begins and word[0] == start) for word in _words(text, start, end))
            begins = bullet = begins and _BULLET.fullmatch(raw) is not None
        else:
            name = text[start:end].rstrip(".,;:!?*_- ").removesuffix("()")
            form = _form(name) or "identifier" if kind == "code" else kind
            yield _Token(start, start + len(name), name, form, sentence, begins)
            begins = False


def _pieces(text: str) -> Iterator[tuple[str, int, int]]:
    """Kind and place of what a text consists of. In fenced code, words count only if their form is that of a name."""
    position, fenced = 0, False
    while found := _TOKEN.search(text, position):
        kind, position = str(found.lastgroup), found.end()
        start, end = found.span(kind)
        if kind == "fence":
            fenced = not fenced
        elif kind.startswith("quoted"):
            is_title = _is_title(found[kind])
            position = end if is_title else start  # of anything else, the words are read one by one
            yield "title" if is_title else "end", start, end
        elif not (fenced and kind == "word" and not _form(found[kind])):
            yield kind, start, end


def _words(text: str, start: int, end: int) -> Iterator[tuple[int, int, str, str]]:
    """Place, text and type of the word at a place of a text; or of several, where slashes separate words."""
    word = text[start:end] if _INITIAL.fullmatch(text, start, end) else text[start:end].rstrip(".…–-'’")
    if len(word) > LONGEST_NAME:
        return
    kind = "identifier" if text.startswith("()", start + len(word)) else _form(word)
    if kind in ("path", "host"):
        word = _PORT_OR_LINE.sub("", word)
    for part in re.finditer(r".+" if kind else r"[^/]+", word):
        name = part[0]
        if not kind and name[0].isupper():  # Maria's, Redis-backed
            name = "-".join(
                takewhile(lambda one: not one[:1].islower(), re.sub(r"['’](?:s|re|ve|ll|d|m|t)?$", "", name).split("-"))
            )
        yield start + part.start(), start + part.start() + len(name), name, kind or _form(name)


def _form(word: str) -> str:
    """The type of what is a name by its form alone; empty for a plain word."""
    if word.isalpha() and (word.islower() or word.istitle()):
        return ""
    if kind := next((kind for kind, pattern in _FORMS.items() if pattern.fullmatch(word)), ""):
        return kind
    bare = _PORT_OR_LINE.sub("", word)
    if _is_path(bare):
        return "path"
    if "::" in word or _IDENTIFIER.fullmatch(word):
        return "identifier"
    return _dotted(bare) if _DOTTED.fullmatch(bare) else ""


def _is_path(word: str) -> bool:
    """`/etc/hosts`, `src/main.py` and `tests/e2e`, but neither `and/or` nor `24/7`."""
    first, *others = [part for part in re.split(r"[/\\]", word) if part] or [word]
    if first == word or not _PATH.fullmatch(word):
        return False
    if _ROOTED.match(word) or word.rpartition(".")[2] in _EXTENSIONS:
        return True
    is_marked = len(others) > 1 or word.endswith("/") or re.search(r"[._-]|\d[a-z]|[a-z]\d", "/".join(others))
    return bool(is_marked and word.isascii() and re.fullmatch(r"[a-z][\w.-]*[a-z][\w.-]*", first))


def _dotted(word: str) -> str:
    """The type of a word with dots in it: a file, a host or a name in code; empty for `e.g.` and where a space is missing."""
    labels = word.lstrip(".").split(".")
    if word[0] == ".":
        return "path" if word.islower() and labels[0] not in _EXTENSIONS else ""
    if labels[-1] in _EXTENSIONS:
        return "name" if word[0].isupper() and labels[-1] == "js" else "path"
    if word.islower() and _HOST.search(word) and max(map(len, labels)) > 1:
        return "host"
    is_code = len(labels) > 2 or "_" in word or word.islower() or any(map(_IDENTIFIER.fullmatch, labels))
    return "identifier" if is_code and min(map(len, labels)) > 1 else ""


def _is_title(text: str) -> bool:
    """Whether what is quoted is a title, and not something said or a word in code."""
    words = text.split()
    is_short = len(words) <= MOST_WORDS + 1 and text == text.strip()
    if not is_short or not text[0].isupper() or re.search(r"[.,;:!?…](\s|$)", text):
        return False
    if len(words) == 1 or any(word[0].islower() and len(word) > 3 for word in words):
        return words[0].casefold() not in _NO_NAMES and not (len(words) == 1 and _form(text))
    return True


def _capitalised(text: str, sentence: list[_Token]) -> Iterator[_Token]:
    """The capitalised names of a sentence. One that `begins` may be another word: it counts if it is named elsewhere too."""
    words = [token.text for token in sentence if not token.type and token.text.isalpha()]
    is_german = sum(word.casefold() in _GERMAN for word in words) >= max(2, len(words) / 8)
    is_english = not is_german and _ROMANCE.isdisjoint(words)
    is_foreign = sum(not word.isascii() for word in words) * 2 > len(words)
    is_headline = sentence[0].text.startswith("#") or (len(words) > 3 and all(map(str.isupper, words)))
    after = -2  # where the last name ended
    for first, last in _runs(text, sentence, is_german=is_german):
        start, end = sentence[first].start, sentence[last].end
        name = text[start:end]
        tail = name.rpartition("-")[2][1:]
        is_clear = first < last or not (tail.isalpha() and tail.islower())  # PgBouncer
        if is_german and not is_clear:
            before = sentence[first - 1].text.casefold() if first else ""
            is_listed = after == first - 1 or (after == first - 2 and before in ("und", "oder"))
            is_bare = is_listed or before in _BEFORE_NAME or (before.endswith("t") and before not in _GERMAN)
            if not is_bare or _GERMAN_NOUN.search(name):
                continue
        after = last
        verb = sentence[last + 1].text if len(sentence) > last + 1 and text[end] == " " else ""
        is_subject = is_english and _VERB.fullmatch(verb) and not _NO_SUBJECT.search(name)
        begins = sentence[first].begins and not (is_clear or is_subject or (is_foreign and name.isascii()))
        yield _Token(start, end, name, "name", sentence[first].sentence, begins or is_headline)


def _runs(text: str, sentence: list[_Token], *, is_german: bool) -> Iterator[tuple[int, int]]:
    """Words with capitals that stand together, as indexes of the first and the last: `Inés de la Torre` is one run."""
    first = last = -1
    for index, token in enumerate(sentence):
        previous = sentence[index - 1]
        gap = text[previous.end : token.start]
        is_joined = gap == " " or (gap == ". " and previous.text.casefold() in _TITLES)
        is_unit = token.text.isupper() and previous.text[-1].isdigit() and index > 0  # 8 GB
        is_name = not token.type and _CAPITALISED.fullmatch(token.text) is not None and token.text[0].isupper()
        is_name = is_name and not is_unit and token.text.casefold() not in _NO_NAMES
        is_particle = token.text in _PARTICLES and not is_german and (last > first or not sentence[first].begins)
        if first >= 0 and (not is_joined or not (is_name or is_particle) or last - first >= MOST_WORDS):
            yield first, last
            first = -1
        if is_name:
            first, last = (index if first < 0 else first), index
    if first >= 0:
        yield first, last
