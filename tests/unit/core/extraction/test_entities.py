"""What a text names, told by rules: in which words, of which type, and at which places."""

import pytest

from zapomni_core.extraction.reading import read


def entities(text):
    return [(entity.name, entity.type) for entity in read(text).entities]


def names(text):
    return [entity.name for entity in read(text).entities]


def only(text, *wanted):
    return [(name, kind) for name, kind in entities(text) if kind in wanted]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("I met Maria Garcia in New York.", ["Maria Garcia", "New York"]),
        ("Вчера Мария Иванова приехала в Москву.", ["Мария Иванова", "Москва"]),
        ("Ο φίλος μου λέγεται Νίκος Παπαδόπουλος.", ["Νίκος Παπαδόπουλος"]),
        ("We listened to Ludwig van Beethoven.", ["Ludwig van Beethoven"]),
        ("Ayer hablé con Juan de la Cruz.", ["Juan de la Cruz"]),
        ("She studied at the University of Oxford.", ["University of Oxford"]),
        ("He quoted J. R. R. Tolkien and George W. Bush.", ["J. R. R. Tolkien", "George W. Bush"]),
        ("Стихи написал А. С. Пушкин.", ["А. С. Пушкин"]),
        ("We saw Dr. Smith in St. Petersburg.", ["Smith", "St. Petersburg"]),
        ("They asked Jean-Luc and O'Brien.", ["Jean-Luc", "O'Brien"]),
        ("It was bought by Marks & Spencer.", ["Marks & Spencer"]),
        ("We host it on GitHub and PostgreSQL.", ["GitHub", "PostgreSQL"]),
        ("Only NASA and the IT team know.", ["NASA", "IT"]),
        ("It runs on Node.js here.", ["Node.js"]),
        ("Ask Anna\u00a0Lee about it.", ["Anna Lee"]),
        ("Met Maria Garcia on Monday Anna Lee was ill.", ["Maria Garcia", "Anna Lee"]),
        ("With Bob I saw it.", ["Bob"]),
        ("Johann Wolfgang von Goethe und der Chef von Siemens.", ["Johann Wolfgang von Goethe", "Siemens"]),
    ],
)
def test_names_are_told_by_their_capital_letters(text, wanted):
    assert names(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "Nothing happened today.",
        "Please remember the milk.",
        "Today is Monday.",
        "I think so. You do not.",
        "Сегодня ничего не было.",
        "Gestern war der Hund im Garten.",
        "THIS IS ALL VERY LOUD TEXT",
        "A b c. X!",
        "# Getting Started",
        "One Two Three Four Five Six Seven Eight Nine Words In A Row",
        "and/or, he/she, 24/7, 3.14, e.g. this, i.e. that",
        'I said "no way" and left.',
        'they ran "$(date)" and "Yes" there',
        "The colour is #ff00aa, the number #12.",
        "1234567 and decade and 12 monkeys",
        "「はい、そうです。」と言った",
        "今天天气很好",
        "😀 Great news!",
        "⚠️ Careful with that.",
        "WARN  Retrying in 5 s",
        "[INFO] Started Application in 3 seconds",
        "TODO: think. FYI: nothing.",
        "omg WHAT. LOL",
        "SELECT * FROM orders WHERE status = 1 AND NOT NULL",
        "Liebe Kollegen, das Treffen fällt aus.",
        "La réunion de Lundi est annulée.",
        "En Navidad viajamos mucho.",
    ],
)
def test_what_names_nothing_gives_nothing(text):
    assert entities(text) == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Replace Redis with Valkey.", ["Redis", "Valkey"]),
        ("- Contact Ondrik Zembla", ["Ondrik Zembla"]),
        ("Supposedly Ondrik Zembla likes it.", ["Ondrik Zembla"]),
        ("ERROR Ondrik Zembla failed", ["Ondrik Zembla"]),
        ("we met _Ondrik Zembla_ and __Quorvo__ there", ["Ondrik Zembla", "Quorvo"]),
        ("New York is cold.", ["New York"]),
        ("Los Angeles is warm.", ["Los Angeles"]),
        ("New Docker images are there.", ["Docker"]),
        ("张伟不住在上海", ["张伟", "上海"]),
    ],
)
def test_a_name_begins_where_the_words_before_it_end(text, wanted):
    assert names(text) == wanted


def test_a_capital_letter_at_the_start_of_a_sentence_is_not_enough():
    assert names("Breakfast was good.") == []


def test_a_word_at_the_start_counts_where_the_text_has_it_elsewhere_as_a_name():
    (anna,) = read("Anna left early. Nobody saw Anna again.").entities
    assert anna.spans == ((0, 4), (28, 32))


