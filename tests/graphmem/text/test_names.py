"""Names in running text: capitals of any script, sentences that merely begin, quotation marks."""

from pathlib import Path

import pytest

from graphmem.text.names import names, quoted

RESOURCES = Path(__file__).parents[3] / "bench"


def found(text: str) -> set[str]:
    return {name for _, _, name in names(text)}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("We talked to Mara.", "Mara"),
        ("Mara likes tea.", "Mara"),
        ("We saw Ed Wood yesterday.", "Ed Wood"),
        ("It is by Ludwig van Beethoven.", "Ludwig van Beethoven"),
        ("It belongs to the Bank of America.", "Bank of America"),
        ("We read The Lord of the Rings.", "The Lord of the Rings"),
        ("She met Jean-Luc O'Brien there.", "Jean-Luc O'Brien"),
        ("It is by J. R. R. Tolkien.", "J. R. R. Tolkien"),
        ("It is by J.R.R. Tolkien.", "J.R.R. Tolkien"),
        ("We asked John F. Kennedy.", "John F. Kennedy"),
        ("We flew to St. Louis.", "St. Louis"),
        ("He works for AT&T now.", "AT&T"),
        ("She moved to the U.S. last year.", "U.S."),
        ("Written in Node.js, I think.", "Node.js"),
        ("They flew with Apollo 11.", "Apollo 11"),
        ("Мы читали роман Анна Каренина.", "Анна Каренина"),
        ("Πήγαμε στην Αθήνα.", "Αθήνα"),
        ("Sie lebt in Österreich.", "Österreich"),
        ("NASA pays for it.", "NASA"),
        ("Kubernetes restarts it.", "Kubernetes"),
        ("iPhone sales fell, said Émile.", "Émile"),
    ],
)
def test_a_name_is_found(text: str, name: str):
    assert name in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "The weather is fine. However, it rains. Yesterday was better.",
        "I think so, and I'm sure. I'll come. I've been there.",
        "Thanks! Great idea. Sounds good. Wow, that's lovely.",
        "Don't do it. Isn't it late? Let's go.",
        "Deploy it on Monday. Check the logs in March. See you on Friday, May 5.",
        "- Update the file\n- Restart the server\n\n# Summary\nDone.",
        "“Maybe,” she said. (Probably not.)",
        "Quickly now! Walking home. Finished already.",
        "Harbours are nice. We like all harbours. Harbours!",
        "THE SERVER IS DOWN AGAIN",
        "A b c. 24 of 25. ok?",
        "",
    ],
)
def test_a_word_that_merely_begins_a_sentence_is_no_name(text: str):
    assert found(text) == set()


def test_a_word_that_begins_a_sentence_is_a_name_where_nothing_else_is_usual():
    assert found("Skarvik slept. I fed the cat.") == {"Skarvik"}
    assert found("Skarvik slept. We need more skarvik.") == set()
    assert found("Ballast slept. I fed the cat.") == set()
    assert found("Ballast slept. I fed Ballast.") == {"Ballast"}
    assert found("The Ledger is ours.") == {"Ledger"}
    assert found("Continuous Integration") == {"Continuous Integration"}
    assert found("London is large.") == {"London"}


@pytest.mark.parametrize(
    "word",
    [
        *(
            "Added",
            "Book",
            "Blood",
            "Cut",
            "Ship",
            "Rotate",
            "Renewal",
            "Passwords",
            "Giving",
            "Dyed",
        ),
        *(
            "Struggles",
            "Unemployment",
            "Cozy",
            "Startin",
            "Ahhahha",
            "Dairy-free",
            "Congrats",
            "INTENSE",
        ),
    ],
)
def test_an_ordinary_word_that_begins_a_sentence_is_no_name(word: str):
    assert found(f"{word} the olive oil to the list. It was late.") == set()
    assert found(f"We did it. {word}, with a test.") == set()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("## Draw the Triangles\nFirst a line.", set()),
        ("- **Monthly Income**: what comes in.", set()),
        ("Improved Layout\n\nIt is better.", set()),
        ("### Integrating Google Analytics 4 with Skarvik", {"Google", "Skarvik"}),
        ("1. **Minify CSS**: smaller files. We minify all.", {"CSS"}),
    ],
)
def test_in_headings_and_labels_only_words_that_are_names_by_themselves_count(
    text: str, names: set[str]
):
    assert found(text) == names


def test_a_quoted_title_is_no_place_for_other_names():
    assert found('We read "The Lord of the Dragons" together.') == set()
    assert found('We read "Harry Potter and the Night" together.') == {"Harry Potter"}


def test_a_place_in_an_order_is_no_name():
    assert found("We follow Plan B, and the Room C is free.") == set()


def test_a_word_before_a_name_does_not_hide_it():
    assert found("Ask Mara.") == {"Mara"}
    assert found("Definitely Skarvik Park!") == {"Skarvik Park"}
    assert found("Use CSS for that.") == {"CSS"}
    assert found("Use Bootstrap for that.") == {"Bootstrap"}
    assert found("Iron Man is my top pick.") == {"Iron Man"}
    assert found("Warrior II makes me strong.") == {"Warrior II"}
    assert "Hukilau Song" in found("The Hukilau Song is old.")
    assert "New York" in found("New York is large.")
    assert "York" not in found("New York is large.")


def test_two_names_and_one_name_with_an_and_are_both_read():
    assert found("We heard Simon and Garfunkel.") == {"Simon", "Garfunkel"}
    assert found("We read Pride and Prejudice.") == {"Pride and Prejudice", "Pride", "Prejudice"}
    assert found("We heard Simon & Garfunkel in New York.") >= {"Simon & Garfunkel", "New York"}


