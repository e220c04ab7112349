"""A few sessions of one conversation: a bug is found, its fix deployed, and two are about neither."""

from typing import Any

from graphmem.client import Graphmem

Turns = list[tuple[str, str]]

BUG: Turns = [
    ("user", "Let's refactor the auth module today, the login code is a mess."),
    ("assistant", "Agreed. I would start with the JWT validation in `auth/token.py`."),
    ("user", "I am testing edge cases: tokens from the old mobile app, expired tokens."),
    ("user", "Here is the auth bug: `validate_token()` fails when the JWT has no exp field."),
    ("assistant", "A null check before comparing exp, and the token is refused properly."),
    ("user", "Done. The auth tests are green now."),
    ("assistant", "Refresh tokens would be the next step, but they are a bigger change."),
    ("user", "Too complex for now, let us leave them."),
]
DEPLOY: Turns = [
    ("user", "The release goes out on Wednesday, with the fix in `validate_token()`."),
    ("assistant", "Then the rollout plan: staging in the morning, production at noon."),
    ("user", "Deployed. No 401 responses since noon."),
]
GARDEN: Turns = [
    ("user", "The tomatoes on the balcony need a bigger pot."),
    ("assistant", "Thirty litres each, and plant them deep."),
    ("user", "And the basil goes between them, in the sun."),
]
TRIP: Turns = [
    ("user", "We take the night train to Vienna in October."),
    ("assistant", "Book the sleeper early, it fills up."),
    ("user", "Two nights there, then on to Ljubljana."),
]
SESSIONS: dict[str, Turns] = {"bug": BUG, "deploy": DEPLOY, "garden": GARDEN, "trip": TRIP}
START = {"bug": "2026-03-03", "deploy": "2026-03-04", "garden": "2026-03-05", "trip": "2026-03-06"}


async def tell(memory: Graphmem, *names: str, conversation: str = "c") -> dict[str, str]:
    """Remember sessions, all unless some are named; return their own ids by their names here."""
    await memory.open_conversation(conversation)
    for name in names or SESSIONS:
        await memory.remember(conversation, messages(name))
    return await ids(memory)


def messages(name: str) -> list[dict[str, Any]]:
    """Return the messages of one of the sessions."""
    return [
        {
            "session_id": name,
            "role": role,
            "content": content,
            "external_id": f"{name}-{place}",
            "occurred_at": f"{START[name]}T09:{place:02}:00Z",
        }
        for place, (role, content) in enumerate(SESSIONS[name])
    ]


async def ids(memory: Graphmem) -> dict[str, str]:
    """Return the sessions' own ids by their names here."""
    rows = await memory.runtime.graph.execute(
        "CYPHER 25 MATCH (session:Session {client_id: $client_id}) "
        "RETURN session.external_id AS name, session.id AS id",
        client_id=memory.client_id,
    )
    return {row["name"]: row["id"] for row in rows}
