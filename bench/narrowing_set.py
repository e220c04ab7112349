"""Forty-four sessions of small talk and work, and a question for each, for the precision of narrowing.

Every session has one subject: it opens with it, and four of its messages say what its question asks for, as
people say it who know what they are talking about, so that most do not name the subject. These five are
relevant. The other seven are asides that come up in many sessions, in the words of the questions: causes,
fixes, decisions; they are not, in whichever session they stand.
Sessions come in groups of like subjects (bugs, repairs, journeys, plans), so that each has look-alikes.
"""

import random
from collections.abc import Iterator
from typing import Any

from msgspec import Struct


class Talk(Struct, frozen=True):
    """What one session is about: how it opens, what its question asks for, and the question."""

    subject: str
    opening: str
    told: tuple[str, str, str, str]
    question: str


ASIDES = (
    "Let me write that down before we go on.",
    "What was the cause again? I did not follow.",
    "Fine, then we decided on the second option.",
    "That fixed it for the moment, at least.",
    "I will have a look at it tomorrow morning.",
    "It took much longer than we planned.",
    "Who is going to pay for all this?",
    "We had the same problem last year, I think.",
    "Could you send me a short note about it?",
    "It broke again right after lunch.",
    "Good. Anything else that is still open?",
    "I would rather wait until next week.",
    "The price is more than I expected.",
    "Sorry, I was on the phone. Where were we?",
    "We agreed to talk about it once more.",
    "Then we booked the cheaper one.",
    "She said it would be ready on Friday.",
    "The first attempt failed, the second worked.",
    "Nobody has checked it since then.",
    "All right, let us move on to the next point.",
    "How was your weekend, by the way?",
    "I still have to answer his mail.",
    "It works now, but I do not know why.",
    "The appointment was moved to the afternoon.",
    "There is a simple reason for that.",
    "We should test it before we trust it.",
    "He recommended it, and he knows about such things.",
    "I have no idea how to repair that.",
    "Let us keep the old one as a spare.",
    "What did we decide about that last time?",
)

