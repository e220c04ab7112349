"""How near facts lie that say the same, that differ in one word, and that have nothing in common.

    python -m bench.near_duplicates

The cosines decide nothing alone: two facts that differ in one word lie as near as two wordings of one
fact. They say from where on it is worth comparing words (`SAME`), and from where on two facts are
worth a link (`SIMILAR`), for the model that embeds.
"""

import asyncio
import statistics

from graphmem import config
from graphmem.embedding import Embedder, load_model
from graphmem.facts.remember import SAME, SIMILAR, same_words
from graphmem.model.progress import silent

ONE_WORD_APART = [
    ("Mara has two cats", "Mara has three cats"),
    ("Call Mara before 5 pm", "Call Mara after 5 pm"),
    ("Mara eats meat", "Mara never eats meat"),
    ("The user is allergic to nuts", "The user is not allergic to nuts"),
    ("The user likes dark mode", "The user dislikes dark mode"),
    ("The user lives in Bergen", "The user lived in Bergen"),
    ("The user works at Skarvik", "The user worked at Skarvik"),
    ("Deploys happen on Tuesday", "Deploys happen on Thursday"),
    ("The budget is 400 euros", "The budget is 4000 euros"),
    ("The budget is 400 euros", "The budget is 400 dollars"),
    ("The meeting starts at 9 am", "The meeting starts at 9 pm"),
    ("The meeting starts at 9:30", "The meeting starts at 9:00"),
    ("Hedda manages Teodor", "Hedda manages Pavel"),
    ("Ines is the product manager", "Birgit is the product manager"),
    ("The user prefers Python", "The user prefers Rust"),
    ("The user writes C", "The user writes C++"),
    ("The user writes C++", "The user writes C#"),
    ("Use tabs for indentation", "Use spaces for indentation"),
    ("Always ask before deploying", "Never ask before deploying"),
    ("Tests run on every push", "Tests run on every merge"),
    ("The service runs on Python 3.11", "The service runs on Python 3.12"),
    ("The server listens on port 8000", "The server listens on port 8080"),
    ("The user has a son", "The user has a daughter"),
    ("The user is married to Anna", "The user is engaged to Anna"),
    ("The user's sister lives in Oslo", "The user's brother lives in Oslo"),
    ("The flight goes to Paris", "The flight goes from Paris"),
    ("The user can swim", "The user cannot swim"),
    ("The user drinks coffee with milk", "The user drinks coffee without milk"),
    ("The invoice is due in March", "The invoice is due in May"),
    ("The invoice was paid", "The invoice was not paid"),
    ("All tests pass", "No tests pass"),
    ("Some tests pass", "All tests pass"),
    ("The user was born in 1984", "The user was born in 1985"),
    ("The left wheel is broken", "The right wheel is broken"),
    ("The user runs every morning", "The user runs every evening"),
    ("The first invoice goes to Skarvik", "The second invoice goes to Skarvik"),
    ("Postgres is faster than SQLite", "Postgres is slower than SQLite"),
    ("The user agrees with the plan", "The user disagrees with the plan"),
    ("The cookie expires in 30 seconds", "The cookie expires in 30 minutes"),
    ("The release is planned for 1 June", "The release is planned for 2 June"),
    ("Teodor approves deploys", "Teodor rejects deploys"),
    ("The user is vegetarian", "The user is vegan"),
    ("Mara and Rui share an office", "Mara or Rui share an office"),
    ("The alarm is on", "The alarm is off"),
    ("The user wants more detail", "The user wants less detail"),
    ("Room A is free", "Room B is free"),
    ("The temperature is 5 degrees", "The temperature is -5 degrees"),
    ("The user has been a doctor", "The user has a doctor"),
    ("Log errors only in production", "Log errors also in production"),
    ("The discount is 10 %", "The discount is 15 %"),
]
"""Fifty pairs of facts that differ in one word, or in what stands for one: none is the other."""

SAME_AGAIN = [
    ("Mara has two cats", "Mara has two cats."),
    ("The user prefers dark mode", "user prefers the dark mode"),
    ("The user prefers dark mode", "THE USER PREFERS DARK MODE!"),
    ("Deploys need reviews", "Deploys need review"),
    ("The user likes a short answer", "The user likes short answers"),
    ("The user doesn't eat meat", "The user does not eat meat"),
    ("The user is learning Rust", "The user learns Rust"),
    ("Use spaces for indentation", "Use spaces, for indentation"),
    ("The budget is 400 euros", "Budget: 400 euros"),
    ("The well-known port is 8000", "The well known port is 8000"),
]
"""Pairs that say the same in the same words: case, punctuation, articles and endings aside."""

NOTHING_IN_COMMON = [
    ("Mara has two cats", "The invoice is due in May"),
    ("The user prefers Python", "Call Mara before 5 pm"),
    ("The flight goes to Paris", "Use tabs for indentation"),
    ("The user can swim", "The server listens on port 8080"),
    ("Hedda manages Teodor", "The cookie expires in 30 seconds"),
    ("The user is vegetarian", "Deploys happen on Tuesday"),
    ("The user was born in 1984", "Log errors only in production"),
    ("The left wheel is broken", "Postgres is faster than SQLite"),
    ("The user lives in Bergen", "The user prefers dark mode"),
    ("The user drinks coffee with milk", "The user works at Skarvik"),
    ("The user has a son", "The user wants more detail"),
    ("Teodor approves deploys", "Ines is the product manager"),
]
"""Pairs of facts of one conversation about different things."""

SETS = {
    "one word apart": ONE_WORD_APART,
    "the same again": SAME_AGAIN,
    "nothing in common": NOTHING_IN_COMMON,
}


async def cosines(pairs: list[tuple[str, str]], embedder: Embedder) -> list[float]:
    """Return how near the two facts of each pair lie."""
    vectors = [
        one.vector for one in await embedder.passages([text for pair in pairs for text in pair])
    ]
    halves = zip(vectors[::2], vectors[1::2], strict=True)
    return [sum(a * b for a, b in zip(*pair, strict=True)) for pair in halves]


async def main() -> None:
    """Print the cosines of each set, and what would become of its pairs."""
    embedder = Embedder(await asyncio.to_thread(load_model, config.load(), silent))
    for name, pairs in SETS.items():
        near = sorted(await cosines(pairs, embedder))
        same = sum(same_words(*pair) for pair in pairs)
        print(
            f"{name:18} {len(pairs)} pairs: cosine {near[0]:.3f} to {near[-1]:.3f}, "
            f"median {statistics.median(near):.3f}; {sum(c >= SAME for c in near)} ≥ {SAME}, "
            f"{sum(c >= SIMILAR for c in near)} ≥ {SIMILAR}; the same words {same}"
        )
    await embedder.close()


if __name__ == "__main__":
    asyncio.run(main())
