"""What a text says of what it names: by clear patterns, or by naming two things in one sentence, told apart."""

from datetime import UTC, datetime

import pytest

from zapomni_core.extraction.reading import LONGEST_QUOTE, MOST_TOGETHER, read


def stated(text):
    return [(one.subject, one.type, one.object) for one in read(text).relations if one.basis == "pattern"]


def mentioned(text):
    return [(one.subject, one.object) for one in read(text).relations if one.basis == "mention"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Anna works at Acme.", ("Anna", "works_at", "Acme")),
        ("Anna is working as a senior engineer for the Acme Corp.", ("Anna", "works_at", "Acme Corp")),
        ("Anna has been working at Acme since May.", ("Anna", "works_at", "Acme")),
        ("**Anna** works at **Acme**.", ("Anna", "works_at", "Acme")),
        ("Anna worked at Acme.", ("Anna", "worked_at", "Acme")),
        ("Anna lives in Berlin.", ("Anna", "lives_in", "Berlin")),
        ("Anna moved to Berlin.", ("Anna", "lives_in", "Berlin")),
        ("Anna moved from Paris to Berlin.", ("Anna", "lives_in", "Berlin")),
        ("Anna used to live in Berlin.", ("Anna", "lived_in", "Berlin")),
        ("Anna is the CTO of Acme.", ("Anna", "cto_of", "Acme")),
        ("Anna is a founding member of the Acme.", ("Anna", "founding_member_of", "Acme")),
        ("Anna was the CTO of Acme.", ("Anna", "former_cto_of", "Acme")),
        ("I met Anna Lee, CEO of Acme.", ("Anna Lee", "ceo_of", "Acme")),
        ("Anna's manager is Bob Ray.", ("Bob Ray", "manager_of", "Anna")),
        ("Bob is Anna's brother.", ("Bob", "brother_of", "Anna")),
        ("Zapomni uses SQLite.", ("Zapomni", "uses", "SQLite")),
        ("`engine` depends on `store`.", ("engine", "depends_on", "store")),
        ("GitHub is part of Microsoft.", ("GitHub", "part_of", "Microsoft")),
        ("Anna reports to Bob Ray.", ("Anna", "reports_to", "Bob Ray")),
        ("Anna married Bob Ray.", ("Anna", "married_to", "Bob Ray")),
        ("Anna was born in Bonn.", ("Anna", "born_in", "Bonn")),
        ("I like Bob Dylan, also known as Robert Zimmerman.", ("Bob Dylan", "also_known_as", "Robert Zimmerman")),
        ("We know Bob Dylan (aka Elston Gunn).", ("Bob Dylan", "also_known_as", "Elston Gunn")),
        ("The World Health Organization (WHO) met.", ("World Health Organization", "also_known_as", "WHO")),
        ("MySQL was replaced by PostgreSQL.", ("MySQL", "replaced_by", "PostgreSQL")),
        ("PostgreSQL replaced MySQL.", ("MySQL", "replaced_by", "PostgreSQL")),
        ("`main()` calls `run()`.", ("main", "calls", "run")),
        ("app.py imports engine.py today", ("app.py", "imports", "engine.py")),
        ("Мария Иванова работает в Яндексе.", ("Мария Иванова", "works_at", "Яндекс")),
        ("Борис живёт в Москве.", ("Борис", "lives_in", "Москва")),
        ("Сервис Zapomni использует SQLite.", ("Zapomni", "uses", "SQLite")),
        ("Наш GitHub зависит от PostgreSQL.", ("GitHub", "depends_on", "PostgreSQL")),
        ("Анна родилась в Киеве.", ("Анна", "born_in", "Киев")),
        ("Anna arbeitet bei Siemens.", ("Anna", "works_at", "Siemens")),
        ("Anna wohnt in Berlin.", ("Anna", "lives_in", "Berlin")),
        ("Zapomni benutzt SQLite.", ("Zapomni", "uses", "SQLite")),
        ("Zapomni hängt von PostgreSQL ab.", ("Zapomni", "depends_on", "PostgreSQL")),
        ("Anna ist mit Max verheiratet.", ("Anna", "married_to", "Max")),
        ("Anna wurde in Bonn geboren.", ("Anna", "born_in", "Bonn")),
        ("MySQL wurde durch PostgreSQL ersetzt.", ("MySQL", "replaced_by", "PostgreSQL")),
        ("Ana trabaja en Telefónica.", ("Ana", "works_at", "Telefónica")),
        ("Marie habite à Lyon.", ("Marie", "lives_in", "Lyon")),
        ("张伟在阿里巴巴工作。", ("张伟", "works_at", "阿里巴巴")),
        ("李娜住在上海。", ("李娜", "lives_in", "上海")),
        ("田中さんはトヨタで働いている。", ("田中", "works_at", "トヨタ")),
        ("田中さんは東京に住んでいる。", ("田中", "lives_in", "東京")),
        ("김민수 씨는 서울에 산다.", ("김민수", "lives_in", "서울")),
    ],
)
def test_clear_words_between_two_names_relate_them(text, wanted):
    assert stated(text) == [wanted]


