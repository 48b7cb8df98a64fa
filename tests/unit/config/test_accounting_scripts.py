"""Set-up scripts as sites have them: calls of sacctmgr among the lines of a shell script."""

from __future__ import annotations

from pathlib import Path

import pytest

from slurmsim.config.accounting.load import load_accounting
from slurmsim.errors import ConfigError
from slurmsim.model.accounting import Accounting

# In the forms of three public set-up scripts, with other names.
SCRIPT = """#!/bin/bash
set -euo pipefail
export SLURM_CONF=/etc/slurm/slurm.conf
echo "the accounts"
until sacctmgr -n show cluster; do
    sleep 1
done
if ! sacctmgr -n -P list account | grep -q chem; then
    sudo sacctmgr -i add account chem Description="all of chemistry" Organization=science
fi
sacctmgr --immediate create account name=lab parent=chem \\
    Description='a lab' \\
    Organization=science > /dev/null 2>&1 || true
sacctmgr -iQ add account chem Fairshare=77   # it exists: nothing is added
/usr/bin/sacctmgr -i add qos long,short && sacctmgr -i modify qos short set Priority=50
yes | sacctmgr mod qos where name=long set priority=5 MaxWall=7-0
sacctmgr -i add user ann,bob acc=lab fair=3; sacctmgr -i add user cyd account=chem
sacctmgr -i mod user where name=ann set qos=normal,long defaultqos=long
sacctmgr -i add coordinator account=lab names=ann
sacctmgr -i add resource name=tool count=10 server=srv type=license
sacctmgr list assoc format=user,account
"""


def read(tmp_path: Path, text: str) -> Accounting:
    (tmp_path / "setup.sh").write_text(text)
    return load_accounting([tmp_path / "setup.sh"], cluster="c")


def test_a_script(tmp_path: Path) -> None:
    accounting = read(tmp_path, SCRIPT)
    found = {(one.account, one.user): one for one in accounting.associations}
    assert sorted(key for key in found if key[1]) == [("chem", "cyd"), ("lab", "ann"), ("lab", "bob"), ("root", "root")]
    assert found["lab", ""].parent == "chem"
    assert (found["chem", ""].shares, found["lab", "bob"].shares) == (1, 3)
    assert [(qos.name, qos.priority) for qos in accounting.qos] == [("normal", 0), ("long", 5), ("short", 50)]
    assert set(found["lab", "ann"].qos or ()) == {"normal", "long"}


@pytest.mark.parametrize(
    "call", ["sacctmgr -i add account $NAME", "for u in a b; do sacctmgr -i add user $u account=x; done"]
)
def test_a_variable_of_the_shell_is_refused(call: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"setup.sh:2: \$\w+: a variable of the shell in a call of sacctmgr"):
        read(tmp_path, f"sacctmgr -i add account x\n{call}\n")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("sacctmgr -i load file=dump.cfg", "load: no command slurmsim knows"),
        ("sacctmgr -i add as x", "'as' cannot be changed here"),
        ("sacctmgr -i add account 'x", "a quote is not closed"),
    ],
)
def test_what_is_not_read_is_refused(call: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        read(tmp_path, f"sacctmgr -i add account x\n{call}\n")


def test_what_exists_is_not_added_again(tmp_path: Path) -> None:
    """sacctmgr says "Nothing new added" and changes nothing."""
    text = "add account a fairshare=2\nadd account a fairshare=9\nadd qos q priority=1\nadd qos q priority=2\n"
    accounting = read(tmp_path, text + "add user u account=a fairshare=4\nadd user u account=a fairshare=5\n")
    assert [one.shares for one in accounting.associations if one.account == "a"] == [2, 4]
    assert [qos.priority for qos in accounting.qos if qos.name == "q"] == [1]
