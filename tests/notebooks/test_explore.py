"""The notebook runs whole, as `make notebook` runs it, on the tests' Neo4j; committed it has no outputs."""

import base64
import io
import json
import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import matplotlib.image
import pytest

from graphmem.config import Settings

Cells = dict[str, dict[str, Any]]

SECONDS = 900
"""Long: it is cut off only when it hangs, also where the machine is busy."""


def cells(notebook: dict[str, Any]) -> Cells:
    return {cell["id"]: cell for cell in notebook["cells"] if cell["cell_type"] == "code"}


@pytest.fixture(scope="module")
def committed(repository: Path) -> dict[str, Any]:
    """The notebook as it stands in the repository."""
    return json.loads((repository / "notebooks" / "explore.ipynb").read_text("utf-8"))


@pytest.fixture(scope="module")
def executed(
    committed: dict[str, Any],
    neo4j_settings: Settings,
    tmp_path_factory: pytest.TempPathFactory,
    whole_program: None,
) -> Cells:
    """Its cells after it has run, for a client of this test's own."""
    notebook = json.loads(json.dumps(committed))
    [client] = [one for one in cells(notebook).values() if "tags" in one["metadata"]]
    client["source"] = f'CLIENT = "notebook-{uuid.uuid4().hex}"'
    folder = tmp_path_factory.mktemp("notebook")
    path = folder / "explore.ipynb"
    path.write_text(json.dumps(notebook), "utf-8")
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GRAPHMEM_", "MPL")) or name == "GRAPHMEM_CACHE_DIR"
    }
    done = subprocess.run(
        [Path(sys.executable).with_name("jupyter-execute"), "--inplace", path],
        env=kept
        | {
            "GRAPHMEM_NEO4J_URI": str(neo4j_settings.neo4j_uri),
            "GRAPHMEM_NEO4J_USER": neo4j_settings.neo4j_user,
            "GRAPHMEM_NEO4J_PASSWORD": neo4j_settings.neo4j_password,
            # Nothing of the user's own, and nothing left there.
            "IPYTHONDIR": str(folder / "ipython"),
            "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        },
        text=True,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return cells(json.loads(path.read_text("utf-8")))


def shown(cell: dict[str, Any], kind: str) -> str:
    """Return what a cell shows, of one kind."""
    [data] = [one["data"] for one in cell["outputs"] if kind in one.get("data", {})]
    return "".join(data[kind])


def colours(cell: dict[str, Any]) -> set[str]:
    """Return the colours of a cell's picture."""
    picture = matplotlib.image.imread(io.BytesIO(base64.b64decode(shown(cell, "image/png"))))
    assert picture.shape[0] > 200
    assert picture.shape[1] > 400
    pixels = {tuple(pixel[:3]) for row in picture.tolist() for pixel in row}
    return {"#" + "".join(f"{round(255 * part):02x}" for part in pixel) for pixel in pixels}


def test_what_is_committed_has_no_outputs(committed):
    for cell in cells(committed).values():
        assert cell["outputs"] == []
        assert cell["execution_count"] is None


def test_every_cell_runs_in_its_order_and_warns_of_nothing(executed):
    assert [cell["execution_count"] for cell in executed.values()] == [*range(1, len(executed) + 1)]
    for cell in executed.values():
        assert {one["output_type"] for one in cell["outputs"]} <= {"execute_result", "display_data"}


def test_answers_become_frames(executed):
    assert "195 messages" in shown(executed["told"], "text/plain")
    kinds = shown(executed["asked"], "text/html")
    assert all(kind in kinds for kind in ("message", "fact", "episode", "summary", "reference"))
    sessions = shown(executed["occasions"], "text/html")
    assert "s02-early-logout" in sessions
    assert "s06-coffee-break" not in sessions
    believed = shown(executed["believed"], "text/html")
    assert believed.index("59 €") < believed.index("54 €")
    assert "DERIVED_FROM" in shown(executed["edges"], "text/html")


def test_a_theme_over_time_and_a_neighbourhood_are_drawn(executed):
    # The bars of four names, in matplotlib's own colours.
    assert {"#1f77b4", "#ff7f0e", "#2ca02c", "#d62728"} <= colours(executed["picture-theme"])
    # Messages, sources, facts and digests hang on the report.
    assert {"#8da0cb", "#fc8d62", "#66c2a5", "#e5c494"} <= colours(executed["picture-graph"])
