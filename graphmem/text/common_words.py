"""Words that tell names from other words: English ones that name nothing, and those of German sentences."""

import re
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar, cast

from graphmem.tokens import vocabulary_place

Cached = TypeVar("Cached", bound=Callable[..., Any])

LONGEST_KEPT = 64
"""The characters of the longest word about which something is kept: a longer one is data, such as Base64."""


def kept(words: int) -> Callable[[Cached], Cached]:
    """Cache what a function finds of a word, its last argument, for so many words of usual length."""

    def caching(find: Cached) -> Cached:
        cached = lru_cache(words)(find)

        @wraps(find)
        def found(*args: str) -> Any:
            return (cached if len(args[-1]) <= LONGEST_KEPT else find)(*args)

        return cast(Cached, found)

    return caching


GIVEN_NAMES = frozenset(
    """
    aaron abdul abigail abraham adam adele adrian agnes ahmed aisha akira alan albert alejandro
    alessandro alessia alex alexander alexandra alexei alfred ali alice alicia alina alison amanda
    amelia amelie amina amit amy ana anastasia anders andrea andreas andrei andrew angela anil anita
    anja ann anna annabel anne annette annika anthony antoine anton antonio anya arjun arne arnold
    arthur astrid audrey barbara bartosz beatrice beatriz ben benjamin bernard bernd beth bianca
    birgit bjorn bob boris brenda brian bridget bruno camille carla carlos carmen caroline catherine
    cecilia celine charles charlie chiara chloe christina christine christoph christopher cindy
    clara clemens colin connor cornelia cristina cynthia dan daniel daniela david debbie deborah
    deepak denise dennis derek diana dieter dimitri dmitri dominik donald dora doris dorothy doug
    eberhard ed edith eduardo edward edwin eileen ekaterina elaine eleanor elena elias elisa
    elizabeth ella ellen elsa emil emilia emily emma enrique eric erik erika ernst esther ethan
    eugene eva evelyn fabian fabio fatima felix ferdinand fernando fiona florian francesca francois
    franz fred frederik friedrich fritz gabriel gabriela gary geoffrey george gerald gerhard
    giovanni giulia giuseppe gloria greg gregory greta guido guillaume gunther gustav hana hannah
    hans harald harry haruki hassan hector heidi heike heinrich heinz helen helena helga helmut
    henri henrik henry herbert hermann hiroshi holger hugo ian ibrahim igor ines inga ingrid irene
    irina isaac isabel isabella ivan ivana jacob jacqueline jaime jakob jakub james jana jane janet
    javier jean jeff jeffrey jennifer jens jeremy jessica jim joachim joan joanna joao joel johan
    johanna johannes john jonas jonathan jorge jose josef joseph josh joshua joyce juan judith
    juergen julian juliane julie jurgen justin kai karen karin karl karla karolina katarina kate
    katharina katherine kathleen katrin katya keith kenji kenneth kerstin kevin klaus konrad kristin
    kurt lara lars laura lauren lea leah lena leo leonardo leonie liam linda lisa liz lorenzo lotte
    louise lucia lucy ludwig luis luisa lukas lydia magdalena manuel manuela mara marc marcel marco
    marcos marcus margaret margarita maria marian mariana marie marion markus marta martha martina
    mary masha mateo mathias matt matteo matthew matthias maurice max mei mel melanie mia michael michel
    michele miguel mikael mike mikhail milan mirjam mohamed mohammed monica monika moritz nadia
    nadine nancy naomi natalia natalie natasha nathan neil nicholas nick nicola nicolas nicole
    nikita nikolai nils nina noah nora norbert olaf oleg olga oliver olivia omar oskar otto
    pablo pamela paolo patricia patrick paul paula paulo pavel pedro peter petra philip philipp pia
    piotr priya rachel rafael rahul rainer raj rajesh ralf ralph raymond rebecca reiner
    renate ricardo richard robert roberto roger roland rolf ronald rosa rosie rudolf rudy rupert
    ruth sabine sam samantha samir samuel sandra sanjay sara sarah sasha sean sebastian sergei
    sergio sharon silke silvia silvio simone sonia sophia sophie stefan stefanie steffi stella
    stephanie stephen steve steven stuart sunil susan susanne sven svetlana takeshi tamara tanja
    tanya tatiana ted teresa theo theresa thorsten tilo tim timo timothy tina tobias tom tomas tony
    torsten udo ulrich ulrike ursula uwe valentina valeria vanessa vera vicente vijay vikram viktor
    vincent vladimir walter wendy werner wilhelm william wolfgang xavier yasmin yuki yuri yusuf yves
    yvonne zoe
    """.split()  # noqa: SIM905 - a list of words reads better as words
)

