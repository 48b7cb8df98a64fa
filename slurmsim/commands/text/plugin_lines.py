"""What ``-v`` says of the plugins a command loads."""

from __future__ import annotations

from slurmsim.releases import row

_PLUGINS = {
    "22.05": (
        "select/cons_tres: common_init: select/cons_tres loaded",
        "select/cray_aries: init: Cray/Aries node selection plugin loaded",
        "select/linear: init: Linear node selection plugin loaded with argument {argument}",
        "select/cons_res: common_init: select/cons_res loaded",
    ),
    "24.11": (),
}
_SINFO = {
    **_PLUGINS,
    "24.11": (
        "select/cons_tres: init: select/cons_tres loaded",
        "select/linear: init: Linear node selection plugin loaded with argument {argument}",
    ),
    "26.05": (),
}
_SELECT_BITS = {"CR_CPU": 1, "CR_SOCKET": 2, "CR_CORE": 4, "CR_BOARD": 8, "CR_MEMORY": 16}


def plugin_lines(parameters: str | None, release: str, *, nodes: bool = False) -> list[str]:
    """Return the lines of `release`; `parameters` is SelectTypeParameters or None. `nodes`: the command shows nodes."""
    text = (parameters or "CR_CORE_MEMORY").upper()
    argument = sum(bit for name, bit in _SELECT_BITS.items() if name.removeprefix("CR_") in text)
    return [line.format(argument=argument) for line in row(_SINFO if nodes else _PLUGINS, release)]
