"""The page in a real browser: nothing sticks out at the width of a phone, or of a desk."""

import html
import re
import shutil
import subprocess

import pytest

from gapless import explore
from gapless.choosing.report import to_html
from gapless.data import load_builtin

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WIDTHS = (320, 1280)
# The page itself allows no script; the measuring one is around it.
MEASURE = """
<script>
window.onload = () => {
  for (const frame of document.querySelectorAll("iframe")) {
    const root = frame.contentDocument.documentElement;
    const headings = root.querySelectorAll("h2").length;
    const cut = [...root.querySelectorAll(".scroll:has(table.stacked)")].filter(
      each => each.scrollWidth > each.clientWidth).length;
    frame.after(Object.assign(document.createElement("p"), {
      textContent: [frame.name, frame.clientWidth, root.scrollWidth, headings, cut].join(" ")
    }));
    frame.remove();
  }
};
</script>
"""


def browser():
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("no chromium is installed, which shows pages as a reader sees them")
    return found


def test_nothing_sticks_out_at_any_width(tmp_path, two_classes, many_classes, of_numbers, nasty):
    program = browser()
    pages = {"two": two_classes, "many": many_classes, "numbers": of_numbers, "nasty": nasty}
    written = {name: to_html(report) for name, report in pages.items()}
    written["explored"] = explore(load_builtin("iris"), clusters=3).to_html()
    frames = [
        f'<iframe name="{name}-{width}" style="border: 0; width: {width}px; height: 800px" '
        f'srcdoc="{html.escape(page)}"></iframe>'
        for name, page in written.items()
        for width in WIDTHS
    ]
    around = tmp_path / "around.html"
    around.write_text(f"<!DOCTYPE html><body>{''.join(frames)}{MEASURE}", encoding="utf-8")
    done = subprocess.run(
        [
            *(program, "--headless=new", "--no-sandbox", "--disable-gpu"),
            *(f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", around.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=600,
    )
    found = re.findall(r"<p>(\S+) (\d+) (\d+) (\d+) (\d+)</p>", done.stdout)
    assert len(found) == len(frames), done.stderr[-2000:]
    for name, width, reach, headings, cut in found:
        assert int(reach) <= int(width), f"{name} reaches to {reach}"
        assert int(headings) > 8, f"{name} is empty"
        assert int(cut) == 0, f"{cut} tables of {name} are cut off"