NO_FAMILY_NAMES = frozenset(
    """
    academy agency airport archive archives association avenue award awards bank bay beach board
    book bridge building cafe camp case castle cathedral center centre challenge channel chapel
    church city clinic club code collection college committee company conference corp corporation
    council county cup dam day department diaries diary district drive effect estate festival
    festivals foundation fund gallery garden gardens gmbh group guide hall harbour hill hills
    hospital hotel house inc industries institute island islands jr junior kart lab laboratories
    laboratory labs lake lane library limited lodge ltd magazine mall mansion medal memorial method
    ministry mission model monument mountain mountains movie museum office palace park party pier
    place plan platform plaza port prize problem products program project protocol records report
    reservoir resort restaurant river road room school series service services shop show society
    software spring springs square sr stadium station store story street studio studios suite system
    systems team technologies test theater theatre theorem tower trail trophy trust tunnel union
    university valley village vineyard ward works zone
    """.split()  # noqa: SIM905 - a list of words reads better as words
)
"""Words that follow a given name in the name of a place, a firm or a thing, as in Anna University."""


ORDINARY = 0.9
"""How much later in the tokenizer's vocabulary than in lower case an ordinary word comes with a capital.

Of names the capital comes first: London .1, Chrome .5. Of words that begin sentences it comes later: `giving`
8.6, `remember` 3.5, `brave` 2.4, `clay` 1.1. What is both, such as Python (1.2), is told elsewhere in a text.
"""

_ENDINGS = (
    *(("", "s"), ("", "es"), ("y", "ies"), ("", "ed"), ("e", "ed"), ("", "ing"), ("e", "ing")),
    *(("", "ly"), ("y", "ily"), ("ize", "ization")),
)
"""Endings of inflected words, and what stands for them in the base form."""

_PREFIXES = ("dis", "mis", "non", "pre", "re", "un")

ABBREVIATION = 4
"""The longest word in capitals that is no shouted word."""

_MARKS = re.compile(r"[-‐‑–'’]")


# Function words. Even with a capital inside a sentence these name nothing.
FUNCTION_WORDS = frozenset(
    """
    a about above according across actually after afterwards again against ago ah aha ahh aka all
    almost along already also although always am among an and another any anybody anyone anything
    anyway anyways anywhere apart apparently apr april are argh around as asap at aug august autumn
    aw away aww awww because been before behind being below beneath beside besides best better
    between beyond billion boo both bravo btw but by bye came can cannot cheers come congrats could currently
    dec december despite did do does doing done down dr due during each earlier eek eight either
    eleven else elsewhere enough especially etc even eventually ever every everybody everyone
    everything everywhere exactly except fall feb february few finally first firstly five fixme for
    former formerly four fri friday from further furthermore fyi gee generally given go goes going
    gone gonna got gotcha gotta had hah haha hardly has have having he hehe hello hence her here
    hers herself hey hi him himself his hmm hooray how however huh hundred hurray i if imo in indeed
    inside instead into is it its itself jan january jul july jun june just kinda kudos last lastly lately
    later latest least lemme less let like likewise little lol lots madam mainly many mar march may
    maybe me mean meanwhile might million mine miss mm mmm mon monday more moreover most mostly mr
    mrs ms much must my myself nah namely nb nearly neither never nevertheless next nine no nobody
    none nonetheless nope nor not nothing nov november now nowhere obviously oct october of off
    often oh ok okay omg on once one ones only onto oof oops or originally other others otherwise
    ouch ought our ours ourselves out outside over overall own particularly per perhaps phew please
    plus pm possibly previously probably ps quite rather really recently regarding said same sat
    saturday say second secondly seems sep sept september seven several shall she sheesh shh should
    similarly simply since sir six so some somebody somehow someone something sometimes somewhat
    somewhere soon sorry spring still such summer sun sunday sure surely ten than thank thanks that
    the their theirs them themselves then there thereby therefore these they thing things third this
    those though thousand three through throughout thu thurs thursday thus till to today todo together
    tomorrow tonight tons too toward towards tue tues tuesday twelve twenty typically ugh uh uhh um under
    unfortunately unless unlike until up upon us usually utc very via vs wanna was way we wed
    wednesday well went were what whatever when whenever where whereas wherever whether whew which
    whichever while who whoever whom whoo whose why will winter with within without woah woohoo
    would wow yay yea yeah yep yes yesterday yet yikes yo you your yours yourself yourselves yum yup
    """.split()  # noqa: SIM905 - a list of words reads better as words
)

