"""Which files hold keys, by their names alone. Pure."""

from __future__ import annotations

import fnmatch
import re

_SECRET_NAMES = (
    *(".env", ".env.*", "*.env", ".envrc", ".netrc", "_netrc", ".pgpass", ".pypirc", ".npmrc"),
    *(".git-credentials", ".htpasswd", ".dockercfg", "credentials.json", "service-account*.json"),
    *("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"),
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx"),
)
_SECRET_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker"})
_OPEN_NAMES = ("*.example", "*.sample", "*.template", "*.dist", "*.defaults", "*.pub")


class SecretRules:
    """`allowed` are glob patterns of names or relative paths that the user opened to tools in spite of the list."""

    def __init__(self, allowed: tuple[str, ...] = ()) -> None:
        self.allowed = allowed

    def match(self, relative: str) -> bool:
        """True if the file at `relative` (path below a root) is to stay closed."""
        folders, _, name = relative.rpartition("/")
        lower = name.lower()
        if any(fnmatch.fnmatchcase(lower, pattern) for pattern in _OPEN_NAMES):
            return False
        secret = _SECRET.match(lower) is not None or not _SECRET_FOLDERS.isdisjoint(folders.lower().split("/"))
        return secret and not any(
            fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(relative, pattern) for pattern in self.allowed
        )


_SECRET = re.compile("|".join(fnmatch.translate(pattern) for pattern in _SECRET_NAMES))
