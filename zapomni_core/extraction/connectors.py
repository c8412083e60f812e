"""What stands between two names when a text clearly says how they are related, in English, Russian, German, Spanish and French, and a little Italian and Portuguese."""

# ruff: noqa: RUF001 (Russian looks like English)

from dataclasses import dataclass

LONGEST = 60
"""Characters between two names that are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connector:
    """One kind of relation and its words: those that follow one name (`one`), those that follow several (`many`).

    `after` must follow the second name. An `inverse` one says it of the second name, one that goes `past` it of the third. `people`
    says that its subjects are persons. What one says that is `ended` was so, and is no more.
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
    ended: bool = False


_THE = r"(?: the| an?)?"
# A noun that the name only goes before: "joined the Kafka migration", "bought Nike shoes".
_NO_NOUN = (
    r"(?!\s+(?!(?:in|on|at|as|from|for|since|until|to|by|with|and|or|but|last|this|early|late|after|before|when|while|where|who|which|that|via"
    r"|because|then|now|again|yesterday|today|recently|one|two|three|four|five|six|seven|eight|nine|ten|some|many|several|\w+ly|\w+-time"
    r"|team|group|family|inc|corp|gmbh|ltd)\b)[a-z])"
)
_NO_HOUR = r"(?!\s+(?:at|around|about|um|gegen|à|vers|a las|в|около)\s(?:\d{1,2}(?!\d)|noon|midnight|half|quarter|mittag|midi|minuit|mediodía))"
_NO_CALL = rf"(?!\s+[#(]){_NO_HOUR}{_NO_NOUN}"
_AS = r"(?: as (?:an? |the )?[\w-]+(?: [\w-]+){0,2})?"