# Words that begin sentences, orders, headings and exclamations. With a capital inside a sentence these
# may be part of a name.
OPENING_WORDS = frozenset(
    """
    able abroad absolutely accept access accomplished achieve action active add additional adopt
    adorable adventure advice advise affected afford agree aim allergic allow alternatively amazing
    analysis angry animals annoying answer answers anticipate anytime apologies appear apply
    appreciate approach approve architecture arrange arrive art article artist aside ask asked
    asking assume assuming attempt available avoid avoiding award aware awesome baby back background
    bad bake balance band baseball basic basically basketball beach beautiful become becomes begin
    belief believe benefits bet big bigger bike biking bird birds birthday blessed blue body book
    books boost bother bottom boundaries brave break breakfast breathe brief bring brought bug bugs
    build building built bummer burn business busy buy cake call called calling calls calm camp
    camping cancel care careful case cases cat cats celebrate certain certainly challenge challenges
    chance change changed changes chapter chat check checking checks chef cherish children chill
    choice choose choosing cinema city class classic clean clear clearly click climb close coach
    code coffee cold collect combine comfort commit common commonly communicate communication
    community companies company compare compared compassion competitive compile complete completely
    complex concert conclusion confidence configure confirmed confused congrats congratulations
    connect consider considering contact context continue control conversations convert cook cooking
    cool copy correct count country courage crazy create created creating creative creativity
    critical cross cry culture curious current curse customer customers cute cycle daily damn dance
    dancing dare data date day days deadline deadlines dear decided decision decisions dedication
    deep default define definite definitely delete delicious delighted depends deploy deployed
    deploys description design destination details determination develop device diet different
    difficult dig dinner directly disable disaster discuss disk dog dogs double download draw
    drawing dream dress drink drive drop dropped dude dust duty early easily easy eat edit education
    effective effort effortless email emails embrace emotions empty enable encourage encouraging end
    endless energy english enjoy enjoyed ensure enter entertain environment epic equal error errors
    escape essentially esteem evening event events everyday evidence example examples exams
    excellent excited exciting execute exercise exhausted exhibit expect expected experience explain
    explore expression extra extreme eye eyes face fact facts fail failed fair fairly faith fallback
    false family fans fantastic far fashion fast features feedback feeding feel feeling feels fell
    fellow felt female festival fight figure file files fill film films find fine finger fingers
    finish finished fire fish fix fixed fixes flag flowers fly focus follow following fond food
    foods football forever forget forgive form fortunately fostering found framework free freedom
    freelance fresh friend friendly friends friendship fruit fuel full fun funny future gain game
    games gaming garden gardening gather gave gear generate get gets getting gift girls give glad
    gluten goal goals gold good goodbye goodness gosh grab graduate grateful gratitude great green
    grew ground group grow growing growth guess guidance guitar guys gym habit habits hair half hand
    handle hang happen happened happening happy hard hate hats hear heard hearing heart
    heartbreaking heavy help helped helpful helps high highly hike hiking hint historically hobbies
    hobby hold holding holiday holidays home homemade homework honestly hopefully hoping horses hot
    hour hours house hug huge hugs human hundreds hurts hype ice icing idea ideally ideas identify
    ill imagine immediately impact implement important impressive improve include includes including
    increase individual info information initially injury input insert inspiration inspire inspired
    inspiring install intense interested interesting introduction investigate involve issue issues
    item items itll join journal journey joy judge juggle jump junk keep keeping key keyboard keys
    kick kid kids kind kitchen know knowing language large late latency laugh laughter launch lazy
    lead leadership lean learn learned learning leave left legend lend lesson lessons letting level
    life light liked likely limit line list listen listening literally live living load local
    location log logic logs lonely long look looked looking looks losing lost loud love loved lovely
    lover loving low luck luckily lucky lunch made magic mail main maintain major make makes making
    male man manage map market match math matter maximum meal meals meaning medicine meditation meet
    meeting members memorable memories memory men mental mention mentor merge message messages messy
    method methods mid migrate mind mindfulness mindset minimum minor minutes miracle mixed mixing
    mobile model mom moment moments money monitor month monthly months mood morning mother motivated
    motivation mountain mountains move moved movie movies moving multiple museum music name names
    nap nasty natural naturally nature near neat need needed needs nervous nervousness network new
    news nice night normal normally note noted notes notice nowadays number nurture nutrition object
    observed obstacles occasionally ocean odd offer old open opened opportunity option optional
    options order ordinary organize original outcome outdoor outline output overcoming owner pack
    page pages pain paint painting paintings parents park part partner parts party pass passion past
    pasta path patience pay peace people perfect perfectly perform performance persistence person
    personal personally pet pets phase phone photo photos physical piano pick picture pieces pizza
    place places plan planet planned planning plans plants play played playing plenty poetry point
    points popular positive positivity possible post potential pottery power practice practicing
    precious prefer prepare presence press pretty prevent previous price pride print prior priority
    private problem problems process produce product production progress project projects promise
    proper properly protect proud provide public publish pull puppy purchase purpose push put puzzle
    query quest question questions quick quickly quiet quit quote race rain raise ran random rare
    rarely rate reach reaching read reading ready real realistic realizing reason reasons recall
    received recent recommend record red reduce refactor reference regardless regular regularly
    rejection rejections relationship relationships relax release released relevant reliable
    remarkable remember remind reminder reminds remove removed rename renew rent repeat replace
    reply report reports request requests require required requires research reset resilience
    respect respond response rest restart restaurant result results retry return review reviewed
    reviews rewarding ride ridiculous right rip rise risk road rock roll romantic room root rough
    round routine rule rules run running runs rush sad safe salad salt sample sauce save savings saw
    scary schedule scheduled school science scream sea search season section security see seeing
    seem seen select self selfcare send sense sent series serious seriously server service session
    sessions set setbacks setting settings setup share shared sharing ship shoes shop shopping short
    shortly shot shout show showed shows sick side sign simple sing singing single sit site
    situation skill skills skip sky sleep slow slowly small smaller smart smell smile smiles snow
    soccer social software solid solution solutions solved song songs soul sounds soup source
    sources space speak special specific specifically spend spent spice spill spirit spoon sport
    sports spread stage stand standard standards stars start started starting state statement status
    stay step steps stick stop stopped storage store stories story straight strange strategy
    streaming strength stress strive strong structure student students studio study stuff stunned
    stunning style subject success successful suddenly suggest suggestion summary sunflowers sunset
    sunsets super support surprise surprised surround survive sweet swim swimming switch system
    systems table tackle take taken takes taking talent talk talking target task tasks taste tea
    teach teaching team teams teamwork tear technically tell terrible test tested testing tests text
    thanksgiving theme themes therapy think thinking thought thoughts thousands thread throw tick
    ticket time times tip tips tired tires title toast token tomatoes took tool tools top topic
    total totally touch tough tour tournament tournaments tower town track tracking traditional
    traffic trail train training transition travel treasure treat tree trees tried trip trips
    trouble true truly trust try trying tune turn turned turns turtle turtles twist two type types
    ultimately unconditional understand understood unexpected unforgettable unique update updated
    updates upgrade uplifting upload usage use used useful user users using vacation value values
    various vegetables veggies verify version vibe vibes victory video videos view village vision
    visit voice volunteer volunteering wait waiting wake walk walking want wanted wants warm warning
    watch watched watching water weather wedding weddings week weekend weekly weeks weird welcome
    white whoa whole wife wild win wind wine winning wise wish woman women wonder wonderful
    wondering wood words work worked workers working workout workouts works workshop world worry
    worse worst worth write writer writing written wrong wrote yard year years yellow yoga young
    youth yummy zero
    """.split()  # noqa: SIM905 - a list of words reads better as words
)


