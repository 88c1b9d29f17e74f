"""What goes into the packages of the extensions, and that their versions are those of the project."""

from __future__ import annotations

import importlib.util
import json
import re
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

from agent_core import __version__

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = "{http://schemas.microsoft.com/developer/vsx-schema/2011}"


@pytest.fixture(scope="module")
def package() -> ModuleType:
    spec = importlib.util.spec_from_file_location("loopline_package", ROOT / "extensions" / "package.py")
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture
def extension(tmp_path: Path) -> Path:
    """A bundled extension with what must stay at home lying about."""
    folder = tmp_path / "vscode"
    manifest = {
        "name": "loopline", "displayName": "Loop & line", "description": "an <agent>", "version": "1.2.3",
        "publisher": "loopline", "private": True, "main": "./dist/extension.js", "icon": "media/icon.png",
        "engines": {"vscode": "^1.100.0"}, "extensionKind": ["workspace"], "categories": ["AI"],
        "scripts": {"build": "x"}, "devDependencies": {"x": "1"}, "dependencies": {"y": "1"},
        "contributes": {"commands": []},
    }  # fmt: skip
    packages = {
        "": {"name": "loopline"},
        "node_modules/bundled": {"version": "3.2.1", "license": "MIT"},
        "node_modules/builder": {"version": "1.0.0", "dev": True},
    }
    files = {
        "package-lock.json": json.dumps({"packages": packages}), "node_modules/bundled/License.txt": "As is.",
        "package.json": json.dumps(manifest), "README.md": "# é", "dist/extension.js": "code", "media/icon.png": "png",
        "dist/extension.js.map": "map", ".env": "KEY=1", "media/.env": "KEY=1", "dist/prod.env": "KEY=1",
        "src/extension.ts": "source", "node_modules/x/index.js": "no", "dist/view.d.ts": "types",
    }  # fmt: skip
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (tmp_path / "loopline-1.2.3-py3-none-any.whl").write_bytes(b"wheel")
    (tmp_path / "LICENSE").write_text("licence")
    return folder


def pack(package: ModuleType, extension: Path, target: Path) -> Path:
    home = extension.parent
    package.vsix(extension, home / "loopline-1.2.3-py3-none-any.whl", home / "LICENSE", target)
    return target


def test_the_package_holds_what_runs_and_nothing_else(package: ModuleType, extension: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(pack(package, extension, tmp_path / "out" / "a.vsix")) as archive:
        assert sorted(archive.namelist()) == [
            "[Content_Types].xml",
            "extension.vsixmanifest",
            "extension/LICENSE.txt",
            "extension/README.md",
            "extension/THIRD-PARTY-LICENSES.txt",
            "extension/dist/extension.js",
            "extension/media/icon.png",
            "extension/package.json",
            "extension/server/loopline-1.2.3-py3-none-any.whl",
        ]
        assert archive.read("extension/THIRD-PARTY-LICENSES.txt").decode() == "bundled 3.2.1 (MIT)\n\nAs is.\n"
        shipped = json.loads(archive.read("extension/package.json"))
        assert not {"scripts", "devDependencies", "dependencies", "private"} & shipped.keys()
        manifest = ElementTree.fromstring(archive.read("extension.vsixmanifest"))
        identity = manifest.find(f"{SCHEMA}Metadata/{SCHEMA}Identity")
        assert identity is not None
        assert identity.attrib == {"Language": "en-US", "Id": "loopline", "Version": "1.2.3", "Publisher": "loopline"}
        assert manifest.findtext(f"{SCHEMA}Metadata/{SCHEMA}DisplayName") == "Loop & line"
        assert manifest.findtext(f"{SCHEMA}Metadata/{SCHEMA}Description") == "an <agent>"
        for asset in manifest.iter(f"{SCHEMA}Asset"):
            assert asset.attrib["Path"] in archive.namelist()
        types = ElementTree.fromstring(archive.read("[Content_Types].xml"))
        known = {entry.attrib["Extension"] for entry in types}
        assert {f".{name.rpartition('.')[2]}" for name in archive.namelist()} <= known | {".xml"}


def test_the_same_files_give_the_same_package(package: ModuleType, extension: Path, tmp_path: Path) -> None:
    one = pack(package, extension, tmp_path / "one.vsix").read_bytes()
    (extension / "README.md").touch()
    assert pack(package, extension, tmp_path / "two.vsix").read_bytes() == one


def test_an_extension_that_was_not_bundled_is_refused(package: ModuleType, extension: Path, tmp_path: Path) -> None:
    (extension / "dist" / "extension.js").unlink()
    with pytest.raises(SystemExit, match=re.escape("lacks dist/extension.js")):
        pack(package, extension, tmp_path / "a.vsix")


def test_a_bundled_package_without_a_licence_is_refused(package: ModuleType, extension: Path, tmp_path: Path) -> None:
    (extension / "node_modules" / "bundled" / "License.txt").unlink()
    with pytest.raises(SystemExit, match="bundled has no licence"):
        pack(package, extension, tmp_path / "a.vsix")


def test_the_plugin_for_neovim_unpacks_into_one_folder(package: ModuleType, tmp_path: Path) -> None:
    target = tmp_path / "loopline-nvim.tar.gz"
    package.plugin_archive(ROOT / "extensions" / "nvim", ROOT / "LICENSE", target)
    with tarfile.open(target) as archive:
        names = archive.getnames()
    assert all(name.startswith("loopline.nvim/") for name in names)
    assert {"loopline.nvim/LICENSE", "loopline.nvim/plugin/loopline.lua", "loopline.nvim/lsp/loopline.lua"} <= set(
        names
    )
    assert not [name for name in names if "test" in name]


def test_the_extension_has_the_version_of_its_server() -> None:
    manifest = json.loads((ROOT / "extensions" / "vscode" / "package.json").read_text(encoding="utf-8"))
    assert manifest["version"] == __version__
