"""sinfo: partitions and nodes as a table.

Mirrors sinfo 22.05 (later rows from 24.11 and 26.05). What can be shown is in `columns`; which nodes share a
line, and in what order lines come, in `groups`.
"""

from __future__ import annotations

from slurmsim.commands.io import FAILED_CALLS, text_of
from slurmsim.commands.sinfo.options import read
from slurmsim.commands.text import print_fields
from slurmsim.commands.text.clock_text import Dates, long_clock
from slurmsim.commands.text.cluster_facts import Cluster, named_cluster
from slurmsim.commands.text.iterating import print_repeatedly
from slurmsim.commands.text.messages import stoppable
from slurmsim.commands.text.plugin_lines import plugin_lines
from slurmsim.commands.text.release import of_openapi, release_of
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmsim.commands.io import Io
    from slurmsim.commands.sinfo.groups import Group
    from slurmsim.commands.sinfo.options import Asked
    from slurmsim.commands.text.print_fields import Layout, Table


_MIN_PARTITION_WIDTH, _MIN_NODE_WIDTH = 9, 9


@stoppable
def run(argv: list[str], io: Io) -> int:
    """One sinfo call in the world `io`; the exit code."""
    asked = read(argv, io, release_of(io))
    asked.argv = list(argv)
    if asked.dump and of_openapi("sinfo", asked.release, io):
        from slurmsim.commands.json.openapi_node import dump_nodes  # rarely wanted

        return dump_nodes(asked.dump, io, asked.release)
    layout = None if asked.reservations else _layout(asked, io)
    if asked.clusters is not None:
        asked.clusters = named_cluster(io, "sinfo", asked.clusters)
    if asked.verbose:
        from slurmsim.commands.sinfo.verbose import options_text

        io.out(options_text(asked, [column.group for column in layout.columns()] if layout else []))
        plugins = Cluster(io).configured("SelectTypeParameters") if layout else None
        for line in plugin_lines(plugins, asked.release, nodes=True) if layout else ():
            io.error(f"sinfo: {line}")
    if layout is None:
        return print_repeatedly(asked, io, lambda: _print_reservations(asked, io))
    return print_repeatedly(asked, io, lambda: _print_nodes(asked, layout, io))


def _layout(asked: Asked, io: Io) -> Layout:
    from slurmsim.commands.sinfo.columns import COLUMNS

    text = asked.format or ""
    letters = print_fields.by_letter(COLUMNS, asked.release)
    if not asked.long_names:
        layout = print_fields.parse_letters(text, letters, all_upper_blank=True)
        for name in layout.unknown:
            io.error(f"Invalid node format specification: {name or chr(0)}")
        return layout
    everything = print_fields.parse_letters("%all", letters, all_upper_blank=True)
    layout = print_fields.parse_names(text, print_fields.by_name(COLUMNS, asked.release), all_layout=everything)
    unknown = list(layout.unknown)
    if since(asked.release, "all_is_no_field"):  # prints all, and complains about the word
        unknown = [word.partition(":")[0] for word in text.split(",")
                   if word.partition(":")[0].lower() == "all" or word.partition(":")[0] in unknown]  # fmt: skip
    for name in unknown:
        io.error(f"sinfo: error: Invalid job format specification: {name}")
    return layout


# ---- nodes ----


def _print_nodes(asked: Asked, layout: Layout, io: Io) -> int:
    shown = layout.fields() | ({"list:name"} if asked.fit_nodes else set())
    found = _grouped(asked, layout, shown, io)
    if found is None:
        return 1
    groups, values, partitions, nodes, now = found
    if asked.dump:
        from slurmsim.commands.json.command import Dump
        from slurmsim.commands.json.sinfo import lines

        dump = Dump(io, asked.release, asked.dump, asked.parser, ["sinfo", *asked.argv])
        dump.write(lines(groups, values, partitions, nodes, dump.version))
        return 0
    labels = [partition_label(partitions, group.partition) for group in groups]
    _print_table(asked, layout, values, labels, io, now)
    return 0


def _grouped(
    asked: Asked, layout: Layout, shown: set[str], io: Io
) -> tuple[list[Group], Table, Table, Table, int] | None:
    """Return the lines in order: their nodes, what is shown of them, both tables and the present; None: it failed."""
    from slurmsim.commands.sinfo import groups as node_groups

    kinds = frozenset(column.group for column in layout.columns() if column.group)
    if asked.dump and since(asked.release, "documents_apart_by_gres"):
        kinds |= {"gres_used"}
    letters = node_groups.sort_letters(asked.sort if asked.sort is not None else "N" if asked.by_node else "#P,-t")
    shown = shown | node_groups.sort_fields(letters)
    apart_nodes, apart_partitions = node_groups.apart_fields(kinds, asked.exact)
    node_fields, partition_fields = _needed(shown)
    if asked.dump:
        from slurmsim.commands.json.sinfo import COUNTS, NODE_FIELDS, PARTITION_FIELDS

        shown, node_fields = shown | COUNTS, node_fields | NODE_FIELDS
        partition_fields |= PARTITION_FIELDS
    partitions = _load(io, "partitions", {"name", "nodes", "default", *partition_fields, *apart_partitions}, asked.all)
    if partitions is None:
        return None
    one = {"single": True} if asked.nodes is not None and len(asked.nodes) == 1 else {}
    nodes = _load(io, "nodes", {*node_groups.NODE_FIELDS, *node_fields, *apart_nodes}, asked.all, **one)
    if nodes is None:
        return None
    table = nodes["columns"]
    _mark_mixed(table)
    names = None if asked.nodes is None else frozenset(asked.nodes)
    silent = True if asked.dead else False if asked.responding else None
    if asked.dead and asked.responding:
        names, silent = frozenset(), None
    rows = node_groups.passing(
        table, nodes["n"], names=names, silent=silent, states=asked.states, every=asked.every_state
    )
    groups = node_groups.group_nodes(
        partitions["columns"], table, rows, kinds=kinds, exact=asked.exact, by_node=asked.by_node,
        anywhere=asked.reasons, chosen=None if asked.partitions is None else frozenset(asked.partitions),
    )  # fmt: skip
    values = node_groups.group_table(groups, shown, partitions["columns"], table)
    order = node_groups.sort_groups(groups, values, letters, kinds)
    values = {field: [column[row] for row in order] for field, column in values.items()}
    return [groups[row] for row in order], values, partitions["columns"], table, int(nodes["now"])