def test_a_word_at_the_start_counts_if_something_is_its_own():
    assert names("Anna's cat sleeps.") == ["Anna"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Ondrik likes hiking. The Ondrik hat is old.", ["Ondrik"]),
        ("Quorvo stores memories in SQLite.", ["Quorvo", "SQLite"]),
        ("Quorvo runs the bakery.", ["Quorvo"]),
        ("Quorvo is fast. Quorvo was free.", ["Quorvo"]),
        ("Quorvo and Zembla are fast.", ["Quorvo", "Zembla"]),
        ("Attendees: Ondrik, Zembla", ["Ondrik", "Zembla"]),
        ("Owner: Ondrik", ["Ondrik"]),
        ("Участники: Гурген, Жанна", ["Гурген", "Жанна"]),
        ("Жорик любит гулять.", ["Жорик"]),
        ("Alice is here. So is the Docker image.", ["Alice", "Docker"]),
    ],
)
def test_a_word_at_the_start_counts_if_it_does_what_names_do(text, wanted):
    assert names(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "Coffee likes nobody. Server stores data. Meetings are long. Meetings are boring.",
        "Add tests. Add docs. Remove logs. Remove files.",
        "Planning takes time. Planning is hard.",
        "Status: Done",
        "Quorvo is fast. We have one quorvo. Quorvo was free.",
        "Погода хорошая. Погода плохая.",
        "Rechnung bezahlt. Die Katze schläft. Server läuft nicht. Bei Fragen bitte melden.",
        "Lives in the city. Works well.",
    ],
)
def test_nouns_and_verbs_at_the_start_are_no_names(text):
    assert names(text) == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Der Dienst läuft auf Zembla.", ["Zembla"]),
        ("Die Anwendung hängt von Redis ab.", ["Redis"]),
        ("Kunde Müller und das Projekt Zembla sind wichtig.", ["Müller", "Zembla"]),
        ("Wir sprachen mit Frau Keller über Anna.", ["Keller", "Anna"]),
    ],
)
def test_german_names_are_told_by_what_stands_before_them_or_are_known(text, wanted):
    assert names(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("San Francisco-based OpenAI grew.", ["San Francisco", "OpenAI"]),
        ("L'équipe de Paris dort. D'après Zembla, non.", ["Paris", "Zembla"]),
        ("Ayşe İstanbul'da Türk Telekom'da çalışıyor.", ["Ayşe", "İstanbul", "Türk Telekom"]),
        ("They left the U.K. last year.", ["U.K."]),
        ("¿Vive Raúl aquí?", ["Raúl"]),
        ("Landlord Mr. Okafor fixed it.", ["Okafor"]),
        ("El hospital Vall d'Hebron es grande.", ["Vall d'Hebron"]),
        ("Он работает на КАМАЗе.", ["КАМАЗ"]),
    ],
)
def test_a_name_ends_where_another_word_is_hung_onto_it(text, wanted):
    assert names(text) == wanted


def test_a_heading_names_what_the_text_below_names():
    assert names("# Project Phoenix\n\nWe began with Project Phoenix today.") == ["Project Phoenix"]


def test_german_nouns_are_no_names_for_their_capital_letters():
    assert names("Wir haben dem Hund einen Knochen und Wasser gegeben, sagt Angela Merkel.") == ["Angela Merkel"]


def test_a_possessive_is_left_out_of_the_name():
    (entity,) = read("I took Anna's car and Anna’s keys to Anna.").entities
    assert (entity.name, len(entity.spans)) == ("Anna", 3)


@pytest.mark.parametrize(
    ("text", "person"),
    [
        ("We met Мария Иванова.", "Мария Иванова"),
        ("Пришёл Иван Петрович.", "Иван Петрович"),
        ("I asked Dr. Smith.", "Smith"),
        ("I asked Vincent van Gogh.", "Vincent van Gogh"),
        ("I asked George W. Bush.", "George W. Bush"),
    ],
)
def test_a_person_is_told_by_what_only_persons_have(text, person):
    assert only(text, "person") == [(person, "person")]


def test_a_german_noun_before_a_name_tells_whether_it_is_a_person():
    found = read("Kunde Zembla und das Projekt Quorvo sind wichtig.").entities
    assert [(one.name, one.type) for one in found] == [("Zembla", "person"), ("Quorvo", "name")]


