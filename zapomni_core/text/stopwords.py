"""Words that say nothing about the topic of a text, in the languages of the default embedder that put spaces between words.

They are compared case-folded and with the plain letter for `ё`; where people leave out accents, both spellings are listed, and
so are the pieces that an apostrophe leaves (`doesn t`, `we ll`, `l eau`). A word is not listed if it has a meaning in another
language: names (Will, May, Don, Ben, Kim), things (van, car, ten, pod), licences and code (MIT, Go, var).
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

GERMAN = frozenset(
    """
    aber alle allem aller alles als also am an auch auf aus bei beim bereits bist da dabei dafür damit danach dann
    daran darauf darf das dass davon dazu dein deine deinem deinen deiner dem den denn der deren des deshalb dessen
    dich doch dort du durch ein eine einem einen einer eines er es etwas euch euer eure für gegen gibt habe haben
    hatte hatten hier hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im immer ins ist ja jede jedem jeder jedes
    jetzt kann kein keine keinem keinen keiner können könnte mein meine meinem meinen meiner mich mir muss müssen
    nach nicht nichts noch nun nur ob oder ohne sehr sein seine seinem seinen seiner seit sich sie sind sobald soll
    sollen sollte sondern sonst um und uns unser unsere unserem unseren unserer unter viel viele vom von vor wann
    warum weil welche welchem welchen welcher welches wem wenn wer werden weshalb wessen wie wieder wieso wieviel
    wird wo wofür woher wohin womit wurde wurden zu zum zur zwischen über
    """.split()
)

SPANISH = frozenset(
    """
    a al algo alguien alguna algunas alguno algunos aquel aquella aquellos aquí así aun aunque aún bajo bien cada
    casi como con cual cuales cualquier cuando cuanta cuantas cuanto cuantos cuál cuáles cuándo cuánta cuántas
    cuánto cuántos cómo de debe deben del desde donde durante dónde e el ellas ello ellos en entonces entre eran
    eres es esa esas ese eso esos esta estaba estamos estar estas este esto estos está están fue fueron ha había
    hace hacia hasta he hemos la las le les lo los me menos mi mientras mis mismo mucha muchas mucho muchos muy más
    nada nadie ni no nos nosotros nuestra nuestras nuestro nuestros o otra otras otro otros para pero poco por
    porque porqué puede pueden pues que quien quienes quién quiénes qué se según ser si sido siempre sobre su sus sí
    también tampoco tanto te tiene tienen toda todas todavía todo todos tras tu tus tú u un una unas uno unos usted
    ustedes y ya yo él
    """.split()
)

FRENCH = frozenset(
    """
    afin ainsi alors après as au aucun aucune aussi autre autres avant avec avez avoir avons ce ceci cela celle
    celles celui cependant ces cette ceux chaque chez combien comme d dans de depuis des doit doivent donc dont du
    dès elle elles en encore entre es est et eu eux fait faut il ils je jusqu l la laquelle le lequel les lesquels
    leur leurs lors lorsque lui là m mais me mes moi moins même n ne ni nos notre nous on ont ou où par parce pas
    pendant peu peut peuvent plutôt pourquoi près pu puis qu quand que quel quelle quelles quelqu quels qui quoi sa
    se selon sera seront ses si soi soit sommes sont sous suis sur ta tandis te tes toi toujours tous tout toute
    toutes très tu un une vers voici voilà vos votre vous y à ça étaient était étés êtes être
    """.split()
)

ITALIAN = frozenset(
    """
    a abbiamo ad agli al alcune alcuni alla alle allo allora anche ancora avere aveva bisogna che chi cioè ciò con
    contro cosa cosi così cui d da dagli dai dal dalla dalle dallo degli dei del dell della delle dello dentro deve
    devono di dopo dov durante e ed erano essere fino fuori già gli ha hanno ho i il in l la le lei lo loro lui me
    meno mentre mi mie miei mio molta molte molti molto ne negli nei nel nell nella nelle nello niente noi non
    nostra nostri nostro o ogni oppure per perche perché perciò però piu più poca poche pochi poco poi possono può
    qual qualche quale quali quando quanta quante quanti quanto quella quelle quelli quello questa queste questi
    questo qui quindi sarà se sempre senza si siamo sono sopra sotto sta stanno stata stato su sua sugli sui sul
    sulla sulle suo suoi te ti tra troppo tu tua tuo tuoi tutta tutte tutti tutto un una uno voi vostra vostro è
    """.split()
)

PORTUGUESE = frozenset(
    """
    a ainda algo algum alguma algumas alguns alguém além ao aonde aos aquela aquele aqueles aqui aquilo assim até
    cada com como cuja cujo da daquele das de dela dele deles depois desde dessa desse desta deste deve devem disso
    e ela elas ele eles em embora enquanto entre eram essa essas esse esses esta estamos estas estava este estes
    estou está estão eu foi foram há isso isto já lhe lhes mais mas me mesma mesmo meu meus minha minhas muita
    muitas muito muitos na nada nem nenhum nessa nesse nesta neste ninguém no nos nossa nossas nosso nossos numa não
    nós o onde ou outra outras outro outros para pela pelas pelo pelos perante pode podem pois por porque porquê
    pouca pouco quais qual qualquer quando quanta quantas quanto quantos que quem quê se sem sempre ser será seu
    seus sido sob sobre sua suas são só também tanto te tem temos tenha tenho ter teu teus teve tinha toda todas
    todo todos tu tua tuas tudo têm um uma umas uns você vocês vos à às é
    """.split()
)

DUTCH = frozenset(
    """
    aan al alle alleen alles als altijd andere bij daar dat de deze dit doen doet dus echter een eens elke er geen
    geweest haar hadden heb hebben heeft het hier hij hoe hoeveel hun iemand iets ik ja je jij jou jouw jullie kan
    kon kunnen maar meer mij mijn moest moet moeten na naar niemand niet niets nog nou nu of om omdat ons onze ook
    op reeds sinds sommige te tegen tijdens toch toen tot tussen u uit uw vaak veel voor waar waarbij waarin waarmee
    waarom wanneer wat we weer wel welk welke werd werden wie wiens wij worden wordt zal ze zei zelf zich zij zijn
    zo zonder zou zouden zullen
    """.split()
)

POLISH = frozenset(
    """
    a aby albo ale ani aż bardzo bez by być był była było były będzie będą chyba co coś czego czemu czy czyj czyja
    czym dla dlaczego dlatego do dokąd gdy gdyby gdzie i ich ile ilu im inne inny innych iż ja jak jaka jaki jakie
    jakiego jakiej jakim jako je jednak jego jej jemu jestem jeszcze jeśli jeżeli już ją każda każde każdy kiedy
    kogo komu kto ktoś która które którego której który których którym którzy którą ku lub mają mi mieć mnie mną
    mogą moja moje może można mu my mój na nad nam nami nasz nasza nasze nich nie niej nigdy nimi niż no o od ona
    oni ono oraz po ponieważ poza przed przede przez przy raz się skąd swoje swoją swój są ta tak taka taki takie
    także tam te tego tej temu to tobie trzeba tu tutaj twoja twoje twój ty tych tylko tym tymi tą tę u w wam was
    wasz we wiele więc wszyscy wszystkie wszystko wy z za zawsze ze znowu że żeby
    """.split()
)

TURKISH = frozenset(
    """
    acaba ancak artık aslında bana bazen bazı belki beni benim bile bir biraz biri birkaç birçok biz bize bizi bizim
    bu buna bunda bundan bunlar bunu bunun burada böyle bütün da daha de defa değil diye dolayı edecek eder ederek
    edilen en etti eğer fakat gibi göre halen hangi hangisi hatta henüz hep hepsi hiç ile ilgili ise itibaren için
    içinde işte kadar karşı kaç kendi kendisi ki kimden kime kimi kimin kimse mi mu mü mı nasıl ne neden nedenle
    nedir nerede nereden nereye niye niçin o olan olarak oldu olduğu olması olmayan olsa olsun olur ona ondan onlar
    onların onu onun oysa pek rağmen sana sanki sen seni senin siz sizi sizin sonra tarafından tüm vardı ve veya ya
    yani yapan yaptı yapılan yerine yine yok yoksa zaten çok çünkü üzere şey şu şuna şunu
    """.split()
)

UKRAINIAN = frozenset(
    """
    або адже але б без би був буде будемо будуть була були було бути більш більше в вам вами вас ваш ваша ваше ваші
    весь вже ви вона вони воно все всього всі всіх втім від він де для до дуже же жоден з за завжди замість знову зі
    й його йому кого коли комусь котрий куди ледве лише мабуть майже має мене мені ми може можна моя моє мої між мій
    на навіть навіщо над нам нами нас наш наша наше наші не невже нема немає неї ним ними них ну ні ній ніколи ніхто
    нічого однак ось перед по повинен поки потрібно потім при про проте під після саме свого свою своя своє свої
    себе скільки собі так така таке такий також такі там твоя твоє твої твій те тебе тепер ти тим тих то тобто тобі
    того тоді той тому тут у усе усі хоча хто хіба це цей цим цих цього цьому ця ці через чи чий чим чия чиє чого
    чому що щоб щодо щось я як яка яке який яким яких якого якої якщо які якій є і із ін їй їм їх їхній її
    """.split()
)

STOP_WORDS = ENGLISH | RUSSIAN | GERMAN | SPANISH | FRENCH | ITALIAN | PORTUGUESE | DUTCH | POLISH | TURKISH | UKRAINIAN
