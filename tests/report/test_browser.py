# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser: no errors, figures with a size, a table that sorts and filters."""

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from fabricbench.launch.table import table
from fabricbench.report.page import report
from report.judged import judgement
from report.synthetic import Shape, campaign
from report.test_attribution import page as attributed_page
from report.test_profiles import RUNS, ranks_of
from report.test_profiles import campaign_of as profiled_campaign

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))),
    None,
)
QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
)  # fmt: skip
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
PROBE = """<script>
  const box = (one) => { const b = one.getBoundingClientRect(); return [b.width, b.height]; };
  const out = {
    svg: Array.from(document.querySelectorAll("figure svg"), box),
    text: Array.from(document.querySelectorAll("figure svg"), (s) => s.querySelectorAll("text").length),
    marks: Array.from(document.querySelectorAll("figure svg"), (s) => s.querySelectorAll("use, path").length),
    width: [document.documentElement.scrollWidth, window.innerWidth],
  };
  const heads = Array.from(document.querySelectorAll("#launch-table thead th"));
  const rows = () => Array.from(document.querySelectorAll("#launch-table tbody tr"));
  heads[8].querySelector("button").click();
  out.seconds = rows().map((r) => r.cells[8].textContent);
  const filter = document.getElementById("launch-filter");
  filter.value = "mpich@tcp bcast";
  filter.dispatchEvent(new Event("input"));
  const shown = rows().filter((r) => !r.hidden);
  out.shown = shown.map((r) => r.cells[2].textContent + " " + r.cells[4].textContent);
  window.dispatchEvent(new Event("beforeprint"));
  out.folded = document.querySelectorAll("details:not(.numbers):not([open])").length;
  document.documentElement.dataset.probe = JSON.stringify(out);
</script>"""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium, chromium-browser or google-chrome on the PATH")


@pytest.fixture(scope="module")
def page() -> str:
    """A page with every kind of section."""
    example = campaign(Shape(collectives=("bcast", "allreduce")))
    return report(example, table(example.records), judgement(example))


def browse(directory: Path, html: str, width: int) -> tuple[str, str]:
    """The document after its scripts have run, and the browser's log."""
    assert CHROMIUM is not None
    path = directory / "page.html"
    path.write_text(html, encoding="utf-8")
    process = subprocess.run(
        [
            CHROMIUM, *QUIET, f"--user-data-dir={directory / 'profile'}", f"--window-size={width},2000",
            "--enable-logging=stderr", "--virtual-time-budget=3000", "--dump-dom", path.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return process.stdout, process.stderr


def probed(directory: Path, html: str, width: int) -> dict[str, Any]:
    """The result of a test script in a copy of the page without its security policy."""
    opened, removed = POLICY.subn("", html)
    assert removed == 1
    dom, log = browse(directory, opened.replace("</body>", PROBE + "</body>"), width)
    assert "CONSOLE" not in log
    outcome = re.search(r'data-probe="([^"]*)"', dom)
    assert outcome, "the probe did not run to its end"
    result = json.loads(unescape(outcome.group(1)))
    assert isinstance(result, dict)
    return result


def test_browser_reports_no_error(page: str, tmp_path: Path) -> None:
    dom, log = browse(tmp_path, page, 1200)
    assert not re.search(r"CONSOLE|Uncaught|Refused to", log), log
    assert dom.count("<figure") == page.count("<figure")
    assert re.search(r'<div id="launch-tools">', dom), "the page's own script ran under its own policy"


def test_policy_stops_a_foreign_script(page: str, tmp_path: Path) -> None:
    dom, log = browse(tmp_path, page.replace("</body>", "<script>document.title = 'taken'</script></body>"), 1200)
    assert "<title>taken" not in dom
    assert "CONSOLE" in log


@pytest.mark.parametrize("width", [1200, 500])
def test_figures_have_a_size_and_do_not_overflow(page: str, tmp_path: Path, width: int) -> None:
    result = probed(tmp_path, page, width)
    assert len(result["svg"]) == page.count("<figure")
    assert all(w > 200 and h > 120 for w, h in result["svg"])
    assert all(count >= 5 for count in result["text"])
    assert all(count >= 20 for count in result["marks"])
    assert result["width"][0] <= result["width"][1], "the page itself never scrolls sideways"


def test_launches_sort_filter_and_unfold(page: str, tmp_path: Path) -> None:
    result = probed(tmp_path, page, 1200)
    seconds = [float(text) for text in result["seconds"]]
    assert seconds == sorted(seconds)
    assert len(seconds) > 100
    assert set(result["shown"]) == {"mpich@tcp bcast"}
    assert result["folded"] == 0


@pytest.mark.parametrize("width", [1200, 500])
def test_profiles_do_not_overflow(tmp_path: Path, width: int) -> None:
    example = profiled_campaign(*RUNS)
    html = report(example, table(example.records), None, ranks_of=ranks_of)
    result = probed(tmp_path, html, width)
    assert len(result["svg"]) == html.count("<figure")
    assert sum(w > 200 and h > 60 for w, h in result["svg"]) == len(result["svg"])
    assert result["width"][0] <= result["width"][1]


@pytest.mark.parametrize("width", [1200, 500])
def test_attributions_do_not_overflow(tmp_path: Path, width: int) -> None:
    html = attributed_page()
    result = probed(tmp_path, html, width)
    assert len(result["svg"]) == html.count("<figure")
    assert sum(w > 200 and h > 60 for w, h in result["svg"]) == len(result["svg"])
    assert result["width"][0] <= result["width"][1]
