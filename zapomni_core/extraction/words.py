"""Words that tell names from other words with a capital letter, in English, Russian, German, Spanish and French."""

# ruff: noqa: RUF001 (Russian looks like English; words read better as prose than as a list)

from functools import cache

from zapomni_core.stopwords import STOP_WORDS

_OPENERS = """
    according actually additionally ago almost already although always another anyone anything anyway apparently around
    ask basically besides call check currently dear either eventually every everybody everyone everything finally first
    fix follow fortunately generally get given goodbye hello hence hi however i'd i'll i'm i've instead it's last lastly
    lately later let lets like look make many maybe meanwhile moreover much mr need neither never nevertheless new next
    nobody none note nothing often oh ok okay old one originally otherwise people perhaps please previously probably read
    recently remember right run second see several since somebody someone something sometimes somewhere soon still
    suddenly sure surely tell thanks therefore third though thus today together tomorrow tonight two unfortunately unless
    unlike update use usually we're well whatever whenever whether whoever within without write yeah yes yesterday yet
    you're
    supposedly allegedly reportedly possibly presumably obviously clearly sadly luckily hopefully initially ultimately frankly
    honestly personally officially technically similarly consequently specifically essentially typically normally occasionally
    rarely hardly
    met saw asked called told talked spoke visited bought sold fixed added removed moved updated sent got found made wrote
    hired tried used learned started stopped finished discussed reviewed dropped changed improved renamed bumped introduced deprecated refactored
    migrated switched upgraded reverted merged raises returns throws sorry congrats congratulations cheers regards welcome
    благодаря вечером видимо возможно вообще вероятно впрочем всякий вчера далее два днем завтра затем здравствуйте
    значит именно итак кажется каждый кстати ладно любой многие может например недавно некоторые ночью нужно обычно один
    пожалуйста поскольку поэтому похоже правда привет примерно пусть ранее сегодня скоро сначала спасибо также такова три
    утром хорошо
    раньше позже снова опять наверное конечно наконец теперь сейчас
    пришел пришла пришли приехал приехала приехали встретил встретила позвонил позвонила сказал сказала спросил спросила
    видел видела купил купила ушел ушла уехал уехала написал написала
    allerdings bis bitte dadurch daher damals die dies diese dieser dieses dir gestern hallo heute irgendwann man manche
    angeblich liebe lieber liebes geehrte geehrter werte mit möglicherweise morgen nachdem nein schon seitdem sogar solche trotzdem vermutlich vielleicht wahrscheinlich war waren weder wegen
    weiter wir zuerst früher später danach künftig zurzeit bald
    actualmente afortunadamente finalmente generalmente normalmente obviamente posiblemente probablemente recientemente supuestamente
    ahora antes ayer después ella era gracias hay hola hoy luego mañana sin son tan
    aujourd'hui aux beaucoup bonjour comment demain déjà enfin ensuite été ici j'ai jusque l'on ma malgré merci mon
    parfois plus pour salut sans
"""
_CALENDAR = """
    monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun
    mondays tuesdays wednesdays thursdays fridays saturdays sundays
    january february march april may june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec
    понедельник вторник среда четверг пятница суббота воскресенье
    январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь
    montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar märz mai juni juli oktober dezember
    lundi mardi mercredi jeudi vendredi samedi dimanche janvier février avril juin juillet août septembre octobre novembre décembre
    lunes martes miércoles jueves viernes sábado enero febrero marzo mayo junio agosto septiembre octubre noviembre diciembre
    navidad noël weihnachten ostern spring summer autumn winter christmas easter am pm utc gmt bc ad q1 q2 q3 q4 h1 h2
"""
_ROLES = """
    ceo cto cfo coo cio ciso vp president director manager head chief minister king queen mayor founder co-founder cofounder
    chairman chairwoman chair secretary governor senator captain general colonel engineer developer architect lead author owner
    chancellor ambassador editor dean coach
"""
_TITLES = """
    mr mrs ms miss mx dr prof professor doctor sir madam lord lady herr herrn frau hr fr señor señora sr sra don doña monsieur madame mme
    mlle maître господин госпожа г-н г-жа доктор профессор president chancellor senator captain colonel general king queen pope saint
"""
_HEADS = """
    university bank church house republic kingdom ministry department institute school college museum city state states board
    statue gulf bay cape isle order battle academy bureau council court faculty federation hall tower university's library
    commonwealth duke earl prince princess declaration bill treaty office
"""

_EXTENSIONS = """
    bash bat c cc cfg conf cpp cs css csv db dll doc docx env exe fish gif go gz h hpp hs htm html ini ipynb java jpeg jpg js json
    jsonl jsx kt lock log lua md mdx mjs mp3 mp4 parquet pdf php pl png ppt pptx proto ps1 py pyi r rb rs rst scala sh so sql sqlite
    svelte svg swift tar tex toml ts tsv tsx txt vue wasm wav whl xls xlsx xml yaml yml zip zig
"""
_DOMAINS = "ai app cn com de dev edu es eu fr gov info io it jp net nl org pl ru ua uk us"


@cache
def not_names() -> frozenset[str]:
    """Words that begin sentences, count days or join words: with a capital letter or without, they name nothing."""
    return frozenset(_OPENERS.split()) | STOP_WORDS | calendar()


@cache
def calendar() -> frozenset[str]:
    """Days, months and seasons: they stand beside names without being part of them."""
    return frozenset(_CALENDAR.split())


@cache
def roles() -> frozenset[str]:
    """What somebody is, of which one says whose."""
    return frozenset(_ROLES.split())


@cache
def titles() -> frozenset[str]:
    """What stands before a person's name."""
    return frozenset(_TITLES.split())


@cache
def heads() -> frozenset[str]:
    """Words that make one name with `of` and what follows it: University of Oxford, Bank of America."""
    return frozenset(_HEADS.split())


@cache
def extensions() -> frozenset[str]:
    """How the names of files end."""
    return frozenset(_EXTENSIONS.split())


@cache
def domains() -> frozenset[str]:
    """How the names of hosts end, of those that stand in texts without `http`."""
    return frozenset(_DOMAINS.split())
