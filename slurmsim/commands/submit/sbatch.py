"""sbatch: a script, its options, and the job id.

Mirrors sbatch 22.05 (later rows from 24.11 and 26.05). The command line is read twice: first to find what it says
about the call itself and the script, then over the script's options and the environment.
"""

from __future__ import annotations

import os

from slurmsim.commands.submit.cli_filter import site_filter
from slurmsim.commands.submit.job_request import Builder
from slurmsim.commands.submit.options import sbatch_usage
from slurmsim.commands.submit.options.chosen_options import BAD_OPTION, Chosen, error_code, said
from slurmsim.commands.submit.options.display import show_options
from slurmsim.commands.submit.scripts import batch_script, job_environment
from slurmsim.commands.submit.scripts.batch_script import BadScript
from slurmsim.commands.submit.submission import (
    Failed,
    each_would_run,
    start_line_together,
    start_lines,
    submit,
    wait_for,
)
from slurmsim.commands.text.clock_text import Dates
from slurmsim.commands.text.cluster_facts import Cluster
from slurmsim.commands.text.messages import Messages, Stop, stoppable
from slurmsim.commands.text.plugin_lines import plugin_lines
from slurmsim.commands.text.release import version_of
from slurmsim.commands.text.values import Context
from slurmsim.releases import row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from slurmsim.commands.io import Io


_NAME = "sbatch"
_BAD_GRES = "Invalid generic resource (gres) specification"


@stoppable
def run(argv: list[str], io: Io) -> int:
    """One sbatch call in the world `io`; the exit code."""
    return _Call(argv, io, Messages(io, _NAME)).run()


