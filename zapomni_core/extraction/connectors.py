"""What stands between two names when a text clearly says how they are related, in English, Russian, German, Spanish and French."""

# ruff: noqa: RUF001 (Russian looks like English)

import re
from dataclasses import dataclass
from functools import cache

from zapomni_core.extraction.words import roles

LONGEST = 60
"""Characters between two names that are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connector:
    """One kind of relation and its words: those that follow one name (`one`), those that follow several (`many`).

    `after` must follow the second name. An `inverse` one says it of the second name, one that goes `past` it of the third. `people`
    says that its subjects are persons.
    One that is `open` takes words for names that nothing else shows to be such: the words around it say enough.
    """

    type: str
    one: str
    many: str = ""
    after: str = ""
    exclusive: bool = False
    inverse: bool = False
    past: bool = False
    people: bool = False
    open: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """How two names that stand one after the other are related. `many` says that the first is the last of several."""

    type: str
    exclusive: bool = False
    inverse: bool = False
    people: bool = False
    open: bool = False
    many: bool = False
    past: bool = False


_NOW = r"(?:now |currently |still |also |already |directly )?"
_THE = r"(?: the| an?)?"
_AS = r"(?: as (?:an? |the )?[\w-]+(?: [\w-]+){0,2})?"

CONNECTORS = (
    Connector(
        type="works_at",
        one=rf"{_NOW}(?:(?:works|is working|has worked|has been working|is employed){_AS} (?:at|for)|is employed by)(?: the)?"
        r"|(?:сейчас |теперь |уже )?(?:работает|трудится) (?:в|во|на)(?: компании| фирме)?"
        r"|arbeitet (?:jetzt |derzeit )?(?:bei|für)|trabaja (?:en|para)|travaille (?:chez|pour)",
        many=rf"{_NOW}(?:work|are working|have worked){_AS} (?:at|for)(?: the)?|работают (?:в|во|на)|arbeiten (?:bei|für)"
        r"|trabajan (?:en|para)|travaillent (?:chez|pour)",
        exclusive=True,
        people=True,
        open=True,
    ),
    Connector(
        type="worked_at",
        one=rf"(?:previously |formerly )?(?:worked|used to work|was working){_AS} (?:at|for)(?: the)?|раньше работала? (?:в|во|на)|работала? (?:в|во|на)",
        people=True,
        open=True,
    ),
    Connector(
        type="lives_in",
        one=rf"{_NOW}(?:(?:lives|is living|has lived|resides) in|(?:has )?(?:just |recently )?(?:moved|relocated) (?:back )?to)"
        r"|(?:сейчас |теперь )?(?:жив[её]т|проживает) в[о]?|переехала? в[о]?|(?:wohnt|lebt) (?:jetzt )?in|zog nach"
        r"|vive en|se mudó a|(?:habite|vit) (?:à|en)",
        many=rf"{_NOW}(?:live|reside) in|moved to|живут во?|переехали во?|(?:wohnen|leben) in|viven en|(?:habitent|vivent) (?:à|en)",
        exclusive=True,
        open=True,
    ),
    Connector(
        type="lives_in",
        one="(?:has )?(?:moved|relocated) from|переехала? из|zog von",
        after=r"\s+(?:to|во?|nach)\s+",
        exclusive=True,
        past=True,
        open=True,
    ),
    Connector(type="lived_in", one=r"(?:lived|used to live) in|(?:раньше )?жила? во?", open=True),
    Connector(
        type="uses",
        one=rf"{_NOW}(?:uses|is using){_THE}|использует|пользуется|(?:benutzt|verwendet|nutzt)|(?:usa|utiliza)|utilise",
        many=rf"{_NOW}use{_THE}|используют|пользуются|(?:benutzen|verwenden|nutzen)|(?:usan|utilizan)|utilisent",
    ),
    Connector(
        type="depends_on",
        one=rf"{_NOW}(?:depends|relies) on{_THE}|requires{_THE}|зависит от|depende de|dépend de",
        many=rf"(?:depend|rely) on{_THE}|require{_THE}|зависят от|dependen de|dépendent de",
    ),
    Connector(type="depends_on", one="hängt von", many="hängen von", after=r"\s+ab\b"),
    Connector(
        type="part_of",
        one=rf"is (?:a |now )?part of{_THE}|belongs to{_THE}|входит в|является частью|ist (?:ein )?teil von|es parte de|fait partie de",
        many=rf"are (?:a |now )?part of{_THE}|belong to{_THE}|входят в",
    ),
    Connector(
        type="reports_to",
        one=rf"{_NOW}reports to|подчиняется|berichtet an",
        many="report to|подчиняются|berichten an",
        exclusive=True,
        people=True,
        open=True,
    ),
    Connector(
        type="married_to",
        one="married|is married to|got married to|is the (?:wife|husband|spouse) of|женат на|замужем за|вышла замуж за|женился на",
        people=True,
    ),
    Connector(type="married_to", one="ist mit", after=r"\s+verheiratet\b", people=True, open=True),
    Connector(type="born_in", one=r"was born in|родил(?:ся|ась) во?|nació en|est née? à", people=True, open=True),
    Connector(type="born_in", one="wurde in", after=r"\s+geboren\b", people=True, open=True),
    Connector(
        type="also_known_as",
        one=r"[,(]? ?(?:is )?(?:also |better |formerly )(?:known as|called)|[,(]? ?a\.?k\.?a\.?|[,(]? ?(?:также|тоже) извест(?:ен|на|но) как"
        r"|[,(]? ?auch bekannt als|[,(]? ?también conocid[oa] como|[,(]? ?aussi connue? sous le nom de",
    ),
    Connector(
        type="replaced_by",
        one=r"(?:was|is|has been|got) (?:replaced|superseded) (?:by|with)|(?:был[ао]? )?замен[её]н[ао]? на|fue reemplazad[oa] por|a été remplacée? par",
        many="were (?:replaced|superseded) by",
    ),
    Connector(type="replaced_by", one="wurde durch", after=r"\s+ersetzt\b"),
    Connector(
        type="replaced_by", one=rf"(?:replaces|replaced|supersedes|superseded){_THE}|заменила? собой", inverse=True
    ),
    Connector(type="calls", one=rf"calls{_THE}"),
    Connector(type="imports", one="imports|импортирует|importiert"),
    Connector(
        type="extends", one=rf"(?:extends|subclasses|inherits from|derives from){_THE}|наследует(?:ся от)?|erbt von"
    ),
    Connector(type="implements", one=rf"implements{_THE}|реализует|implementiert"),
    Connector(
        type="founded",
        one="(?:co-?)?founded|основала?|gründete|fundó|a fondé",
        many="(?:co-?)?founded|основали|gründeten",
    ),
    Connector(type="acquired", one="acquired|bought|купила|приобрела"),
    Connector(type="owns", one="owns|владеет|besitzt"),
    Connector(type="leads", one=rf"{_NOW}(?:leads|manages|heads){_THE}|руководит|leitet|dirige"),
    Connector(
        type="located_in",
        one="is located in|is situated in|находится в[о]?|расположен[ао]? в[о]?|liegt in|está en|se trouve à",
        open=True,
    ),
    Connector(type="written_in", one="(?:is|was) written in|написан[ао]? на"),
    Connector(type="runs_on", one="runs on|работает под|läuft auf"),
)

_ROLE = r"[^\W\d_][\w-]*(?: [^\W\d_][\w-]*){0,2}"
_OF_ROLE = re.compile(
    rf"(?P<was>is|was|became|is now|remains|is still),? (?:also )?(?:the |an? )?(?P<role>{_ROLE}) (?:of|at)(?: the)?"
)
_APPOSITION = re.compile(rf", (?:the |an? )?(?P<role>{_ROLE}) (?:of|at)(?: the)?")
_HAS_ROLE = re.compile(rf"['’]s (?P<role>{_ROLE}) (?P<was>is|was)(?: now)?")
_IS_ROLE = re.compile(r"['’]s (?P<role>[\w-]+(?: [\w-]+)?)(?=\s*(?:[.,;!]|$)|\s+(?:and|at|in|from|since|who)\b)")
_NO_ROLES = frozenset(
    ["part", "kind", "sort", "type", "lot", "bit", "one", "some", "all", "most", "result", "end", "top", "out"]
)


def link(between: str, after: str) -> Link | None:
    """How two names are related by what stands between them, and what follows the second."""
    words = " ".join(between.removeprefix("()").split()).strip('*_"“”«»„` ').casefold()
    if not words:
        return None
    found = _one().fullmatch(words) or _many().fullmatch(words)
    if found is None:
        return _role(words, after)
    index = int(str(found.lastgroup)[1:])
    connector = CONNECTORS[index]
    if connector.after and not re.match(connector.after, after):
        return None
    return Link(
        type=connector.type,
        exclusive=connector.exclusive,
        inverse=connector.inverse,
        people=connector.people,
        open=connector.open,
        many=found.re is _many(),
        past=connector.past,
    )


def _role(words: str, after: str) -> Link | None:
    if words in {"is", "was"} and (found := _IS_ROLE.match(after)):
        return _role_link(found["role"].casefold(), former=words == "was")
    if found := _OF_ROLE.fullmatch(words):
        return _role_link(found["role"], former=found["was"] == "was")
    if found := _HAS_ROLE.fullmatch(words):
        return _role_link(found["role"], former=found["was"] == "was", inverse=True)
    found = _APPOSITION.fullmatch(words)
    return _role_link(found["role"]) if found and found["role"].split()[-1] in roles() else None


def _role_link(role: str, *, former: bool = False, inverse: bool = False) -> Link | None:
    if _NO_ROLES.intersection(role.split()):
        return None
    name = re.sub(r"[\W_]+", "_", role).strip("_")
    return Link(f"{'former_' * former}{name}_of"[:50], inverse=inverse)


@cache
def _one() -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<c{index}>{one.one})" for index, one in enumerate(CONNECTORS)))


@cache
def _many() -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<c{index}>{one.many})" for index, one in enumerate(CONNECTORS) if one.many))
