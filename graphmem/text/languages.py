"""The language of a text, told by its script and, of Latin ones, by common words; its stems and questions.

A text of a few words, or of names and code only, has no known language: None. A wrong guess costs more than
none, so English wins a tie.
"""

import contextlib
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import Path

from py_rust_stemmers import SnowballStemmer

from graphmem.text.common_words import FUNCTION_WORDS, kept

ENGLISH = "en"

LOOKED_AT = 600
"""The characters of a text that tell its language."""

# Single letters are labels and variables in any language.
_WORD = re.compile(r"[^\W\d_]{2,}")

_SCRIPTS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(f"[{ranges}]")
    for name, ranges in {
        "kana": "\u3040-\u30ff\u31f0-\u31ff",
        "han": "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff",
        "ko": "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af",
        "cyrillic": "\u0400-\u04ff",
        "arabic": "\u0600-\u06ff\u0750-\u077f",
        "el": "\u0370-\u03ff",
        "he": "\u0590-\u05ff",
        "hi": "\u0900-\u097f",
        "th": "\u0e00-\u0e7f",
        "latin": "A-Za-z\u00c0-\u024f",
    }.items()
}

# Letters of Cyrillic and Arabic that other languages than Russian and Arabic have.
_FOREIGN = {
    "cyrillic": (re.compile("[іїєґўђјљњћџѓќѕәғқңөұүһ]", re.IGNORECASE), "ru", "cyrillic"),
    "arabic": (
        re.compile("[\u067e\u0686\u0698\u06af\u06cc\u06a9\u0679\u0688\u0691\u06d2]"),
        "ar",
        "fa",
    ),
}

