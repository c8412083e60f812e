"""Names that are known to be names: given names, places, companies and software. They count wherever a capital letter may mean nothing."""

# ruff: noqa: RUF001 (Russian looks like English)

from functools import cache

# Without those that are words as well (Mark, Will, Rose, Grace, Essen, Nice), or the names of both (Jordan, Sydney).
_GIVEN = """
    aaron abigail adam adrian adriana agnes agnieszka ahmed aisha alan albert alberto alejandro alex alexander alexandra
    alexis alfred ali alice alicia alina alison amanda amelia amélie amir amy ana anastasia anders andrea andreas andrew
    andré andrés angela anita anja anna anne annette anthony antoine anton antonio antónio arjun arthur asha astrid ayşe
    barbara beatriz ben benjamin bernd bernard bettina birgit björn bob boris brian bruno camila camille carla carlos carmen
    carol carolina caroline catarina catherine cecilia chantal charles chiara chloé chris christian christina christine
    christoph christophe christopher claire clara claudia clémence colin cristina cynthia céline damien daniel daniela
    daniele danielle david deborah denis derek diana diego dieter dmitri dominique dorothea doris edgar eduardo edward
    elena eleanor eli elias elisabeth elizabeth ellen elsa emil emilia emilie emily emma emmanuel enrique eric erik erika
    ernesto esther eva evelyn fatima felipe felix fernando filip florian francesca francesco francisco franz françois
    frederik friedrich fritz gabriel gabriela gabriele gareth george georg gerd gerhard giovanni giulia giuseppe gonzalo
    greta guido guillaume gustav gérard hannah hans harald harry hassan heather heidi heike helen helena helga henri
    henrik henry hélène hugo ian ibrahim ignacio inès inês ingrid ingo irene irina isabel isabella isabelle ivan jacob
    jacqueline jacques jakob james jan jana jane janet jason javier jean jennifer jens jerome jessica jim joan joanna
    joaquín joe joel johan johann johanna johannes john jonas jonathan jorge jose josef josé joseph joshua joão juan
    juana juha julia julian juliana julie julien jürgen karen karim karin karl karolina katarzyna kate katharina katherine
    kathrin katja katrin kenji kenneth kevin klaus konrad krzysztof kurt lara lars laura laurent lea lena leo leon leonardo
    leonie leonor lewis liam lily linda lisa lorenzo louis louise luca lucas lucia lucie lucía luis luisa luise lukas luke
    léa lydia madeleine magda magdalena manfred manon manuel manuela marc marcel marcin marco marcos marcus margaret margot
    maria mariana marie marina mario marion markus marta martha martin martina mary mathieu mathilde matteo matthew
    matthias maurice max maximilian małgorzata maría mehmet mei melanie melissa michael michaela michel michelle miguel
    mike milan miriam mohamed mohammed monica monika monique moritz nadia nadine natalia natalie natasha nathalie nathan
    nicholas nick nicola nicolas nicole niklas nils nina noah noor nora norbert olaf olga oliver olivia olivier omar oscar
    oskar otto pablo paola paolo pascal patricia patrick paul paula paulo pavel pedro peter petra philip philipp philippe
    pierre piotr priya rachel rafael rahul rainer ralf ramón raphaël raquel raúl rebecca reinhard renate ricardo richard
    robert roberto robin roger roland roman ronald rosa roberta rudolf ruth ryan rémi sabine salma sam samantha samir
    samuel sandra sara sarah sebastian sergei sergio sharon silke silvia simon simone sofia sofía sonia sophia sophie stefan
    stefanie stephan stephanie stephen steve steven susan susanne sven sylvie sébastien tanja tatiana teresa thérèse
    theo theodor theresa thierry thomas tim timo timothy tobias tom tomas tomasz tony torsten tyler udo ulrich ulrike
    ursula uwe valentina valérie vanessa vera veronika victor vincent viktor virginie vladimir walter wei werner wilhelm
    william wolfgang xavier yann yasmin yuki yuri yusuf yves yvonne zoe zoé élodie émilie étienne ángel álvaro óscar łukasz
"""
_PLACES = """
    africa america amsterdam ankara argentina argentinien asia athens athen auckland australia australien austria autriche
    bangalore bangkok barcelona barcelone basel bavaria bayern beijing beirut belgium belgique belgien belgrade berlin bern
    bielefeld bilbao birmingham bogota bogotá bologna bombay bonn bordeaux boston brasil brazil brazilien bremen brisbane
    brooklyn brussels bruxelles brüssel bucharest budapest cairo california canada cambridge canberra chicago chile china
    cologne colombia copenhagen copenhague córdoba cracow croatia cyprus dallas danemark delhi denmark denver deutschland
    dortmund dresden dubai dublin düsseldorf edinburgh egypt england espagne españa estonia europa europe finland finnland
    firenze france francia frankfurt frankreich gdańsk geneva genf genève genova germany glasgow göteborg granada graz greece
    grenoble griechenland hamburg hannover hanover heidelberg helsinki houston hungary iceland india indien indonesia iran
    iraq ireland irland israel istanbul italia italie italien italy japan japon jakarta jerusalem karlsruhe kiel
    kiev kyiv köln kraków lausanne latvia leipzig lille lima linz lisboa lisbon lissabon lithuania liverpool london
    londres luxembourg luxemburg lyon madrid mailand mainz málaga malta manchester mannheim marseille mexico mexiko melbourne
    miami milan milano montreal montréal morocco moscow moscou moskau mumbai munich münchen münster nairobi nantes napoli
    netherlands niederlande nigeria norway norwegen nürnberg osaka oslo ottawa oxford pakistan paris peking perú philadelphia
    poland polen pologne porto portugal potsdam prag prague praha quebec québec roma romania rome rostock rotterdam
    russia russie rusia russland salzburg santiago schweiz schweden seattle seoul serbia sevilla seville shanghai singapore
    slovakia slovenia spain spanien stockholm strasbourg straßburg stuttgart suisse suiza sweden switzerland sydney taipei
    tallinn tbilisi texas tokio tokyo torino toronto toulouse turin turkey türkei ukraine uruguay valencia vancouver venice
    venezia vienna vienne vietnam vilnius warsaw warschau warszawa washington wien zagreb zaragoza zurich zürich österreich
"""
_BRANDS = """
    adobe airbnb airbus alibaba amazon android angular ansible anthropic aldi asana atlassian audi aws azure basecamp bayer
    bitbucket bloomberg bmw boeing bosch capgemini cassandra chromium cisco claude clickhouse cloudflare commerzbank
    confluence datadog debian deepmind dell deloitte dhl discord django docker dropbox elasticsearch ericsson etsy evernote
    expedia facebook fastapi fedora fiat figma firefox firebase gitlab github gmail google grafana heroku honda huawei
    hubspot hyundai ibm ikea instagram intel ionos javascript jenkins jira kafka keycloak kotlin kubernetes langchain
    laravel lenovo lidl linkedin linux lufthansa macos mastercard mastodon memcached mercedes microsoft michelin
    mongodb mozilla mysql neo4j netflix nginx nintendo nokia nvidia ollama openai oracle outlook panasonic paypal
    petrobras pfizer podman porsche postgres postgresql prometheus pytorch rabbitmq redis renault revolut salesforce samsung
    sentry shopify siemens skype slack snowflake sony spotify sqlite stripe svelte telegram telefónica
    tensorflow terraform tesla tiktok toyota trello twitter typescript uber ubuntu volkswagen whatsapp wikipedia wordpress
    yahoo youtube zalando zapier zapomni
"""
_RUSSIAN_GIVEN = """
    александр александра алексей алена алина алиса алла анастасия анатолий ангелина андрей анна антон антонина аня аркадий арина
    арсений артем артемий артур аслан ася богдан боря борис вадим валентин валентина валера валерий валерия валя ваня варвара варя
    василиса василий вася вера вероника виктор виктория виталий витя влад владимир владислав вова всеволод вячеслав галина галя
    гена геннадий георгий герман глеб гоша григорий гриша даниил данила дарья даша денис дима диана дина дмитрий ева евгений евгения
    егор екатерина елена елизавета жанна женя захар зина зоя иван игнат игорь илья инна инга ира ирина карина катерина катя кира
    кирилл клавдия костя константин ксения ксюша лариса лена леонид леша лера лида лидия лиза лилия люба людмила люда майя макар
    макс максим маргарита марина мария марат марта матвей маша милана михаил миша настя назар наталия наталья наташа
    никита николай никола нина оксана олег олеся ольга оля павел паша петр петя полина раиса рената ринат роман руслан рустам рома
    саша светлана света семен сергей сережа снежана соня софия софья станислав стас степан сева таисия тамара таня татьяна
    тимофей тимур тоня ульяна федор федя фаина филипп эдуард элина эльвира эмма эмиль юлия юля юра юрий яков яна ярослав
"""
# Names that begin with a word that mostly is none.
_BEGUN_BY_WORDS = """
    new-york new-zealand new-jersey new-delhi new-orleans new-england new-mexico new-hampshire new-guinea new-haven new-caledonia
    new-south new-relic los-angeles los-alamos las-vegas las-palmas la-paz la-rochelle la-haye le-havre le-mans le-monde
    el-salvador el-paso el-país são-paulo são-tomé
"""
_RUSSIAN_PLACES = """
    австралия австрия азия америка англия аргентина армения астана африка баку барселона батуми беларусь белград бельгия берлин
    болгария бразилия брянск будапешт варшава великобритания вена венгрия вильнюс владивосток владимир волгоград вологда воронеж
    германия голландия греция грузия дания дубай европа египет екатеринбург ереван женева израиль индия иркутск испания италия
    ижевск кавказ казань казахстан калининград калуга канада кемерово киев кипр китай краснодар красноярск кострома крым курск
    латвия лиссабон литва лондон магадан мадрид мексика милан минск молдавия монако москва мурманск мюнхен нидерланды новгород
    новосибирск норвегия омск оренбург париж пекин пенза пермь петербург польша португалия прага псков рига рим ростов россия рязань
    самара санкт-петербург саратов севастополь сербия сибирь симферополь словакия смоленск сочи стамбул стокгольм ставрополь
    таллин таллинн тамбов татарстан ташкент тбилиси тверь токио томск тула турция тюмень украина урал уфа финляндия франция
    хабаровск харьков хельсинки цюрих чебоксары челябинск черногория чехия чита чили швейцария швеция эстония якутск япония ялта ярославль
"""
_RUSSIAN_BRANDS = """
    авито авиасейлс алроса аэрофлот альфа-банк билайн вконтакте газпром гугл касперский кинопоиск лукойл мегафон
    роснефть ростелеком росатом сбер сбербанк телеграм тинькофф тойота фейсбук эппл яндекс
"""


@cache
def given_names() -> frozenset[str]:
    """Given names, case-folded and with the plain letter for `ё`."""
    return frozenset(f"{_GIVEN} {_RUSSIAN_GIVEN}".split())


@cache
def places() -> frozenset[str]:
    """Countries and cities, case-folded."""
    return frozenset(f"{_PLACES} {_RUSSIAN_PLACES}".split())


@cache
def brands() -> frozenset[str]:
    """Companies and software, case-folded."""
    return frozenset(f"{_BRANDS} {_RUSSIAN_BRANDS}".split())


@cache
def begun_by_words() -> frozenset[str]:
    """The first two words of names that begin with a word, case-folded and joined by a hyphen: `new-york`."""
    return frozenset(_BEGUN_BY_WORDS.split())


@cache
def known() -> frozenset[str]:
    """All that is known to be a name, case-folded."""
    return given_names() | places() | brands()


@cache
def known_in_russian() -> tuple[str, ...]:
    """The same in Russian, as a dictionary has them."""
    return tuple(f"{_RUSSIAN_GIVEN} {_RUSSIAN_PLACES} {_RUSSIAN_BRANDS}".split())