TALKS = (
    Talk(
        "checkout",
        "Let's look at the checkout page of the shop, guests cannot pay any more.",
        (
            "It crashes as soon as the cart holds nothing but a voucher.",
            "The discount field is null for guests, nobody ever set it.",
            "I gave it a default of zero, and guests get through again.",
            "Two new cases cover a voucher without goods and goods without a voucher.",
        ),
        "Why could guests not pay on the checkout page, and what fixed it?",
    ),
    Talk(
        "invoices",
        "The monthly invoices went out twice last night, we must find out why.",
        (
            "The scheduler ran on both machines after the failover.",
            "Neither takes a lock, each believed it was alone.",
            "Now a row in the table is locked first, the other one just leaves.",
            "Forty customers got a credit note and an apology.",
        ),
        "How did the monthly invoices come to go out twice, and what was done about it?",
    ),
    Talk(
        "search box",
        "The search box of the help centre finds nothing for words with umlauts.",
        (
            "Typing Größe gives no hits, typing Grosse gives all of them.",
            "The index folds accents, the query does not.",
            "Both sides go through the same analyzer now.",
            "It needs a reindex of three hours, we start it on Sunday.",
        ),
        "What was wrong with umlauts in the search box of the help centre?",
    ),
    Talk(
        "mobile app",
        "Since the update the mobile app drains the battery, users complain.",
        (
            "The location is asked for every second, even in the background.",
            "A developer left the debug interval in the release build.",
            "Five minutes is enough, and only while the map is open.",
            "Drain went from nine percent an hour to under one.",
        ),
        "Why did the mobile app drain the battery after the update?",
    ),
    Talk(
        "nightly backup",
        "The nightly backup of the database has not finished for three nights.",
        (
            "The disk on the target is full of old snapshots.",
            "The rule that deletes them was switched off in March.",
            "I turned it on with fourteen days, that freed 600 gigabytes.",
            "An alarm goes off from now on when a run takes more than two hours.",
        ),
        "Why did the nightly backup not finish, and what did we change?",
    ),
    Talk(
        "video calls",
        "Our video calls freeze whenever somebody shares a screen.",
        (
            "The relay allows two megabits for everybody together.",
            "A shared window alone wants three.",
            "We raised the limit to eight and prefer the direct route.",
            "No freezing in the whole retrospective.",
        ),
        "What made the video calls freeze when a screen was shared?",
    ),
    Talk(
        "newsletter",
        "The newsletter lands in the spam folder at most of our readers.",
        (
            "The signature breaks because the footer is added afterwards.",
            "Big providers refuse what is not signed properly.",
            "The footer goes into the template, before signing.",
            "Opening rates are back at thirty percent.",
        ),
        "Why did the newsletter land in the spam folder?",
    ),
    Talk(
        "report export",
        "The export of the yearly report to Excel shows wrong dates.",
        (
            "Everything before March is one day early.",
            "Midnight in Berlin is still the day before in universal time.",
            "We write plain days now, without any hour.",
            "Accounting compared all twelve sheets, they agree.",
        ),
        "Why were dates wrong in the Excel export of the yearly report?",
    ),
    Talk(
        "login of partners",
        "Partners cannot log in to the portal since the certificate was renewed.",
        (
            "Their side still pins the old fingerprint.",
            "Nobody had told them that it would change.",
            "For two weeks both are accepted, then the old one goes.",
            "A reminder goes out sixty days ahead from now on.",
        ),
        "What kept partners from logging in to the portal after the certificate was renewed?",
    ),
    Talk(
        "image upload",
        "Uploading images to the gallery fails for large photos.",
        (
            "Anything above ten megabytes ends in a timeout.",
            "The proxy cuts the connection after thirty seconds.",
            "They go straight to the object store now, in pieces.",
            "A fifty megabyte panorama came through in twelve seconds.",
        ),
        "Why did uploading large photos to the gallery fail?",
    ),
    Talk(
        "kitchen sink",
        "The kitchen sink leaks again and the cupboard below is wet.",
        (
            "The water comes from the trap, not from the tap.",
            "Its rubber ring has gone hard and split.",
            "A new one cost two euros, I put it in with some grease.",
            "The towel under it has stayed dry since Monday.",
        ),
        "Where did the kitchen sink leak, and how did I stop it?",
    ),
    Talk(
        "heating",
        "The heating in the bedroom stays cold while the others are hot.",
        (
            "The pin under the thermostat was stuck.",
            "A few taps with a hammer handle made it move.",
            "Then the air had to come out, a whole cup of it.",
            "Twenty-one degrees this morning.",
        ),
        "Why did the heating in the bedroom stay cold, and what helped?",
    ),
    Talk(
        "washing machine",
        "The washing machine walks through the bathroom when it spins.",
        (
            "One foot had turned itself up by a centimetre.",
            "With the level on top I set all four anew.",
            "The lock nut was missing, that is the whole story.",
            "A rubber mat keeps the noise from the neighbours.",
        ),
        "Why did the washing machine move around when it spins?",
    ),
    Talk(
        "bicycle",
        "The chain of my bicycle jumps whenever I pedal hard.",
        (
            "It is worn, the gauge falls right through.",
            "The smallest sprocket has teeth like a shark.",
            "Cassette and all came to fifty-five euros.",
            "Uphill to the castle without a single skip.",
        ),
        "What was wrong with the bicycle whose chain jumped, and what did it cost?",
    ),
    Talk(
        "roof window",
        "It drips from the roof window when the wind comes from the west.",
        (
            "Leaves block the gutter above the frame.",
            "The water rises and runs in sideways.",
            "I swept it out and put a mesh in front.",
            "Last night's storm left not a drop on the sill.",
        ),
        "Why did it drip from the roof window in west wind?",
    ),
    Talk(
        "fridge",
        "The fridge hums all night and the milk goes sour.",
        (
            "The door does not close at the lower corner.",
            "A magnet strip hung out of its groove.",
            "Warm water made it soft, now it sits again.",
            "The meter says four degrees and it rests for half an hour at a time.",
        ),
        "Why did the fridge hum all night, and how was it mended?",
    ),
    Talk(
        "front door",
        "The front door sticks so badly that my mother cannot open it.",
        (
            "The upper hinge has sunk by three millimetres.",
            "Its screws only held in plaster.",
            "Longer ones reach the wood behind it.",
            "She opens it with one finger now.",
        ),
        "Why did the front door stick, and what did we do?",
    ),
    Talk(
        "car",
        "The car makes a grinding noise when I brake downhill.",
        (
            "The pads on the left are down to the metal.",
            "The calliper does not slide back, it has rusted.",
            "The garage cleaned it and changed both sides for 310 euros.",
            "The disc could stay, they said, for another year.",
        ),
        "What caused the grinding noise when the car brakes?",
    ),
    Talk(
        "lisbon",
        "We are planning the trip to Lisbon with the children in April.",
        (
            "The flat in Graça has a balcony and a cot.",
            "Tram 28 is too full, we walk down and take the lift up.",
            "One day belongs to the aquarium, tickets are for eleven o'clock.",
            "On the last day we go to the beach at Cascais by train.",
        ),
        "What have we planned for the trip to Lisbon with the children?",
    ),
    Talk(
        "norway",
        "For the hike in Norway in August we need a proper plan.",
        (
            "Three huts, and a key from the association for the second.",
            "Besseggen comes last, when our legs are used to it.",
            "Each carries nine kilos, the tent stays at home.",
            "If it rains on the ridge we take the boat.",
        ),
        "What is our plan for the hike in Norway?",
    ),
    Talk(
        "vienna",
        "My parents want to go to Vienna by night train for their anniversary.",
        (
            "A sleeper for two with a shower, 240 euros.",
            "It leaves at 20.15 and arrives for breakfast.",
            "Standing places at the opera, my father insists.",
            "The pension is in the street behind the market.",
        ),
        "How are my parents going to Vienna for their anniversary, and where do they stay?",
    ),
    Talk(
        "conference",
        "I have to get to the conference in Rotterdam, and my talk is the first.",
        (
            "So I must be there on the evening before.",
            "The direct train is sold out, I change in Utrecht.",
            "The hotel by the bridge has a desk and a kettle.",
            "The slides go ahead by mail, in case the laptop is stolen.",
        ),
        "How do I get to the conference in Rotterdam in time for my talk?",
    ),
    Talk(
        "island",
        "The ferry to the island is the difficulty with this holiday.",
        (
            "There are two a week after September.",
            "Whoever misses the Thursday one waits until Sunday.",
            "So we sleep at the harbour on Wednesday.",
            "The car stays on the mainland, bicycles wait over there.",
        ),
        "How do we get to the island, and what about the ferry?",
    ),
    Talk(
        "school trip",
        "The school trip to the museum of technology needs an organiser, and that is me.",
        (
            "Twenty-six pupils, so three adults have to come along.",
            "The workshop on bridges has room for half of them at a time.",
            "They pay seven euros, the association gives the rest.",
            "Two are in wheelchairs, the side entrance has a ramp.",
        ),
        "What did we settle for the school trip to the museum of technology?",
    ),
    Talk(
        "canoe",
        "This year the choir goes canoeing on the river for its outing.",
        (
            "Fourteen of us, so seven boats, the firm brings them to the mill.",
            "Barrels keep the sheet music dry.",
            "At the weir everybody gets out, no exceptions.",
            "Soup waits at the lock at one o'clock.",
        ),
        "How is the choir's outing on the river arranged?",
    ),
    Talk(
        "knee",
        "The doctor has looked at my knee after the fall.",
        (
            "Nothing is torn, the meniscus is only bruised.",
            "Six weeks without running, swimming is allowed.",
            "Twice a week I am to do the exercises with the band.",
            "If it swells again she wants a second picture.",
        ),
        "What did the doctor say about my knee?",
    ),
    Talk(
        "allergy",
        "The allergy test of our son has come back.",
        (
            "It is hazel and birch, not the cat.",
            "Apples must be cooked, raw ones make his mouth itch.",
            "From January he gets drops under the tongue.",
            "That goes on for three years, with a pause in summer.",
        ),
        "What was the result of our son's allergy test, and what follows?",
    ),
    Talk(
        "grandmother",
        "Grandmother's new medicine makes her dizzy in the morning.",
        (
            "The pressure falls too low after she gets up.",
            "She takes the half of it now, and in the evening.",
            "A glass of water before standing up, says the nurse.",
            "No fall since, and she sleeps through.",
        ),
        "Why was grandmother dizzy from her medicine, and what changed?",
    ),
    Talk(
        "dentist",
        "The dentist wants to do something about my wisdom teeth.",
        (
            "Only the lower left one, it pushes the others.",
            "It comes out in November under local anaesthetic.",
            "For two days soup and ice, no coffee.",
            "The insurance covers all but sixty euros.",
        ),
        "What does the dentist plan for my wisdom teeth?",
    ),
    Talk(
        "dog",
        "The dog limps since the walk in the stubble field, we saw the vet.",
        (
            "An awn had gone in between two toes.",
            "It was cut out in ten minutes, he slept through it.",
            "A sock for a week, and the funnel at night.",
            "He runs again, but I keep him off the fields until autumn.",
        ),
        "What did the vet find when the dog limped?",
    ),
    Talk(
        "marathon",
        "My training for the marathon in October has to fit around the shifts.",
        (
            "Long runs move to Wednesday, when I start late.",
            "Never more than ten percent farther than the week before.",
            "Every fourth week is an easy one.",
            "The goal is four hours, and to finish in any case.",
        ),
        "How did I fit marathon training around my shifts?",
    ),
    Talk(
        "database choice",
        "Today we choose the database for the new booking system.",
        (
            "Seats must never be sold twice, so transactions come first.",
            "Everybody here knows Postgres, nobody the other two.",
            "Exclusion constraints do what we would have to write ourselves.",
            "We look again when a single machine is no longer enough.",
        ),
        "Which database did we choose for the booking system, and why?",
    ),
    Talk(
        "office move",
        "The office moves to the old printing works in spring, here is what we agreed.",
        (
            "Quiet desks on the upper floor, telephones below.",
            "Nobody has a place of their own but the accountants.",
            "The kitchen gets the big window, that was unanimous.",
            "The lease is for five years with a way out after three.",
        ),
        "What did we agree on for the office in the old printing works?",
    ),
    Talk(
        "logo",
        "The agency showed three drafts for the logo of the bakery.",
        (
            "The ear of wheat looks like everybody's.",
            "We liked the oven with the door as a smile.",
            "One colour only, so that it can be stamped on paper bags.",
            "They set the name in a rounder type and come back in ten days.",
        ),
        "Which draft did we like for the logo of the bakery?",
    ),
    Talk(
        "hiring",
        "We interviewed four people for the position in support.",
        (
            "Amara calmed the angry caller in the role play.",
            "She speaks three of the languages that we need.",
            "Her notice is six weeks, so she begins in June.",
            "Jonas is our second choice if she declines.",
        ),
        "Whom did we pick for the position in support, and why?",
    ),
    Talk(
        "pricing",
        "The pricing of the subscription has to change, costs are up by a fifth.",
        (
            "Those who are with us keep theirs until the end of the year.",
            "New ones pay eleven instead of nine.",
            "Students get half off, against a proof once a year.",
            "Nothing is free any more except the first fortnight.",
        ),
        "How does the pricing of the subscription change?",
    ),
    Talk(
        "garden",
        "The garden behind the house gets a new layout this autumn.",
        (
            "The beds move to the south wall, out of the walnut's shade.",
            "In their place comes a pond, sixty centimetres at the deepest.",
            "Currants along the fence, they do not mind the wind.",
            "The path is gravel, so that the rain can sink in.",
        ),
        "What is the new layout of the garden behind the house?",
    ),
    Talk(
        "wedding",
        "My sister's wedding needs somebody who keeps track, so here we go.",
        (
            "Eighty guests, the barn holds ninety.",
            "The band only plays until one, then there is a list on the laptop.",
            "A long table for the children, with their own menu.",
            "Should it pour, the ceremony is in the riding hall.",
        ),
        "What is arranged for my sister's wedding?",
    ),
    Talk(
        "budget",
        "Our household budget does not add up, we went through it line by line.",
        (
            "Three streaming services, of which we watch one.",
            "The power company raised its advance, we change to the cooperative.",
            "Lunch is cooked at home on four days of five.",
            "That makes 270 a month, half of which goes into the new roof.",
        ),
        "Where does our household budget save money?",
    ),
    Talk(
        "thesis",
        "Kerstin and I went over the outline of her thesis on river dams.",
        (
            "Chapter two shrinks, the history is told elsewhere.",
            "Sediment is her own contribution, it moves to the front.",
            "The data from 1998 are dropped, the gauge had been moved.",
            "She hands in by the end of May, the defence is in July.",
        ),
        "How did the outline of Kerstin's thesis on river dams change?",
    ),
    Talk(
        "bread",
        "My sourdough bread has been flat for weeks, so I asked the baker.",
        (
            "The starter is too sour, it wants feeding twice a day.",
            "More strength comes from folding it every half hour.",
            "I had let it rise too long in the warm kitchen.",
            "Today's loaf is as high as my hand.",
        ),
        "Why was my sourdough bread flat, according to the baker?",
    ),
    Talk(
        "piano",
        "The piano tuner was here, the old instrument needs more than tuning.",
        (
            "Four hammers are bare to the wood.",
            "The pitch had dropped by nearly a semitone.",
            "He raises it in two steps so that no string snaps.",
            "A bowl of water inside keeps it from drying out.",
        ),
        "What did the piano tuner find, and what does he do about it?",
    ),
    Talk(
        "bees",
        "The beekeeper explained why one of our hives is so weak.",
        (
            "The old queen lays too few eggs.",
            "Mites fell by the dozen onto the white board.",
            "In July they get the acid, after the honey is out.",
            "A young one from the neighbour's swarm takes over.",
        ),
        "Why is one of our hives weak, as the beekeeper explained?",
    ),
    Talk(
        "choir concert",
        "The programme of the Christmas concert is settled at last.",
        (
            "We begin in the dark, from the gallery.",
            "The Rheinberger stays, the modern piece was too hard.",
            "Two altos share the solo, neither has to be afraid alone.",
            "Afterwards there is punch in the cloister.",
        ),
        "What is the programme of the Christmas concert?",
    ),
)

