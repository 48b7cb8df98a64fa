"""docs/ci.md: the GitHub action, the GitLab lines, the container's entry point and completions do what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
FAKE_PYTHON = f"""#!/bin/sh
# python3 -m venv PLACE: an environment that has slurmsim, and writes down what pip is asked for
mkdir -p "$3/bin"
ln -s {BIN}/slurmsim "$3/bin/slurmsim"
printf '#!/bin/sh\\necho "$@" >"%s/asked"\\n' "$3" >"$3/bin/python"
chmod +x "$3/bin/python"
"""


@pytest.fixture
def env(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Variables of a machine of CI; what runs there is stopped at the end."""
    found = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "XDG_STATE_HOME": str(tmp_path / "state"),
             "HOME": str(tmp_path)}  # fmt: skip
    found.pop("SLURMSIM_CLUSTER_DIR", None)
    yield found
    subprocess.run([BIN / "slurmsim", "down"], env=found, capture_output=True, check=False)


def shell(script: str, env: dict[str, str], cwd: Path) -> str:
    done = subprocess.run(["bash", "-euc", script], env=env, cwd=cwd, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_action_starts_a_cluster_for_later_steps(env: dict[str, str], tmp_path: Path) -> None:
    fake = tmp_path / "fake"
    fake.mkdir()
    (fake / "python3").write_text(FAKE_PYTHON)
    (fake / "python3").chmod(0o755)
    (tmp_path / "my.conf").write_text(
        "ClusterName=ci\nSlurmctldHost=localhost\nNodeName=n[1-3] CPUs=2\nPartitionName=p Nodes=ALL Default=YES\n"
    )
    given = {"RUNNER_TEMP": str(tmp_path), "GITHUB_ACTION_PATH": str(ROOT), "GITHUB_ENV": str(tmp_path / "env"),
             "GITHUB_PATH": str(tmp_path / "path"), "CONF": "my.conf", "SLURM_VERSION": "24.11",
             "OPTIONS": "--frozen --no-accounting"}  # fmt: skip
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    for name in ("CONF", "SLURM_VERSION", "OPTIONS"):  # what the script reads is what the action gives
        assert re.search(rf"^        {name}: \$\{{\{{ inputs\.[a-z-]+ \}}\}}$", text, re.MULTILINE)
    assert 'bash "$GITHUB_ACTION_PATH/.ci/action"' in text
    shell(str(ROOT / ".ci/action"), {**env, **given, "PATH": f"{fake}:{env['PATH']}"}, tmp_path)
    assert (tmp_path / "slurmsim/venv/asked").read_text().split()[-1] == str(ROOT)
    later = dict(line.split("=", 1) for line in (tmp_path / "env").read_text().splitlines())
    path = ":".join(reversed((tmp_path / "path").read_text().splitlines()))
    step = {**env, **later, "PATH": f"{path}:{os.environ['PATH']}"}
    try:
        assert shell(
            "sbatch --version; sbatch --wrap 'true'; squeue -h -o '%i %P'; sinfo -h -o %D", step, tmp_path
        ) == ("slurm 24.11.5\nSubmitted batch job 1\n1 p\n3\n")
    finally:
        subprocess.run([BIN / "slurmsim", "down"], env=step, capture_output=True, check=False)


def test_the_gitlab_lines(env: dict[str, str], tmp_path: Path) -> None:
    page = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
    block = page.partition("<!-- file: .gitlab-ci.yml -->")[2].partition("```yaml\n")[2].partition("```")[0]
    lines = re.findall(r"^    - (.*)$", block, re.MULTILINE)
    assert lines[0] == "SLURMSIM_COMPILE=0 pip install git+https://HOST/OWNER/slurmsim" and len(lines) == 5
    assert "COMPLETED" in shell("\n".join(lines[1:]), env, tmp_path)


def test_the_container_starts_with_a_cluster(env: dict[str, str], tmp_path: Path) -> None:
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    assert all((ROOT / name).exists() for name in re.findall(r"^COPY (?:--\S+ )?(\S+)", text, re.MULTILINE))
    given = {**env, "SLURMSIM_UP": "--nodes 3 --frozen"}
    assert shell(f"{ROOT}/.ci/entrypoint sinfo -h -o '%P %D'", given, tmp_path) == "batch* 3\ndebug 3\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("slurmsim wh", {"why", "whatif", "when"}), ("slurmsim run --weeks 3 --fair", {"--fair-start"}),
        ("slurmsim up --slurm", {"--slurm-version"}),
    ],
)  # fmt: skip
def test_completions(line: str, expected: set[str], tmp_path: Path) -> None:
    pytest.importorskip("argcomplete")
    answer = tmp_path / "answer"
    given = {**os.environ, "_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)),
             "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_STDOUT_FILENAME": str(answer)}  # fmt: skip
    subprocess.run([BIN / "slurmsim"], env=given, check=True, capture_output=True)
    assert set(answer.read_text().split()) == expected
