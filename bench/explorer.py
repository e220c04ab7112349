"""How many frames a second the explorer's graph draws, in a real Chromium.

    python -m bench.explorer --nodes 1000

The page is answered from its files, without a server or a database. A person drags a node, moves the view and
zooms while the browser counts its frames; `work` is the time that the page itself takes for one of them.
"""

import asyncio
import os
import platform
import shutil
import statistics
from collections.abc import Callable, Coroutine, Sequence
from itertools import pairwise
from typing import Any

from graphmem_api.explorer import FILES, HEADERS, MEDIA_TYPES, PAGE
from playwright.async_api import Page, Route, async_playwright

from bench.reporting import arguments, report

NAMES = ("chromium", "chromium-browser", "google-chrome")
ADDRESS = "http://explorer.invalid"
SECONDS = 4.0
"""How long each movement is measured."""

MOVES = 60
"""Movements of the pointer a second, as a mouse sends them."""

DRAW = """async (count) => {
  const { Graph } = await import("/explorer/graph.js");
  const node = (n) => ({ id: `n${n}`, labels: [`K${n % 5}`], properties: { text: `text ${n}` } });
  const nodes = Array.from({ length: count }, (_, n) => node(n));
  const edges = nodes.slice(1).map((one, n) => ({ from: one.id, to: `n${n >> 1}`, type: "NEXT" }));
  for (let n = 0; n + 7 < count; n += 3) edges.push({ from: `n${n}`, to: `n${n + 7}`, type: "MENTIONS" });
  const graph = new Graph();
  window.graph = graph;
  window.work = [];
  for (const name of ["step", "paint"]) {
    const whole = graph[name].bind(graph);
    graph[name] = () => {
      const began = performance.now();
      whole();
      window.work.push([name, performance.now() - began]);
    };
  }
  document.getElementById("page").replaceChildren(graph.element);
  graph.add({ nodes, edges });
}"""
COUNT = """(milliseconds) => new Promise((done) => {
  window.work.length = 0;
  const times = [];
  const tick = (time) => {
    times.push(time);
    if (time - times[0] < milliseconds) requestAnimationFrame(tick);
    else done({ times, work: window.work.slice() });
  };
  requestAnimationFrame(tick);
})"""
POINT = """() => {
  const { graph } = window;
  const box = graph.canvas.getBoundingClientRect();
  const one = graph.points[0];
  return [
    box.x + graph.canvas.clientWidth / 2 + graph.view.x + one.x * graph.view.scale,
    box.y + graph.canvas.clientHeight / 2 + graph.view.y + one.y * graph.view.scale,
  ];
}"""

Movement = Callable[[Page], Coroutine[Any, Any, None]]


async def measure(nodes: int) -> dict[str, Any]:
    """Return the frames a second of each movement over a graph of so many nodes."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        raise SystemExit("no Chromium: apt-get install chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        context = await browser.new_context(
            viewport={"width": 1200, "height": 900}, bypass_csp=True
        )
        page = await context.new_page()
        await page.route("**/*", _answer)
        await page.goto(f"{ADDRESS}/")
        await page.evaluate(DRAW, nodes)
        movements: dict[str, Movement] = {
            "settling": _wait,
            "dragging a node": _drag,
            "moving the view": _pan,
            "zooming": _zoom,
        }
        found = {name: await _counted(page, one) for name, one in movements.items()}
        version = browser.version
        await browser.close()
    return {
        "nodes": nodes,
        "edges": nodes - 1 + len(range(0, max(nodes - 7, 0), 3)),
        "chromium": version.partition(".")[0],
        "machine": f"{os.cpu_count()} processors, {platform.machine()}, drawn without a graphics card",
        "movements": found,
    }


async def _answer(route: Route) -> None:
    name = route.request.url.removeprefix(f"{ADDRESS}/").removeprefix("explorer/") or PAGE
    if name not in FILES:
        await route.fulfill(status=404)
        return
    kind = MEDIA_TYPES[f".{name.rpartition('.')[2]}"]
    await route.fulfill(body=FILES[name], headers={**HEADERS, "Content-Type": kind})


async def _counted(page: Page, move: Movement) -> dict[str, float]:
    moving = asyncio.create_task(move(page))
    counted = await page.evaluate(COUNT, 1000 * SECONDS)
    moving.cancel()
    await asyncio.gather(moving, return_exceptions=True)
    await page.mouse.up()
    times = counted["times"]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    paints = [took for name, took in counted["work"] if name == "paint"]
    steps = [took for name, took in counted["work"] if name == "step"]
    work = statistics.mean(paints or [0]) + statistics.mean(steps or [0])
    return {
        "frames a second": round(1000 * len(gaps) / (times[-1] - times[0]), 1),
        "slowest of 20 frames in milliseconds": round(_high(gaps), 1),
        "frames drawn": len(paints),
        "work a frame in milliseconds": round(work, 2),
    }


def _high(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


async def _wait(page: Page) -> None:
    await asyncio.sleep(SECONDS)


async def _drag(page: Page) -> None:
    x, y = await page.evaluate(POINT)
    await page.mouse.move(x, y)
    await page.mouse.down()
    await _move_about(page, x, y)


async def _pan(page: Page) -> None:
    box = await page.locator("canvas").bounding_box()
    assert box
    # A corner, where no node is.
    x, y = box["x"] + 5, box["y"] + 5
    await page.mouse.move(x, y)
    await page.mouse.down()
    await _move_about(page, x, y)


async def _move_about(page: Page, x: float, y: float) -> None:
    place = 0
    while True:
        place += 1
        await page.mouse.move(x + 3 * (place % 40), y + 2 * (place % 30))
        await asyncio.sleep(1 / MOVES)


async def _zoom(page: Page) -> None:
    place = 0
    while True:
        place += 1
        await page.mouse.wheel(0, 100 if place // 8 % 2 else -100)
        await asyncio.sleep(1 / MOVES)


def main() -> None:
    """Measure, and report."""
    parser = arguments("explorer", __doc__)
    parser.add_argument("--nodes", type=int, default=1_000, help="how many nodes the graph has")
    given = parser.parse_args()
    report(asyncio.run(measure(given.nodes)), given.out)


if __name__ == "__main__":
    main()
