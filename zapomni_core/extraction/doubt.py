"""Words around a statement that take it back: what is asked, denied, supposed, wished, told of a novel or of next year is no fact."""

# ruff: noqa: RUF001 (Russian looks like English)

import re

LOOK_BACK = 100
LOOK_AHEAD = 60

_BEFORE = re.compile(
    r"""
    \b (?: if | whether | unless | maybe | perhaps | possibly | probably | presumably | apparently | seemingly | would | not | never
      | neither | nor | nobody | no[ ]one
      | \w+n['’]t[ ](?:think|believe|know|expect|say|mean|true|clear|certain|sure|the[ ]case)
      | doubt\w* | den(?:y|ies|ied) | (?:false|untrue|wrong)[ ]that | unlikely | rumou?r\w* | supposedly | allegedly | reportedly
      | suppos(?:e[sd]?|ing) | imagin(?:e[sd]?|ing) | pretend\w* | wish(?:e[sd])? | hope[sd]? | dream\w*
      | think[s]? | thought | believe[sd]? | guess\w* | assum(?:e[sd]?|ing) | suspect\w* | hear[ds]? | claim(?:s|ed)? | once[ ]upon
      | in[ ](?:the|a|my|this|his|her)[ ](?:novel|book|movie|film|story|fairy[ ]tale|game|series|episode|show)
      | если | ли | возможно | может | не | ни | никто | неправда | сомнева\w+ | якобы | будто | вряд | вероятно | наверное | слух\w*
      | говорят | кажется | похоже | вроде | думаю | считаю | слышала?
      | wenn | falls | ob | vielleicht | nicht | nie | niemand | weder | kein\w* | angeblich | vermutlich | wahrscheinlich | möglicherweise
      | bezweif\w+ | zweif\w+ | gerücht\w* | falsch,[ ]dass | anscheinend | scheinbar | glaube | denke | gehört,[ ]dass
      | si | quizás? | tal[ ]vez | no[ ](?:es|creo|pienso) | nadie | dud[oa]\w* | supuestamente | falso[ ]que | dicen | parece | creo | probablemente
      | peut-être | ne | n['’]est | aucune? | dout\w+ | prétendument | faux[ ]que | rumeur\w* | paraît | apparemment | crois | probablement
    ) \b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_NEXT = r"""
    (?: next[ ](?!to\b)[^\W\d_]+ | tomorrow | nächste[mnrs]?[ ]\w+ | kommende[mnrs]?[ ]\w+ | morgen
      | следующ(?:его|ей|ем)[ ]\w+ | будущего[ ]года | завтра\w*
      | (?:l['’]année|le[ ]mois|la[ ]semaine)[ ]prochaine? | demain | (?:el|la|del?)[ ]próxim[oa][ ]\w+ | mañana )
"""
_FROM = r"(?: (?: from | as[ ]of | starting | beginning | ab | со? | начиная[ ]со? | à[ ]partir[ ]de | dès | a[ ]partir | desde )[ ] )?"
_AHEAD = re.compile(rf"(?: ^ | \W ) {_FROM} {_NEXT} (?:[ ](?:on|an))? ,? \s* $", re.IGNORECASE | re.VERBOSE)
_AFTER = re.compile(
    rf"""
    [\s,;:(–—-]*
    (?: maybe | perhaps | possibly | probably | presumably | supposedly | allegedly | reportedly | apparently | respectively | soon
      | i[ ](?:think|guess|believe|suppose|assume|hear|heard) | if[ ]i | as[ ]far[ ]as[ ]i | not[ ]sure | rumou?r
      | (?:is|was)[ ](?:false|wrong|untrue|not[ ]true|a[ ]rumou?r|a[ ]lie) | isn['’]t[ ]true | or
      | наверное | возможно | вероятно | кажется | вроде | якобы | если[ ]не[ ]ошибаюсь | соответственно | или | скоро
      | vielleicht | vermutlich | wahrscheinlich | angeblich | glaube[ ]ich | denke[ ]ich | beziehungsweise | oder
      | quizás? | tal[ ]vez | creo | supuestamente | probablemente | al[ ]parecer | respectivamente | o | u
      | peut-être | je[ ]crois | paraît-il | probablement | apparemment | respectivement | ou
      | {_FROM} {_NEXT}
    ) \b
    """,
    re.IGNORECASE | re.VERBOSE,
)
# A name after these is not what the sentence is about: "The team in Berlin uses Redis".
_PART = re.compile(
    r"""
    (?: \b (?: of | in | at | from | with | for | by
      | de | du | des | von | vom | bei | mit | aus | chez | con | en | à | из | от | у | с | для | в | о | к ) \s | d['’] ) \s* $
    """,
    re.IGNORECASE | re.VERBOSE,
)
_BESIDE = re.compile(
    r"""
    \b (?: on | to | about | near | behind | around | inside | under | against | via | or | except | besides | without | unlike | instead[ ]of | than
      | (?: guys? | man | woman | person | people | someone | somebody | something | companies | tools? | things? )[ ]like
      | (?: everybody | everyone | all )[ ]but
      | außer | ohne | statt | für | über | oder | кроме | без | вместо | про | или
      | para | sin | sobre | excepto | salvo | o | pour | sans | sauf | sur | ou ) \s+ $
    """,
    re.IGNORECASE | re.VERBOSE,
)
_WHO = re.compile(r",?\s(?:who|котор(?:ый|ая)|qui|quien)\s")


def is_doubted(text: str, start: int) -> bool:
    """Whether what a sentence says from here on is not said to be so now."""
    first = max(0, start - LOOK_BACK)
    return _BEFORE.search(text, first, start) is not None or _AHEAD.search(text[first:start]) is not None


def is_taken_back(text: str, end: int) -> bool:
    """Whether the words after a statement make it a guess, a choice of two, or a plan."""
    return _AFTER.match(text, end, end + LOOK_AHEAD) is not None


def is_part(text: str, start: int, end: int) -> bool:
    """Whether the name here only belongs to what the sentence is about; `who` after it may still speak of it."""
    before = text[max(0, start - LOOK_BACK) : start]
    return _PART.search(before) is not None or (_BESIDE.search(before) is not None and not _WHO.match(text, end))