def test_an_army_with_initials_is_no_person():
    assert entities("He joined the U.S. Army then.") == [("U.S. Army", "name")]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("call get_user_name() now", "get_user_name"),
        ("in camelCase style", "camelCase"),
        ("set MAX_RETRIES first", "MAX_RETRIES"),
        ("override __init__ there", "__init__"),
        ("import zapomni_core.engine.MemoryEngine", "zapomni_core.engine.MemoryEngine"),
        ("use os.path here", "os.path"),
        ("run main() once", "main"),
        ("fixes ABC-123 today", "ABC-123"),
        ("since v1.2.3-rc1 it works", "v1.2.3-rc1"),
        ("with 10.4.2 it works", "10.4.2"),
        ("commit 9fceb02d0ae598 broke it", "9fceb02d0ae598"),
        ("id 123e4567-e89b-12d3-a456-426614174000 here", "123e4567-e89b-12d3-a456-426614174000"),
        ("the `redis` cache", "redis"),
        ("the `flush()` call", "flush"),
    ],
)
def test_identifiers_are_told_by_their_shape(text, wanted):
    assert entities(text) == [(wanted, "identifier")]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("edit /etc/nginx/nginx.conf now", "/etc/nginx/nginx.conf"),
        ("see ~/notes/todo.md, please", "~/notes/todo.md"),
        ("in src/main.py.", "src/main.py"),
        ("in ./build/output/", "./build/output/"),
        ("in zapomni/core/extraction as well", "zapomni/core/extraction"),
        (r"open C:\Users\anna\x.txt, then", r"C:\Users\anna\x.txt"),
        ("read README.md first", "README.md"),
        ("the `setup.cfg` file", "setup.cfg"),
        ("в файле док/план.txt есть", "док/план.txt"),
        ("在/etc/hosts中", "/etc/hosts"),
    ],
)
def test_paths_are_told_by_their_shape(text, wanted):
    assert entities(text) == [(wanted, "path")]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("see https://example.org/a_(b)?c=d#e.", "https://example.org/a_(b)?c=d#e"),
        ("(see http://example.org/x)", "http://example.org/x"),
        ("see www.example.org!", "www.example.org"),
        ("see docs.example.org today", "docs.example.org"),
        ("the `https://example.org` one", "https://example.org"),
        ("場所はhttps://example.org/xです", "https://example.org/x"),
        ("请看https://example.org/x即可", "https://example.org/x"),
        ("見る https://example.org/日本。", "https://example.org/日本"),
    ],
)
def test_addresses_end_before_the_punctuation_of_the_sentence(text, wanted):
    assert entities(text) == [(wanted, "url")]


def test_mail_addresses_are_found():
    assert entities("write to anna.lee+work@example.org, please") == [("anna.lee+work@example.org", "email")]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("for #release now", "#release"),
        ("ask @anna about it", "@anna"),
        ("тег #важно здесь", "#важно"),
    ],
)
def test_tags_keep_their_sign(text, wanted):
    assert only(text, "tag") == [(wanted, "tag")]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("2023-05-08", "2023-05-08"),
        ("2023-05-08T12:30:00Z", "2023-05-08"),
        ("2023-05", "2023-05"),
        ("08.05.2023", "2023-05-08"),
        ("May 8, 2023", "2023-05-08"),
        ("8th of May 2023", "2023-05-08"),
        ("8 Sept. 2023", "2023-09-08"),
        ("May 2023", "2023-05"),
        ("8 мая 2023", "2023-05-08"),
        ("мае 2023", "2023-05"),
        ("8. März 2023", "2023-03-08"),
        ("8 de mayo de 2023", "2023-05-08"),
        ("8 août 2023", "2023-08-08"),
        ("1er janvier 2023", "2023-01-01"),
        ("2023年5月8日", "2023-05-08"),
        ("2023年5月", "2023-05"),
    ],
)
def test_dates_have_one_name_however_they_are_written(written, name):
    (date,) = read(f"it was on {written} then").entities
    assert (date.name, date.type, date.spans) == (name, "date", ((10, 10 + len(written)),))