@pytest.mark.parametrize(
    "text",
    [
        "Anna does not work at Acme.",
        "Does Anna Lee work at Acme?",
        "Anna Lee works at Acme?",
        "If Anna Lee works at Acme, we win.",
        "Maybe Anna Lee works at Acme.",
        "Если Мария Иванова работает в Яндексе, мы рады.",
        "Anna Lee's brother works at Acme.",
        "Der Hund wohnt in der Stadt.",
        "Anna Lee is one of Acme.",
        "Zapomni hängt von PostgreSQL.",
        "She works at Acme.",
        "Anna met Bob. She works at Acme.",
        "The team in Berlin uses SQLite.",
        "L'équipe de Paris utilise SQLite.",
        "Anna met a man who is tall and lives in Berlin.",
        "User's name is Zembla.",
        "Anna left Bob.",
        "Anna left Berlin.",
        "Everyone uses SQLite.",
        "Anna Lee and nobody else at all, whatever one may think of it, if at all, works at Acme.",
        "I asked Anna Lee (CEO) and World Health Organization (UN).",
        "I doubt that Anna works at Acme.",
        "It is false that Anna lives in Berlin.",
        "Rumour has it that Anna joined Acme.",
        "Nobody believes that Anna works at Acme.",
        "Supposedly Anna works at Acme.",
        "Neither Anna nor Peter works at Acme.",
        "Anna is not the owner of Acme.",
        "Anna is probably the owner of Acme.",
        "Angeblich wohnt Anna in Bremen.",
        "Weder Anna noch Peter arbeiten bei Siemens.",
        "Неправда, что Анна работает в Яндексе.",
        "Я сомневаюсь, что Олег живёт в Туле.",
        "Si Juan trabaja en Telefónica, lo sabrá.",
        "Supuestamente Carlos trabaja en Telefónica.",
        "Je doute que Marie travaille chez Airbus.",
        "张伟不在阿里巴巴工作。",
        "田中さんは東京に住んでいません。",
        "田中さんはトヨタで働いていました。",
        "김민수 씨는 서울에 살지 않는다.",
        "Anna joined Peter for lunch.",
        "Acme replaced Jenkins with GitHub.",
    ],
)
def test_what_is_denied_asked_or_supposed_is_not_stated(text):
    assert stated(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "I don't think Anna works at Acme.",
        "It isn't true that Anna lives in Berlin.",
        "I guess Anna works at Acme.",
        "I heard Anna lives in Berlin.",
        "In the novel, Anna lives in London.",
        "Anna works at Acme, I think.",
        "Anna lives in Berlin, maybe.",
        "Anna works at Acme (not sure).",
        "Anna lives in Berlin, if I remember correctly.",
        "Anna works at Acme or Initech.",
        "Anna and Bob work at Acme and Initech respectively.",
        "Говорят, Иван живёт в Москве.",
        "Иван работает в Яндексе, кажется.",
        "Ich glaube, Anna arbeitet bei Bosch.",
        "Dicen que Luis vive en Roma.",
        "Il paraît que Marc travaille chez Orange.",
        "田中さんはトヨタで働いているらしい。",
        "鈴木さんは大阪に住んでいるかもしれない。",
        "김민수 씨는 삼성전자에서 일한다고 한다.",
        "王小明在阿里巴巴工作过。",
    ],
)
def test_a_guess_a_choice_or_a_tale_is_not_stated(text):
    assert stated(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "From next year on, Anna works at Acme.",
        "Anna works at Acme from next month.",
        "Tomorrow Anna moved to Berlin.",
        "Anna works at Acme from tomorrow on.",
        "Иван работает в Яндексе со следующего года.",
        "Anna arbeitet bei Bosch ab nächstem Jahr.",
    ],
)
def test_what_will_be_so_is_not_stated_to_be_so(text):
    assert stated(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Ben uses Anna's laptop.",
        "Anna bought Peter's car.",
        "Anna leads Acme's sales team.",
        "Anna lives in Bob's house.",
        "Anna is the owner of Bob's car.",
        "Anna bought Nike shoes.",
        "Anna joined the Kafka migration.",
        "Anna joined Slack #general.",
        "Anna joined Zoom at 10:05.",
        "Anna left Starbucks at 5 pm.",
        "Anna a quitté Renault à 18 heures.",
    ],
)
def test_a_name_that_only_goes_before_what_is_meant_is_not_what_is_meant(text):
    assert stated(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Everybody except Felix works at Acme.",
        "Anna or Ben works at Acme.",
        "A guy like Anna works at Acme.",
        "The team behind Kafka uses Rust.",
        "My reply to Anna uses LaTeX.",
    ],
)
def test_a_name_that_only_belongs_to_the_subject_is_no_subject(text):
    assert stated(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Иван работает в Москве.",
        "Lucía trabaja en Madrid.",
        "王小明在北京工作。",
        "田中さんは東京で働いています。",
        "김민수 씨는 서울에서 일한다.",
        "Anna works at the Berlin office of Acme.",
    ],
)
def test_a_place_employs_nobody(text):
    assert stated(text) == []