CONNECTORS = (
    Connector(
        type="works_at",
        one=rf"(?:(?:works|is working|has worked|has been working|is employed){_AS} (?:at|for)|is employed by)(?: the)?"
        r"|started(?: working)? at|got a job at|was hired by"
        r"|(?:работает|трудится|устроил(?:ся|ась)|переш[её]л|перешла) (?:в|во|на)(?: компани[юи]| фирм[уе])?"
        r"|arbeitet (?:bei|für)(?: de[rmn])?|trabaja (?:en|para)(?: el| la)?(?: hospital| empresa| banco| universidad)?|se unió a|travaille (?:chez|pour)|a rejoint|lavora (?:in|alla|per|presso)|trabalha (?:na|no|em|para)",
        many=rf"(?:work|are working|have worked){_AS} (?:at|for)(?: the)?|работают (?:в|во|на)|arbeiten (?:bei|für)"
        r"|trabajan (?:en|para)|travaillent (?:chez|pour)",
        exclusive=True,
        people=True,
        open=True,
    ),
    Connector(
        type="works_at",
        one="(?:has )?joined(?: the)?",
        many="(?:have )?joined(?: the)?",
        after=_NO_CALL,
        exclusive=True,
        people=True,
        open=True,
    ),
    Connector(
        type="works_at",
        one="(?:переш[её]л|перешла) из",
        after=r"\s+во?\s+",
        exclusive=True,
        people=True,
        past=True,
        open=True,
    ),
    Connector(type="works_at", one="fängt bei", after=r"\s+an\b", exclusive=True, people=True, open=True),
    Connector(
        type="works_at",
        one=r"no longer works (?:at|for)(?: the)?|stopped working (?:at|for)|(?:has )?(?:quit|left|resigned from)|was (?:fired from|laid off (?:by|from))"
        r"|больше не работает (?:в|во|на)|уволил(?:ся|ась) из|уш(?:[её]л|ла) из|покинула?|arbeitet nicht mehr (?:bei|für)|verließ|verlässt"
        r"|ne travaille plus (?:chez|pour)|a quitté|ya no trabaja (?:en|para)|dejó|renunció a",
        after=rf"(?!\s+(?:an?|the|open|running)\b){_NO_HOUR}",  # who left a shop at noon, or its door open, goes on as before
        exclusive=True,
        people=True,
        ended=True,
    ),
    Connector(
        type="works_at",
        one=r"(?:doesn['’]t|does not) work (?:at|for)(?: the)?",
        after=r"\s+any ?(?:more|longer)\b",
        exclusive=True,
        people=True,
        ended=True,
    ),
    Connector(type="works_at", one="hat bei", after=r"\s+gekündigt\b", exclusive=True, people=True, ended=True),
    Connector(
        type="worked_at",
        one=rf"(?:previously |formerly )?(?:worked|used to work|was working){_AS} (?:at|for)(?: the)?|раньше работала? (?:в|во|на)|работала? (?:в|во|на)",
        people=True,
        open=True,
    ),
    Connector(
        type="lives_in",
        one="(?:lives|is living|has lived|resides|is based) in|(?:has )?(?:moved|relocated) (?:back )?to"
        "|(?:жив[её]т|проживает|переехала?|перебрал(?:ся|ась)) во?|(?:wohnt|lebt) in|zog nach|(?:vive|reside) en|se mudó a"
        "|(?:habite|vit|a déménagé|s['’]est installée?) (?:à|en)|(?:vive|abita) a|mora em",
        many="(?:live|reside|are based) in|moved to|(?:живут|переехали) во?|(?:wohnen|leben) in|(?:viven|residen) en|se mudaron a"
        "|(?:habitent|vivent) (?:à|en)",
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
    Connector(type="lives_in", one="ist nach", after=r"\s+(?:um)?gezogen\b", exclusive=True, open=True),
    Connector(
        type="lives_in",
        one=r"no longer lives in|moved (?:out of|away from)|больше не жив[её]т во?|съехала? из|(?:wohnt|lebt) nicht mehr in"
        r"|n['’]habite plus (?:à|en)|ne vit plus (?:à|en)|ya no vive en",
        exclusive=True,
        ended=True,
    ),
    Connector(type="lived_in", one=r"(?:lived|used to live) in|(?:раньше )?жила? во?", open=True),
    Connector(
        type="uses",
        one=rf"(?:uses|is using){_THE}|использует|пользуется|(?:benutzt|verwendet|nutzt)|(?:usa|utiliza)|utilise",
        many=rf"use{_THE}|используют|пользуются|(?:benutzen|verwenden|nutzen)|(?:usan|utilizan)|utilisent",
    ),
    Connector(
        type="depends_on",
        one=rf"(?:depends|relies) on{_THE}|requires{_THE}|зависит от|depende de|dépend de",
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
        one=r"reports to|подчиняется|berichtet an",
        many="report to|подчиняются|berichten an",
        exclusive=True,
        people=True,
        open=True,
    ),
    Connector(
        type="married_to",
        one="married|is married to|got married to|is the (?:wife|husband|spouse) of|женат на|замужем за|вышла замуж за|женился на"
        "|est[áa] casad[oa] con|se casó con|est mariée? (?:à|avec)|a épousé|heiratete",
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
        type="replaced_by",
        one=rf"(?:replaces|replaced|supersedes|superseded){_THE}|заменила? собой",
        after=r"(?!\s+(?:with|by)\b)",  # who replaced one thing with another did not take its place
        inverse=True,
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
    Connector(type="acquired", one="acquired|bought|купила|приобрела", after=_NO_NOUN),
    Connector(type="owns", one="owns|владеет|besitzt"),
    Connector(
        type="leads",
        one=rf"(?:leads|manages|heads){_THE}|руководит(?: проектом| командой| отделом)?|leitet(?: das projekt)?|dirige(?: le projet| el proyecto)?",
    ),
    Connector(
        type="located_in",
        one="is located in|is situated in|находится в[о]?|расположен[ао]? в[о]?|liegt in|está en|se trouve à",
        open=True,
    ),
    Connector(type="written_in", one="(?:is|was) written in|написан[ао]? на"),
    Connector(type="runs_on", one="runs on|работает под|läuft auf"),
)
