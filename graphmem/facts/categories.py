"""The categories that a client's facts may have."""

from collections.abc import Sequence

from msgspec import Struct

from graphmem.context import Context
from graphmem.errors import InvalidInput
from graphmem.facts.types import Categories
from graphmem.graph.query import Query, RowsWritten
from graphmem.model.vocabulary import CATEGORIES as DEFAULT_CATEGORIES


class ChosenCategories(Struct, frozen=True):
    """The categories that a client has chosen; empty if it has chosen none."""

    categories: list[str]


CHOSEN_CATEGORIES = Query("facts/chosen_categories", ChosenCategories)
KEEP_CATEGORIES = Query("facts/keep_categories", RowsWritten, writes=True)


async def show_categories(context: Context) -> Categories:
    """Return the categories that a client's facts may have: its own, else the default fourteen.

    Raises `Unavailable`.
    """
    rows = await context.graph.rows(CHOSEN_CATEGORIES, client_id=context.client_id)
    return Categories(categories=legal_categories(rows[0].categories))


async def set_categories(chosen: Categories, context: Context) -> Categories:
    """Set the 1–100 categories of a client's facts; existing facts keep theirs.

    Raises `InvalidInput` when one is given twice, `Unavailable`.
    """
    given = chosen.categories
    twice = next((one for place, one in enumerate(given) if one in given[:place]), None)
    if twice is not None:
        raise InvalidInput("categories", f"{twice!r} is given twice; send each once")
    await context.graph.write(
        lambda transaction: transaction.rows(
            KEEP_CATEGORIES, client_id=context.client_id, categories=given
        )
    )
    return Categories(categories=given)


def legal_categories(chosen: Sequence[str]) -> list[str]:
    """Return a client's own categories, else the default fourteen."""
    return list(chosen) or list(DEFAULT_CATEGORIES)


def check_category(category: str, chosen: Sequence[str], field: str) -> None:
    """Raise `InvalidInput`, which lists the legal ones, for a category that is not legal for the client."""
    legal = legal_categories(chosen)
    if category not in legal:
        raise InvalidInput(
            field, f"{category!r} is not one of this client's categories: {', '.join(legal)}"
        )
