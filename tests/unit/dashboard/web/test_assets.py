"""What pages load: vendored files are what they say, and nothing comes from elsewhere."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

import pytest

from dashboard.web.assets import FOLDER, Assets
from dashboard.web.pages.common import environment

TEMPLATES = FOLDER.parent / "templates"
OWN = sorted([*FOLDER.glob("css/*"), *FOLDER.glob("js/*"), *TEMPLATES.glob("*.html")])


def test_vendored_files_are_the_ones_listed() -> None:
    vendor = FOLDER / "vendor"
    lines = [line.split("  ") for line in (vendor / "SHA256SUMS").read_text().splitlines()]
    listed = {name: digest for digest, name in lines}
    present = {path.relative_to(vendor).as_posix() for path in vendor.rglob("*") if path.is_file()}
    assert present - {"SHA256SUMS", "README.md"} == set(listed)
    for name, digest in listed.items():
        assert sha256((vendor / name).read_bytes()).hexdigest() == digest, name
    assert {path.parent.name for path in vendor.glob("*/LICENSE")} == {
        path.name for path in vendor.iterdir() if path.is_dir()
    }


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_our_files_load_nothing_from_elsewhere_and_hold_no_inline_code(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"(src|href|url\(|import)[^\n]{0,20}https?://", text.replace("http://www.w3.org/2000/svg", ""))
    if path.suffix == ".html":
        assert not re.search(r"<script(?![^>]*\bsrc=)", text)
        assert not re.search(r"\sstyle=|\son[a-z]+=|javascript:|\|\s*safe\b|hx-on|js:", text)
    if path.suffix == ".js":
        assert not re.search(r"innerHTML|outerHTML\s*=|insertAdjacentHTML|document\.write|eval\(|new Function", text)


def test_every_asset_that_a_template_names_is_there() -> None:
    assets = Assets()
    for path in TEMPLATES.glob("*.html"):
        for name in re.findall(r"asset\('([^']+)'\)", path.read_text()):
            assert assets.url(name).startswith(f"/static/{assets.stamp}/")
    with pytest.raises(KeyError):
        assets.url("js/none.js")


def test_a_file_is_served_under_the_present_stamp_only() -> None:
    assets = Assets()
    assert assets.find(assets.stamp, "js/app.js") is not None
    assert assets.find("0" * 12, "js/app.js") is None
    assert assets.find(assets.stamp, "../app.py") is None
    assert assets.find(assets.stamp, "vendor/README.md") is None


def test_all_templates_compile() -> None:
    pages = environment(Assets())
    for path in TEMPLATES.glob("*.html"):
        pages.get_template(path.name)
