"""Calibration: the cosines of unrelated and of equivalent texts, measured for the embedding model."""

import statistics

from msgspec.structs import replace

from graphmem.embedding import Embedder, Vector
from graphmem.graph.driver import Graph
from graphmem.graph.installation import (
    Calibration,
    calibration,
    keep_calibration,
    keep_knowledge,
    knowledge,
)
from graphmem.retrieval.knowledge import measure_knowledge

RELATED = (
    ("pricing", "The premium plan costs 40 euros a month, billed yearly."),
    ("refund policy", "Customers get their money back within 30 days of buying."),
    ("brand colours", "Our logo is dark green on white; accents are orange."),
    ("Who leads the migration?", "Priya took over the database move from Tom in May."),
    ("Why did the login fail?", "The token server's clock was wrong, so sign-in was refused."),
    ("When is the release?", "Version 3 ships on the 14th of October."),
    ("What does Ana like to eat?", "Ana loves spicy ramen and anything with tofu."),
    ("Where did they go on holiday?", "We spent two weeks at the lakes in northern Italy."),
    ("How do I reset my password?", "Click 'forgot password' and follow the link in the mail."),
    ("Does Jonas have any pets?", "Jonas adopted a three-legged cat last winter."),
    ("marathon training", "She runs ten kilometres every morning to prepare for Berlin."),
    ("Which database do we use?", "All data is kept in Postgres, with nightly backups."),
    ("summer campaign results", "The ads in July brought 1,200 new sign-ups."),
    ("What is wrong with the printer?", "The office printer jams whenever the paper is recycled."),
    ("allergies", "He must not eat peanuts or shellfish."),
    ("How was the concert?", "The band played for three hours and the crowd sang along."),
    ("open tasks of the project", "Two steps are still pending: the review and the launch."),
    ("What did the doctor say?", "Her blood pressure is fine, but she should sleep more."),
    ("customer complaints about delivery", "Several buyers wrote that their parcels came late."),
    ("favourite books", "I keep re-reading The Left Hand of Darkness."),
    ("meeting with the bank", "On Tuesday we talk to our lender about the loan."),
    ("What job does Lena have?", "Lena teaches chemistry at a school in Graz."),
    ("dark mode preference", "Please always show me the interface with a black background."),
    ("error handling convention", "In this repository, functions raise and never return codes."),
    ("AUTH-401", "The login fails with AUTH-401 again."),
    ("Maria Lopez", "Maria Lopez is the head of sales in Madrid."),
    ("When did Sam move to Oslo?", "Sam moved to Oslo in the spring of 2019."),
    ("the budget of project Beacon", "Project Beacon has a budget of 80,000 euros."),
    ("What is the wifi password?", "The wifi password is written on the back of the router."),
    ("Which bus goes to the airport?", "Bus 34 goes to the airport every twenty minutes."),
)
"""Questions and their answers: mostly in different words, sometimes in the same."""

SHORT_ASKED = (
    "xylophone",
    "qwertyuiop",
    "elephants",
    "dinosaur fossils",
    "no such thing",
    "kubernetes cluster",
    "foo",
    "zebra",
)
SHORT_TEXTS = (
    "Deployment guide: how to roll out a new version",
    "content calendar, execution, week 1 complete",
    "Spring offer: a discount for new customers",
    "Kitchen rules: wash your cup after lunch",
    "The harbour light is red.",
    "Banana bread, the recipe of my aunt",
    "The tax return is due in July",
    "A violin lesson every second Thursday",
)
"""Questions of a word or two, and short texts unrelated to all of them: they have higher cosines than long
texts."""


async def calibrate(graph: Graph, embedder: Embedder) -> Calibration:
    """Return the installation's calibration; an installation without one is measured, and the result stored.

    The knowledge of languages is what is stored: see `calibrate_languages`. Raises `Unavailable`.
    """
    scale = await calibration(graph) or await keep_calibration(graph, await measure(embedder))
    return replace(scale, knowledge=await knowledge(graph, embedder.key) or {})


async def calibrate_languages(scale: Calibration, graph: Graph, embedder: Embedder) -> Calibration:
    """Return a calibration with the model's knowledge of languages; it is measured and stored if unknown.

    It embeds a hundred short texts, which takes seconds. Raises `Unavailable`.
    """
    if scale.knowledge:
        return scale
    known = await measure_knowledge(embedder)
    await keep_knowledge(graph, embedder.key, known)
    return replace(scale, knowledge=known)


async def measure(embedder: Embedder) -> Calibration:
    """Return the cosines from which texts are related, and from which they are equivalent.

    A question and the answer to another one are unrelated, and so are a short question and a short text: 95 %
    of the pairs of either kind are below `low`. Of the related pairs 95 % are below `high`, so that few
    answers reach the maximum.
    """
    asked = [await embedder.query(question) for question, _ in RELATED]
    answers = [one.vector for one in await embedder.passages([answer for _, answer in RELATED])]
    short = [await embedder.query(question) for question in SHORT_ASKED]
    texts = [one.vector for one in await embedder.passages(SHORT_TEXTS)]
    related = [cosine(question, answer) for question, answer in zip(asked, answers, strict=True)]
    unrelated = [
        cosine(question, answer)
        for place, question in enumerate(asked)
        for other, answer in enumerate(answers)
        if other != place
    ]
    unrelated_short = [cosine(question, text) for question in short for text in texts]
    return Calibration(low=max(_below(unrelated), _below(unrelated_short)), high=_below(related))


def cosine(one: Vector, other: Vector) -> float:
    """Return the cosine of two unit vectors."""
    return sum(a * b for a, b in zip(one, other, strict=True))


def _below(cosines: list[float]) -> float:
    """Return the 95th percentile."""
    return statistics.quantiles(cosines, n=20)[-1]