@pytest.mark.parametrize(
    "text", ["Anna moved to Google.", "Anna moved from Siemens to Bosch in 2023.", "Issue OPS-12 moved to Backlog."]
)
def test_nobody_lives_in_a_company_and_a_ticket_lives_nowhere(text):
    assert stated(text) == []


def test_who_speaks_of_the_name_before_it():
    assert stated("I talked to Anna Lee, who works at Acme.") == [("Anna Lee", "works_at", "Acme")]


def test_who_is_good_or_angry_at_something_has_no_role_there():
    assert stated("Anna is good at Chess. Anna was angry at Tom.") == []
    assert stated("Anna is CTO at Acme.") == [("Anna", "cto_of", "Acme")]


def test_a_verb_that_fits_one_and_several_is_said_of_all():
    assert stated("Anna and Bob moved to Rome.") == [(who, "lives_in", "Rome") for who in ("Anna", "Bob")]
    assert stated("Anna Lee founded Acme.") == [("Anna Lee", "founded", "Acme")]


def test_several_subjects_and_several_objects_are_related_each_with_each():
    assert stated("Anna and Bob use SQLite, FalkorDB and PostgreSQL.") == [
        (who, "uses", what) for who in ("Anna", "Bob") for what in ("SQLite", "FalkorDB", "PostgreSQL")
    ]


def test_a_list_of_subjects_counts_from_the_start_of_a_sentence():
    assert stated("Anna, Bob and Carol work at Acme.") == [
        (who, "works_at", "Acme") for who in ("Anna", "Bob", "Carol")
    ]
    assert stated("In Berlin, Anna and Bob work at Acme.") == [(who, "works_at", "Acme") for who in ("Anna", "Bob")]


