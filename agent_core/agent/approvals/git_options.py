"""The options of git's commands that neither start a program nor write a file elsewhere. Data, from git's manuals.

A command of git that is not listed must be written out in the rule, with everything behind it: `submodule foreach`,
`bisect run`, `rebase --exec`, `config` and others start what their arguments say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent_core.agent.approvals.options import Options, may_be_option, options, scan
from agent_core.agent.approvals.words import Word

_FIRST = options("", "", "no-pager no-optional-locks literal-pathspecs glob-pathspecs noglob-pathspecs icase-pathspecs "
                 "no-replace-objects no-lazy-fetch version bare")  # fmt: skip

_DIFF = """
    patch no-patch raw patch-with-raw patch-with-stat stat numstat shortstat dirstat summary name-only
    name-status no-renames find-renames find-copies find-copies-harder check full-index binary abbrev color
    no-color color-words word-diff minimal patience histogram ignore-space-at-eol ignore-space-change
    ignore-all-space ignore-blank-lines ignore-cr-at-eol function-context exit-code quiet no-ext-diff
    no-textconv no-prefix irreversible-delete text cumulative indent-heuristic no-indent-heuristic
    compact-summary ita-invisible-in-index pickaxe-all pickaxe-regex color-moved no-color-moved relative
    no-relative submodule ignore-submodules cached staged merge-base no-index default-prefix"""
_DIFF_VALUED = """
    stat unified diff-algorithm abbrev color word-diff word-diff-regex find-renames find-copies diff-filter
    inter-hunk-context src-prefix dst-prefix line-prefix ws-error-highlight submodule ignore-submodules
    dirstat relative anchored rotate-to skip-to color-moved color-moved-ws diff-merges stat-width stat-count"""
_LOG = f"""
    {_DIFF} oneline graph all branches tags remotes decorate no-decorate merges no-merges first-parent
    full-history follow reverse date-order topo-order author-date-order walk-reflogs no-walk left-right
    cherry-pick cherry-mark cherry simplify-by-decoration dense sparse ancestry-path abbrev-commit
    no-abbrev-commit relative-date parents children boundary source log-size show-notes no-notes notes
    use-mailmap no-mailmap regexp-ignore-case extended-regexp fixed-strings perl-regexp basic-regexp
    all-match invert-grep no-min-parents root pretty full-diff clear-decorations reflog not left-only
    right-only no-show-signature"""
_LOG_VALUED = f"""
    {_DIFF_VALUED} pretty format date since after until before author committer grep max-count skip decorate
    branches tags remotes exclude glob encoding min-parents max-parents grep-reflog decorate-refs
    decorate-refs-exclude show-notes notes since-as-filter"""
_LOOK = options("pubwaRBWMCDzcmirstEFPgqh", "nULSGl", _LOG, _LOG_VALUED, number=True)

COMMANDS: Mapping[str, Options] = {
    **dict.fromkeys(
        (
            "log",
            "show",
            "whatchanged",
            "reflog",
            "rev-list",
            "diff",
            "diff-tree",
            "diff-index",
            "diff-files",
            "range-diff",
        ),
        _LOOK,
    ),  # fmt: skip
    "status": options(
        "sbvuz",
        "",
        "short branch show-stash porcelain long verbose ignored untracked-files no-renames "
        "renames ahead-behind no-ahead-behind column no-column",
        "porcelain untracked-files ignored ignore-submodules find-renames column",
    ),  # fmt: skip
    "blame": options(
        "bltpsewcMCfn",
        "LS",
        "root show-stats incremental porcelain line-porcelain show-name show-number show-email",
        "date abbrev since ignore-rev ignore-revs-file encoding",
    ),  # fmt: skip
    "shortlog": options(
        "nsec", "w", "numbered summary email committer no-merges all", "since until author group format"
    ),  # fmt: skip
    "branch": options(
        "avrlqiDdmMcCftu",
        "",
        "all verbose remotes list show-current no-color ignore-case merged "
        "no-merged contains no-contains quiet delete move copy force track no-track",
        "sort format points-at color abbrev contains no-contains merged no-merged set-upstream-to",
    ),  # fmt: skip
    "tag": options(
        "lnfadi",
        "mF",
        "list delete force annotate no-sign ignore-case merged no-merged contains no-contains",
        "sort format points-at contains no-contains merged no-merged message file color",
    ),  # fmt: skip
    "remote": options("v", "", "verbose"),
    "ls-files": options(
        "cdomsiuktvfz",
        "xX",
        "cached deleted others modified stage ignored unmerged killed "
        "exclude-standard directory no-empty-directory full-name error-unmatch deduplicate eol debug "
        "recurse-submodules",
        "exclude exclude-from exclude-per-directory format abbrev",
    ),  # fmt: skip
    "ls-tree": options("drtlz", "", "long name-only name-status object-only full-name full-tree", "abbrev format"),
    "rev-parse": options(
        "q",
        "",
        "abbrev-ref show-toplevel show-prefix show-cdup git-dir git-common-dir "
        "absolute-git-dir is-inside-work-tree is-inside-git-dir is-bare-repository verify short quiet "
        "symbolic symbolic-full-name all branches tags remotes show-superproject-working-tree",
        "short abbrev-ref default",
    ),  # fmt: skip
    "describe": options(
        "",
        "",
        "all tags contains long always first-parent dirty broken exact-match",
        "abbrev match exclude candidates dirty broken",
    ),  # fmt: skip
    "cat-file": options("tspe", "", "batch batch-check batch-all-objects unordered buffer", "batch batch-check"),
    "merge-base": options("a", "", "all octopus is-ancestor independent fork-point"),
    "name-rev": options("", "", "tags all name-only always", "refs exclude"),
    "show-ref": options(
        "dsq", "", "head heads tags branches verify hash abbrev dereference quiet exists", "hash abbrev"
    ),
    "for-each-ref": options(
        "", "", "ignore-case omit-empty", "count sort format points-at merged no-merged contains no-contains exclude"
    ),  # fmt: skip
    "count-objects": options("vH", "", "verbose human-readable"),
    "check-ignore": options("qvnz", "", "quiet verbose stdin non-matching no-index"),
    "grep": options(
        "aIirnlLchHoqpwvEGFPWz0e",
        "efABCm",
        "cached no-index untracked text ignore-case word-regexp "
        "invert-match name-only files-with-matches files-without-match count line-number column "
        "show-function function-context break heading fixed-strings extended-regexp perl-regexp "
        "basic-regexp null quiet all-match and or not recursive no-recursive only-matching full-name "
        "no-color color no-textconv recurse-submodules",
        "max-depth max-count threads context after-context before-context color",
    ),  # fmt: skip
    "stash": options(
        "pquak", "m", "patch quiet include-untracked all keep-index no-keep-index index stat staged", "message"
    ),  # fmt: skip
    "add": options(
        "Anvfuip",
        "",
        "all dry-run verbose force update patch interactive intent-to-add refresh "
        "ignore-errors ignore-removal no-all renormalize sparse",
        "chmod pathspec-from-file",
    ),  # fmt: skip
    "commit": options(
        "apvqnsoi",
        "mFCc",
        "all patch verbose quiet no-verify signoff amend no-edit allow-empty "
        "allow-empty-message dry-run short only include reset-author no-gpg-sign no-signoff no-status",
        "message file author date fixup squash cleanup trailer reuse-message",
    ),  # fmt: skip
    "checkout": options("bBqfdltpm", "", "quiet force detach track no-track ours theirs patch merge guess no-guess"),
    "switch": options(
        "cCdfqm",
        "",
        "create force-create detach force quiet merge discard-changes track no-track guess no-guess orphan",
    ),  # fmt: skip
    "restore": options("SWqpm", "s", "staged worktree quiet patch ours theirs merge overlay no-overlay", "source"),
    "reset": options("qpN", "", "soft mixed hard merge keep quiet patch intent-to-add"),
    "rm": options("rfnq", "", "cached force dry-run quiet ignore-unmatch"),
    "mv": options("fknv", "", "force dry-run verbose"),
    "merge": options(
        "nqv",
        "m",
        "no-commit commit no-ff ff ff-only squash no-squash abort continue quit no-edit quiet verbose stat no-stat",
        "message",
    ),  # fmt: skip
    "cherry-pick": options("nx", "m", "no-commit abort continue quit skip allow-empty", "mainline"),
    "revert": options("n", "m", "no-commit no-edit abort continue quit skip", "mainline"),
    "fetch": options("apqvtf", "j", "all prune quiet verbose tags no-tags force dry-run unshallow", "depth jobs"),
    "pull": options("qvr", "", "rebase no-rebase ff-only no-ff ff quiet verbose prune tags", "depth rebase"),
    "push": options(
        "ufqvnd",
        "",
        "set-upstream force force-with-lease tags all dry-run quiet verbose delete "
        "no-verify atomic porcelain follow-tags",
        "force-with-lease",
    ),  # fmt: skip
    "clean": options("dfnqxX", "e", "force dry-run quiet", "exclude"),
    "init": options("qb", "", "quiet bare", "initial-branch"),
    "worktree": options("vfb", "", "porcelain verbose force"),
    "version": options("", "", "build-options"),
}


def git_foreign(words: Sequence[Word]) -> tuple[Word, ...]:
    """Words of a git command that a rule has to write out."""
    first = scan(_FIRST, words, stop=True)
    if first.end >= len(words):
        return first.foreign
    name = words[first.end]
    table = COMMANDS.get(name.text)
    if table is None or may_be_option(name):
        return (*first.foreign, *words[first.end :])
    return (*first.foreign, *scan(table, words[first.end + 1 :]).foreign)
