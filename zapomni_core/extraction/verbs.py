"""Verbs that follow a name at the start of a sentence: what somebody or something does, in English, Russian, German, French and Spanish."""

from functools import cache

# Forms that are nouns as well (runs, plans, tests) are not here: "Add tests" begins with no name.
_ACTING = """
    accepted adopted agreed agrees allows announced approved asked asks assigned became becomes began begins believes
    belongs blocked bought brought built calculates called chose comes commented compiles completed confirmed contains
    created decided defines delivered depends deployed deserves died does doesn't didn't earns enabled enjoys
    exposes expects explained failed feels fixed follows forgot found founded gave gets gives goes got graduated handles hates
    hired holds implements invited is isn't joined keeps knows launched lead learned learns leaves left lets likes listens
    lived lives lost loves made maintains makes manages married meets mentioned met moved needs offered opened owns paid
    passed persists pointed plays prefers promised promoted promised provides quit reads received recommended recommends
    refused released relies relocated remembers replaced replied reported requested requires resigned reviewed rewrote
    said sang sat says sells seems sent serves shares showed sings sits sleeps sold speaks spends spoke stands started
    stayed stopped stores studied studies suggested suggests supports takes talked taught teaches tells thinks thought
    told took travels tries uses used understands visited volunteered wants was wasn't went woke won works worked
    wrote hasn't won't
    бегает берет боится был была ведет верит вернулась вернулся вернется взял взяла видела видит выбрала выбрал вышла вышел
    говорит говорила готовит дает дал дала делает дружит думает едет ездит ест ждет живет завела зависит закончил закончила
    занимается заболел заболела звонил звонила звонит знает играет изучает использует ищет купил купила кушает летит лечится
    любит может надеется написал написала начал начала находится не недавно ненавидит носит нашел нашла обещал обещала
    ответил ответила отвечает отправил отправила пишет планирует получает получил получила поддерживает помогает помог помогла
    попросил попросила поступила поступил построил предложил предложила предпочитает приехал приехала пришел пришла пользуется
    пьет преподает работает работал работала рассказал рассказала родила родился родилась руководит сдал сдала сделал сделала
    сказал сказала скучает слушает служит согласен согласна создал создала спит спросил спросила старается стал стала
    танцует торгует трудится уволилась уволился уезжает уехал уехала ушел ушла узнал узнала умеет устала устал утверждает
    учит учится ходит хочет хотел хотела хранит читает является больше переехал переехала проживает руководил руководила
    вышла женат замужем женился
    akzeptiert antwortet arbeitet bat bekommt benutzt berichtet besitzt besucht bezahlt bietet bittet bleibt braucht denkt
    enthält erklärt erzählt fährt fand feiert findet fragt fängt gefällt gehört geht gewinnt gibt glaubt hasst hat hatte heißt
    heiratet hilft hängt ist isst kam kauft kaufte kennt kocht kommt kündigt kündigte lebt lebte leitet lernt liebt liegt liest
    läuft macht mag möchte muss nimmt nutzt plant prüft reist ruft sagt sagte schickt schläft schreibt schrieb sieht singt
    spielt spricht sprach startet stellt sucht studiert trifft trinkt träumt trägt unterrichtet unterstützt verdient verkauft
    verlässt verließ verwaltet verwendet vermietet war wartet weiß will wird wohnt wohnte wollte wurde wünscht zahlt zieht zog
    übernimmt übersetzt
    abandonó acabó aceptó administra almacena apoya aprende ayuda baila bebe busca cambió cocina come compra compró conoce
    confirmó corre cree cuida da decidió dejó depende dice dijo dirige empezó empieza enseña entiende entró envió es escribe
    escribió escucha espera está estudia estudió estuvo explicó fue fundó funciona ganó gestiona gusta habla habló hace hizo
    juega lee llamó llegó llega lleva mandó necesita nació odia ofrece opina pagó pidió piensa podría prefiere prepara propuso
    puede quiere recibió recomienda reside respondió sabe salió se sigue soporta sugirió tiene terminó toca trabaja trabajó
    trajo usa utiliza vende vendió viaja vino vio visitó vive vivía volvió ya
    a accepte achète adore aide aime apprend apporte arrive attend boit chante choisit comprend connaît court croit cuisine
    demande dessine déteste devient devrait dirige dit doit donne dort dépend effectue encourage enseigne envoie espère est
    étudie explique fait fonctionne gère habite hésite joue lit loue mange marche mène ne occupe offre organise parle part
    paye pense permet peut porte prend préfère prépare prévoit propose pratique quitte raconte rejoint remplace rend rencontre
    respecte reste retourne revient s'appelle s'occupe sait sera sort souhaite stocke supporte tient travaille travaillait
    trouve utilise va vend veut vient vit voit vivait voudrait voyage écoute écrit était
    lavora vive abita usa preferisce ama scrive mora trabalha gosta prefere pracuje mieszka lubi używa ma woont werkt houdt
"""
# What things do as well as names: "Breakfast was good."
_BEING = """
    is was isn't wasn't won't hasn't doesn't didn't does a est es está fue ist war wird wurde hat hatte se ne не был
    была стал стала era était sera has had will can could should would gets got seems becomes became failed stopped
    started begins began ya больше недавно может fait va ma muss used works comes lost went goes needs liegt hängt
    läuft funktioniert fonctionne funciona находится opened stands closes opens made makes showed takes took arrived
    approved created
"""


@cache
def acting() -> frozenset[str]:
    """What names do: after a capitalised word that opens a sentence it shows that the word is a name."""
    return frozenset(_ACTING.split()) - frozenset(_BEING.split())


@cache
def doing() -> frozenset[str]:
    """What anything does or is: it shows a name only of a word that opens more than one sentence."""
    return frozenset(_ACTING.split()) | frozenset(_BEING.split())
