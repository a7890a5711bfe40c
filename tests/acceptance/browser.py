"""A real browser without a window: what it makes of a page, and what its console says."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import lxml.html
import pytest

PATIENCE_S = 120.0
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--hide-scrollbars", "--enable-logging=stderr"),
)


@dataclass(frozen=True)
class Page:
    """A page as Chromium has rendered it."""

    root: lxml.html.HtmlElement
    console: list[str]  # what it complained about, or a script said

    def fact(self, name: str) -> str:
        [found] = self.root.xpath("//*[@data-fact=$name]/@data-value", name=name)
        return str(found)

    def cell(self, row: str, name: str, column: str) -> lxml.html.HtmlElement:
        """Of a table whose rows bear `data-ROW`."""
        [found] = self.root.xpath(
            f"//tr[@data-{row}=$name]/td[@data-column=$column]", name=name, column=column
        )
        return found


def chromium() -> str:
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    return found


def look_at(file: Path) -> Page:
    told = _chromium(file, "--dump-dom")
    lines = [line for line in told.stderr.splitlines() if "CONSOLE" in line]
    return Page(lxml.html.document_fromstring(told.stdout), lines)


def photograph(file: Path, picture: Path, *options: str) -> None:
    _chromium(file, f"--screenshot={picture}", "--window-size=1180,3000", *options)


def print_on_paper(file: Path, pdf: Path) -> None:
    _chromium(file, "--no-pdf-header-footer", f"--print-to-pdf={pdf}")


def _chromium(file: Path, *options: str) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as profile:
        words = [chromium(), *OPTIONS, f"--user-data-dir={profile}", *options, file.as_uri()]
        done = subprocess.run(
            words, capture_output=True, encoding="utf-8", check=False, timeout=PATIENCE_S
        )
    assert done.returncode == 0, done.stderr
    return done
