"""The options of programs that are used to look at things: those that neither write nor start anything. Data, from the
programs' own manuals (GNU coreutils, findutils, diffutils, grep, sed, tar; ripgrep, less, man-db, util-linux, curl)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent_core.agent.approvals.git_options import git_foreign
from agent_core.agent.approvals.options import Options, names, options, scan
from agent_core.agent.approvals.words import Word

_ONLY_SHOWS = names(
    """arch base32 base64 basename cat cksum cmp column comm cut df dirname du echo egrep expand factor false fgrep
    fmt fold getconf getent grep groups head hexdump id join jq locale logname ls lscpu lsof md5sum nl nproc
    numfmt od paste pathchk pgrep ping pinky pr printenv printf ps pwd readlink realpath rev sha1sum sha224sum
    sha256sum sha384sum sha512sum sleep stat strings sum tac tail tee test tr true tty uname unexpand uptime users
    vmstat w wc whereis which who whoami yes"""
)
"""No option of theirs writes or starts anything; `tee` writes what it is told to by its operands alone."""

_FIND = """-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -empty -perm
-user -group -uid -gid -nouser -nogroup -newer -anewer -cnewer -newermt -newerat -newerct -mtime -atime -ctime -mmin
-amin -cmin -used -links -inum -samefile -lname -ilname -readable -writable -executable -fstype -context -false -true
-prune -quit -print -print0 -printf -ls -maxdepth -mindepth -depth -d -mount -xdev -follow -daystart -noleaf
-ignore_readdir_race -noignore_readdir_race -warn -nowarn -not -a -and -o -or -H -L -P -O0 -O1 -O2 -O3 -help --help
-version --version"""

_RG = """after-context before-context context color colors column line-number no-line-number count count-matches debug
files files-with-matches files-without-match fixed-strings follow glob-case-insensitive heading no-heading hidden
no-hidden iglob glob ignore-case no-ignore no-ignore-vcs no-ignore-dot no-ignore-parent no-config invert-match json
line-regexp max-columns max-columns-preview max-count max-depth max-filesize multiline multiline-dotall no-filename
no-messages no-mmap no-unicode null null-data one-file-system only-matching passthru pcre2 pretty quiet regexp file
replace smart-case case-sensitive sort sortr stats text threads trim type type-add type-clear type-list type-not
unrestricted vimgrep with-filename word-regexp no-pcre2 auto-hybrid-regex crlf binary encoding engine
version help"""
_RG_VALUED = """after-context before-context context color colors iglob glob max-columns max-count max-depth
max-filesize regexp file replace sort sortr threads type type-add type-clear type-not encoding engine"""

_LESS = options("aAeEfFgGiIJKmMnNqQrRsSuUwWXd", "hjpPxyz#", plus=True, number=True, operands=r"[^+|].*")

_TAR = """append list update extract get create concatenate diff compare verbose gzip bzip2 xz zstd lzma
keep-old-files skip-old-files keep-newer-files overwrite preserve-permissions same-permissions no-same-owner
no-same-permissions numeric-owner same-owner to-stdout one-file-system sparse totals utc verify wildcards no-wildcards
anchored no-anchored ignore-case absolute-names dereference auto-compress gunzip no-recursion show-transformed-names
version help"""

TABLES: Mapping[str, Options] = {
    **dict.fromkeys(_ONLY_SHOWS, options(all=True)),
    "sort": options("bdfgiMhnRrVcCmsuz", "kSt", "ignore-leading-blanks dictionary-order ignore-case numeric-sort "
                    "general-numeric-sort human-numeric-sort month-sort reverse version-sort random-sort unique stable "
                    "merge zero-terminated check debug", "key field-separator buffer-size parallel"),  # fmt: skip
    "uniq": options("cdDiuz", "fsw", "count repeated unique ignore-case zero-terminated",
                    "skip-fields skip-chars check-chars", most=1),  # fmt: skip
    "shuf": options("erz", "in", "echo repeat zero-terminated", "input-range head-count"),
    "seq": options("w", "fs", "equal-width", "format separator", number=True),
    "xxd": options("abCdeEipuz", "cglosS", most=1),
    "date": options("uR", "drI", "utc universal rfc-email resolution", "date reference iso-8601 rfc-3339",
                    operands=r"\+.*"),  # fmt: skip
    "hostname": options("sfdiIAy", "", "short fqdn long domain ip-address all-ip-addresses", most=0),
    "file": options("bhiLkNnprsvz0E", "FmP", "brief mime mime-type mime-encoding keep-going no-dereference dereference "
                    "raw version", "separator"),  # fmt: skip
    "tree": options("adfixlpsughDFqNQtcUrnCAJX", "LPI", "dirsfirst noreport inodes device du prune gitignore si "
                    "matchdirs ignore-case fromfile metafirst", "charset filelimit sort timefmt"),  # fmt: skip
    "diff": options("abBcdEehinNpqrstTuwy", "CUWxXISF", "brief report-identical-files unified context side-by-side "
                    "recursive new-file unidirectional-new-file ignore-case ignore-all-space ignore-space-change "
                    "ignore-blank-lines ignore-trailing-space ignore-tab-expansion text minimal "
                    "suppress-common-lines left-column expand-tabs initial-tab strip-trailing-cr show-c-function "
                    "no-dereference normal ed rcs speed-large-files",
                    "unified context width exclude exclude-from ignore-matching-lines starting-file label color "
                    "show-function-line tabsize"),  # fmt: skip
    "find": options(words=_FIND),
    "fd": options("HIuspaLtlgFi01qh", "deEtcj", "hidden no-ignore unrestricted case-sensitive ignore-case glob regex "
                  "fixed-strings absolute-path list-details follow full-path print0 quiet",
                  "max-depth min-depth exact-depth exclude type extension size changed-within changed-before color "
                  "threads max-results base-directory owner"),  # fmt: skip
    "rg": options("abcFhHiIlLnNopPqsSUuvVwx0.", "ABCefgjmMrTtEd", _RG, _RG_VALUED),
    "sed": options("nErsuz", "e", "quiet silent regexp-extended separate unbuffered null-data posix debug sandbox",
                   "expression"),  # fmt: skip
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), options("", "Fvf", "", "field-separator assign file")),
    **dict.fromkeys(("less", "more", "view"), _LESS),
    "man": options("kfawWiI", "sS", "apropos whatis all where where-cat ignore-case match-case", "sections"),
    "tar": options("tvxcrukzjJapmOShlPW", "fCTXbLN", _TAR, "file directory files-from exclude exclude-from "
                   "strip-components transform mtime owner group mode newer", bundled=True),  # fmt: skip
    "rsync": options("vqcarRuldptgoDHAXSnWxCizhPLkKE0", "f", "verbose quiet checksum archive recursive relative update "
                     "links perms times group owner dry-run delete existing ignore-existing compress progress stats "
                     "human-readable partial itemize-changes size-only inplace numeric-ids",
                     "exclude include exclude-from include-from filter max-size min-size bwlimit "
                     "timeout"),  # fmt: skip
    **dict.fromkeys(("ssh", "scp"), options("46aAkKnNqtTvxXYCrp", "bcilmpPRLD")),
    "curl": options("sSLfIvkigGaN046nZ#", "HXdAeumbry", "silent show-error location fail head verbose insecure include "
                    "get compressed http1.1 http2 ipv4 ipv6 no-buffer fail-with-body globoff",
                    "header request data data-raw data-binary data-urlencode json user user-agent referer max-time "
                    "connect-timeout retry retry-delay range url"),  # fmt: skip
    "dd": options(operands=r"(if|bs|ibs|obs|cbs|count|skip|seek|status|iflag|conv)=.*"),
    "env": options("i0v", "u", "ignore-environment null debug", "unset"),
}  # fmt: skip
"""By the bare name of the program."""


def foreign_options(name: str, words: Sequence[Word]) -> tuple[Word, ...]:
    """The words among the arguments that a rule has to write out, because they may write or start something."""
    if name == "git":
        return git_foreign(words)
    if name == "find":
        words = _without_started(words)
    table = TABLES.get(name)
    return () if table is None or table.all else scan(table, words).foreign


def _without_started(words: Sequence[Word]) -> list[Word]:
    """The words of `find` without the commands that it starts, which are covered for themselves."""
    kept: list[Word] = []
    inside = False
    for word in words:
        if inside:
            inside = word.text not in (";", "+")
        elif word.text in ("-exec", "-execdir", "-ok", "-okdir"):
            inside = True
        elif word.text in ("(", ")", "!", ","):
            continue
        else:
            kept.append(word)
    return kept