def test_a_correction_states_what_it_says():
    assert stated("I was wrong: Anna works at Acme.") == [("Anna", "works_at", "Acme")]


def test_what_follows_a_short_name_in_brackets_is_said_of_it():
    assert stated("The World Health Organization (WHO) is part of Zembla.") == [
        ("World Health Organization", "also_known_as", "WHO"),
        ("WHO", "part_of", "Zembla"),
    ]
    assert stated("Anna Lee (Acme) works at Initech.") == []


def test_a_name_that_is_a_word_of_doubt_as_well_is_a_subject_like_any_other():
    assert stated("Hope and Bob work at Acme.") == [(who, "works_at", "Acme") for who in ("Hope", "Bob")]


def test_a_verb_for_several_needs_several():
    assert stated("I saw Anna use SQLite.") == []


def test_two_clauses_in_a_sentence_keep_their_own_names():
    found = [("Anna", "lives_in", "Berlin"), ("Bob", "lives_in", "Paris")]
    assert stated("Anna lives in Berlin and Bob lives in Paris.") == found


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Anna works at Acme and lives in Berlin.", [("works_at", "Acme"), ("lives_in", "Berlin")]),
        ("Anna has two cats and lives in Berlin.", [("lives_in", "Berlin")]),
        ("Anna, who works at Acme, is married to Max Poe.", [("works_at", "Acme"), ("married_to", "Max Poe")]),
        ("Anna works at Acme. She lives in Berlin.", [("works_at", "Acme"), ("lives_in", "Berlin")]),
        ("Anna works at Acme. Lives in Berlin.", [("works_at", "Acme"), ("lives_in", "Berlin")]),
        ("Anna works at Acme, she lives in Berlin.", [("works_at", "Acme"), ("lives_in", "Berlin")]),
        ("Anna has a dog, and she now works at Acme.", [("works_at", "Acme")]),
        ("Anna arbeitet seit Mai 2020 bei Siemens und wohnt in Bonn.", [("works_at", "Siemens"), ("lives_in", "Bonn")]),
        ("Anna travaille chez Renault et habite à Lyon.", [("works_at", "Renault"), ("lives_in", "Lyon")]),
        ("Anna trabaja en Iberdrola. Ahora vive en Madrid.", [("works_at", "Iberdrola"), ("lives_in", "Madrid")]),
    ],
)
def test_what_is_said_of_the_same_person_further_on_is_theirs(text, wanted):
    assert stated(text) == [("Anna", *one) for one in wanted]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Anna no longer works at Acme.", "works_at"),
        ("Anna doesn't work at Acme anymore.", "works_at"),
        ("Anna quit Acme.", "works_at"),
        ("Anna no longer lives in Berlin.", "lives_in"),
        ("Анна больше не работает в Acme.", "works_at"),
        ("Анна уволилась из Acme.", "works_at"),
        ("Anna arbeitet nicht mehr bei Siemens.", "works_at"),
        ("Anna hat bei Siemens gekündigt.", "works_at"),
        ("Anna ne travaille plus chez Renault.", "works_at"),
        ("Anna ya no vive en Madrid.", "lives_in"),
    ],
)
def test_what_is_so_no_more_has_an_end_and_excludes_nothing(text, kind):
    moment = datetime(2024, 6, 1, tzinfo=UTC)
    (relation,) = read(text, moment=moment).relations
    assert (relation.type, relation.valid_until, relation.exclusive) == (kind, moment, False)


def test_what_is_so_no_more_ended_when_the_sentence_says():
    (relation,) = [one for one in read("Anna left Acme in March 2023.").relations if one.basis == "pattern"]
    assert (relation.type, relation.valid_until) == ("works_at", datetime(2023, 3, 1, tzinfo=UTC))


def test_what_another_fact_of_the_text_followed_is_told_as_past():
    """The later fact ends the earlier one by itself."""
    assert stated("Anna left Acme and joined Initech.") == [
        ("Anna", "worked_at", "Acme"),
        ("Anna", "works_at", "Initech"),
    ]