@pytest.mark.parametrize(
    "written", ["2023-13-45", "31.02.2023", "99 May 2023", "in 2023", "0000-01-01", "12/2023", "mİ 2023"]
)
def test_what_only_looks_like_a_date_is_none(written):
    assert only(f"it was {written} then", "date") == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('we read "Clean Code" twice', "Clean Code"),
        ("читаем «Война и мир» вместе", "Война и мир"),
        ("wir lesen „Faust“ hier", "Faust"),
        ("we read “The Little Prince” twice", "The Little Prince"),
        ("我在看《三体》呢", "三体"),
        ("「吾輩は猫である」を読む", "吾輩は猫である"),
        ("『雪国』を読む", "雪国"),
    ],
)
def test_titles_stand_between_quotation_marks(text, wanted):
    assert entities(text) == [(wanted, "name")]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("我们使用Docker和 postgres 部署", ["Docker", "postgres"]),
        ("Docker를 설치했다", ["Docker"]),
        ("私は Visual Studio Code を使う", ["Visual Studio Code"]),
        ("نحن نستخدم Docker هنا", ["Docker"]),
        ("我们用C++写", ["C++"]),
        ("今天写代码。GitHub很好用。Redis也是。", ["GitHub", "Redis"]),
    ],
)
def test_latin_words_in_scripts_without_capitals_are_names(text, wanted):
    assert names(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("今天和王老师讨论了计划", ["王老师"]),
        ("王小明先生来了", ["王小明"]),
        ("李娜说很好", ["李娜"]),
        ("昨天跟张伟住在一起", ["张伟"]),
        ("田中さんとジョンさんが来た", ["田中", "ジョン"]),
        ("鈴木先生に会う", ["鈴木"]),
        ("김민수 씨와 이지은 님이 왔다", ["김민수", "이지은"]),
        ("我去北京", ["北京"]),
    ],
)
def test_persons_without_capitals_are_told_by_titles_and_places_by_knowing_them(text, wanted):
    assert names(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "郑重建议大家休息",
        "谢谢告诉我",
        "お客様の仕様を同様に",
        "今日先生に会う",
        "患者さんとお母さんが来た",
        "선생님이 오셨다",
        "고객님 안녕하세요",
        "老师说很好，先生们都同意",
    ],
)
def test_titles_alone_name_nobody(text):
    assert names(text) == []


def test_one_thing_is_one_entity_with_all_its_places_whatever_its_case():
    text = "we use Redis, then REDIS, then Redis"
    (redis,) = read(text).entities
    assert (redis.name, [text[start:end] for start, end in redis.spans]) == ("Redis", ["Redis", "REDIS", "Redis"])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Он был в Москве и уехал из Москвы.", ["Москва"]),
        ("Мы видели Сергея, Машу и Игоря.", ["Сергей", "Маша", "Игорь"]),
        ("Говорили с Иваном Петровым и с Анной Ивановой.", ["Иван Петров", "Анна Иванова"]),
        ("Звонили Елене Сергеевне.", ["Елена Сергеевна"]),
        ("Он ушёл из Моспромбанка.", ["Моспромбанк"]),
        ("Мы любим Павла и Артёма.", ["Павел", "Артём"]),
        ("Он ушёл из «Роснефти» в «Лукойл».", ["Роснефть", "Лукойл"]),
    ],
)
def test_russian_names_are_called_as_a_dictionary_has_them(text, wanted):
    assert names(text) == wanted


def test_russian_cases_that_only_the_text_shows_are_one_name_with_all_its_places():
    text = "Мы были в Зембле. Там Зембла, у Земблы. И в Хроносе, где Хронос."
    found = {entity.name: [text[start:end] for start, end in entity.spans] for entity in read(text).entities}
    assert found == {"Зембла": ["Зембле", "Зембла", "Земблы"], "Хронос": ["Хроносе", "Хронос"]}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Мы знаем Зембле.", ["Зембле"]),
        ("Мы знаем, что Александр и Александра дружат.", ["Александр", "Александра"]),
        ("Мы знаем, что Жуков и Жукова дружат.", ["Жуков", "Жукова"]),
    ],
)
def test_russian_cases_are_not_guessed(text, wanted):
    assert names(text) == wanted


def test_entities_come_in_the_order_of_the_text():
    text = "on 2023-05-08 we saw https://example.org/x with Anna Lee in src/main.py"
    assert names(text) == ["2023-05-08", "https://example.org/x", "Anna Lee", "src/main.py"]


def test_a_name_that_cannot_be_shown_or_is_endless_is_left_out():
    assert entities("see http://a\x07b/ and `x\ud800y` and http://" + "a" * 600) == []


def test_an_abbreviation_does_not_end_a_sentence():
    found = read("We asked Prof. Smith about Acme Corp. in detail.")
    assert {(one.subject, one.object) for one in found.relations} == {("Smith", "Acme Corp")}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("- Dropped Python 3.8.", ["Python"]),
        ("- [ ] Call Anna", ["Anna"]),
        ("Fry Guanciale with Pecorino Romano.", ["Guanciale", "Pecorino Romano"]),
        ("Sorry Ben, it was Tom.", ["Ben", "Tom"]),
        ("Bundeskanzler Scholz traf Präsident Macron und Tante Gerda.", ["Scholz", "Macron", "Gerda"]),
        ("Früher wohnte er in Mannheim.", ["Mannheim"]),
        ("The launch in Q3 is in São Paulo.", ["São Paulo"]),
    ],
)
def test_what_goes_before_a_name_or_only_begins_a_note_is_no_part_of_it(text, wanted):
    assert names(text) == wanted
