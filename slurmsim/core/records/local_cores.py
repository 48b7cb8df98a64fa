"""Which cores and devices of a node its jobs have, where some devices are beside some of its sockets only.

Elsewhere counts are enough. Nodes with devices are followed here if gres.conf gives some of them ``Cores=`` that leave
out a socket; then what a job gets depends on which cores are free, not only on how many. They are followed, too, where
jobs share GPUs (shard, mps): a GPU is taken as a whole or in shares, and its shares lie together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from slurmsim.bitmap import Bitmap, from_indices
from slurmsim.core.records.allocation import Allocation, Hold
from slurmsim.core.records.value import Value
from slurmsim.data_classes import dataclass
from slurmsim.errors import InvariantError
from slurmsim.model.node import Gres, NodeSpec

Kinds = Sequence[tuple[str, str]]


class Sharing(NamedTuple):
    """How jobs share GPUs (SelectTypeParameters).

    `several`: a job may have shares of several GPUs of a node; `least_loaded`: the GPU with the most free shares comes
    first; `one_task`: tasks of a job have no GPU together, if the job does not say otherwise.
    """

    several: bool = False
    least_loaded: bool = False
    one_task: bool = False


class Device(NamedTuple):
    """One device: its bit among those of the node, its kind, and the sockets it is beside (empty: all of them)."""

    bit: int
    kind: int
    sockets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NodeLayout(Value):
    """What lies where on a node: cores as bits, socket after socket, and devices by name.

    `shared`: how many shares each GPU has, by kind of shard or MPS. `told_apart`: GPUs have types or Cores.
    """

    sockets: int
    each: int
    threads: int
    cores: int
    devices: tuple[tuple[str, tuple[Device, ...]], ...]
    shared: tuple[tuple[int, tuple[int, ...]], ...] = ()
    told_apart: bool = False

    def of_name(self, name: str) -> tuple[Device, ...]:
        """Return the devices called `name`."""
        return next((found for called, found in self.devices if called == name), ())

    def of_kind(self, kind: int) -> int:
        """Return the devices of `kind` as bits."""
        return sum(device.bit for _, found in self.devices for device in found if device.kind == kind)

    def socket(self, number: int) -> int:
        """Return the cores of a socket as bits."""
        return ((1 << self.each) - 1) << number * self.each

    @property
    def is_local(self) -> bool:
        """True if some device is beside some sockets only."""
        return bool(self.shared) or any(device.sockets for _, found in self.devices for device in found)


class LocalCores:
    """The nodes with devices, and what running jobs hold of each.

    `blind`: who wants a whole GPU does not see that others share it, if GPUs are not told apart (22.05).
    """

    def __init__(self, nodes: Sequence[NodeSpec], kinds: Kinds, *, blind: bool = False) -> None:
        self.blind = blind
        layouts = {i: layout_of(spec, kinds) for i, spec in enumerate(nodes) if spec.gres}
        self.layouts = layouts if any(layout.is_local for layout in layouts.values()) else {}
        self.nodes: Bitmap = from_indices(sorted(self.layouts))
        self.held: dict[int, list[Hold]] = {}

    def take_anew(self, allocations: Iterable[Allocation]) -> None:
        """Forget what was held, and take what `allocations` hold."""
        self.held.clear()
        for a in allocations:
            self.take(a)

    def take(self, a: Allocation) -> None:
        """Take what `a` holds; one that does not say which cores and devices gets the first free ones."""
        if not a.mask & self.nodes:
            return
        if a.held is None:
            a.held = self._first_free(a)
        for node, held in a.held.items():
            self.held.setdefault(node, []).append(held)

    def give_back(self, a: Allocation) -> None:
        """Give back what `a` holds."""
        for node, held in () if a.held is None else a.held.items():
            there = self.held[node]
            there[:] = [one for one in there if one is not held]

    def check(self) -> None:
        """Raise InvariantError if a device is held twice, or a core that is not the jobs'."""
        for node, there in self.held.items():
            taken = 0
            for held in there:
                for _, bits in held.devices:
                    if bits & taken:
                        raise InvariantError("two jobs have one device")
                    taken |= bits
                if held.cores & ~self.layouts[node].cores:
                    raise InvariantError("a job has cores that are kept from jobs")
            for kind, caps in self.layouts[node].shared:
                if any(used > cap for used, cap in zip(Unheld(self).used_shares(node, kind), caps, strict=True)):
                    raise InvariantError("jobs have more shares of a GPU than there are")

    def _first_free(self, a: Allocation) -> dict[int, Hold]:
        found: dict[int, Hold] = {}
        free = Unheld(self)
        for k, node in enumerate(a.indices().tolist()):
            layout = self.layouts.get(node)
            if layout is None:
                continue
            cpus = a.cpus if isinstance(a.cpus, int) else int(a.cpus[k])
            taken, shared = free.devices(node), dict(layout.shared)
            devices, shares = [], []
            for kind, counts in a.gres:
                count = counts if isinstance(counts, int) else int(counts[k])
                if kind in shared:
                    shares.append((kind, first_shares(free.shares(node, kind), count)))
                else:
                    devices.append((kind, first_bits(layout.of_kind(kind) & ~taken, count)))
            cores = layout.cores if a.whole else first_bits(free.cores(node), -(-cpus // layout.threads))
            found[node] = Hold(cores, tuple(devices), tuple(shares))
        return found


class Unheld:
    """What is free on followed nodes, with some of those gone who hold something there; or all of them."""

    __slots__ = ("all_gone", "gone", "idle_cores", "local")

    def __init__(
        self, local: LocalCores, gone: frozenset[Hold] = frozenset(), idle_cores: frozenset[Hold] = frozenset(), *,
        all_gone: bool = False,
    ) -> None:  # fmt: skip
        self.local, self.gone, self.idle_cores, self.all_gone = local, gone, idle_cores, all_gone

    def without(self, a: Allocation, *, devices: bool = True) -> Unheld:
        """Return the same without the job holding `a`, or without its cores alone, if it keeps its `devices`."""
        if a.held is None or self.all_gone:
            return self
        theirs = frozenset(a.held.values())
        if devices:
            return Unheld(self.local, self.gone | theirs, self.idle_cores)
        return Unheld(self.local, self.gone, self.idle_cores | theirs)

    def layout(self, node: int) -> NodeLayout | None:
        """Return the layout of `node`, None if it is not followed."""
        return self.local.layouts.get(node)

    def _there(self, node: int) -> Iterable[Hold]:
        if self.all_gone:
            return ()
        return [held for held in self.local.held.get(node, ()) if held not in self.gone]

    def cores(self, node: int) -> int:
        """Return the free cores of `node` as bits."""
        free = self.local.layouts[node].cores
        for held in self._there(node):
            if held not in self.idle_cores:
                free &= ~held.cores
        return free

    def devices(self, node: int) -> int:
        """Return the devices in use on `node` as bits, GPUs with shares in use among them."""
        taken, layout = self.whole_devices(node), self.local.layouts[node]
        if not layout.shared or (self.local.blind and not layout.told_apart):
            return taken
        gpus = layout.of_name("gpu")
        for held in self._there(node):
            for _, counts in held.shares:
                taken |= sum(gpu.bit for gpu, count in zip(gpus, counts, strict=True) if count)
        return taken

    def whole_devices(self, node: int) -> int:
        """Return the devices in use on `node` that jobs have for themselves, as bits."""
        taken = 0
        for held in self._there(node):
            for _, bits in held.devices:
                taken |= bits
        return taken

    def shares(self, node: int, kind: int) -> list[int]:
        """Return how many shares of `kind` are free of each GPU of `node`; of one that a job has for itself none."""
        layout = self.local.layouts[node]
        taken, used = self.whole_devices(node), self.used_shares(node, kind)
        caps = dict(layout.shared)[kind]
        gpus = layout.of_name("gpu")
        return [0 if gpu.bit & taken else cap - count for gpu, cap, count in zip(gpus, caps, used, strict=True)]

    def used_shares(self, node: int, kind: int) -> list[int]:
        """Return how many shares of `kind` are in use of each GPU of `node`."""
        used = [0] * len(self.local.layouts[node].of_name("gpu"))
        for held in self._there(node):
            for counts in (counts for other, counts in held.shares if other == kind):
                used = [one + more for one, more in zip(used, counts, strict=True)]
        return used


def first_bits(bits: int, count: int) -> int:
    """Return the `count` lowest of `bits`."""
    found = 0
    for _ in range(count):
        lowest = bits & -bits
        found |= lowest
        bits ^= lowest
    return found


def first_shares(free: Sequence[int], count: int) -> tuple[int, ...]:
    """Return `count` of the `free` shares, of one GPU after the other."""
    found = []
    for there in free:
        found.append(min(there, count))
        count -= found[-1]
    return tuple(found)


def _is_amount(gres: Gres) -> bool:
    """Return True for what is no devices: a thing that jobs do not use up, or so many that it is a quantity."""
    return not gres.consumed or (not gres.near and gres.count > MOST_DEVICES)


MOST_DEVICES = 1024  # of one kind on a node; Slurm numbers no more where gres.conf names no files
SHARED = ("mps", "shard")
"""GRES that are shares of GPUs."""


def layout_of(spec: NodeSpec, kinds: Kinds) -> NodeLayout:
    """Return the layout of a node; a device that is beside every socket is beside no particular one."""
    each, bit = max(spec.cores_per_socket, 1), 1
    devices: dict[str, list[Device]] = {}
    for kind, (name, of_type) in enumerate(kinds):
        for gres in spec.gres:
            if (gres.name, gres.type) != (name, of_type) or name in SHARED or _is_amount(gres):
                continue
            for count, cores in gres.near or ((gres.count, 0),):
                beside = tuple([s for s in range(spec.sockets) if cores >> s * each & (1 << each) - 1])
                for _ in range(count):
                    sockets = () if len(beside) == spec.sockets else beside
                    devices.setdefault(name, []).append(Device(bit, kind, sockets))
                    bit <<= 1
    n_gpus = len(devices.get("gpu", ()))
    shared = []
    for kind, (name, of_type) in enumerate(kinds):
        count = sum(gres.count for gres in spec.gres if (gres.name, gres.type) == (name, of_type))
        if name in SHARED and count and n_gpus:
            shared.append((kind, tuple([count // n_gpus + (k < count % n_gpus) for k in range(n_gpus)])))
    threads = max(1, spec.cpus // max(1, spec.sockets * each))
    cores = ((1 << spec.sockets * each) - 1) & ~special_cores(spec)
    by_name = tuple([(name, tuple(found)) for name, found in devices.items()])
    told_apart = any(gres.type or gres.near for gres in spec.gres if gres.name == "gpu")
    return NodeLayout(spec.sockets, each, threads, cores, by_name, tuple(shared), told_apart)


def special_cores(spec: NodeSpec) -> int:
    """Return the cores the node keeps from jobs, as bits: those named, or the last cores of each socket in turn."""
    found = 0
    if spec.spec_cores:
        return sum(1 << core for core in spec.spec_cores)
    for k in range(spec.core_spec_count):
        socket = spec.sockets - 1 - k % spec.sockets
        found |= 1 << socket * spec.cores_per_socket + spec.cores_per_socket - 1 - k // spec.sockets
    return found
