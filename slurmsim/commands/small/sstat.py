"""sstat: what running steps use. Nothing is measured here, as with jobacct_gather/none: steps are listed, usage is not.

Mirrors src/sstat of Slurm 22.05; columns 24.11 and 26.05 have more of are rows.
"""

from __future__ import annotations

from slurmsim import releases, sluid
from slurmsim.commands.io import FAILED_CALLS
from slurmsim.commands.squeue.step_columns import SPECIAL_STEPS
from slurmsim.commands.text import short_helps
from slurmsim.commands.text.option_reader import NO, REQUIRED, OptionError, Parser, options
from slurmsim.commands.text.release import release_of, version_of
from slurmsim.commands.text.widths import width_of
from slurmsim.fast_imports import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmsim.commands.io import Io


_OPTIONS = options(
    ("allsteps", NO, "a"), ("helpformat", NO, "e"), ("help", NO, "h"), ("jobs", REQUIRED, "j"),
    ("noheader", NO, "n"), ("fields", REQUIRED, "o"), ("format", REQUIRED, "o"), ("noconvert", NO, "noconvert"),
    ("pidformat", NO, "i"), ("parsable", NO, "p"), ("parsable2", NO, "P"), ("usage", NO, "usage"),
    ("verbose", NO, "v"), ("version", NO, "V"),
)  # fmt: skip
_FIELDS = """
10 AveCPU
10 AveCPUFreq
12 AveDiskRead
12 AveDiskWrite
10 AvePages
10 AveRSS
10 AveVMSize
14 ConsumedEnergy
17 ConsumedEnergyRaw
-12 JobID
12 MaxDiskRead
15 MaxDiskReadNode
15 MaxDiskReadTask
12 MaxDiskWrite
16 MaxDiskWriteNode
16 MaxDiskWriteTask
8 MaxPages
12 MaxPagesNode
14 MaxPagesTask
10 MaxRSS
10 MaxRSSNode
10 MaxRSSTask
10 MaxVMSize
14 MaxVMSizeNode
14 MaxVMSizeTask
10 MinCPU
10 MinCPUNode
10 MinCPUTask
20 Nodelist
8 NTasks
20 Pids
10 ReqCPUFreq
13 ReqCPUFreqMin
13 ReqCPUFreqMax
13 ReqCPUFreqGov
14 TRESUsageInAve
14 TRESUsageInMax
18 TRESUsageInMaxNode
18 TRESUsageInMaxTask
14 TRESUsageInMin
18 TRESUsageInMinNode
18 TRESUsageInMinTask
14 TRESUsageInTot
15 TRESUsageOutAve
15 TRESUsageOutMax
19 TRESUsageOutMaxNode
19 TRESUsageOutMaxTask
15 TRESUsageOutMin
19 TRESUsageOutMinNode
19 TRESUsageOutMinTask
15 TRESUsageOutTot
"""
_SHOWN = (
    "jobid,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss,maxrssnode,maxrsstask,averss,maxpages,maxpagesnode,"
    "maxpagestask,avepages,mincpu,mincpunode,mincputask,avecpu,ntasks,avecpufreq,reqcpufreqmin,reqcpufreqmax,"
    "reqcpufreqgov,consumedenergy,maxdiskread,maxdiskreadnode,maxdiskreadtask,avediskread,maxdiskwrite,"
    "maxdiskwritenode,maxdiskwritetask,avediskwrite,tresusageinave,tresusageinmax,tresusageinmaxnode,"
    "tresusageinmaxtask,tresusageinmin,tresusageinminnode,tresusageinmintask,tresusageintot,tresusageoutave,"
    "tresusageoutmax,tresusageoutmaxnode,tresusageoutmaxtask,tresusageoutmin,tresusageoutminnode,"
    "tresusageoutmintask,tresusageouttot"
)
_FIRST = {"22.05": ("", ""), "25.05": ("10 AllocTRES", ""), "26.05": ("10 AllocTRES", "14 SLUID\n")}
_DEFAULT = {"22.05": _SHOWN, "25.05": _SHOWN.replace("jobid,", "jobid,alloctres,", 1)}
_ASKED = ("job_id", "step_id", "nodes", "tres_alloc_str", "sluid")
_JOB = {"22.05": "job {}", "26.05": "JobId={}"}
_UNMEASURED = {
    "AveCPU": "213503982334-14:25:51", "NTasks": "0", "AveCPUFreq": "0", "ReqCPUFreq": "Unknown",
    "ReqCPUFreqMin": "Unknown", "ReqCPUFreqMax": "Unknown", "ReqCPUFreqGov": "Unknown", "ConsumedEnergy": "0",
    "ConsumedEnergyRaw": "0",
}  # fmt: skip
"""What sstat shows where nothing was gathered; the time is the largest its counter holds."""
_USAGE = "Usage: sstat [options] -j <job(.stepid)>\n\tUse --help for help\n"
_WIDTH = pattern(r"-?\d+")
_ID = pattern(r"(?a)(\d+(?:_\d+)?|s\w{13})(?:\.(\w+))?")


def _help(io: Io) -> str:
    return short_helps.text("sstat", _OPTIONS)


def run(argv: list[str], io: Io) -> int:
    """One sstat call in the world `io`; the exit code."""
    release = release_of(io)
    known: dict[str, str] = {}
    for line in filter(None, _known(release).split("\n")):
        width, name = line.split()
        known[name] = width
    parser = Parser(_OPTIONS, permute=True)
    given: dict[str, list[str]] = {}
    try:
        for key, value in parser.parse(argv):
            given.setdefault(key, []).append(value or "")
    except OptionError as error:
        io.error(f"sstat: {error}")
        return 1
    for keys, text in (("V",), version_of), (("h",), _help), (("usage",), lambda _: _USAGE):
        if any(key in given for key in keys):
            io.out(text(io))
            return 0
    if "e" in given:
        io.out(_columns_of(list(known)))
        return 0
    try:
        fields = _fields_of(given, known, release)
        asked = _asked(given, parser.rest)
    except _Wrong as wrong:
        io.error(f"sstat: {wrong}")
        return 1
    return _Table(io, release, fields, given).show(asked)


