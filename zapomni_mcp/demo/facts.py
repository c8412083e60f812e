"""What the demonstration remembers, and what it asks: in other words, and mostly in another language."""

# ruff: noqa: RUF001 (Cyrillic is meant)

FACTS = (
    "We chose PostgreSQL for the billing service because of its row-level security.",
    "Anna is allergic to walnuts; she carries an adrenaline pen.",
    "The production servers are backed up every night at 03:15 to a bucket in Frankfurt.",
    "Releases go out on Tuesdays, never on a Friday.",
    "Marek prefers code reviews before lunch and does not read chat after six.",
    "The API key of the weather service expires on 30 November.",
    "Our frontend is written in Svelte; the mobile app is Flutter.",
    "Clara's birthday is on 2 February, and she collects fountain pens.",
    "The printer on the second floor only takes recycled paper.",
    "Retry failed payments three times, then write to the customer.",
    "The conference talk was accepted: forty minutes, in the large hall.",
    "Grandfather's violin is at the repair shop in Cremona until May.",
    "I drink my coffee black, without sugar.",
    "The bicycle needs a new chain and the rear brake squeaks.",
    "Invoices above ten thousand euros need two signatures.",
    "The staging environment is reset every Sunday evening.",
    "Мой брат Дима работает хирургом в больнице в Казани.",
    "Пароль от домашнего вай-фая лежит в синем конверте в ящике стола.",
    "Встреча с инвесторами перенесена на четырнадцатое марта.",
    "Оля не ест мясо уже десять лет.",
    "Ключи от дачи у соседки Веры Павловны.",
    "Der Mietvertrag für das Büro in Leipzig läuft Ende September aus.",
    "Unser Hund Bruno verträgt kein Hühnerfleisch.",
    "Frau Krüger möchte Rechnungen nur noch per Post bekommen.",
    "Das Auto muss im April zur Hauptuntersuchung.",
    "Im Keller steht noch die alte Druckpresse von Onkel Theo.",
    "El vuelo a Lima sale el martes a las seis de la mañana.",
    "Mi abuela cumple noventa años en julio.",
    "El contrato con la imprenta de Sevilla se renueva cada enero.",
    "Lucía toca el violonchelo en la orquesta de la universidad.",
)

QUESTIONS = (
    ("What time is the flight to Lima?", "a las seis"),
    ("Почему PostgreSQL?", "row-level security"),
    ("What can't our dog Bruno eat?", "kein Hühnerfleisch"),
    ("Wann hat Clara Geburtstag?", "2 February"),
    ("How to send Krüger's invoices?", "per Post"),
    ("¿Cómo tomo el café?", "black, without sugar"),
    ("¿Cuándo es la reunión con inversores?", "четырнадцатое марта"),
    ("How did rain get under the glass?", "cracked gutter bracket"),
)
"""Each with a part of the memory that answers it; the last is about one sentence in the middle of the long document."""