# Words of any text, whatever its topic, those of questions among them.
_FUNCTION_WORDS: Mapping[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "de": """
            der die das den dem des ein eine einen einem einer eines und oder aber doch
            nicht kein keine keinen keinem keiner ist sind war waren bin bist sein seine
            seinen seinem seiner hat haben habe hatte hatten hast wird werden wurde wurden
            worden kann können konnte muss müssen soll sollen will wollen darf ich du er sie
            es wir ihr mich mir dich dir ihm ihn ihnen uns unser unsere unseren unserem
            unserer euch mein meine meinen meinem meiner dein deine ihre ihren ihrem ihrer
            sich wer was wann wo wie warum weshalb wieso womit woher wohin wozu wovon
            worüber welche welcher welches welchen welchem wessen wem wen viel viele auf aus
            bei bis durch für gegen in im ins mit nach ohne seit über um unter von vom vor
            zu zum zur zwischen am an als also auch dann da dort denn dass weil wenn ob nur
            noch schon sehr so nun jetzt immer nie wieder mehr man hier etwas nichts alle
            alles gerade eigentlich
            """,
        "fr": """
            le la les l un une des du de d et ou mais ne pas n plus est sont était étaient
            être été suis es sommes êtes a ai as ont avons avez avait avoir aura je j tu il
            elle on nous vous ils elles me m te t se s lui leur leurs y en mon ma mes ton ta
            tes son sa ses notre nos votre vos ce c cet cette ces ça cela qui que qu quoi
            dont où quand comment pourquoi combien quel quelle quels quelles lequel laquelle
            à au aux dans par pour sur sous avec sans chez vers entre depuis pendant comme
            si alors donc aussi très tout tous toute toutes bien déjà encore jamais toujours
            fait faire faut peut lors afin
            """,
        "es": """
            el la los las lo un una unos unas y e o u pero no ni es son era eran fue fueron
            ser sido está están estaba estar estoy soy he ha has han hemos había haber hay
            yo tú él ella ello nosotros ellos ellas usted ustedes me te se nos os le les mi
            mis tu tus su sus nuestro nuestra nuestros nuestras este esta estos estas ese
            esa esos esas eso esto aquel que qué quien quién quienes cual cuál cuáles cuando
            cuándo donde dónde cómo como cuánto cuánta cuántos cuántas porque por para con
            sin sobre entre hasta desde hacia de del a al en si sí ya muy más menos también
            todo toda todos todas otro otra tan algo nada nadie
            """,
        "it": """
            il lo la i gli le l un uno una e ed o ma non è sono era erano essere stato stata
            ho hai ha abbiamo avete hanno aveva avere io tu lui lei noi voi loro mi ti si ci
            vi ne mio mia miei mie tuo tua suo sua suoi sue nostro nostra questo questa
            questi queste quello quella quelli quelle che chi cui quale quali quando dove
            come perché quanto quanta quanti quante di del dello della dei degli delle a al
            allo alla ai agli alle da dal dalla in nel nello nella nei sul sulla con su per
            tra fra se anche più molto già ancora sempre mai tutto tutta tutti tutte cosa
            """,
        "pt": """
            o a os as um uma uns umas e ou mas não nem é são era eram foi foram ser sido
            está estão estava estar estou sou tenho tem têm tinha ter há eu tu ele ela nós
            eles elas você vocês me te se nos lhe lhes meu minha meus minhas teu tua seu sua
            seus suas nosso nossa nossos nossas este esta estes estas esse essa isso isto
            aquele aquela que quem qual quais quando onde como porque quanto quanta quantos
            quantas por para com sem sobre entre até desde de do da dos das em no na nas ao
            à aos às pelo pela num numa já muito mais menos também todo toda todos todas
            outro outra nada
            """,
        "nl": """
            de het een en of maar niet geen is zijn was waren ben bent heb hebt heeft hebben
            had hadden wordt worden werd kan kunnen moet moeten wil willen zal zullen ik jij
            je hij zij ze wij we jullie hun hem haar mij me ons onze mijn jouw uw dit dat
            deze die wie wat waar wanneer hoe waarom welke welk hoeveel waarmee op in aan
            bij uit van voor met naar om over onder tot tussen te door als dan ook nog al
            wel zo er nu hier daar alleen altijd nooit meer veel alles iets niets
            """,
        "sv": """
            och en ett den det de som är var att på i av för med till om från inte har hade
            kan ska skulle vill jag du han hon vi ni dem mig dig sig oss min mitt mina din
            ditt dina sin sitt sina vår vårt våra denna detta dessa vem vad när hur varför
            vilken vilket vilka eller men så också nu då här där bara mycket
            """,
        "ru": """
            и в во не на я мы ты вы он она оно они с со а но да же бы ли к ко по у о об от
            до из за для при без над под про что чтобы как так это этот эта эти этого этой
            этом тот та те того той том кто кого кому чем чего чему где когда куда откуда
            почему зачем сколько какой какая какое какие какого какую каким каком какими
            который которая которые меня мне мной тебя тебе нас нам нами вас вам его её ему
            ей ею их им ими себя мой моя моё мои моей моего моём свой своя свои наш наша
            наше наши нашей ваш был была было были быть есть нет уже ещё еще только тоже или
            если то все всё всех всем очень потом теперь там тут из-за
            """,
        "ar": """
            من في على إلى عن مع هذا هذه ذلك تلك التي الذي الذين ما ماذا متى أين كيف كم لماذا
            هل أي أية بماذا لمن هو هي هم هن أنا نحن أنت أنتم كان كانت كنا كانوا يكون تكون
            ليس ليست لا لم لن قد لقد أن إن إنه أنه أو ثم و ف ب ل ك حتى إذا لو كل كلما بعض
            غير بعد قبل حين منذ بين عند عندما لي لنا له لها لهم به بها فيه فيها عليه عليها
            منه منها عنه عنها نا أما هناك هنا
            """,
    }.items()
}

FUNCTION: Mapping[str, frozenset[str]] = {**_FUNCTION_WORDS, ENGLISH: FUNCTION_WORDS}
_LATIN = ("en", "de", "fr", "es", "it", "pt", "nl", "sv")

_LANGUAGES_OF: dict[str, list[str]] = {}
for _language in _LATIN:
    for _word in FUNCTION[_language]:
        _LANGUAGES_OF.setdefault(_word, []).append(_language)

# Characters of few languages: each occurrence counts as a common word.
_MARKS = {
    "de": re.compile("[ßäöü]"),
    "es": re.compile("[ñ¿¡]"),
    "fr": re.compile("[œçêèâîû]"),
    "pt": re.compile("[ãõ]"),
    "sv": re.compile("[å]"),
    "it": re.compile("[ìò]"),
}

_STEMMERS = {
    "ar": "arabic",
    "de": "german",
    "en": "english",
    "es": "spanish",
    "fr": "french",
    "it": "italian",
    "nl": "dutch",
    "pt": "portuguese",
    "ru": "russian",
    "sv": "swedish",
}

LANGUAGES_KEPT = 16_384

_KEPT: dict[bytes, str | None] = {}
"""The languages of texts, by the hashes of what was looked at."""

UNSPACED = frozenset({"zh", "ja"})
"""The languages that are written without spaces."""


