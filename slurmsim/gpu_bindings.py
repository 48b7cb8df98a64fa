"""Bindings of tasks to GRES and frequencies of GPUs: what ``--gpu-freq``, TresBind and TresFreq may hold.

Mirrors tres_bind_verify_cmdline and tres_freq_verify_cmdline (common/tres_bind.c, tres_frequency.c; 22.05 to 26.05).
"""

from slurmsim.numerals import is_number
from slurmsim.release_changes import since

_SHARED = ("gres/mps", "gres/shard")


def is_frequency(text: str) -> bool:
    """Return True for the frequency of a GPU: ``medium``, ``450,memory=high,verbose``.

    >>> is_frequency("low,memory=high"), is_frequency("1234,verbose"), is_frequency("x"), is_frequency("")
    (True, True, False, False)
    """
    words = [word.removeprefix("memory=") for word in text.split(",") if word and word != "verbose"]
    return bool(text) and all(is_number(word) or word in ("low", "medium", "high", "highm1") for word in words)


def are_frequencies(text: str) -> bool:
    """Return True for a TresFreq: frequencies of GPUs, each after ``gpu:``, with semicolons between them.

    >>> are_frequencies("gpu:low"), are_frequencies(""), are_frequencies("gpu:low;gpu:high"), are_frequencies("nic:low")
    (True, True, True, False)
    """
    parts = [part.partition(":") for part in text.split(";") if part]
    return all(name == "gpu" and is_frequency(rest) for name, _, rest in parts)


def are_bindings(text: str, release: str) -> bool:
    """Return True for a TresBind; since 24.11 it names GRES.

    >>> are_bindings("gpu:closest", "22.05"), are_bindings("gpu:closest", "24.11")
    (True, False)
    >>> are_bindings("gres/gpu:map:0,1+gres/nic:none", "24.11"), are_bindings("gres/gpu:closest", "22.05")
    (True, False)
    """
    named = since(release, "bindings_of_gres")
    for part in text.split("+" if named else ";"):
        name, colon, rest = part.partition(":")
        known = name.startswith("gres/") if named else name == "gpu"
        if part and not (colon and known and _is_binding(rest, named, name in _SHARED)):
            return False
    return True


def _is_binding(text: str, named: bool, shared: bool) -> bool:
    """Return True for ``closest``, ``single:2``, ``map_gpu:0,1`` and others; GRES that jobs share take two of them."""
    body = text.lower().removeprefix("verbose,")
    word, colon, rest = body.partition(":")
    if body.startswith("none" if named else "n"):
        return True
    if word == "per_task" or (word == "single" and not shared):
        return bool(colon) and not rest.lstrip().startswith("-")
    if shared or body.startswith("closest" if named else "c"):
        return not shared
    if word in (("map_gpu", "map") if named else ("map_gpu",)):
        return bool(colon) and _are_numbers(rest.split(","), "0123456789")
    known = word in (("mask_gpu", "mask") if named else ("mask_gpu",))
    masks = [mask.removeprefix("0x") for mask in rest.split(",")]
    return known and bool(colon) and _are_numbers(masks, "0123456789abcdef")


def _are_numbers(words: list[str], digits: str) -> bool:
    """Return True if each is a number, perhaps with a star and how often it is repeated."""
    return all(set(word) <= {*digits, "*"} and word.count("*") <= 1 for word in words)