def test_a_russian_place_is_one_place_in_all_cases():
    found = read("Ольга живёт в Берлине. Берлин ей нравится. Ольга переехала в Берлин.").relations
    assert {(one.subject, one.type, one.object) for one in found} == {("Ольга", "lives_in", "Берлин")}


def test_who_works_somewhere_is_a_person_to_a_pronoun():
    assert stated("Ondrik was born in Bonn, he lives in Rome.") == [
        ("Ondrik", "born_in", "Bonn"),
        ("Ondrik", "lives_in", "Rome"),
    ]


def test_where_no_moment_is_known_what_ended_is_told_as_past():
    assert stated("Anna no longer works at Acme.") == [("Anna", "worked_at", "Acme")]


@pytest.mark.parametrize(
    ("text", "exclusive"),
    [
        ("Anna works at Acme.", True),
        ("Anna lives in Berlin.", True),
        ("Anna reports to Bob Ray.", True),
        ("Anna uses Slack.", False),
        ("Anna works at Acme and Globex.", False),
        ("Anna worked at Acme.", False),
    ],
)
def test_where_somebody_is_or_works_now_excludes_another_place(text, exclusive):
    assert {one.exclusive for one in read(text).relations if one.basis == "pattern"} == {exclusive}


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("Anna works at Acme since 2021.", (2021, 1, 1), None),
        ("Мария Иванова работает в Яндексе с 2021 года.", (2021, 1, 1), None),
        ("Anna arbeitet seit 2021 bei Siemens. Anna arbeitet bei Siemens seit 2021.", (2021, 1, 1), None),
        ("Anna has worked at Acme since May 8, 2021.", (2021, 5, 8), None),
        ("In May 2021 Anna moved to Berlin.", (2021, 5, 1), None),
        ("On 2021-05-08, Anna moved to Berlin.", (2021, 5, 8), None),
        ("Anna worked at Acme from 2015 to 2019.", (2015, 1, 1), (2019, 1, 1)),
        ("Anna worked at Acme until March 2019.", None, (2019, 3, 1)),
        ("Anna works at Acme.", None, None),
        ("Anna moved to Berlin in 2019 or in 2021.", None, None),
        ("Anna works at Acme 2000 Street.", None, None),
        ("Anna left Acme on 3 May 2024.", None, (2024, 5, 3)),
        ("Anna works at Acme until the end of May 2022.", None, (2022, 6, 1)),
        ("Anna works at Acme until the end of 2022.", None, (2023, 1, 1)),
        ("Anna works at Acme by May 2022.", None, None),
        ("Anna worked at Acme (2018-2020).", (2018, 1, 1), (2020, 1, 1)),
        ("Anna works at Acme (2021–present).", (2021, 1, 1), None),
        ("Anna worked at Acme between 2012 and 2016.", (2012, 1, 1), (2016, 1, 1)),
        ("Anna joined Acme in Berlin in 2020.", (2020, 1, 1), None),
        ("Starting in January 2027 Anna works at Acme.", (2027, 1, 1), None),
        ("On 12 June 2023 I met Anna Lee, CEO of Acme.", None, None),
        ("Tom met Anna Lee, CEO of Acme, in Paris on 12 June 2023.", None, None),
        ("Anna works at Acme and we know each other since 2015.", None, None),
        ("Before joining Acme in 2020, Anna worked at Initech.", None, None),
    ],
)
def test_a_relation_holds_since_and_until_what_its_sentence_says(text, since, until):
    (relation,) = [one for one in read(text).relations if one.basis == "pattern"]
    wanted = [datetime(*date, tzinfo=UTC) if date else None for date in (since, until)]
    assert [relation.valid_from, relation.valid_until] == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Anna works at Acme since 2019 and lives in Berlin.", {"works_at": 2019, "lives_in": None}),
        ("Anna lives in Berlin since 2015 and works at Acme since 2019.", {"lives_in": 2015, "works_at": 2019}),
        ("Anna works at Acme and lives in Berlin since 2019.", {"works_at": None, "lives_in": 2019}),
        ("Anna works at Acme in 2019 and lives in Berlin.", {"works_at": None, "lives_in": None}),
        ("Anna arbeitet bei Siemens seit 2018 und wohnt in München.", {"works_at": 2018, "lives_in": None}),
        ("Мария работает в Яндексе с 2015 года и живёт в Москве.", {"works_at": 2015, "lives_in": None}),
        ("Anna travaille chez Renault depuis 2018 et habite à Lyon.", {"works_at": 2018, "lives_in": None}),
        ("Anna trabaja en Telefónica desde 2018 y vive en Madrid.", {"works_at": 2018, "lives_in": None}),
    ],
)
def test_a_date_belongs_to_what_is_said_before_the_and(text, wanted):
    found = {one.type: one.valid_from and one.valid_from.year for one in read(text).relations if one.basis == "pattern"}
    assert found == wanted