@kept(16_384)
def is_ordinary(word: str) -> bool:
    """Tell whether a capitalised word is written in lower case as a rule; of a compound, each part of it.

    What was frequent in the tokenizer's training text is frequent in far more texts than lists are made of.
    """
    if word.isupper() and (len(word) <= ABBREVIATION or _comes_first(word, word.lower())):
        return word.lower() in FUNCTION_WORDS
    if not word.isupper() and any(letter.isupper() or letter.isdigit() for letter in word[1:]):
        return "-" in word and all(is_ordinary(part) for part in word.split("-") if part)
    parts = [part for part in _MARKS.split(word.lower()) if len(part) > 1]
    return bool(parts) and all(map(_is_lower_case, parts))


def is_usually_capital(word: str) -> bool:
    """Tell whether a capitalised word is known, and more frequent so than in lower case."""
    return vocabulary_place(f" {word}") is not None and _comes_first(word, word.lower())


def _is_lower_case(word: str) -> bool:
    if word in FUNCTION_WORDS or word in OPENING_WORDS:
        return True
    if word in GIVEN_NAMES:
        return False
    capital = word.capitalize()
    if vocabulary_place(f" {word}") is None and vocabulary_place(f" {capital}") is None:
        return any(map(_is_lower_case, _bases(word)))
    return not _comes_first(capital, word)