ASIDES_EACH = 7


def conversation() -> dict[str, Any]:
    """Return the set in the form of `bench.quality`; evidence is what a question asks for, all of it."""
    return {
        "id": "narrowing",
        "sessions": [
            {"id": talk.subject, "messages": list(_messages(place, talk))}
            for place, talk in enumerate(TALKS)
        ],
        "questions": [
            {
                "id": f"about {talk.subject}",
                "text": talk.question,
                "category": "narrowing",
                "evidence": [
                    f"{talk.subject}: opening",
                    *(f"{talk.subject}: told {number}" for number in range(len(talk.told))),
                ],
            }
            for talk in TALKS
        ],
    }


def _messages(place: int, talk: Talk) -> Iterator[dict[str, Any]]:
    chance = random.Random(place)
    asides = chance.sample(ASIDES, ASIDES_EACH)
    rest = [(f"{talk.subject}: told {number}", text) for number, text in enumerate(talk.told)]
    for number, text in enumerate(asides):
        # What is told keeps its order; asides fall in between.
        rest.insert(chance.randint(0, len(rest)), (f"{talk.subject}: aside {number}", text))
    said = [(f"{talk.subject}: opening", talk.opening), *rest]
    for minute, (id, text) in enumerate(said):
        yield {
            "id": id,
            "role": "user" if minute % 2 == 0 else "assistant",
            "name": None,
            "content": text,
            "occurred_at": f"2026-{1 + place // 28:02}-{1 + place % 28:02}T09:{minute:02}:00Z",
        }
