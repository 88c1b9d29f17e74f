"""Python's own functions and methods that are easily taken for each other. Knowledge of the language, of no program."""

from __future__ import annotations


def _table(text: str) -> dict[str, tuple[str, ...]]:
    """Lines `name other other…`, several a line where `;` parts them."""
    rows = [row.split() for row in text.replace(";", "\n").splitlines() if row.strip()]
    return {row[0]: tuple(row[1:]) for row in rows}


FUNCTIONS = _table(
    """
    min max sum; max min sum; any all; all any; sorted list reversed set; reversed enumerate sorted list;
    list set tuple sorted; set list sorted frozenset; tuple list; int round float str; float int;
    round int float; str repr int; repr str; sum max len min; len max sum; range reversed;
    zip zip_longest enumerate; map filter; filter map; isinstance issubclass; ord chr; chr ord;
    hex bin; bin hex; bisect_left bisect_right; bisect_right bisect_left; bisect bisect_left;
    insort_left insort_right; heappush heappushpop; heappushpop heapreplace; heapreplace heappushpop;
    nlargest nsmallest; nsmallest nlargest; copy deepcopy; permutations combinations;
    combinations permutations combinations_with_replacement; ceil floor trunc; floor ceil;
    takewhile dropwhile; dropwhile takewhile; defaultdict dict; setattr getattr; hasattr getattr;
    type isinstance; iter list; deque list; dict list; abs round; divmod pow; enumerate list;
    staticmethod classmethod
    """
)
"""Function -> what it is taken for."""

METHODS = _table(
    """
    append extend add appendleft; extend append update; add discard append update; insert append;
    remove discard pop; discard remove add; pop popleft get popitem; popleft pop; appendleft append;
    popitem pop; update add setdefault intersection_update; setdefault get; get pop setdefault;
    keys values items; values keys items; items keys values;
    union intersection difference symmetric_difference; intersection union difference;
    difference symmetric_difference intersection union; symmetric_difference difference union;
    issubset issuperset; issuperset issubset; isdisjoint issubset; intersection_update update;
    strip lstrip rstrip; lstrip strip rstrip; rstrip strip lstrip; removeprefix removesuffix lstrip;
    removesuffix removeprefix rstrip; lower upper title casefold; upper lower title capitalize;
    title capitalize upper lower; capitalize title upper; swapcase lower upper; casefold lower;
    startswith endswith; endswith startswith; find rfind index; rfind find; index rindex find;
    rindex index; split rsplit splitlines partition; rsplit split; partition rpartition;
    rpartition partition; splitlines split; ljust rjust center; rjust ljust zfill; zfill rjust;
    center ljust; isdigit isalpha isalnum isnumeric; isalpha isalnum isdigit; isalnum isalpha isdigit;
    isupper islower; islower isupper; isspace isalnum; encode decode; decode encode;
    match search fullmatch; search match fullmatch; fullmatch match search; findall split search;
    ceil floor; floor ceil; log log2 log10; log2 log; log10 log; sin cos; cos sin; sqrt pow;
    copy deepcopy; deepcopy copy; sort reverse; reverse sort; bisect_left bisect_right;
    bisect_right bisect_left; bisect bisect_left; heappush heappushpop; heappop heappush;
    nlargest nsmallest; nsmallest nlargest; readline readlines read; read readlines readline;
    most_common elements; total_seconds seconds; date time; weekday isoweekday; isoweekday weekday;
    fromkeys items; group groups; groups group; rotate reverse; replace strip; subtract update;
    loads dumps; dumps loads
    """
)
"""Method -> what it is taken for."""

PLAIN_METHODS = frozenset(
    _table(
        """
        casefold; clear; close; copy; date; elements; groups; isalnum; isalpha; isdigit; islower;
        isoformat; isspace; isupper; items; keys; lower; lstrip; most_common; pop; popleft; read;
        readlines; reverse; rstrip; sort; split; splitlines; strip; time; timestamp; title;
        total_seconds; upper; values; weekday
        """
    )
)
"""Methods that are called without arguments."""