def _comes_first(capital: str, lower: str) -> bool:
    """Tell whether a word is as frequent in capitals as in lower case, or is not known in lower case."""
    place, lower_place = vocabulary_place(f" {capital}"), vocabulary_place(f" {lower}")
    return place is not None and (lower_place is None or place <= ORDINARY * lower_place)


def _bases(word: str) -> list[str]:
    """Return what an inflected or prefixed word may be made of."""
    longer = [(ending, base) for base, ending in _ENDINGS if len(word) > len(ending) + 2]
    bases = [word.removesuffix(ending) + base for ending, base in longer if word.endswith(ending)]
    return bases + [word.removeprefix(one) for one in _PREFIXES if word.startswith(one)]


# German capitalises every noun, so that there only lists and neighbouring words tell names.
GERMAN_PLACES = frozenset(
    """
    aachen afrika amerika amsterdam asien athen augsburg australien basel bayern belgien berlin bern
    bielefeld bochum bonn brandenburg brasilien bremen brüssel budapest bulgarien chemnitz china
    deutschland dortmund dresden duisburg dänemark düsseldorf england erfurt europa finnland
    frankfurt frankreich freiburg genf graz griechenland großbritannien hamburg hannover heidelberg
    helsinki hessen indien innsbruck irland island israel istanbul italien japan jena kanada karlsruhe
    kassel kiel kiew klagenfurt koblenz konstanz kopenhagen kroatien köln leipzig linz lissabon london
    luxemburg lyon lübeck luzern madrid magdeburg mailand mainz mallorca mannheim marburg mexiko moskau
    mönchengladbach münchen münster neapel niederlande niedersachsen nordrhein-westfalen norwegen nürnberg
    oldenburg oslo ostsee nordsee paris passau polen portugal potsdam prag regensburg rom rostock rumänien
    russland saarbrücken sachsen salzburg schleswig-holstein schottland schweden schweiz serbien slowakei
    slowenien spanien steiermark stockholm straßburg stuttgart südtirol thüringen tirol trier tschechien
    türkei ukraine ulm ungarn venedig vorarlberg warschau wien wiesbaden wuppertal würzburg zürich
    österreich
    """.split()  # noqa: SIM905 - a list of words reads better as words
)

GERMAN_ROLES = frozenset(
    """
    herr herrn frau familie doktor dr professor prof onkel tante oma opa bruder schwester cousin cousine
    neffe nichte sohn tochter mann ehepaar kunde kunden nachbar nachbarn kollege kollegen freund chef
    lehrer arzt trainer mitbewohner hausmeister sänger maler autor könig kaiser präsident kanzler minister
    hund katze kater pferd firma projekt stadt dorf hotel restaurant café gasthof insel band marke verlag
    kloster burg schloss stadtteil ort
    """.split()  # noqa: SIM905 - a list of words reads better as words
)
"""Nouns that a name follows, as in `Familie Berger`; feminine ones in -in besides."""

