"""A disk that is really full, and a network that is really gone: in namespaces of the tests' own."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.hub.push import finished, push, push_until_taken
from tests.support.suite.parts import lacking
from tests.support.web.running import web_process

DISK_MB = 4


@pytest.fixture(scope="module", autouse=True)
def namespaces() -> Iterator[None]:
    """Namespaces can be had; without them these tests can't run."""
    able = shutil.which("unshare") and subprocess.run(["unshare", "-rnm", "true"], check=False).returncode == 0
    if not able:
        lacking("unshare", "unshare -rnm")
    yield


async def test_a_browser_whose_network_is_gone_is_let_go(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        "unshare", "-rn", sys.executable, "-m", "tests.support.web.half_open", str(tmp_path),
        stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    async with asyncio.timeout(60):
        output, _ = await process.communicate()
    assert output.decode().split()[::2] == ["gone", "well"]


async def test_a_full_disk_refuses_seen_until_there_is_room(tmp_path: Path) -> None:
    script = f'mount -t tmpfs -o size={DISK_MB}m tmpfs "$0" && exec "$@"'
    hub = tmp_path / "loopline" / "hub"
    hub.mkdir(parents=True)
    inside = ("unshare", "-rm", "sh", "-c", script, str(hub))
    first, second = finished(1), finished(2, turns=30)
    async with web_process(tmp_path, inside=inside) as web:
        disk = Path(f"/proc/{web.ready['pid']}/root{hub}")
        secret = {"authorization": f"Bearer {web.ready['secret']}"}
        token = {"authorization": f"Bearer {web.ready['ingest_token']}"}
        async with (
            httpx.AsyncClient(base_url=web.url, headers=secret, timeout=20.0, trust_env=False) as admin,
            httpx.AsyncClient(base_url=web.url, headers=token, timeout=20.0, trust_env=False) as client,
        ):
            assert (await push(client, first)).status_code == 200
            filler = disk / "filler"
            with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
                while file.write(bytes(4096)):
                    pass
            refused = await push(client, second)
            assert refused.status_code == 507
            assert int(refused.headers["retry-after"]) >= 1
            for path in ("/", "/trends", "/errors", "/settings", "/reuse"):
                assert (await admin.get(path, headers={"accept": "text/html"})).status_code == 200
            assert (await admin.get("/api/health")).json()["writes"] == "store_full"
            filler.unlink()
            await push_until_taken(client, second)
            health = (await admin.get("/api/health")).json()
            assert health["events"] == len(first) + len(second)
            assert health["writes"] == "ok"
