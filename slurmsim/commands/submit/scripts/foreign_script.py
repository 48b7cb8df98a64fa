"""``#PBS`` and ``#BSUB`` lines of a batch script as options of sbatch.

Mirrors sbatch's translation (22.05): only the options both sides have; of the rest the harmless ones are read and
dropped, unknown ones end the submission.
"""

from __future__ import annotations

from slurmsim.commands.submit.scripts.batch_script import BadScript, split_line
from slurmsim.commands.text.option_reader import NO, OPTIONAL, REQUIRED, LongOption, OptionError, Parser
from slurmsim.hostlist import compress
from slurmsim.numerals import is_number

_MAX_BODY_LINES = 100
_PBS = (
    LongOption("start_time", REQUIRED, "a"),
    LongOption("account", REQUIRED, "A"),
    LongOption("checkpoint", REQUIRED, "c"),
    LongOption("working_dir", REQUIRED, "C"),
    LongOption("error", REQUIRED, "e"),
    LongOption("hold", NO, "h"),
    LongOption("interactive", NO, "I"),
    LongOption("join", OPTIONAL, "j"),
    LongOption("job_array", REQUIRED, "J"),
    LongOption("keep", REQUIRED, "k"),
    LongOption("resource_list", REQUIRED, "l"),
    LongOption("mail_options", REQUIRED, "m"),
    LongOption("mail_user_list", REQUIRED, "M"),
    LongOption("job_name", REQUIRED, "N"),
    LongOption("out", REQUIRED, "o"),
    LongOption("priority", REQUIRED, "p"),
    LongOption("destination", REQUIRED, "q"),
    LongOption("rerunable", REQUIRED, "r"),
    LongOption("script_path", REQUIRED, "S"),
    LongOption("array", REQUIRED, "t"),
    LongOption("running_user", REQUIRED, "u"),
    LongOption("variable_list", REQUIRED, "v"),
    LongOption("all_env", NO, "V"),
    LongOption("attributes", REQUIRED, "W"),
    LongOption("no_std", NO, "z"),
    LongOption(None, REQUIRED, "j"),  # the letter, unlike the long name, must have its argument
)
_BSUB = (
    LongOption("cwd", REQUIRED, "c"),
    LongOption("error_file", REQUIRED, "e"),
    LongOption("job_name", REQUIRED, "J"),
    LongOption("hostname", REQUIRED, "m"),
    LongOption("memory_limit", REQUIRED, "M"),
    LongOption(None, REQUIRED, "n"),
    LongOption("output_file", REQUIRED, "o"),
    LongOption("queue_name", REQUIRED, "q"),
    LongOption("time", REQUIRED, "W"),
    LongOption("exclusive", NO, "x"),
)
_PBS_SAME = {
    "a": "begin",
    "A": "account",
    "e": "error",
    "o": "output",
    "h": "hold",
    "J": "array",
    "t": "array",
    "M": "mail-user",
    "N": "job-name",
    "p": "nice",
    "q": "partition",
}
_BSUB_SAME = {"c": "chdir", "e": "error", "J": "job-name", "o": "output", "q": "partition", "W": "time"}
_PBS_LIMITS = {"cput": "time", "pcput": "time", "walltime": "time", "file": "tmp", "mem": "mem", "nice": "nice"}
_PBS_DROPPED = ("arch", "host", "opsys", "other", "pmem", "pvmem", "software", "vmem")
Wanted = list[tuple[str, str | None]]
"""Names and values of sbatch's options; a name with ``+`` before it adds to what is there, after a comma."""


def translate(script: str, file: str) -> Wanted:
    """Options that the script's ``#BSUB`` lines ask for, or its ``#PBS`` lines when it has none of those.

    Raises
    ------
    BadScript
        A line cannot be read.
    OptionError
        An option is unknown; the text is getopt's, sbatch adds which.
    """
    for magic, translator in (("#BSUB", _bsub), ("#PBS", _pbs)):
        words, found = _words(script, file, magic)
        if found:
            return translator(words)
    return []


def _words(script: str, file: str, magic: str) -> tuple[list[str], bool]:
    words: list[str] = []
    found = False
    others = 0
    for number, line in enumerate(script.split("\n"), 1):
        if not line.startswith(magic):
            others += line[:1] != "#"
            if others > _MAX_BODY_LINES:
                break
            continue
        found = True
        for word in split_line(line[len(magic) :], file, number):
            # an option in an odd place may be a long one behind a single dash
            words.append("-c" if magic == "#BSUB" and word == "-cwd" and len(words) % 2 == 0 else word)
    return words, found


