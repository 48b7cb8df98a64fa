"""Run modules of the suite and write down what became of each test.

``python -m tests.upstream.run [-o RESULTS.json] [-j N] [MODULE…]`` (numbers as 116, or names); SLURM_TESTSUITE is the
folder. With ``-j`` N runs share the modules, each with a prefix of its own; each takes the next one not begun yet.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from tests.upstream.installation import HERE, Installation

LIMIT_S = 600
_OPTIONS = ("-p", "no:cacheprovider", "-p", "no:slurmsim", "-p", "no:xdist", "--auto-config", "--no-color",
            "--color=no", "--disable-warnings", "-o", "junit_logging=no")  # fmt: skip
SUITE = "SLURM_TESTSUITE"
_REASON = 600  # characters of a failure's message that are kept


def modules_of(suite: Path, wanted: list[str]) -> list[str]:
    """Return the suite's modules, or those that begin with one of `wanted`, by name."""
    names = sorted(path.stem for path in (suite / "python" / "tests").glob("test_*.py"))
    wanted = [word if word.startswith("test_") else f"test_{word}" for word in wanted]
    found = [name for name in names if not wanted or any(f"{name}_".startswith(f"{word}_") for word in wanted)]
    if not found:
        raise SystemExit(f"no module of {', '.join(wanted)}")
    return found


def inside(installation: Installation, names: list[str], results: Path, limit_s: int) -> None:
    """Run the modules that no other run has begun, in the namespaces of `enter.sh`."""
    found: dict[str, Any] = json.loads(results.read_text("utf-8")) if results.exists() else {}
    for name in names:
        if not claimed(results.parent, name):
            continue
        begin = time.monotonic()
        found[name] = run_module(installation, name, limit_s)
        seconds = round(time.monotonic() - begin, 1)
        counts: dict[str, int] = {}
        for test in found[name]:
            counts[test["outcome"]] = counts.get(test["outcome"], 0) + 1
        print(f"{name} {seconds} s {counts}", flush=True)
        results.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", "utf-8")


def claimed(folder: Path, name: str) -> bool:
    """Return True if this run is the one that begins the module, of those whose results are in one folder."""
    try:
        (folder / f"{name}.begun").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def run_module(installation: Installation, name: str, limit_s: int) -> list[dict[str, Any]]:
    """Return the tests of one module with outcome, seconds and why."""
    from tests.upstream.standins.asking import ask

    prefix = installation.prefix
    report = prefix / "var" / f"{name}.xml"
    log = prefix / "var" / f"{name}.log"
    report.unlink(missing_ok=True)
    command = [
        sys.executable, "-P", "-m", "pytest", "-s", "-rN", "-v", *_OPTIONS, f"--junitxml={report}",
        f"--basetemp=/tmp/{prefix.name}-{name}", f"tests/{name}.py",
    ]  # fmt: skip
    late = False
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=installation.suite / "python", stdout=out, stderr=out, stdin=subprocess.DEVNULL,
            env=installation.environment, start_new_session=True,
        )  # fmt: skip
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            late = True
            process.send_signal(signal.SIGINT)  # pytest then still writes its report
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    ask(str(prefix), "reset")
    restore(prefix)
    tests = read_report(report) if report.exists() else []
    if late:
        tests.append({"test": "module", "outcome": "error", "why": f"not finished after {limit_s} s"})
    elif not tests:
        tail = log.read_text("utf-8", "replace").strip().splitlines()[-1:]
        tests.append({"test": "module", "outcome": "error", "why": f"no report: {' '.join(tail)[:_REASON]}"})
    return tests


def restore(prefix: Path) -> None:
    """Put the configuration back, as the suite does when it comes to its end."""
    subprocess.run(["rsync", "-a", "--delete", f"{prefix}/etc.orig/", f"{prefix}/etc/"], check=True)


def read_report(path: Path) -> list[dict[str, Any]]:
    """Return the tests of a JUnit file."""
    found = []
    for case in ET.parse(path).getroot().iter("testcase"):
        outcome, why = "passed", ""
        for kind, word in (("skipped", "skipped"), ("error", "error"), ("failure", "failed")):
            part = case.find(kind)
            if part is not None:
                outcome, why = word, str(part.get("message") or "")
                if word == "skipped" and part.get("type") == "pytest.xfail":
                    outcome = "xfailed"
        found.append({"test": f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}", "outcome": outcome,
                      "seconds": round(float(case.get("time", 0)), 1), "why": why[:_REASON]})  # fmt: skip
    return found


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*")
    parser.add_argument("-o", "--output", type=Path, default=Path("upstream.json"))
    parser.add_argument("--prefix", type=Path, default=Path("/tmp/upstream"))
    parser.add_argument("--limit", type=int, default=LIMIT_S, help="seconds for each module")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="runs beside each other")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    suite = os.environ.get(SUITE)
    if not suite or not (Path(suite) / "python").is_dir():
        print(f"{SUITE} names no folder `testsuite` of Slurm's sources", file=sys.stderr)
        return 2
    installation = Installation(args.prefix, Path(suite).resolve())
    names = modules_of(installation.suite, args.modules)
    if args.inside:
        inside(installation, names, args.output.absolute(), args.limit)
        return 0
    return shared(args, names)


def shared(args: argparse.Namespace, names: list[str]) -> int:
    """Run the modules in as many processes as asked for, join their results, and print what time they took."""
    begin = time.monotonic()
    folder = Path(f"{args.output.absolute()}.parts")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    runs: list[subprocess.Popen[bytes]] = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        runs += (started(args, names, folder / f"{number}.json", number) for number in range(args.jobs))
        codes = [run.wait() for run in runs]
    finally:
        for run in runs:
            run.kill()  # all processes of its namespaces end with it
    output = args.output
    found: dict[str, Any] = json.loads(output.read_text("utf-8")) if output.exists() else {}
    for part in sorted(folder.glob("*.json")):
        found |= json.loads(part.read_text("utf-8"))
    output.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", "utf-8")
    shutil.rmtree(folder)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    minutes, cpu = (time.monotonic() - begin) / 60, (used.ru_utime + used.ru_stime) / 60
    print(f"{len(names)} modules in {minutes:.1f} minutes, {cpu:.1f} minutes of CPU", flush=True)
    return max(codes)


def started(args: argparse.Namespace, names: list[str], results: Path, number: int) -> subprocess.Popen[bytes]:
    """Start one run of the modules, with its own prefix, and return its process; to end this one ends all within."""
    prefix = Path(f"{args.prefix}{number or ''}")
    installation = Installation(prefix, Path(os.environ[SUITE]).resolve())
    installation.make()
    command = [
        str(HERE / "standins" / "enter.sh"), str(prefix), sys.executable, sys.executable, "-m",
        "tests.upstream.run", "--inside", "-o", str(results), "--prefix", str(prefix),
        "--limit", str(args.limit), *names,
    ]  # fmt: skip
    environment = {
        **os.environ, **installation.environment, "UPSTREAM_PATH": installation.path, SUITE: str(installation.suite),
    }  # fmt: skip
    return subprocess.Popen(command, env=environment)


if __name__ == "__main__":
    sys.exit(main())
