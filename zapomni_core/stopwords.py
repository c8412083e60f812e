"""Words that say nothing about what a text is about, in English and Russian.

They are compared case-folded and with the plain letter for `ё`. The pieces that an apostrophe leaves (`doesn t`, `we ll`) are among
them; words that are also names (Will, May, Don) are not: a memory is full of people.
"""

# ruff: noqa: RUF001, SIM905 (Russian looks like English; words read better as prose than as a list)

ENGLISH = frozenset(
    """
    a about above after again against ain all am an and any are aren as at
    be because been before being below between both but by
    can cannot could couldn d did didn do does doesn doing down during
    each else ever few for from further had hadn has hasn have having he her here hers herself him himself his how
    i if in into is isn it its itself just ll
    m me more most mustn my myself needn no nor not now
    of off on once only or other our ours ourselves out over own
    re s same she should shouldn so some such
    t than that the their theirs them themselves then there these they this those through to too
    under until up ve very was wasn we were weren what when where which while who whom whose why with would wouldn
    you your yours yourself yourselves
    """.split()
)

RUSSIAN = frozenset(
    """
    а без более больше будем будет будете будешь будто буду будут бы был была были было быть
    в вам вами вас ваш ваша ваше вашего вашей вашем вашему ваши ваших вдруг ведь во вот все всегда всего всей
    всем всеми всему всех всею всю вся вы
    где да даже для до другой его ее ей ему если есть еще же за здесь
    и из или им ими иногда их к как какая какие какой когда конечно которая которого которое которой котором которому
    которую которые который которых кто куда
    ли либо лишь между меня мне мной мну можно мои моим моих мой мою моя мое моего моей моем моему мы
    на над надо наконец нам нами нас наш наша наше нашего нашей нашем нашему наши наших нашу не него нее ней нельзя нем
    нему нет ни нибудь никогда ним ними них ничего но ну
    о об однако он она они оно опять от очень перед по под после потом потому почему почти при про
    раз разве с сам сама сами само свои своим своих свой свою своя свое своего своей своем своему себе себя сейчас со
    совсем так такая такие такое такой там тебе тебя тем теперь то тобой тогда того тоже той только том тому тот тою
    ту тут ты твой твоя твое твои
    у уж уже хоть хотя чего чей чем через что чтоб чтобы чуть эта эти этим этих это этого этой этом этому этот эту я
    """.split()
)

STOP_WORDS = ENGLISH | RUSSIAN