def partition_label(partitions: Table, row: int) -> str:
    """Return a partition's name as it is printed, for the width of its column."""
    return f"{partitions['name'][row]}*" if partitions["default"][row] else str(partitions["name"][row])


def _needed(shown: set[str]) -> tuple[set[str], set[str]]:
    """Fields of nodes and of partitions behind the fields of lines."""
    nodes, partitions = set(), set()
    for field in shown:
        how, _, name = field.partition(":")
        if how == "part":
            partitions.add(name)
        elif how not in ("n", "cpu"):
            nodes.add(name)
    return nodes, partitions


def _load(io: Io, what: str, fields: set[str], everything: bool, **more: bool) -> dict[str, Any] | None:
    try:
        return io.client.call(what, fields=sorted(fields), show_all=everything, **more)
    except FAILED_CALLS as error:
        io.error(f"slurm_load_{'partitions' if what == 'partitions' else 'node'}: {text_of(error)}")
        return None


def _mark_mixed(nodes: Table) -> None:
    """Mark nodes as mixed, or as allocated while they are drained, if jobs have some but not all CPUs that they may."""
    states, flags = nodes["state"], nodes["state_flags"]
    for row, (used, total) in enumerate(zip(nodes["alloc_cpus"], nodes["cpus_efctv"], strict=True)):
        if used and used < (total or 0):
            states[row] = "ALLOCATED" if "DRAIN" in (flags[row] or ()) else "MIXED"


def _print_table(asked: Asked, layout: Layout, values: Table, labels: list[str], io: Io, now: int) -> None:
    from slurmsim.commands.sinfo.columns import Show

    widths: dict[str, int] = {}
    if asked.fit_partition:
        widths["PARTITION"] = max([_MIN_PARTITION_WIDTH, *map(len, labels)])
    if asked.fit_nodes:
        widths["NODELIST"] = widths["HOSTNAMES"] = max([_MIN_NODE_WIDTH, *map(len, values["list:name"])])
    dates = Dates(io.environ, now, unset="Unknown")
    digits = 10 if since(asked.release, "ten_digits") else 7
    exclusive = "NO" if since(asked.release, "exclusive_of_partitions") else "EXCLUSIVE"
    show = Show(dates, convert=asked.convert, digits=digits, cluster=asked.clusters, exclusive=exclusive,
                mixed_fails=since(asked.release, "mixed_fails"))  # fmt: skip
    layout = _starred(layout, widths)
    if not asked.no_header:
        io.out(print_fields.header(layout, widths) + "\n")
    count = len(labels)
    lines = print_fields.lines(layout, show, values, count, widths)
    if dates.problem:
        io.error(f"sinfo: error: {dates.problem}")
    if lines:
        io.out("\n".join(lines))
        io.out("\n")


def _starred(layout: Layout, widths: dict[str, int]) -> Layout:
    """Return the columns as their widths make them: the default partition's star takes the last place of a full one."""
    from slurmsim.commands.sinfo.columns import partition_text

    specs = list(layout.specs)
    for at, spec in enumerate(specs):
        width = widths.get("PARTITION", spec.width)
        if spec.width < 0 and not spec.right:
            specs[at] = spec._replace(column=None)  # printf takes a negative precision to mean: nothing
        elif spec.column is not None and "part:default" in spec.column.fields and width > 0:
            specs[at] = spec._replace(column=spec.column._replace(
                render=lambda _, name, default, width=width: partition_text(name, default, width)
            ))  # fmt: skip
    return print_fields.Layout(layout.prefix, tuple(specs), layout.unknown)


# ---- reservations ----


def _print_reservations(asked: Asked, io: Io) -> int:
    try:
        answer = io.client.call("reservations", fields=["name", "start_time", "end_time", "node_list"])
    except FAILED_CALLS as error:
        io.error(f"slurm_load_reservations: {text_of(error)}")
        return 1
    if not answer["n"]:
        io.out("No reservations in the system\n")
        return 0
    columns, now = answer["columns"], answer["now"]
    dates = Dates(io.environ, now, unset="Unknown")
    width = 9 if asked.no_header else max([9, *(len(name or "") for name in columns["name"])])
    if not asked.no_header:
        io.out(_reservation_line(width, "RESV_NAME", "STATE", "START_TIME", "END_TIME", "DURATION", "NODELIST"))
    fields = (columns[field] for field in ("name", "start_time", "end_time", "node_list"))
    for name, start, end, nodes in zip(*fields, strict=True):
        state = "ACTIVE" if start <= now <= end else "INACTIVE"
        texts = (dates(start), dates(end), long_clock(end - start), "(null)" if nodes is None else nodes)
        io.out(_reservation_line(width, name or "(null)", state, *texts))
    if dates.problem:
        io.error(f"sinfo: error: {dates.problem}")
    return 0


def _reservation_line(width: int, name: str, state: str, start: str, end: str, duration: str, nodes: str) -> str:
    return f"{name:<{width}}  {state:>8}  {start:>19}  {end:>19}  {duration:>11}  {nodes}\n"