class _Call:
    def __init__(self, argv: list[str], io: Io, say: Messages) -> None:
        self.argv, self.io, self.say = argv, io, say
        self.cluster = Cluster(io)
        self.release = self.cluster.release
        self.error_code = error_code(io, say)
        self.context = Context(_NAME, self.release, self.cluster.now, self.cluster.uid, io.cwd, dict(io.environ))
        self.first = Chosen(self.context)
        self.script = ""
        self.path: str | None = None
        self.arguments: list[str] = []
        self.last = self.first
        self.filter = site_filter(io, self.cluster, say, self.error_code)

    def run(self) -> int:
        words = self._first_pass()
        self.say.adjust(int(self.first.get("verbose", 0)), int(self.first.get("quiet", 0)))
        self._read_script()
        jobs = self._jobs(self.argv[: len(self.argv) - words])
        chosen = self.last
        on_cluster = self._on_cluster(chosen)
        try:
            if chosen.get("test_only"):
                self._show_start(list(each_would_run(self.io, jobs, self.say)))
                return 0
            job_id = submit(self.io, jobs, self.say)
        except Failed as failed:
            return self._failed(failed, chosen)
        if self.filter is not None:
            self.filter.post_submit(len(jobs), job_id)
        if not self.first.get("quiet"):
            self._announce(job_id, on_cluster, bool(chosen.get("parsable")))
            self.io.stdout.flush()  # who waits for the job wants to know it
        return wait_for(self.io, job_id, self.say) if chosen.get("wait") else 0

    # -- options ----------------------------------------------------------------------------------------------------

    def _guarded(self, do: Callable[[], Any]) -> Any:
        """`do`, its complaints said and turned into the exit code."""
        try:
            return said(self.say, self.error_code, do)
        except BadScript as bad:
            if bad.fatal:
                self.say.fatal(bad.lines[0])
            for line in bad.lines:
                self.say.error(line)
            raise Stop(self.error_code) from None

    def _first_pass(self) -> int:
        """Read the whole command line; how many words at its end belong to the script."""
        first = self.first
        words = [word for word in self.argv if word != ":"]
        if self.filter is not None:
            self.filter.setup_defaults(first)
        self._guarded(lambda: first.read_variables(self.context.environ, {"ignore-pbs"}))
        rest = self._guarded(lambda: first.parse(words, self._told))
        if rest and first.get("wrap") is not None:
            self.say.error("Script arguments not permitted with --wrap option")
            raise Stop(self.error_code)
        if rest:
            work_dir, search = first.get("work_dir") or self.context.cwd, self.context.environ.get("PATH")
            if search is None and rest[0][:1] not in (".", "/"):
                self.say.error("No PATH environment variable")
            self.path = batch_script.find_script(rest[0], work_dir, search or "")
            self.arguments = rest[1:]
        return len(rest)

    def _told(self, name: str) -> None:
        """Act on an option that ends the call."""
        if name == "version":
            self.io.out(version_of(self.io))
        elif name == "usage":
            self.io.out(row(sbatch_usage.USAGE, self.release))
        elif name == "help":
            rows = [(option.short, option.name, option.argument) for option in self.first.listed()]
            self.io.out(sbatch_usage.help_text(_NAME, rows, "script [arguments...]"))
        elif name == "gres" and str(self.first.get("gres")).lower() in ("gres:help", "gres:list"):
            names = [name for name in (self.cluster.configured("GresTypes") or "").split(",") if name]
            self.io.out("\n".join(["Valid gres options are:", *(f"{name}[[:type]:count]" for name in names)]) + "\n")
        else:
            return
        raise Stop(0)

    def _read_script(self) -> None:
        if self.first.get("wrap") is not None:
            self.script = batch_script.wrapped(self.first.get("wrap"))
            return
        self.script = self._guarded(lambda: batch_script.read_script(self.path, self.context.cwd, self._standard_input))
        if self.path is not None:
            self.io.files[self.path] = self.script

    def _standard_input(self) -> bytes:
        stream = getattr(self.io.stdin, "buffer", None)
        most = batch_script.MAX_SCRIPT_BYTES + 2
        if stream is not None:
            found: bytes = stream.read(most)
            return found
        return self.io.stdin.read(most).encode("utf-8", "surrogateescape")

    def _jobs(self, words: list[str]) -> list[dict[str, Any]]:
        """Return the requests: one, or one for each part of a heterogeneous job."""
        jobs: list[dict[str, Any]] = []
        chosen = Chosen(self.context)
        for name in ("wrap", "verbose", "quiet", "ignore-pbs"):
            if self.first.is_set(name):
                chosen.adopt(self.first, name)
        more = True
        while more:
            if jobs:
                chosen = chosen.next_component()
            if self.filter is not None:
                self.filter.setup_defaults(chosen)
            more, words = self._second_pass(chosen, words, len(jobs))
            if self.filter is not None:
                self.filter.pre_submit(chosen, len(jobs), [] if self.path is None else [self.path, *self.arguments])
            builder = Builder(chosen, self.say, self.error_code, self.cluster.configured)
            builder.verify(self.path)
            if chosen.get("verbose"):
                show_options(chosen, self.say)
            jobs.append(self._job(builder, len(jobs) if more or jobs else None))
            if len(jobs) == 1:
                self._plugin_lines(chosen)
        jobs[0]["script"] = self.script
        self.last = chosen
        return jobs

    def _second_pass(self, chosen: Chosen, words: list[str], component: int) -> tuple[bool, list[str]]:
        """Script, environment, command line; whether there are more components, and the words left for them."""
        file = self.path.rsplit("/", 1)[-1] if self.path is not None else "stdin"
        found = self._guarded(lambda: batch_script.directives(self.script, file, component))
        if found.old_word:
            self.say.error(batch_script.CHANGE_WORD)
        if found.packjob and not component:
            self.say.info(row(batch_script.PACKJOB, self.context.release))
        rest = self._guarded(lambda: chosen.parse(found.words))
        if rest:
            self.say.error(f"Invalid directive found in batch script: {rest[0]}")
            raise Stop(BAD_OPTION)
        if not chosen.get("ignore_pbs"):
            self._guarded(lambda: self._translate(chosen, file))
        self._guarded(lambda: chosen.read_variables(self.context.environ))
        rest = self._guarded(lambda: chosen.parse(words))
        if rest and rest[0] == ":":
            return True, rest[1:]
        return found.more, words

    def _translate(self, chosen: Chosen, file: str) -> None:
        if "\n#PBS" not in self.script and "\n#BSUB" not in self.script:
            return
        from slurmsim.commands.submit.scripts.foreign_script import translate  # rarely wanted

        for name, text in translate(self.script, file):
            if name.startswith("+"):
                name = name[1:]
                before = chosen.text_of(name)
                text = f"{before},{text}" if before and name != "constraint" else f"{text},{before}" if before else text
            chosen.set_by_name(name, text)

    # -- requests ---------------------------------------------------------------------------------------------------

    def _job(self, builder: Builder, component: int | None) -> dict[str, Any]:
        """One request, without the script."""
        chosen = builder.chosen
        self.io.exported |= batch_script.named(str(chosen.get("export_env") or ""))
        job = builder.request()
        job.setdefault("name", _NAME)
        host = os.uname().nodename
        try:
            job["environment"] = job_environment.batch_environment(builder, component, host)
            job["rlimits"] = job_environment.resource_limits(chosen.get("propagate"))
        except job_environment.NoFile as missing:
            self.say.error(str(missing))
            raise Stop(1) from None
        except ValueError as wrong:
            self.say.error(f"Bad rlimit name: {wrong}")
            self.say.error(f"--propagate={chosen.get('propagate')} is not valid.")
            raise Stop(self.error_code) from None
        job.update(
            command=self.path,
            argv=self.arguments,
            umask=self._umask(chosen),
            alloc_node=host,
            alloc_sid=os.getsid(0),
            submit_line=" ".join([_NAME, *self.argv]),
            submit_dir=self.context.cwd,
        )
        return job

    def _umask(self, chosen: Chosen) -> int:
        if chosen.get("umask") is not None:
            return int(chosen.get("umask"))
        text = self.context.environ.get("SLURM_UMASK", "")
        if text and not set(text) - set("01234567"):
            return int(text, 8) & 0o777
        return self.io.umask

    def _plugin_lines(self, chosen: Chosen) -> None:
        if not chosen.get("verbose"):
            return
        for line in plugin_lines(self.cluster.configured("SelectTypeParameters"), self.release):
            self.say.verbose(line)

    # -- after ------------------------------------------------------------------------------------------------------

    def _on_cluster(self, chosen: Chosen) -> str:
        """Return the cluster that was named with ``-M``, empty when none was."""
        names = chosen.get("clusters")
        if names is None:
            return ""
        lines = self.cluster.not_reached(names)
        if not lines:
            return self.cluster.name
        for line in lines:
            self.say.error(line)
        raise Stop(self.error_code)

    def _failed(self, failed: Failed, chosen: Chosen) -> int:
        for line in failed.notes:
            self.say.error(line)
        if failed.text == _BAD_GRES and not chosen.get("clusters"):  # sbatch finds it out itself
            self.say.error(failed.text)
            return self.error_code
        if chosen.get("test_only"):
            self.say.plain(f"allocation failure: {failed.text}")
            return 1
        self.say.error(f"Batch job submission failed: {failed.text}")
        return self.error_code

    def _show_start(self, components: list[dict[str, Any]]) -> None:
        dates = Dates(self.context.environ, self.cluster.now, unset="Unknown")
        found = components[0]
        if len(components) > 1:
            self.say.info(start_line_together(components, dates(max(one["start_time"] for one in components))))
            return
        for line in start_lines(found, dates(found["start_time"]), self.release):
            self.say.info(line)

    def _announce(self, job_id: int, cluster: str, parsable: bool) -> None:
        if parsable:
            self.io.out(f"{job_id};{cluster}\n" if cluster else f"{job_id}\n")
        else:
            self.io.out(f"Submitted batch job {job_id}" + (f" on cluster {cluster}" if cluster else "") + "\n")
