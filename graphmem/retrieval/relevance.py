"""Relevance: the degree, from 0 to 1, to which a memory answers; and the cosines that it is calibrated by."""

import statistics
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from graphmem.embedding import Embedder, Vector, cosine
from graphmem.embedding_api import ApiModel
from graphmem.graph.driver import Graph
from graphmem.graph.installation import (
    Calibration,
    calibration,
    keep_calibration,
    keep_knowledge,
    knowledge,
)
from graphmem.retrieval.knowledge import KNOWN, Knowledge, knows, measure_knowledge
from graphmem.retrieval.understanding import runs
from graphmem.text.common_words import kept
from graphmem.text.languages import (
    ENGLISH,
    STEMS_KEPT,
    UNSPACED,
    function_words,
    language,
    stem_in,
)
from graphmem.text.names import names
from graphmem.text.words import folded, pairs, stem, terms, words_from, words_of

EVERYTHING = "*"
"""The query that asks for everything."""

NEUTRAL = 0.5
"""The relevance of every memory when nothing in particular is searched for."""

MEANING_SHARE = 0.65
"""The cosine's share of the relevance; the rest is the share of the query's terms that occur."""

RELEVANCE_SHARE = 0.7
"""The share of relevance in the combined score; the rest is importance."""

NAMES_SHARE = 0.35
"""The share of its relevance that an answer loses if the question's names occur in no searched memory.

Texts about others may be much alike; a question about Melanie is not answered by Maria's memories.
"""


def meaning(cosine: float, scale: Calibration) -> float:
    """Return the position of a cosine between unrelated and equivalent, 0–1."""
    return min(1.0, max(0.0, (cosine - scale.low) / (scale.high - scale.low)))


def combined(relevance: float, importance: float) -> float:
    """Return .7 · relevance + .3 · importance, 0–1."""
    return RELEVANCE_SHARE * relevance + (1 - RELEVANCE_SHARE) * importance


def asked_stems(query: str) -> frozenset[str]:
    """Return the stems of a query's terms; question words are dropped unless there are no others."""
    return frozenset(map(stemmed, terms(query)))


SHORTEST_RUN = 4
"""The letters of the shortest run that tells one word from another."""

LEAST_ALIKE = 0.2
"""The share of a question's runs of letters that any text of its language has."""


class AskedWords(Struct, frozen=True):
    """The words of a question that are compared with texts, and the share of the cosine beside them."""

    stems: frozenset[str]
    spoken: str | None = None
    """The language of the question, if the embedding model does not know it."""
    letters: frozenset[str] = frozenset()
    """The runs of letters of its words, if the model does not know its language."""
    trust: float = 1.0
    """The share, 0–1, of the cosine's usual weight: the model's knowledge of the language."""

    def share(self, text: str) -> float:
        """Return the share of the words that a text has, 0–1; in an unknown language also by spelling."""
        if not self.letters:
            return matched_share(self.stems, text)
        words = len(matched_stems(self.stems, text, self.spoken)) / max(len(self.stems), 1)
        alike = len(self.letters & frozenset(runs(text))) / len(self.letters)
        return max(words, (alike - LEAST_ALIKE) / (1 - LEAST_ALIKE), 0.0)

    def relevance(self, cosine: float, share: float, scale: Calibration) -> float:
        """Return the relevance, 0–1, of a text with this cosine and this share of the words.

        0 is no match: the cosine is no higher than that of unrelated texts, and no word occurs.
        """
        meant = self.trust * MEANING_SHARE
        return meant * meaning(cosine, scale) + (1 - meant) * share


def asked_words(query: str, knowledge: Knowledge) -> AskedWords:
    """Return the words of a question that are compared with texts, in any language."""
    spoken = language(query)
    known = knows(knowledge, spoken)
    if spoken is None or known >= KNOWN:
        return AskedWords(asked_stems(query))
    common = function_words(spoken)
    words = [word for word in terms(query, spoken) if word not in common] or terms(query, spoken)
    letters = frozenset(run for run in runs(" ".join(words)) if len(run) >= SHORTEST_RUN)
    if spoken in UNSPACED:
        letters = frozenset(run for run in runs(query) if len(run) > 1)
    return AskedWords(stems_in(" ".join(words), spoken), spoken, letters, known)


def weighed_stems(words: Iterable[str], weight: Mapping[str, float]) -> dict[str, float]:
    """Return the stems of a question's words with their weights; a word that is not in `weight` weighs 1."""
    return {stemmed(word): weight.get(word, 1.0) for word in words}


def matched_share(asked: frozenset[str], text: str) -> float:
    """Return the share of the query's stems that occur in a text, 0–1; 0 for a query without stems."""
    if not asked:
        return 0.0
    return len(matched_stems(asked, text)) / len(asked)


def matched_stems(asked: frozenset[str], text: str, spoken: str | None = None) -> frozenset[str]:
    """Return those of some stems that occur in a text; in English only words that can match are stemmed."""
    if spoken not in (None, ENGLISH):
        return asked & stems_in(text, spoken)
    initials = frozenset(stem[0] for stem in asked)
    if text.isascii():
        alike = set(words_from(initials, text))
    else:
        # A stem begins as its word does, unless that begins with a joined letter, such as ﬁ.
        alike = {word for word in words_of(text) if word[0] in initials or not word.isascii()}
    return asked.intersection(map(stemmed, alike))


def stems_in(text: str, spoken: str | None = None) -> frozenset[str]:
    """Return the stems of a text's words; long texts cost little more, since they repeat their words.

    In a language without spaces the pairs of characters that `terms` returns too.
    """
    if spoken in (None, ENGLISH):
        return frozenset(map(stemmed, words_of(text)))
    if spoken in UNSPACED:
        return frozenset(pairs(text))
    return frozenset(stem_in(spoken, folded(word)) for word in words_of(text))


def lexical_relevance(query: str, text: str) -> float:
    """Return the share of a query's words that occur in a text, ignoring case.

    For answers without vectors. `*` is neutral.
    """
    if query.strip() == EVERYTHING:
        return NEUTRAL
    words = folded(query).split()
    shown = folded(text)
    return sum(word in shown for word in words) / len(words) if words else 0.0


NAMED_CHARACTERS = 4_000
"""The part of a question in which names are looked for: to find those of a whole prompt takes a second."""


def asked_names(question: str) -> list[str]:
    """Return the names in the first `NAMED_CHARACTERS` of a question."""
    return [name for _, _, name in names(question[:NAMED_CHARACTERS])]


@kept(STEMS_KEPT)
def stemmed(word: str) -> str:
    """Return a word's stem, whatever apostrophe it is written with; cached, since texts repeat words."""
    return stem(word.replace("’", "'"))


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

    The knowledge of languages is the stored one: see `calibrate_languages`. Raises `Unavailable`.
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
    asked = await _asked([question for question, _ in RELATED], embedder)
    answers = [one.vector for one in await embedder.passages([answer for _, answer in RELATED])]
    short = await _asked(SHORT_ASKED, embedder)
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


async def _asked(questions: Sequence[str], embedder: Embedder) -> list[Vector]:
    """Return the vectors of questions: of a local model as they are asked, each by itself; of a URL together.

    In a batch, the vectors of a quantized model are others in the third place.
    """
    if isinstance(embedder.model, ApiModel):
        return await embedder.queries(questions, patient=True)
    return [await embedder.query(question, patient=True) for question in questions]


def _below(cosines: list[float]) -> float:
    """Return the 95th percentile."""
    return statistics.quantiles(cosines, n=20)[-1]