def test_owner_and_owned_are_names_and_both_together():
    assert found("I like Stephen King's Maximum Overdrive.") == {
        "Stephen King's Maximum Overdrive",
        "Stephen King",
        "Maximum Overdrive",
    }
    assert found("It is Mara's. It is Ines’ too.") == {"Mara", "Ines"}


def test_a_full_stop_between_names_parts_them():
    assert found("We saw Mara. Skarvik slept. We slept.") == {"Mara", "Skarvik"}
    assert found("It has corners A, B and C. Suppose it is large.") == set()
    assert "U.S. The" not in " ".join(found("She is in the U.S. The weather is fine."))


def test_an_initial_belongs_to_the_name_behind_it_also_to_an_ordinary_word():
    assert found("an album by the singer M. Ward.") == {"M. Ward"}
    assert "George W. Young" in found("We met George W. Young there.")
    for labelled in ("I take vitamin C. Work is fine.", "Plan B. Young people agreed."):
        assert found(labelled) == set()
    assert found("He got a B. Work went on.") == set()


def test_i_is_nobody_and_parts_names():
    assert found("For Mara I think so.") == {"Mara"}


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ('a file called "seat map"', "seat map"),
        ("the “night watch” is on", "night watch"),
        ("das „Logbuch“ fehlt", "Logbuch"),
        ("le «carnet de bord» est là", "carnet de bord"),
        ("「魔法少女」を見た", "魔法少女"),
        ("『ノルウェイの森』", "ノルウェイの森"),
        ("《红楼梦》", "红楼梦"),
        ("we saw “Demon Dice,” twice", "Demon Dice"),
        ('we read "A Dance with Dragons" then', "A Dance with Dragons"),
        ('"Who Is Afraid of Virginia Woolf?" is a play', "Who Is Afraid of Virginia Woolf?"),
    ],
)
def test_a_quoted_term_is_found(text: str, term: str):
    assert term in {name for _, _, name in quoted(text)}


@pytest.mark.parametrize(
    "text",
    [
        "“I do not know what to do about that,” she said.",
        '"It is late."',
        'press "Toggle navigation" there',
        '"no" and "this"',
        '5" and 6" nails',
        '""',
        '" "',
        "say \"nothing\nmore\"",
    ],
)  # fmt: skip
def test_what_somebody_said_is_no_term(text: str):
    assert list(quoted(text)) == []


def test_fields_and_dates_of_json_are_no_terms():
    order = """{"qty": 3, "ordered": "2026-08-17", "hours": ["13-17", "9:00"],
        "customer": {"name" : "Elif Yilmaz", "plan": "gold"}}"""
    assert [name for _, _, name in quoted(order)] == ["Elif Yilmaz", "gold"]
    said = 'The novels are "1984", "The Trial": both sold out.'
    assert "1984" in {name for _, _, name in quoted(said)}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Der Drucker streikt. Unsere Kundin Berger zieht nach Helsinki.", {"Berger", "Helsinki"}),
        ("Anna hat MongoDB durch PostgreSQL ersetzt.", {"Anna", "MongoDB", "PostgreSQL"}),
        (
            "Am Montag ruft Frau Dr. Müller den Ludwig van Beethoven an.",
            {"Müller", "Ludwig van Beethoven"},
        ),
        ("Annas Hund Bello frisst gern. Später bellt Bello.", {"Anna", "Bello"}),
        ("Hollmann sagt, dass die Firma Siemens liefert.", {"Hollmann", "Siemens"}),
        ("Morgen treffe ich Erika Mustermann in Köln.", {"Erika Mustermann", "Köln"}),
        ("Wir haben zwei Tassen Kaffee und ein Stück Kuchen in der Küche.", set()),
        ("Letzten Herbst war der Laptop in Reparatur, am Montag kam er aus der Werkstatt.", set()),
        ("Nach Feierabend esse ich in Ruhe Salat aus Tomaten, ohne Brot und Butter.", set()),
        ("Was kostet der Hafen-Tarif?", set()),
    ],
)
def test_a_german_noun_is_no_name(text: str, names: set[str]):
    assert found(text) == names


def test_hardly_any_noun_of_german_messages_is_a_name():
    texts = (RESOURCES / "language_set" / "de.txt").read_text().splitlines()

    assert {name for text in texts for name in found(text.partition(": ")[2])} == {
        *("Gerd", "TÜV", "Ostsee", "Madeira")
    }


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Собака спит. Вчера мы были у Ольги в Казани.", {"Ольги", "Казани"}),
        ("Sobre la mesa está el libro. Abrimos a las seis en Soria.", {"Soria"}),
        ("Demain nous irons à Quimper, mais ma tante ne vient pas.", {"Quimper"}),
    ],
)
def test_a_foreign_word_that_begins_a_sentence_is_no_name(text: str, names: set[str]):
    assert found(text) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "我们用MongoDB吧，PostgreSQL太慢了。王小明先生改了。",
            {"MongoDB", "PostgreSQL", "王小明"},
        ),
        ("MongoDBではなくPostgreSQLを選びました。田中さん。", {"MongoDB", "PostgreSQL", "田中"}),
        ("皆さん、お客さんはレオナルド・ダ・ヴィンチが好き。", {"レオナルド・ダ・ヴィンチ"}),
        ("어제 김민수 씨가 PostgreSQL을 골랐다. 날씨가 좋다.", {"김민수", "PostgreSQL"}),
        ("تحدثت مع الدكتور سامي عن MongoDB.", {"سامي", "MongoDB"}),
        ("昨天我们在图书馆看书。", set()),
        ("昨日は図書館で本を読みました。", set()),
    ],
)
def test_without_capitals_a_name_is_in_latin_letters_or_beside_a_title(text: str, names: set[str]):
    assert found(text) == names
