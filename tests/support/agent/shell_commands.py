"""Command lines as an attacker would write them: built from a small grammar, then bent at random. Seeded."""

from __future__ import annotations

from random import Random

PROGRAMS = ("p1", "p2", "echo", "./tool", "'p1'", "\"p2\"", "p\\1", "$'p1'", "$X", "p?", "command p1", "exec p1",
            "builtin echo", "time p1", "env p1", "! p1", "test", "[", "printf", "export", "set", "let", "declare",
            "read", "eval", "source", "mapfile", "unset", "trap", "alias", "coproc", "cd", "true", "bash", "wait",
            "readonly", "local", "if", "then", "p1#", "=p1", "~", "{p1,a}")  # fmt: skip
RUNS = ("$(mark)", "`mark`", "<(mark)", ">(mark)", "${X:-$(mark)}", "$((a[$(mark)]))", "$[a[$(mark)]]", "${a[$(mark)]}",
        "${X:a[$(mark)]}", "${!X}", "${X@P}", "$(<a.txt)", "a[$(mark)]", "'a[$(mark)]'", "-v'a[$(mark)]'")  # fmt: skip
WORDS = ("a", "b.txt", "-o", "-n", "-v", "-eq", "=", "==", "1", "2", "a=b", "A=1", "A+=2", "'q q'", "\"d d\"", "\"$X\"",
         "$X", "${X}", "${EMPTY}", "${X:-y}", "\"${X#a}\"", "*.txt", "a?", "[ab]", "{a,b}", "{1..3}", "{}", "~", "~/x",
         "\\;", "\\ ", "\\$", "\"\\$\"", "\"a$\"", "\"$ 5\"", "\"\\`\"", "$'a\\nb'", "$'\\x41'", "$\"loc\"", "''",
         "\"\"", "#", "a#b", "]", "[[", "!", "--", "-", "+", "@", "%s\\n", "%n", "ü", "\u00a0", "\u2028", "x\u200by",
         "\"x\ny\"", "'x\ny'", "$", "$$", "$?", "\"$@\"", "$*", "a\\\nb", "\"a\\\nb\"", "?(a)", "!(a)", "@(a|b)",
         "a'b'\"c\"", "10#1", "^", "=~", "<a", "-f", "in", "do", "done", "}", "{")  # fmt: skip
REDIRECTS = (">out", ">>out", "<a.txt", "2>err", "2>&1", "&>out", ">|out", ">&2", "<&-", ">&-", "> out", "1>out",
             "<>rw",
             "{fd}>out", "<<<word", "<<<\"$X\"", ">'q out'", ">$X", "2>out 1>&2", "3<a.txt", ">\"out\"x",
             "<<<$(mark)", ">out>err", "&>>out")  # fmt: skip
JOINS = ("; ", " & ", " && ", " || ", " | ", " |& ", "\n", " ;\n", " &&\n", ";", "&", "|", " # c\n", "\n\n", " \\\n")
WRAPS = ("({})", "{{ {}; }}", "( {} )", "! {}", "time {}", "{{ {}\n}}", "if {}; then p1; fi", "f() {{ {}; }}; f",
         "for i in a; do {}; done", "while false; do {}; done", "case a in a) {};; esac", "[[ -n a ]] && {}",
         "(( 1 )); {}", "coproc {}", "\"$({})\"", "echo \"`{}`\"", "A=1 {}", "a[0]=1 {}", "A=(1 2); {}",
         "A=$X {}", "A='b c' B=\"d\" {}", "PATH=. {}", "IFS=x; {}", "X=$(mark) {}", "bash -c '{}'", "eval '{}'",
         "p1 {} >out", "> out {}", "{}")  # fmt: skip
DOCUMENTS = ("cat <<E\n{0}\nE", "cat <<'E'\n{0}\nE\n{1}", "cat <<E; {1}\n{0}\nE", "cat <<-E\n\t{0}\n\tE\n{1}",
             "cat <<E | p1 && p2\n{0}\nE\n{1}", "cat <<\\E >out\n{0}\nE\n", "cat <<\"E\"\n{0}\nE\n{1}",
             "cat <<E\nE\n{1}", "cat <<E <<F\n{0}\nE\n{1}\nF", "cat <<E\n{0}\\\nE\n{1}\nE", "cat <<E\n{0}\nE ",
             "cat <<E{0}\nE\n{1}", "(cat <<E)\n{0}\nE\n{1}", "cat <<E &&\n{0}\nE\n{1}",
             "cat <<'E'x\n{0}\nEx\n{1}", "cat <<E # c\n{0}\nE\n{1}")  # fmt: skip
BITS = ("$", "(", ")", "\"", "'", "`", "\\", "\n", "\\\n", ";", "&", "|", "<", ">", "{", "}", "[", "]", "#", "!", "=",
        " ", "\t", "$(", "${", "$((", "$'", "$\"", "<(", "mark", " mark ", ";mark;",
        "\nmark\n", "~", "*", "?", ",", "1",
        "2>", "<<", "E", "<<E\n", "\nE\n", "&&", "||", "-", "a", "=(", "+=", "$\\\n(mark)",
        "@(", "\u00a0", "\r", "\x0b",
        "\\\\", "\\\"", "\\'", "\\$", "\\`")  # fmt: skip


def command(random: Random) -> str:
    """One command line; about half are plain enough that a rule could cover them."""
    text = _list(random, 0)
    for _ in range(random.choice((0, 0, 0, 1, 1, 2, 3))):
        text = _bent(random, text)
    return text


def _list(random: Random, depth: int) -> str:
    text = _simple(random)
    for _ in range(random.choice((0, 0, 0, 1, 1, 2))):
        text += random.choice(JOINS) + _simple(random)
    if depth < 2 and random.random() < 0.2:
        text = random.choice(WRAPS).replace("{}", text if random.random() < 0.7 else _list(random, depth + 1), 1)
        text = text.replace("{{", "{").replace("}}", "}")
    if random.random() < 0.06:
        text = random.choice(DOCUMENTS).replace("{0}", _word(random)).replace("{1}", text)
    return text


def _simple(random: Random) -> str:
    program = random.choice(PROGRAMS[:12] if random.random() < 0.7 else PROGRAMS)
    words = [program, *(_word(random) for _ in range(random.choice((0, 1, 1, 2, 3))))]
    if program == "[":
        words.append("]")
    if random.random() < 0.25:
        words.insert(random.randrange(len(words) + 1), random.choice(REDIRECTS))
    if random.random() < 0.08:
        words.insert(0, random.choice(("A=1", "A='x y'", "A+=1", "A=$X", "A=", "PATH=.", "a[0]=1", "A=(1)", "A=~")))
    return random.choice((" ", " ", " ", "  ", "\t", " \\\n ")).join(words)


def _word(random: Random) -> str:
    if random.random() < 0.05:
        run = random.choice(RUNS)
        return f'"{run}"' if random.random() < 0.3 else run
    word = random.choice(WORDS[:24] if random.random() < 0.5 else WORDS)
    return word + random.choice(WORDS) if random.random() < 0.08 else word


def _bent(random: Random, text: str) -> str:
    at = random.randrange(len(text) + 1)
    match random.randrange(4):
        case 0:
            return text[:at] + text[at + random.randrange(1, 3) :]
        case 1:
            other = random.randrange(len(text) + 1)
            return text[:at] + text[min(at, other) : max(at, other)][:12] + text[at:]
        case _:
            return text[:at] + random.choice(BITS) + text[at:]
