"""An embedding model's knowledge of languages, measured with pairs of a question and its answer."""

import statistics
from collections.abc import Mapping, Sequence

from graphmem.embedding import Embedder, Vector
from graphmem.text.languages import ENGLISH

KNOWN = 0.75
"""The knowledge from which a model knows a language."""

CHANCE, SURE = 0.5, 0.95
"""The shares of comparisons, true pair against false, that mean no knowledge and full knowledge."""

PAIRS: Mapping[str, Sequence[tuple[str, str]]] = {
    "de": (
        (
            "Wer kümmert sich um das Tier?",
            "Unsere Nachbarin füttert den Hund, solange wir weg sind.",
        ),
        ("Wie viel kostet das Abonnement?", "Im Monat zahlt man dafür neun Euro."),
        ("Wann wird geheiratet?", "Die Trauung ist am dritten Juni im Rathaus."),
        ("Welche Krankheit hat der Großvater?", "Opa leidet seit Jahren an Gicht."),
        ("Warum fiel der Zug aus?", "Ein Baum lag nach dem Sturm auf den Gleisen."),
        ("Was gab es zu essen?", "Mittags haben wir Linsensuppe mit Brot gehabt."),
    ),
    "fr": (
        ("Qui s'occupe de l'animal ?", "Notre voisine nourrit le chien pendant notre absence."),
        ("Combien coûte l'abonnement ?", "On paie neuf euros chaque mois."),
        ("Quand a lieu le mariage ?", "La cérémonie est le trois juin à la mairie."),
        ("De quelle maladie souffre le grand-père ?", "Papi a la goutte depuis des années."),
        (
            "Pourquoi le train a-t-il été annulé ?",
            "Un arbre était tombé sur les rails après l'orage.",
        ),
        ("Qu'y avait-il à manger ?", "À midi, nous avons eu une soupe de lentilles."),
    ),
    "es": (
        ("¿Quién cuida del animal?", "Nuestra vecina da de comer al perro mientras no estamos."),
        ("¿Cuánto cuesta la suscripción?", "Se pagan nueve euros al mes."),
        ("¿Cuándo es la boda?", "La ceremonia será el tres de junio en el ayuntamiento."),
        ("¿Qué enfermedad tiene el anciano?", "El abuelo padece gota desde hace años."),
        ("¿Por qué se canceló el tren?", "Tras la tormenta había un árbol sobre las vías."),
        ("¿Qué hubo de comer?", "A mediodía tomamos sopa de lentejas con pan."),
    ),
    "ru": (
        ("Кто заботится о животном?", "Соседка кормит собаку, пока нас нет."),
        ("Сколько стоит подписка?", "В месяц за это платят девять евро."),
        ("Когда свадьба?", "Регистрация третьего июня в ратуше."),
        ("Чем болен старик?", "Дедушка много лет страдает подагрой."),
        ("Почему отменили поезд?", "После бури на рельсах лежало дерево."),
        ("Что было на обед?", "Днём мы ели чечевичный суп с хлебом."),
    ),
    "zh": (
        ("谁照顾宠物？", "我们不在的时候邻居喂狗。"),
        ("订阅多少钱？", "每个月要付九欧元。"),
        ("什么时候结婚？", "婚礼六月三号在市政厅举行。"),
        ("老人得了什么病？", "爷爷多年来一直有痛风。"),
        ("火车为什么停运？", "暴风雨过后铁轨上倒着一棵树。"),
        ("午饭吃了什么？", "中午我们喝了扁豆汤，还有面包。"),
    ),
    "ja": (
        ("誰がペットの世話をしますか。", "留守の間は近所の人が犬に餌をやる。"),
        ("購読料はいくらですか。", "毎月九ユーロ払う。"),
        ("結婚式はいつですか。", "式は六月三日に市役所で挙げる。"),
        ("お年寄りの病気は何ですか。", "祖父は長年痛風に苦しんでいる。"),
        ("電車はなぜ運休しましたか。", "嵐のあと線路に木が倒れていた。"),
        ("食事は何でしたか。", "お昼はレンズ豆のスープとパンを食べた。"),
    ),
    "ko": (
        ("누가 동물을 돌보나요?", "우리가 없는 동안 이웃이 개에게 밥을 준다."),
        ("구독료는 얼마예요?", "한 달에 구 유로를 낸다."),
        ("결혼은 언제 해요?", "식은 유월 삼일에 시청에서 열린다."),
        ("노인은 어떤 병이 있나요?", "할아버지는 몇 년째 통풍을 앓고 있다."),
        ("기차가 왜 취소됐나요?", "폭풍 뒤에 선로 위에 나무가 쓰러져 있었다."),
        ("무엇을 먹었나요?", "점심에 렌틸콩 수프와 빵을 먹었다."),
    ),
    "ar": (
        ("من يعتني بالحيوان؟", "جارتنا تطعم الكلب أثناء غيابنا."),
        ("كم ثمن الاشتراك؟", "ندفع تسعة يورو كل شهر."),
        ("متى الزواج؟", "الحفل في الثالث من حزيران في دار البلدية."),
        ("ما مرض الشيخ؟", "جدي يعاني من النقرس منذ سنوات."),
        ("لماذا ألغي القطار؟", "بعد العاصفة كانت شجرة على السكة."),
        ("ماذا كان الطعام؟", "أكلنا ظهرا حساء العدس مع الخبز."),
    ),
}
"""The same six questions and answers, in other words each."""

_RELATED_LATIN = ("de", "fr", "es")
_OTHERS = ("ru", "zh", "ja", "ko", "ar")

Knowledge = Mapping[str, float]
"""The knowledge of a model, 0–1, of the languages that were measured, by their codes."""


async def measure_knowledge(embedder: Embedder) -> dict[str, float]:
    """Return the embedder's knowledge, 0–1, of each language of the pairs. Raises `Unavailable`."""
    found = {}
    for spoken, pairs in PAIRS.items():
        asked = await embedder.queries([question for question, _ in pairs], patient=True)
        answers = [one.vector for one in await embedder.passages([answer for _, answer in pairs])]
        found[spoken] = round(knowledge_of(asked, answers), 2)
    return found


def knowledge_of(asked: Sequence[Vector], answers: Sequence[Vector]) -> float:
    """Return the share of pairs in which a question is nearer to its answer, 0 for chance and 1 for sure."""
    cosines = [
        [sum(a * b for a, b in zip(question, answer, strict=True)) for answer in answers]
        for question in asked
    ]
    nearer = statistics.fmean(
        row[place] > other
        for place, row in enumerate(cosines)
        for at, other in enumerate(row)
        if at != place
    )
    return min(1.0, max(0.0, (nearer - CHANCE) / (SURE - CHANCE)))


def knows(knowledge: Knowledge, spoken: str | None) -> float:
    """Return the knowledge, 0–1, of a language; of one that was not measured its worst relative's."""
    if spoken is None or spoken == ENGLISH or not knowledge:
        return 1.0
    if spoken in knowledge:
        return knowledge[spoken]
    relatives = _RELATED_LATIN if spoken in ("it", "pt", "nl", "sv") else _OTHERS
    return min(knowledge.get(one, 1.0) for one in relatives)