class _Wrong(Exception):
    """What is wrong with the command line."""


def _fields_of(given: dict[str, list[str]], known: dict[str, str], release: str) -> list[tuple[str, int]]:
    """Return names and widths of the columns. Raises _Wrong."""
    wanted = ",".join(given.get("o", [])) or ("jobid,nodelist,pids" if "i" in given else "")
    fields = []
    for word in filter(None, (w.strip() for w in (wanted or releases.row(_DEFAULT, release)).split(","))):
        name, _, width = word.partition("%")
        found = next((field for field in known if field.lower().startswith(name.lower())), None)
        if found is None:
            raise _Wrong(f'error: Invalid field requested: "{name}"')
        digits = _WIDTH.match(width)
        fields.append((found, (width_of(digits[0]) if digits else 0) or int(known[found])))
    return fields


def _asked(given: dict[str, list[str]], rest: list[str]) -> list[str]:
    """Return the jobs and steps that are asked for. Raises _Wrong."""
    asked = [word for words in [*given.get("j", []), *rest[:1]] for word in words.split(",") if word]
    if not asked:
        raise _Wrong("error: You didn't give me any jobs to stat.")
    for word in asked:
        if not "0" <= word[0] <= "9" and sluid.number_of(word.partition(".")[0]) is None:
            raise _Wrong(f"fatal: Bad job/step specified: {word}{': SLUID is invalid' if word[0] == 's' else ''}")
    for word in asked:
        base, underscore, task = word.partition("_")
        if underscore and not "0" <= task[:1] <= "9":
            raise _Wrong(f"fatal: Bad job array element specified: {base}")
    return asked


def _known(release: str) -> str:
    """Return widths and names, in order."""
    first, before = releases.row(_FIRST, release)
    return str(first + _FIELDS.replace("14 TRESUsageInAve", f"{before}14 TRESUsageInAve", 1))


def _columns_of(names: list[str]) -> str:
    rows = [names[k : k + 4] for k in range(0, len(names), 4)]
    return "\n".join(" ".join(f"{name:<19}" for name in row) for row in rows) + "\n"


class _Table:
    """The lines of one call."""

    def __init__(self, io: Io, release: str, fields: list[tuple[str, int]], given: dict[str, list[str]]) -> None:
        self.io, self.release, self.fields, self.given = io, release, fields, given

    def show(self, asked: list[str]) -> int:
        if "n" not in self.given:
            self._line([name for name, _ in self.fields], header=True)
            if not self._parsable():
                self.io.out("".join("-" * abs(width) + " " for _, width in self.fields) + "\n")
        for word in asked:
            self.io.stdout.flush()
            self._steps(word)
        return 0

    def _parsable(self) -> bool:
        return "p" in self.given or "P" in self.given

    def _line(self, values: list[str], header: bool = False) -> None:
        if self._parsable():
            self.io.out("|".join(values) + ("|" if "p" in self.given and "P" not in self.given else "") + "\n")
            return
        cells = []
        for value, (_, width) in zip(values, self.fields, strict=True):
            most = abs(width)
            text = value if len(value) <= most else value[: most - (0 if header else 1)] + ("" if header else "+")
            cells.append(text.ljust(most) if width < 0 else text.rjust(most))
        self.io.out("".join(f"{cell} " for cell in cells) + "\n")

    def _steps(self, word: str) -> None:
        match = _ID.fullmatch(word)
        job = match[1] if match else word
        known = sluid.number_of(job) is not None
        named: str = f"SLUID={job}" if known else releases.row(_JOB, self.release).format(job)
        try:
            found = self.io.client.call(
                "steps", job_id=job, fields=["job_id", "step_id", "nodes", "tres_alloc_str", "sluid"]
            )
        except FAILED_CALLS:
            self.io.error(f"sstat: error: couldn't get steps for {named}")
            return
        columns = found["columns"]
        rows = [{name: column[k] for name, column in columns.items()} for k in range(found["n"])]
        step = match[2] if match else None
        if step is not None:
            rows = [row for row in rows if SPECIAL_STEPS.get(row["step_id"], str(row["step_id"])) == step]
            if not rows:
                self.io.error(f"sstat: error: StepId={word} not found running.")
                return
        elif not rows:
            self.io.error(f"sstat: error: No steps running for {named}")
            return
        elif "a" not in self.given:
            rows = [row for row in rows if row["step_id"] not in SPECIAL_STEPS][:1]
        for row in rows:
            if found.get("measuring_denied"):
                refused, step = "Invalid user id", f"StepId={row['job_id']}.{row['step_id']}"
                self.io.error("sstat: error: slurm_job_step_stat: there was an error with the request to "
                              f"{row['nodes']} rc = {refused}")  # fmt: skip
                self.io.error(f"sstat: error: problem getting step_layout for {step}: {refused}")
                continue
            self._line([self._value(name, row) for name, _ in self.fields])

    def _value(self, name: str, row: dict[str, Any]) -> str:
        if name == "JobID":
            return f"{row['job_id']}.{SPECIAL_STEPS.get(row['step_id'], row['step_id'])}"
        if name == "Nodelist":
            return str(row["nodes"])
        if name == "SLUID":
            return str(row["sluid"] or "")
        if name == "AllocTRES":
            return str(row["tres_alloc_str"] or "")
        return _UNMEASURED.get(name, "")
