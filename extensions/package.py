"""Packs the extensions as users get them: a `.vsix` with the server's wheel inside, an archive of the Neovim plugin.

    python extensions/package.py vscode WHEEL TARGET.vsix
    python extensions/package.py nvim TARGET.tar.gz

Only what is named below goes in, in a fixed order and with a fixed date, so the same sources give the same bytes. The
extension must have been bundled before (`npm run build`).
"""

from __future__ import annotations

import gzip
import io
import json
import stat
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
VSCODE_PARTS = ("package.json", "README.md", "CHANGELOG.md", "dist", "media", "walkthrough")
NVIM_PARTS = ("README.md", "pictures", "plugin", "lsp", "lua", "doc", "ftplugin", "syntax", "after")
LEFT_OUT = (".map", ".env", ".log", ".ts")
FOR_BUILDING = ("scripts", "devDependencies", "dependencies", "private")
DATE = (2026, 1, 1, 0, 0, 0)
TYPES: Mapping[str, str] = {
    "css": "text/css", "gif": "image/gif", "js": "application/javascript", "json": "application/json",
    "md": "text/markdown", "png": "image/png", "svg": "image/svg+xml", "txt": "text/plain", "ttf": "font/ttf",
    "vsixmanifest": "text/xml", "whl": "application/zip", "woff2": "font/woff2",
}  # fmt: skip


def files_of(folder: Path, parts: Iterable[str]) -> dict[str, bytes]:
    """What goes in: path below `folder` -> bytes, sorted."""
    found: dict[str, bytes] = {}
    for part in parts:
        path = folder / part
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            name = file.relative_to(folder).as_posix()
            hidden = any(piece.startswith(".") for piece in Path(name).parts)
            if file.is_file() and not hidden and not name.endswith(LEFT_OUT):
                found[name] = file.read_bytes()
    return dict(sorted(found.items()))


def vsix(folder: Path, wheel: Path, licence: Path, target: Path) -> None:
    """Write the package of the extension in `folder`. Raises SystemExit if it was not bundled."""
    files = files_of(folder, VSCODE_PARTS)
    package: dict[str, Any] = json.loads(files["package.json"])
    wanted = [package["main"].removeprefix("./"), *([package["icon"]] if "icon" in package else [])]
    if absent := [name for name in wanted if name not in files]:
        raise SystemExit(f"{folder} lacks {', '.join(absent)}: npm run build")
    shipped = {key: value for key, value in package.items() if key not in FOR_BUILDING}
    files["package.json"] = json.dumps(shipped, indent=2, ensure_ascii=False).encode()
    files["LICENSE.txt"] = licence.read_bytes()
    files["THIRD-PARTY-LICENSES.txt"] = notices(folder).encode()
    files[f"server/{wheel.name}"] = wheel.read_bytes()
    names = {f"extension/{name}": data for name, data in files.items()}
    names["extension.vsixmanifest"] = _manifest(package, files).encode()
    names["[Content_Types].xml"] = _content_types(names).encode()
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(names.items()):
            entry = zipfile.ZipInfo(name, DATE)
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)


def notices(folder: Path) -> str:
    """The licences of what is bundled, which is what is not for building alone. Raises SystemExit if one has none."""
    locked = json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    parts = []
    for place, facts in sorted(locked.items()):
        if not place or facts.get("dev") or facts.get("optional"):
            continue
        texts = sorted(file for file in (folder / place).glob("*") if file.name.lower().startswith("licen"))
        if not texts:
            raise SystemExit(f"{place} has no licence to pass on")
        name = place.rpartition("node_modules/")[2]
        text = texts[0].read_text(encoding="utf-8").strip()
        parts.append(f"{name} {facts['version']} ({facts.get('license', 'see below')})\n\n{text}\n")
    return f"\n{'-' * 80}\n\n".join(parts)


def _manifest(package: Mapping[str, Any], files: Mapping[str, bytes]) -> str:
    kinds = ",".join(package.get("extensionKind", []))
    properties = {
        "Microsoft.VisualStudio.Code.Engine": package["engines"]["vscode"],
        "Microsoft.VisualStudio.Code.ExtensionDependencies": ",".join(package.get("extensionDependencies", [])),
        "Microsoft.VisualStudio.Code.ExtensionPack": "",
        **({"Microsoft.VisualStudio.Code.ExtensionKind": kinds} if kinds else {}),
        "Microsoft.VisualStudio.Services.GitHubFlavoredMarkdown": "true",
    }
    assets = {
        "Microsoft.VisualStudio.Code.Manifest": "package.json",
        "Microsoft.VisualStudio.Services.Content.Details": "README.md",
        "Microsoft.VisualStudio.Services.Content.Changelog": "CHANGELOG.md",
        "Microsoft.VisualStudio.Services.Content.License": "LICENSE.txt",
        **({"Microsoft.VisualStudio.Services.Icons.Default": package["icon"]} if "icon" in package else {}),
    }
    identity = {"Version": package["version"], "Publisher": package["publisher"]}
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">',
        "<Metadata>",
        f"<Identity {_attributes({'Language': 'en-US', 'Id': package['name'], **identity})}/>",
        f"<DisplayName>{escape(package['displayName'])}</DisplayName>",
        f'<Description xml:space="preserve">{escape(package["description"])}</Description>',
        f"<Tags>{escape(','.join(package.get('keywords', [])))}</Tags>",
        f"<Categories>{escape(','.join(package.get('categories', ['Other'])))}</Categories>",
        "<GalleryFlags>Public</GalleryFlags>",
        "<Properties>",
        *(f"<Property Id={quoteattr(key)} Value={quoteattr(value)}/>" for key, value in properties.items()),
        "</Properties>",
        "<License>extension/LICENSE.txt</License>",
        *([f"<Icon>extension/{escape(package['icon'])}</Icon>"] if "icon" in package else []),
        "</Metadata>",
        '<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>',
        "<Dependencies/>",
        "<Assets>",
        *(
            f'<Asset Type="{kind}" Path={quoteattr(f"extension/{name}")} Addressable="true"/>'
            for kind, name in assets.items()
            if name in files
        ),
        "</Assets>",
        "</PackageManifest>",
    ]
    return "\n".join(lines) + "\n"


def _attributes(values: Mapping[str, str]) -> str:
    return " ".join(f"{key}={quoteattr(value)}" for key, value in values.items())


def _content_types(names: Iterable[str]) -> str:
    endings = sorted({name.rpartition(".")[2] for name in names})
    kinds = "".join(
        f'<Default Extension=".{ending}" ContentType="{TYPES.get(ending, "application/octet-stream")}"/>'
        for ending in endings
    )
    space = "http://schemas.openxmlformats.org/package/2006/content-types"
    return f'<?xml version="1.0" encoding="utf-8"?>\n<Types xmlns="{space}">{kinds}</Types>\n'


def plugin_archive(folder: Path, licence: Path, target: Path) -> None:
    """Write the plugin in `folder` as a folder that goes into a Neovim package directory as it is."""
    files = {**files_of(folder, NVIM_PARTS), "LICENSE": licence.read_bytes()}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(f"loopline.nvim/{name}")
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.compress(packed.getvalue(), mtime=0))


def main(arguments: list[str]) -> None:
    match arguments:
        case ["vscode", wheel, target]:
            vsix(HERE / "vscode", Path(wheel), ROOT / "LICENSE", Path(target))
        case ["nvim", target]:
            plugin_archive(HERE / "nvim", ROOT / "LICENSE", Path(target))
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
