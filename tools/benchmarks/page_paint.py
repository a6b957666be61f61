"""Benchmark: how large the page is, when a browser first paints it, and when it is drawn.

python tools/benchmarks/page_paint.py                 200 and 1,000 rows, at 1280 and 400 pixels
python tools/benchmarks/page_paint.py --rows 5000     as many as you like

Limits: 250 KB for 200 rows with samples; first paint after 1 s for 1,000 rows, on a machine that does nothing else. It
ends with 1 where one is not kept. The seconds of the main thread are of its own clock, which stands while others have
the processor. Needs Chromium.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from bench.leaderboards.render.html import write_page
from tests.leaderboards import boards
from tests.leaderboards.chromium import Chromium, installed

WIDTHS = (1280, 400)
LIMIT_BYTES, OF_ROWS = 250_000, 200
LIMIT_MS, UP_TO_ROWS = 1000, 1000
VISITS = 5
"""The median of so many is printed."""
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"


def visit(browser: Chromium, url: str) -> tuple[float, float, float]:
    """Return milliseconds: until the first contentful paint, until all tables are drawn, and of the main thread."""
    browser.first_visit()
    browser.call("Performance.enable", timeDomain="threadTicks")
    start = time.perf_counter()
    browser.open(url)
    drawn = 1000 * (time.perf_counter() - start)
    while (painted := browser.eval(PAINT)) is None:
        time.sleep(0.05)
    metrics = browser.call("Performance.getMetrics")["metrics"]
    (busy,) = [metric["value"] for metric in metrics if metric["name"] == "TaskDuration"]
    return painted, drawn, 1000 * busy


def main() -> None:
    """Print a line for each size and width."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[200, 1000])
    given = parser.parse_args()
    program = installed()
    if program is None:
        raise SystemExit("expected a Chromium on the PATH, found none")
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        browser = Chromium(program, Path(folder) / "profile")
        for rows in given.rows:
            path = Path(folder) / f"{rows}.html"
            write_page(path, boards.with_samples(boards.large(rows)))
            for width in WIDTHS:
                browser.size(width, 900)
                visits = [visit(browser, path.as_uri()) for _ in range(VISITS)]
                painted, drawn, busy = (statistics.median(times) for times in zip(*visits, strict=True))
                print(
                    f"{rows:,} rows, {path.stat().st_size / 1000:.0f} KB, {width} px: "
                    f"first paint {painted:.0f} ms, drawn {drawn:.0f} ms, main thread {busy:.0f} ms"
                )
                missed |= rows <= UP_TO_ROWS and painted > LIMIT_MS
            missed |= rows <= OF_ROWS and path.stat().st_size > LIMIT_BYTES
        browser.close()
    sys.exit(int(missed))


if __name__ == "__main__":
    main()
