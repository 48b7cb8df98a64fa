"""Accounting data in all their forms. The files in accounting_data/ are outputs of sacctmgr 22.05.8, one database."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmsim.config.accounting.load import load_accounting
from slurmsim.config.findings import Report
from slurmsim.core.records.associations import AssociationTree, Branch
from slurmsim.errors import ConfigError
from slurmsim.model.accounting import PARENT_SHARES, Accounting, Association, Limits, Qos

DATA = Path(__file__).parent / "accounting_data"
Key = tuple[str, str, str]


def load(*names: str, cluster: str = "oracle") -> Accounting:
    return load_accounting([DATA / name for name in names], cluster=cluster)


def read(folder: Path, **files: str) -> Accounting:
    """Accounting data of texts; a name ends in ``_toml`` for TOML."""
    paths = []
    for name, text in files.items():
        path = folder / name.replace("_toml", ".toml")
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return load_accounting(paths)


def by_key(accounting: Accounting) -> dict[Key, Branch]:
    tree = AssociationTree(accounting)
    return {(b.spec.account, b.spec.user, b.spec.partition): b for b in tree.branches}


# account, user, partition -> account above, shares, QOS that count, default account
EXPECTED: dict[Key, tuple[str, int, set[str], bool]] = {
    ("root", "", ""): ("", 1, {"normal"}, False),
    ("root", "root", ""): ("root", 1, {"normal"}, True),
    ("eng", "", ""): ("root", 40, {"normal"}, False),
    ("eng", "carol", "pp"): ("eng", 3, {"high", "normal"}, True),
    ("eng", "carol", ""): ("eng", 1, {"high", "normal"}, True),
    ("sci", "", ""): ("root", 60, {"high", "low", "normal"}, False),
    ("chem", "", ""): ("sci", 1, {"low", "normal"}, False),
    ("chem", "alice", ""): ("chem", 10, {"low", "normal"}, False),
    ("chem", "bob", ""): ("chem", PARENT_SHARES, {"limited", "low", "normal"}, True),
    ("phys", "", ""): ("sci", PARENT_SHARES, {"high", "low", "normal"}, False),
    ("phys", "alice", ""): ("phys", 10, {"high", "low", "normal"}, True),
    ("phys", "dave", ""): ("phys", 1, {"low"}, True),
}
DEFAULT_QOS = {("chem", "alice", ""): "low", ("chem", "bob", ""): "limited", ("eng", "carol", ""): ""}


@pytest.mark.parametrize(
    "files",
    [("dump.cfg", "qos.txt"), ("assoc-tree.txt", "qos.txt", "users.txt"), ("assoc-parents.txt", "qos.txt", "users.txt"),
     ("commands.txt",), ("qos.txt", "users.txt", "assoc-tree.txt")],
    ids=lambda files: "+".join(files),
)  # fmt: skip
def test_every_form_says_the_same(files: tuple[str, ...]) -> None:
    found = by_key(load(*files))
    assert found.keys() == EXPECTED.keys()
    for key, (above, shares, qos, default) in EXPECTED.items():
        branch = found[key]
        assert (branch.parent.spec.account if branch.parent else "") == above, key
        assert branch.spec.shares == shares, key
        assert set(branch.qos_names() or ()) == qos, key
        assert branch.spec.is_default == default, key
    for key, name in DEFAULT_QOS.items():
        assert found[key].default_qos() == name


@pytest.mark.parametrize(
    "files", [("dump.cfg", "qos.txt"), ("assoc-tree.txt", "qos.txt"), ("commands.txt",)], ids=lambda files: files[0]
)
def test_limits_of_associations(files: tuple[str, ...]) -> None:
    found = by_key(load(*files))
    chem, eng = found["chem", "", ""].spec.limits, found["eng", "", ""].spec.limits
    assert chem.grp_tres == {"cpu": 24, "mem": 10 * 1024, "billing": 99}
    assert (chem.grp_tres_mins, chem.grp_tres_run_mins) == ({"cpu": 1000}, {"cpu": 500})
    assert (chem.grp_jobs, chem.grp_submit_jobs, chem.grp_wall_s) == (4, 6, 2 * 86400)
    assert (eng.max_jobs, eng.max_submit_jobs, eng.max_wall_s) == (3, 5, 7200)
    assert (eng.max_tres, eng.max_tres_per_node, eng.max_tres_mins) == ({"cpu": 8}, {"cpu": 4}, {"cpu": 600})
    assert found["eng", "carol", "pp"].spec.limits.max_jobs == 1
    assert found["eng", "", ""].spec.priority == 12


@pytest.mark.parametrize("files", [("dump.cfg", "qos.txt"), ("commands.txt",)], ids=lambda files: files[0])
def test_qos(files: tuple[str, ...]) -> None:
    qos = {q.name: q for q in load(*files).qos}
    assert list(qos) == ["normal", "high", "low", "limited"]
    assert qos["normal"] == Qos("normal")
    assert qos["high"] == Qos("high", priority=100, flags=frozenset({"DenyOnLimit", "NoReserve"}), preempt=("normal",),
                              preempt_mode="REQUEUE", grace_time_s=30, usage_factor=2.0)  # fmt: skip
    assert qos["low"].limits == Limits(grp_tres_mins={"cpu": 1000, "mem": 5 * 1024}, grp_tres_run_mins={"cpu": 500},
                                       grp_wall_s=86400, max_tres_mins={"cpu": 60}, max_wall_s=1800)  # fmt: skip
    limited = qos["limited"]
    assert limited.limits.grp_tres == {"node": 6}
    assert limited.max_tres_pu == {"cpu": 16, "mem": 2048, "node": 3}
    assert (limited.max_jobs_pu, limited.max_jobs_pa, limited.max_submit_pu, limited.max_submit_pa) == (2, 7, 4, 9)
    assert (limited.max_tres_pa, limited.min_tres) == ({"cpu": 24}, {"cpu": 2})
    assert (limited.preempt_exempt_time_s, limited.usage_threshold) == (120, 0.25)
    assert (limited.limits.grp_jobs, limited.limits.grp_submit_jobs) == (11, 12)
    # sacctmgr shows this column only when asked
    assert limited.limits.min_prio_thresh == (7 if files == ("commands.txt",) else None)


def test_ids_give_the_order_of_creation_and_the_tree() -> None:
    accounting = load("assoc-ids.txt", "qos.txt")
    assert [(a.account, a.user) for a in accounting.associations] == [
        ("root", ""), ("root", "root"), ("sci", ""), ("phys", ""), ("chem", ""), ("eng", ""), ("phys", "alice"),
        ("chem", "alice"), ("chem", "bob"), ("eng", "carol"), ("eng", "carol"), ("phys", "dave"),
    ]  # fmt: skip
    assert {a.account: a.parent for a in accounting.associations if not a.user} == {
        "root": "", "sci": "root", "phys": "sci", "chem": "sci", "eng": "root"}  # fmt: skip


def test_a_flat_table_is_warned_about() -> None:
    report = Report()
    accounting = load_accounting([DATA / "assoc-flat.txt", DATA / "qos.txt"], report=report)
    assert {a.parent for a in accounting.associations if not a.user} == {"", "root"}
    assert ["does not say which account is part of which" in str(f) for f in report.findings] == [True]


def test_data_of_another_cluster_are_warned_about() -> None:
    report = Report()
    load_accounting([DATA / "dump.cfg", DATA / "qos.txt"], cluster="elsewhere", report=report)
    assert [f.key for f in report.findings] == ["Cluster"]


def test_a_dump_alone_names_what_is_missing() -> None:
    with pytest.raises(ConfigError, match=r"dump\.cfg:17: QOS: no QOS 'high' .*sacctmgr show qos -P"):
        load("dump.cfg")


TOML = """
cluster = "oracle"
[root]
QOS = ["normal"]
[qos.high]
Priority = 100
[qos.low]
MaxWall = "30"
MaxTRESPerUser = {cpu = 16, mem = "2G"}
[accounts.sci]
Fairshare = 60
QOS = "normal,high"
users = ["alice", "bob"]
[accounts.sci.accounts.phys]
Fairshare = "parent"
GrpTRES = "cpu=24"
[accounts.sci.accounts.phys.users.alice]
Default = true
QOS = "+low"
DefaultQOS = "low"
[[accounts.sci.accounts.phys.users.carol]]
[[accounts.sci.accounts.phys.users.carol]]
Partition = "debug"
MaxJobs = 1
"""


def test_toml(tmp_path: Path) -> None:
    accounting = read(tmp_path, a_toml=TOML)
    found = by_key(accounting)
    assert list(found) == [
        ("root", "", ""), ("root", "root", ""), ("sci", "", ""), ("sci", "alice", ""), ("sci", "bob", ""),
        ("phys", "", ""), ("phys", "alice", ""), ("phys", "carol", ""), ("phys", "carol", "debug"),
    ]  # fmt: skip
    alice = found["phys", "alice", ""]
    assert alice.spec == Association("phys", "alice", qos=("normal", "high", "low"), default_qos="low", is_default=True)
    assert not found["sci", "alice", ""].spec.is_default
    assert found["phys", "", ""].spec == Association(
        "phys", parent="sci", shares=-1, limits=Limits(grp_tres={"cpu": 24})
    )
    assert found["phys", "carol", "debug"].spec.limits.max_jobs == 1
    assert {q.name: q.max_tres_pu for q in accounting.qos}["low"] == {"cpu": 16, "mem": 2048}


def test_a_tree_in_toml_without_qos_may_use_all(tmp_path: Path) -> None:
    accounting = read(tmp_path, a_toml="[qos.high]\n[accounts.a]\nusers = ['u']\n")
    assert by_key(accounting)["a", "u", ""].qos_names() is None


def test_commands_edit_what_other_files_defined(tmp_path: Path) -> None:
    more = (
        "# what shall change\n"
        "sacctmgr -i modify user where name=dave account=phys set MaxJobs=2 qos+=high\n"
        "modify account chem set GrpTRES=cpu=-1,node=2 GrpJobs=-1 Fairshare=5\n"
        "modify qos low set flags+=NoDecay preempt=\n"
        "add user erin Account=eng,phys DefaultAccount=phys\n"
        "delete user where name=bob\n"
        "modify account where name=phys set parent=eng\n"
        "modify cluster oracle set MaxJobs=99\n"
    )
    (tmp_path / "more").write_text(more)
    accounting = load_accounting([DATA / "dump.cfg", DATA / "qos.txt", tmp_path / "more"])
    found = by_key(accounting)
    dave = found["phys", "dave", ""]
    assert (dave.spec.limits.max_jobs, set(dave.qos_names() or ())) == (2, {"low", "high"})
    chem = found["chem", "", ""].spec
    assert (chem.limits.grp_tres, chem.limits.grp_jobs, chem.shares) == (
        {"mem": 10240, "billing": 99, "node": 2},
        None,
        5,
    )
    (low,) = (qos for qos in accounting.qos if qos.name == "low")
    assert (low.flags, low.preempt) == (frozenset({"NoDecay"}), ())
    assert ("chem", "bob", "") not in found
    assert found["phys", "", ""].parent is found["eng", "", ""]
    assert (found["phys", "erin", ""].spec.is_default, found["eng", "erin", ""].spec.is_default) == (True, False)
    assert found["root", "", ""].spec.limits.max_jobs == 99


def test_continued_and_commented_lines_of_a_dump(tmp_path: Path) -> None:
    text = "Cluster - 'c':\\\nFairshare=1 # the root\n\nParent - 'root'\n"
    text += "Account - 'a:b':Description='x: \\# y':MaxJobs=3\n"
    found = by_key(read(tmp_path, dump=text))
    assert found["a:b", "", ""].spec.limits.max_jobs == 3


def test_what_is_read_without_effect_is_said(tmp_path: Path) -> None:
    report = Report()
    path = tmp_path / "c"
    path.write_text("add account a MaxTRESRunMins=cpu=5\nadd user u account=a MaxJobs=5 MaxSubmitJobs=3\n")
    load_accounting([path], report=report)
    assert [str(f).partition(": ")[2] for f in report.findings] == [
        "warning: MaxTRESRunMins=cpu=5: not modelled: Slurm 22.05 does not enforce it for associations either",
        "warning: MaxJobs=5: is never reached, as MaxSubmitJobs=3 counts running jobs too",
    ]


def test_a_default_qos_that_may_not_be_used_is_ignored_as_slurmctld_does(tmp_path: Path) -> None:
    report = Report()
    path = tmp_path / "c"
    path.write_text("add qos high\nadd account a\nadd user u account=a DefaultQOS=high\n")
    load_accounting([path], report=report)
    assert [str(f).partition(": ")[2] for f in report.findings] == [
        "warning: DefaultQOS=high: of user u of account a, who may not use it: ignored, as slurmctld does"
    ]


BAD = {
    "unknown parent of an account": ("add account a parent=b", "f:1: parent: no account 'b'"),
    "unknown account of a user": ("add user u account=b", "f:1: account: no account 'b'"),
    "unknown QOS": ("add account a qos=fast", "f:1: QOS: no QOS 'fast'"),
    "misspelt QOS": ("add qos high\nadd account a qos=hihg", "did you mean high?"),
    "unknown default QOS": ("add account a DefaultQOS=fast", "f:1: DefaultQOS: no QOS 'fast'"),
    "preemption of itself": ("add qos q preempt=q", "f:1: Preempt: QOS could preempt themselves: q > q"),
    "circle of preemption": (
        "add qos a\nadd qos b preempt=a\nadd qos c preempt=b\nmodify qos a set preempt=c",
        "QOS could preempt themselves: a > c > b > a",
    ),
    "unknown QOS to preempt": ("add qos a preempt=z", "f:1: Preempt: no QOS 'z'"),
    "limits that exclude all": (
        "add qos q MinTRESPerJob=cpu=8 MaxTRESPerJob=cpu=4",
        "f:1: MaxTRESPerJob: MaxTRESPerJob=cpu=4 and MinTRESPerJob=cpu=8 contradict each other",
    ),
    "account below itself": (
        "add account a\nadd account b parent=a\nmodify account a set parent=b",
        "f:3: Parent: account b is its own ancestor",
    ),
    "bad count": ("add account a MaxJobs=few", "f:1: MaxJobs: 'few' is not a count"),
    "bad TRES": ("add account a GrpTRES=cpu", "f:1: GrpTRES: 'cpu' is not a TRES (expected NAME=COUNT)"),
    "unknown TRES": ("add account a GrpTRES=cpus=4", "f:1: GrpTRES: 'cpus' is no TRES; did you mean cpu?"),
    "TRES twice": ("add account a GrpTRES=cpu=4,cpu=5", "f:1: GrpTRES: TRES 'cpu' is given twice"),
    "bad time": ("add qos q MaxWall=soon", "f:1: MaxWall: 'soon' is not a time"),
    "bad factor": ("add qos q UsageFactor=-3", "f:1: UsageFactor: '-3' is not a factor"),
    "bad flag": ("add qos q Flags=DenyOnLimits", "f:1: Flags: unknown flag 'denyonlimits'; did you mean DenyOnLimit?"),
    "bad mode": ("add qos q PreemptMode=kill", "f:1: PreemptMode: unknown preemption mode 'KILL'"),
    "unknown field": ("add account a MaxJob5=1", "f:1: MaxJob5: unknown field"),
    "ambiguous field": ("add account a MaxTRESP=cpu=1", "f:1: MaxTRESP: 'MaxTRESP' is the beginning of several fields"),
    "adding to a number": ("add account a MaxJobs+=1", "f:1: MaxJobs: += cannot be used here"),
    "unknown verb": ("add account a\nrename account a b", "f:2: rename: no command slurmsim knows"),
    "unknown object": ("add federation f", "f:1: add: 'federation' cannot be changed here"),
    "open quote": ("add account a Description='x", "f:1: a quote is not closed"),
    "nothing set": ("add account a\nmodify account a", "f:2: set: nothing is set"),
    "nobody to change": ("modify user zed set MaxJobs=1", "f:1: where: no user 'zed' to change"),
    "condition that is not read": (
        "add account a\nmodify account where org=x set MaxJobs=1",
        "f:2: organization: slurmsim chooses",
    ),
    "not an account of the user": (
        "add account a\nadd user u account=a\nmodify user u set DefaultAccount=root",
        "f:3: DefaultAccount: user u is not in",
    ),
    "dump: no account before": ("Parent - 'a'\nUser - 'u'", "f:1: Parent: no account a before this line"),
    "dump: other line": ("Account - 'a'\nGroup - 'b'", "f:2: \"Group - 'b'\" is no line of a dump"),
    "dump: option without value": ("Account - 'a':MaxJobs", "f:1: MaxJobs: an option without a value"),
    "dump: open quote": ("Account - 'a:MaxJobs=1", "f:1: a quote is not closed"),
    "dump: two clusters": ("Cluster - 'a'\nCluster - 'b'", "f:2: Cluster: a second cluster b"),
    "table: too few values": ("Account|User|Share\na|", "f:2: 2 values (expected 3, as the header has)"),
    "table: column twice": ("Account|User|Share|Share\na||1|1", "f:1: share: the column comes twice"),
    "table: several clusters": (
        "Cluster|Account|User|Share\nx|a||1\ny|a||1",
        "f:1: Cluster: associations of x, y, none of",
    ),
    "table: user twice": ("Account|User|Share\na||1\na|u|1\na|u|2", "f:4: u: user u in account a is defined twice"),
    "table: unknown parent": (
        "Account|User|ParentName\na||b",
        "f:2: Parent: account a is in account 'b', which is unknown",
    ),
    "table: of something else": ("Event|Node|Time\nx|y|z", "f:1: no table of associations, QOS or users"),
    "table: unknown column": ("Account|User|Share|Colour\na||1|red", "f:2: Colour: unknown field"),
    "table: deeper than its parent": (
        "Account|User|Share\nroot||1\n   deep||1",
        "f:3: Account: indented by 3 under an account indented by 0",
    ),
    "only QOS": ("Name|Priority\nnormal|0", "no association is defined"),
    "something else": ("hello world", "f:1: 'hello world' begins no accounting data"),
    "nothing": ("# only a comment\n", "nothing in it"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_data_are_one_clear_line(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text, says = BAD[name]
    Path("f").write_text(text + "\n")
    with pytest.raises(ConfigError) as caught:
        load_accounting(["f"])
    line = str(caught.value)
    assert says in line
    assert line.startswith("f") and "\n" not in line


BAD_TOML = {
    "no TOML": ("[qos\n", "f.toml:1: not TOML"),
    "deep TOML": ("a = " + "[" * 5000, "f.toml: not TOML: nested too deeply"),
    "unknown table": ("[account.a]\n", "f.toml:1: account: unknown key"),
    "bad value": ("[accounts.a]\nFairshare = 1\nMaxJobs = true\n", "f.toml:3: accounts.a.MaxJobs: True is no value"),
    "bad count": ("[accounts.a]\n\nMaxJobs = 'x'\n", "f.toml:3: MaxJobs: 'x' is not a count"),
    "no table": ("accounts = 3\n", "f.toml:1: accounts: 3 is no table"),
    "parent instead of nesting": ("[accounts.a]\nParent = 'b'\n", "f.toml:2: Parent: accounts are nested here"),
    "unknown QOS": ("[accounts.a]\nQOS = ['fast']\n", "f.toml:2: QOS: no QOS 'fast'"),
    "user twice": ("[accounts.a]\nusers = ['u', 'u']\n", "f.toml:2: u: user u in account a is defined twice"),
    "default that is no truth value": (
        "[accounts.a.users.u]\nDefault = 1\n",
        "accounts.a.users.u.Default: 1 is no truth",
    ),
    "the root again": ("[accounts.root]\n", "f.toml:1: accounts.root: the root account is there already"),
}


@pytest.mark.parametrize("name", BAD_TOML)
def test_bad_toml_is_one_clear_line(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text, says = BAD_TOML[name]
    Path("f.toml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_accounting(["f.toml"])
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        load_accounting([tmp_path / "none"])
    (tmp_path / "latin").write_bytes(b"Cluster - '\xe4'\n")
    with pytest.raises(ConfigError, match="not UTF-8 text"):
        load_accounting([tmp_path / "latin"])
    with pytest.raises(ConfigError, match="no file is given"):
        load_accounting([])


# -- what is written in one form reads like what is written in another ------------------------------------------------

_NAMES = st.sampled_from([f"acc{i}" for i in range(6)])
_TREES = st.lists(
    st.tuples(st.integers(-1, 5), st.integers(0, 50), st.lists(st.sampled_from("uvwx"), unique=True, max_size=3),
              st.none() | st.integers(0, 9)),
    min_size=1, max_size=6,
)  # fmt: skip


@given(_TREES)
def test_dump_table_commands_and_toml_agree(tree: list[tuple[int, int, list[str], int | None]]) -> None:
    accounts = [
        (f"acc{i}", f"acc{above}" if 0 <= above < i else "root", shares, users, jobs)
        for i, (above, shares, users, jobs) in enumerate(tree)
    ]
    import tempfile

    texts = {"dump": _as_dump(accounts), "table": _as_table(accounts), "commands": _as_commands(accounts),
             "a.toml": _as_toml(accounts)}  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for name, text in texts.items():
            path = Path(folder) / name
            path.write_text(text)
            specs = load_accounting([path]).associations
            found.append({(a.account, a.user): (a.parent, a.shares, a.limits) for a in specs})
            at = {a.account: i for i, a in enumerate(specs) if not a.user}
            assert all(at[a.parent] < i for i, a in enumerate(specs) if a.parent), "parents come first"
    assert all(other == found[0] for other in found)
    assert {key for key in found[0] if key[1]} == {(a, u) for a, _, _, users, _ in accounts for u in users} | {
        ("root", "root")}  # fmt: skip


Flat = list[tuple[str, str, int, list[str], int | None]]


def _as_dump(accounts: Flat) -> str:
    lines = ["Cluster - 'c'"]
    for name, above, shares, users, jobs in accounts:
        lines += [f"Parent - '{above}'",
                  f"Account - '{name}':Fairshare={shares}:GrpJobs={-1 if jobs is None else jobs}"]  # fmt: skip
        lines += [f"Parent - '{name}'", *(f"User - '{user}':Fairshare=2" for user in users)]
    return "\n".join(lines)


def _as_table(accounts: Flat) -> str:
    lines = ["Share|User|Account|GrpJobs|Par Name|QOS"]
    for name, above, shares, users, jobs in reversed(accounts):
        lines += [f"2|{user}|{name}|||normal" for user in users]
        lines.append(f"{shares}||{name}|{'' if jobs is None else jobs}|{above}|normal")
    return "\n".join(lines)


def _as_commands(accounts: Flat) -> str:
    lines = ["add cluster c"]
    for name, above, shares, users, jobs in accounts:
        lines.append(f"add account {name} parent={above} fairshare={shares}")
        if jobs is not None:
            lines.append(f"modify account where name={name} set grpjobs={jobs}")
        if users:
            lines.append(f"add user {','.join(users)} account={name} share=2")
    return "\n".join(lines)


def _as_toml(accounts: Flat) -> str:
    paths: dict[str, str] = {"root": ""}
    lines = []
    for name, above, shares, users, jobs in accounts:
        paths[name] = f"{paths[above]}{'.' if paths[above] else ''}accounts.{name}"
        lines += [f"[{paths[name]}]", f"Fairshare = {shares}", *([f"GrpJobs = {jobs}"] if jobs is not None else [])]
        lines += [f"[{paths[name]}.users.{user}]\nFairshare = 2" for user in users]
    return "\n".join(lines)
