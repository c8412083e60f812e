"""Common nouns that notes begin with, and that German writes with a capital letter: with one or without, they name nothing."""

import re
from functools import cache

_ENGLISH = """
    account action address admin agenda agent answer app application appointment assistant audio author baby backend backup bank
    battery boss bot box branch breakfast brother budget bug build bus business cache call car card cat chapter chat child
    children class cleaner client cloud cluster code coffee colleague commit company computer config container contract cost
    country couple course cron customer dad data database date daughter deadline decision default deploy design desk developer
    device dinner docs doctor document dog draft driver email employee engine engineer error event example family father
    feature feedback file fix flight food friend friends frontend function gateway girl goal god grandma grandpa group guest
    guide guy heating home homework hotel hospital house husband idea index info input insurance interface internet invoice
    issue item job journey kid kids kitchen landlord laptop lawyer library life light limit link list lunch machine mail
    management manager market mechanic meeting member memory message milk mistake model module money mom month mother mum
    music name neighbor neighbour network neighbours news night node noise note notes office option order output owner page
    parents part participant partner password patch patient payment person pharmacy phone photo pipeline plan plant plumber
    police policy port power preference price problem process product production professor program project prompt proxy
    question queue rain reason recipe reception release rent report request response restaurant result review road room route
    rule salary schedule school script search security server service session setup shop sister site sleep snow software son
    source spec staff staging start status step stock store story student summary supplier support sun system table target task
    tax teacher team test ticket time title token tool topic traffic train trip tutorial type uncle aunt user vendor version
    video visit visitor wait water weather website week weekend wife window word work worker world year
    progress everybody nobody half both neither others lots plenty thousands hundreds mine yours
    book open order plan plant play print push schedule set ship show sign start switch test track turn watch
"""
_IMPERATIVES = """
    add avoid bake boil bring buy chop clean close collect compare configure consider contact convert create cut decide delete deploy describe
    beat cook disable discuss download draw drop eat email enable ensure evaluate explain export finish forward fry give handle heat help ignore
    implement import improve include install integrate investigate invite join keep learn leave listen meet merge migrate monitor
    melt mix move pay pick ping pour preheat prepare publish put reboot recommend refactor reinstall remind remove rename replace reply research reset
    resolve restart return revert review rewrite save send serve skip speak stir stop swap sync take talk thank think translate try uninstall
    upgrade upload verify visit wash whisk
"""
_ADDRESSING = "call email mail message text phone"
_SHOUTED = """
    error warn warning info debug trace fatal critical severe notice important attention todo fixme tbd tba wip fyi asap done note
    update til btw imo imho afaik idk lol omg wtf hack edit xxx what why how utc gmt pst pdt est edt cet cest
    select insert into values from where join inner outer having limit union alter delete distinct foreign references rollback null
    and not
"""
_GERMAN = """
    abend abteilung adresse änderung angebot angst ansprechpartner ansprechpartnerin anfang anwendung anwalt anruf antwort anzahl
    arbeit arbeitszeit arzt ärztin aufgabe aufgaben auto bahn bank bauer bedarf bericht besuch benutzer bild blume brief brot
    bruder buch bus büro chef chefin code computer datei daten datenbank datum dienst dienste ding dinge eingang einkauf eltern
    ende entscheidung ergebnis erde essen euro fahrrad familie farbe fehler fenster ferien feuer film firma flug frage fragen
    frau freund freunde freundin fußball garage garten gast gebäude geburtstag geld gelegenheit gerät geschäft geschenk
    gespräch gesundheit grund gruppe haus hause heizung herr herz hilfe hotel hund idee index internet jahr jahre job
    junge kaffee karte kasse katze keller kind kinder kirche klasse kleid knochen koch kollege kollegen kollegin konto kopf
    kosten kraft krankenhaus küche kuchen kunde kunden kundin kunst kurs land laptop leben lehrer lehrerin leute licht
    liste lösung luft mädchen mail mann markt maschine mensch menschen meter miete milch minute minuten mittag modell modul
    moment monat monate morgen musik mutter nachbar nachmittag nachricht nacht name netz netzwerk notiz oma opa ordnung ort
    papa mama papier partner passwort person pause pferd plan platz polizei preis problem produkt programm projekt protokoll
    prozess punkt rat raum rechner rechnung regel regen reise rest restaurant sache sachen schlüssel schnee schrank schritt
    schule schwester seite server sicherung sitzung software sohn sommer sonne speicher spiel sport sprache stadt stand stelle
    straße strom stück stunde stunden system tabelle tag tage tee team teil teilnehmer telefon termin test text tisch thema
    tier tochter tür uhr umzug unternehmen urlaub vater verein version vertrag vorschlag wagen wald wand wandern wartung wasser
    weg wein welt werk wetter winter woche wochen wochenende wohnung wort wunsch zahl zahnarzt zeit zeitung ziel zimmer zucker
    zug zustand präsident präsidentin bundeskanzler bundeskanzlerin kanzler kanzlerin minister ministerin direktor direktorin onkel tante
"""
_GERMAN_PEOPLE = """
    ansprechpartner ansprechpartnerin anwalt arzt ärztin bauer benutzer bruder chef chefin frau freund freundin gast herr junge koch
    kollege kollegin kunde kundin lehrer lehrerin mann mutter nachbar oma opa papa mama partner schwester sohn teilnehmer tochter vater präsident präsidentin
    bundeskanzler bundeskanzlerin kanzler kanzlerin minister ministerin direktor direktorin onkel tante
"""
_ROMANCE = """
    abuela abuelo acheter agua amigo amis añadir appeler arreglar arriver ask avión base besoin café cambiar casa chat chien
    chef ciudad client cliente clientes coche collègue comida compra comprar contraseña correo cosas courses cuenta cumpleaños
    date dinero directeur doctora document empresa enfants enviar envoyer equipo error escribir école équipe factura facture
    familia famille fête fichier fille fils frère gato gente gens hacer hermana hermano hijo hija hermanos idea idée ir
    jefe jefa jour leche llamar lluvia madre maison mamá maman mamie marché médecin médico mère mes mesa meteo mise module mujer
    musique médicaments nombre nota notas note numéro objectif obtener padre padres pagar pan papa papá parents payer penser
    père perro piso plan platform pluie precio prix prendre problema problème profesor programa programme projet proyecto
    prévoir página question recordar rappel rappeler recette reste restaurant reunión réunion revisar rendez-vous resultado
    résultat route semana semaine serveur servicio servidor sitio sistema sœur soeur soleil système tarea temps tiempo tienda
    trabajo train travail vacaciones vacances vecino venta ventas version versión viaje vie ville vino voiture voisin voyage
    écrire été état étudiant serwer
"""
_RUSSIAN = """
    анализ анализы база банк бабушка брат бэкенд версия весь вечер вода вопрос врач время встреча газета год город данные дата
    дача дедлайн дедушка дела дело день деньги дети директор дни договор документ документы доктор дом дочь друг друзья
    деплой дождь еда жена женщина жизнь задача задачи заказ заметка заметки запрос звонок здание идея изменения инженер
    интернет итог итоги карта квартира клиент клиенты книга код коллега коллеги команда коммит компания компьютер кот кошка
    купить курс лекарства люди магазин мама мать машина менеджер место месяц мир модель модуль молоко муж музыка мужчина
    народ начальник неделя новость новости ночь обед обновление ответ отдел отец отчет офис очередь ошибка ошибки папа пароль
    парень первый письмо план погода подарок подруга поезд пользователь помощь поставщик почта правило праздник предложение
    привычка приложение проблема программа продукт проект протокол процесс путь работа разговор размер ребенок результат
    релиз родители ремонт решение самолет сервер сервис сестра сестру система скрипт слово служба снег собака собрание совет
    созвон солнце сосед соседи список срок ссылка статус страница студент стол сумма сын таблица тест тема телефон тикет
    товар улица утро участник участники учитель файл фильм фронтенд хлеб хозяин цель цена час часть человек чай шеф школа язык
    добавить доделать забрать закончить заказать исправить написать найти напомнить начать обновить обсудить оплатить
    отправить перенести перезвонить подготовить поговорить позвонить помнить поправить починить почитать проверить прочитать
    решили сделать сходить съездить узнать удалить заменить люблю хочу думаю решил решила надеюсь
"""
_ENDINGS = re.compile(
    r"(?:ing|tion|tions|ment|ments|ness|ity|ance|ence|ship|ism|ly"
    r"|ung|ungen|heit|heiten|keit|keiten|schaft|tät|täten|nis|ción|ciones|dad|dades|miento|ión|eur|té"
    r"|ость|ости|ение|ения|ание|ания|ция|ции|ться|ство|ства)$"
)