def _parse(options: tuple[LongOption, ...], words: list[str]) -> Wanted:
    parser = Parser(options)
    found: Wanted = []
    try:
        found.extend(parser.parse(words))
    except OptionError as error:
        raise OptionError(f"{error}", "Unrecognized command line parameter ?") from None
    if parser.rest:
        raise BadScript(f"Invalid argument: {parser.rest[0]}")
    return found


def _bsub(words: list[str]) -> Wanted:
    wanted: Wanted = []
    for key, value in _parse(_BSUB, words):
        text = value or ""
        if key in _BSUB_SAME:
            wanted.append((_BSUB_SAME[key], text))
        elif key == "m":
            wanted.append(("nodelist", text.replace(" ", ",")))
        elif key == "M":
            wanted.append(("mem-per-cpu", text + "K" if is_number(text[-1:]) else text))
        elif key == "n":
            most = text.partition(",")[2] if "," in text else text
            if not most:
                raise BadScript(f"#BSUB -n format not correct given: '{text}'")
            wanted.append(("ntasks", most))
        else:
            wanted.append(("exclusive", None))
    return wanted


def _pbs(words: list[str]) -> Wanted:
    wanted: Wanted = []
    for key, value in _parse(_PBS, words):
        text = value or ""
        if key in _PBS_SAME:
            wanted.append((_PBS_SAME[key], value))
        elif key == "l":
            wanted.extend(_resources(text))
        elif key == "m":
            wanted.append(("mail-type", _mail(text)))
        elif key == "v":
            wanted.append(("+export", text))
        elif key == "W":
            for prefix, option in (("umask=", "umask"), ("depend=", "dependency")):
                if text.lower().startswith(prefix):
                    wanted.append((option, text[len(prefix) :]))
    return wanted


def _mail(text: str) -> str | None:
    lower = text.lower()
    if "n" in lower:
        return "NONE"
    return ",".join(name for letter, name in (("b", "BEGIN"), ("e", "END"), ("a", "FAIL")) if letter in lower) or None


def _resources(text: str) -> Wanted:
    """``-l``: limits after commas, chunks of PBS Pro after colons."""
    wanted: Wanted = []
    chunk: dict[str, str] = {}
    gpus = 0
    at = 0
    while at < len(text):
        name, equals, _ = text[at:].partition("=")
        lower = name.lower()
        if not equals or any(char in name for char in ",:+"):
            at += 1
            continue
        begin = at + len(name) + 1
        end = _until(text, begin, ":" if lower in ("select", "ncpus", "mpiprocs") else ",")
        value = text[begin:end]
        at = end + 1
        if lower == "accelerator":
            gpus = max(gpus, int(value.lower().startswith("true")))
            at = begin
        elif lower == "naccelerators":
            gpus = int(value) if is_number(value) else gpus
        elif lower in ("select", "ncpus", "mpiprocs"):
            chunk[lower] = value
            wanted.append(({"select": "nodes", "ncpus": "mincpus", "mpiprocs": "ntasks-per-node"}[lower], value))
        elif name == "nodes":
            wanted.extend(_nodes(value))
        elif name == "proc":
            wanted.append(("+constraint", value))
        elif name in _PBS_LIMITS:
            bytes_of = name in ("file", "mem") and value[-1:] in ("b", "B")
            wanted.append((_PBS_LIMITS[name], value[:-1] if bytes_of else value))
        elif name not in _PBS_DROPPED:
            # one letter on: sbatch tries every letter as the begin of a resource, so noise before a name is passed over
            at = begin - len(name)
    if len(chunk) == 3 and all(is_number(chunk[key]) for key in ("ncpus", "mpiprocs")):
        cpus, tasks = int(chunk["ncpus"]), int(chunk["mpiprocs"])
        if tasks and cpus > tasks:
            wanted.append(("cpus-per-task", str(cpus // tasks)))
    if gpus:
        wanted.append(("+gres", f"gpu:{gpus}"))
    return wanted


def _until(text: str, at: int, separator: str) -> int:
    end = text.find(separator, at)
    return len(text) if end < 0 else end


def _nodes(text: str) -> Wanted:
    """``nodes=2:ppn=4+n7``: counts, names and what each node has."""
    wanted: Wanted = []
    names: list[str] = []
    count = per_node = 0
    for part in text.replace("+", ":").split(":"):
        key, equals, value = part.partition("=")
        if equals and key == "gpus":
            wanted.append(("gpus-per-node", value))
        elif equals and key == "ppn":
            per_node += int(value) if is_number(value) else 0
        elif is_number(part[:1]):
            count += int(part) if is_number(part) else 0
        elif part[:1].isalpha():
            names.append(part)
    if count:
        wanted.append(("nodes", str(count)))
    if per_node:
        wanted.append(("ntasks", str(per_node * (count or 1))))
    if names:
        wanted.append(("nodelist", compress(names)))
    return wanted