def language(text: str) -> str | None:
    """Return the code of a text's language; of a script that several languages use, its commonest one's.

    `cyrillic` and `fa` stand for other languages than Russian and Arabic in their scripts.
    """
    seen = text[:LOOKED_AT]
    # By its hash: the cache holds no text, which may have to be forgotten.
    key = blake2b(seen.encode(errors="surrogatepass"), digest_size=16).digest()
    with contextlib.suppress(KeyError):
        return _KEPT[key]
    told = _language_of(seen)
    if len(_KEPT) >= LANGUAGES_KEPT:
        _KEPT.clear()
    _KEPT[key] = told
    return told


def _language_of(seen: str) -> str | None:
    script = "latin" if seen.isascii() else _script(seen)
    if script in _FOREIGN:
        letters, usual, other = _FOREIGN[script]
        return other if letters.search(seen) else usual
    return _latin(seen.lower()) if script == "latin" else script


def _script(text: str) -> str | None:
    """Return the script of most letters; a Chinese character says as much as two of others."""
    counts = {name: len(script.findall(text)) for name, script in _SCRIPTS.items()}
    kana, han = counts.pop("kana"), counts.pop("han")
    # Kana make a text Japanese, whatever else it has.
    counts["ja" if kana else "zh"] = 2 * (han + kana)
    script = max(counts, key=lambda name: counts[name])
    return script if counts[script] else None


def _latin(text: str) -> str | None:
    """Return the language of which a text has the most common words; English wins a tie.

    Three in ten words of a sentence are common ones; a foreign name in an English text has one or two.
    """
    words = _WORD.findall(text)
    counts = _counts(text, words)
    best = max(_LATIN, key=lambda one: counts[one])
    least = 1.0 if best == ENGLISH else max(1.0, len(words) / 8)
    return best if counts[best] >= least else None


def _counts(text: str, words: list[str]) -> Counter[str]:
    """Return how many common words and characters of each language a text has."""
    counts = Counter(one for word in words for one in _LANGUAGES_OF.get(word, ()))
    if not text.isascii():
        counts.update({one: len(marks.findall(text)) for one, marks in _MARKS.items()})
    return counts


def is_doubtful(text: str) -> bool:
    """Tell whether a single word or character tells a text's language, as in a name: `gnocchi da Enzo`."""
    spoken, seen = language(text), text[:LOOKED_AT].lower()
    return spoken in _LATIN and _counts(seen, _WORD.findall(seen))[spoken] < 2


def function_words(spoken: str | None) -> frozenset[str]:
    """Return the commonest words of a language but English; none of an unknown one."""
    return _FUNCTION_WORDS.get(spoken or "", frozenset())


STEMS_KEPT = 65_536


@kept(STEMS_KEPT)
def stem_in(spoken: str, word: str) -> str:
    """Return the stem of a lower-case word in a language; the word itself where no stemmer is known."""
    if spoken not in _STEMMERS:
        return word
    return str(_stemmer(spoken).stem_word(word))


@lru_cache
def _stemmer(spoken: str) -> SnowballStemmer:
    return SnowballStemmer(_STEMMERS[spoken])


_ANSWERS = Path(__file__).with_name("answer_kinds.toml")

_ASKS = re.compile(r"[?？؟]\W*$")

AnswerKinds = Mapping[str, re.Pattern[str]]
"""By kind of answer, as a number or a reason, what texts have that tell one."""


def asked_kinds(question: str, spoken: str | None) -> AnswerKinds:
    """Return the kinds of answer that a question asks for; none in a language without a list."""
    lower = question.lower()
    every = _kinds(spoken or "")
    return {kind: told for kind, (asked, told) in every.items() if asked.search(lower)}


def told_share(text: str, kinds: AnswerKinds) -> float:
    """Return the share, 0–1, of the kinds of answer that a text has."""
    lower = text.lower()
    return sum(told.search(lower) is not None for told in kinds.values()) / max(1, len(kinds))


def is_question(text: str) -> bool:
    """Tell whether a text ends by asking: it seldom answers."""
    return _ASKS.search(text) is not None


@cache
def _kinds(spoken: str) -> dict[str, tuple[re.Pattern[str], re.Pattern[str]]]:
    kinds = _every_kind().get(spoken, {})
    return {
        kind: (re.compile(one["asked"]), re.compile(one["told"])) for kind, one in kinds.items()
    }


@cache
def _every_kind() -> dict[str, dict[str, dict[str, str]]]:
    return tomllib.loads(_ANSWERS.read_text(encoding="utf-8"))