def test_a_date_belongs_to_the_clause_that_it_stands_in():
    text = "Anna lives in Berlin since 2020 and Bob lives in Paris since 2021."
    years = [one.valid_from.year for one in read(text).relations if one.basis == "pattern"]
    assert years == [2020, 2021]


def test_a_pattern_shows_that_its_subject_is_a_person():
    types = {entity.name: entity.type for entity in read("Anna works at Acme.").entities}
    assert types == {"Anna": "person", "Acme": "name"}


def test_a_name_that_only_a_pattern_shows_counts_everywhere():
    (anna, *_) = read("Anna sings. Anna lives in Berlin.").entities
    assert (anna.name, len(anna.spans)) == ("Anna", 2)


def test_what_one_sentence_names_is_mentioned_together():
    assert mentioned("We saw Anna Lee with Bob Ray. Then came Carol Poe.") == [("Anna Lee", "Bob Ray")]


def test_what_a_pattern_relates_is_not_mentioned_together_as_well():
    assert mentioned("Anna works at Acme. We saw Acme with Anna.") == []


def test_a_pair_is_mentioned_together_once():
    assert len(mentioned("We saw Anna Lee with Bob Ray. Then Bob Ray left Anna Lee.")) == 1


def test_dates_addresses_and_tags_are_not_related_to_each_other():
    text = "on 2023-05-08 see https://example.org/x about #release with Anna Lee"
    assert {subject for subject, _ in mentioned(text)} == {"2023-05-08", "https://example.org/x", "#release"}
    assert {thing for _, thing in mentioned(text)} == {"Anna Lee"}


@pytest.mark.parametrize("count", [MOST_TOGETHER, MOST_TOGETHER + 1])
def test_of_many_names_in_a_sentence_only_neighbours_are_related(count):
    things = " ".join(f"`thing_{number}` or" for number in range(count))
    pairs = count * (count - 1) // 2 if count <= MOST_TOGETHER else count - 1
    assert len(mentioned(f"we saw {things} nothing")) == pairs


def test_the_quote_is_the_sentence():
    text = "First this. Anna works at Acme since May. Then that."
    (relation,) = read(text).relations
    assert text[relation.start : relation.end] == "Anna works at Acme since May."


def test_of_a_long_sentence_the_quote_is_what_says_it():
    text = "and so on " * (LONGEST_QUOTE // 10) + "until Anna Lee works at Acme " + "and so on " * 5
    (relation,) = read(text).relations
    assert text[relation.start : relation.end] == "Anna Lee works at Acme"


def test_a_relation_that_a_text_states_twice_for_the_same_time_is_one():
    assert stated("Anna works at Acme. Yes, Anna works at Acme.") == [("Anna", "works_at", "Acme")]


def test_the_turns_of_a_conversation_are_not_one_sentence():
    assert mentioned("Anna: I like Docker\nBob: I like Podman") == [("Anna", "Docker"), ("Bob", "Podman")]
