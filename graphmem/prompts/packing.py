"""Packing: the selection of ranked memories that fit into a token budget."""

from collections.abc import Iterable

from msgspec import Struct


class Parcel(Struct, frozen=True):
    """The cost of a memory in the context, and the group whose heading it shares."""

    id: str
    tokens: int
    group: str
    heading_tokens: int


def fitting(parcels: Iterable[Parcel], budget: int, *, most: int) -> list[str]:
    """Return the ids that fit, by rank: one that does not fit is left out and the next is tried.

    The first of a group pays for its heading. At most `most` are taken.
    """
    taken: list[str] = []
    groups: set[str] = set()
    for parcel in parcels:
        if len(taken) == most:
            break
        cost = parcel.tokens + (0 if parcel.group in groups else parcel.heading_tokens)
        if cost <= budget:
            budget -= cost
            taken.append(parcel.id)
            groups.add(parcel.group)
    return taken