@cache
def nouns() -> frozenset[str]:
    """The nouns, and verbs that tell what to do, case-folded and with the plain letter for `ё`."""
    return frozenset(f"{_ENGLISH} {_IMPERATIVES} {_GERMAN} {_ROMANCE} {_RUSSIAN}".split())


@cache
def apposed() -> frozenset[str]:
    """Nouns of other languages than English that stand before a name and are no part of it: Kunde Müller, Projet Aurore."""
    return frozenset(f"{_GERMAN} {_ROMANCE} {_RUSSIAN}".split()) - frozenset(f"{_ENGLISH} {_IMPERATIVES}".split())


@cache
def people() -> frozenset[str]:
    """German nouns that have a person's name after them."""
    return frozenset(_GERMAN_PEOPLE.split())


@cache
def imperatives() -> frozenset[str]:
    """English verbs that tell what to do, and that no name begins with: Replace Redis."""
    return frozenset(_IMPERATIVES.split())


@cache
def addressing() -> frozenset[str]:
    """English nouns that before a given name tell what to do: Call Anna."""
    return frozenset(_ADDRESSING.split())


@cache
def shouted() -> frozenset[str]:
    """Words that are written in capital letters to be seen, as in logs, notes and SQL, and name nothing: ERROR, FYI, SELECT."""
    return frozenset(_SHOUTED.split())


def is_common(word: str) -> bool:
    """Whether a case-folded word is a noun like any other, by itself, as a plural, or by how it ends."""
    known = nouns()
    return word in known or word.removesuffix("s") in known or (len(word) > 5 and _ENDINGS.search(word) is not None)  # noqa: PLR2004