GERMAN_NOUNS = frozenset(
    """
    abend abende abends anfang angebot angst arbeit art aufgabe auto beginn beruf besuch bedarf betrieb
    bier bitte blatt blut brot buch bücher butter dank dank daten dauer dezember dienstag dienst ding
    donnerstag dosen druck dutzend ehren eile eis ende entwurf erfolg essen euro fahrrad februar feier
    feierabend ferien feuer fisch flasche fleisch form frage freitag freude frieden frist früh frühling
    frühstück garantie gebrauch geburt gefahr gefühl geld gemüse geschäft gesicht gewicht glas gleis gold
    glück grad grund grün gruppe gruß grüße guten hälfte haufen haus hause heimat herbst herz hilfe himmel
    hitze hochzeit holz hunger hälfte idee januar jahr jahre juli juni kaffee kapitel kasse kälte keller
    kilo kind kinder kilometer kiste kontakt kopf kosten kraft krieg kuchen küche kurs käse lager land
    last leben leute licht liebe lieber liste liter lohn luft lust länge mai mama mangel markt maß mehl
    meer menge mensch menschen metall meter milch minuten mitte mittag mitternacht mittwoch monat montag
    mord morgen musik mutter märz müll nachmittag nacht natur nebel not november nummer obst ofen oktober
    ordnung ostern paar panik papa papier pause pech pfingsten pflicht physik platz plastik post preis
    problem prozent punkt rad rat raum recht regen reihe reis rente rest richtung rot ruhe saft salat
    salz samstag schatten schicht schirm schluss schnee schritt schuld schule schutz sekunden seide seite
    september server sicht silber silvester sinn sommer sonne sonnabend sonntag sorge spaß sport staub stahl
    stein stelle stock stoff strom stress stück stunden suppe tabelle tag tage takt tasse tee teil termin
    test text tisch tod ton tor traum trauer uhr umzug urlaub ursache vater verein verkehr versehen vertrag
    vieh vormittag wahl wald wand wärme wasser wein weg weihnachten weile weiß welt werk wert wetter wille
    wind winter woche wochen wolle wort wunsch wut zahl zeit ziel zimmer zorn zoll zucker zufall zug zukunft
    zweifel öl übung
    """.split()  # noqa: SIM905 - a list of words reads better as words
)
"""Nouns that often have no article before them, or another noun behind them."""

GERMAN_VERBS = frozenset(
    """
    antwortet antwortete arbeitet arbeitete beginnt begann besucht besuchte bringt brachte fährt fragt
    fragte fuhr geht ging glaubt glaubte hat hatte heiratet heiratete heißt hieß holt holte isst kam kauft
    kaufte kennt kocht kochte kommt kündigt kündigte kümmert lebt lebte leiht leitet leitete lernt lernte
    liebt macht mag meint meinte möchte nimmt ruft rief sagt sagte schickt schickte schläft schlief
    schreibt schrieb singt spielt spielte studiert trinkt übernimmt übernahm verkauft verkaufte weiß
    wechselt wechselte will wohnt wohnte wollte zieht zog
    """.split()  # noqa: SIM905 - a list of words reads better as words
)
"""What persons do: who does it at the beginning of a sentence, without an article, is named."""

GERMAN_DETERMINERS = frozenset(
    """
    aller alle allen am ans beim dem den der des die das dein deine deinem deinen deiner dies diese diesem
    diesen dieser dieses ein eine einem einen einer eines euer eure eurem euren ihr ihre ihrem ihren ihrer
    im ins jede jedem jeden jeder jedes kein keine keinem keinen keiner mein meine meinem meinen meiner
    sein seine seinem seinen seiner unser unsere unserem unseren unserer vom welche welchem welchen welcher
    welches zum zur zwei drei vier fünf sechs sieben acht neun zehn viele wenige mehr manche einige etwas
    """.split()  # noqa: SIM905 - a list of words reads better as words
)

GERMAN_PREPOSITIONS = frozenset({"aus", "bei", "in", "nach"})
"""What stands before places and firms without an article."""

_GERMAN_ENDINGS = (
    *(
        "ung",
        "ungen",
        "heit",
        "heiten",
        "keit",
        "keiten",
        "schaft",
        "schaften",
        "tion",
        "tionen",
        "sion",
    ),
    *(
        "tät",
        "täten",
        "ismus",
        "nis",
        "nisse",
        "nissen",
        "chen",
        "lein",
        "tum",
        "innen",
        "ment",
        "enz",
    ),
    *("anz", "ling", "ieren", "erei", "zeug", "zeit", "jahr", "woche", "weise", "stück"),
)
"""Endings of nouns that are no names."""

_LONGEST_GERMAN = 12
"""The letters of the longest word that is no compound."""


@kept(16_384)
def is_german_noun(word: str) -> bool:
    """Tell whether a capitalised word of a German text is an ordinary noun by its form or a list."""
    base = word.lower()
    if base in GERMAN_PLACES or base in GIVEN_NAMES:
        return False
    return (
        base in GERMAN_NOUNS
        or base in GERMAN_ROLES
        or base in FUNCTION_WORDS
        or len(base) > _LONGEST_GERMAN
        or base.endswith(_GERMAN_ENDINGS)
    )
