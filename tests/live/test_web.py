"""The page's server: who gets in, what it tells as things happen, what may be done, and what is no request."""

from __future__ import annotations

import http.client
import json
import random
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

import slurmsim
from slurmsim.errors import OutputError

pytest.importorskip("starlette", reason="NOT TESTED: the page's server: the extra web is not installed")


class Visitor:
    """Somebody who has opened the page's address, or not."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.host, self.query = parts.netloc, parts.query
        self.cookie = ""

    def ask(self, path: str, body: object = None, method: str | None = None, **headers: str) -> tuple[int, str]:
        """Status and text of an answer."""
        connection = http.client.HTTPConnection(self.host, timeout=20)
        method = method or ("GET" if body is None else "POST")
        given = {
            "Host": self.host,
            "Cookie": self.cookie,
            **({"Origin": f"http://{self.host}"} if body is not None else {}),
        }
        if body is not None:
            given["Content-Type"] = "application/json"
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        text = None if body is None else body if isinstance(body, (str, bytes)) else json.dumps(body)
        connection.request(method, path, text, {name: value for name, value in given.items() if value})
        answer = connection.getresponse()
        found = answer.read().decode()
        self.headers = dict(answer.getheaders())
        connection.close()
        return answer.status, found

    def enter(self) -> Visitor:
        """Open the address as it was printed."""
        assert self.ask(f"/?{self.query}")[0] == 200
        self.cookie = self.headers["set-cookie"].partition(";")[0]
        assert "HttpOnly" in self.headers["set-cookie"] and "SameSite=strict" in self.headers["set-cookie"]
        return self

    def told(self) -> Iterator[dict]:
        """What is told of the cluster, as it happens."""
        connection = http.client.HTTPConnection(self.host, timeout=20)
        connection.request("GET", "/events", headers={"Cookie": self.cookie})
        answer = connection.getresponse()
        assert answer.status == 200 and answer.getheader("content-type", "").startswith("text/event-stream")
        try:
            for line in answer:
                if line.startswith(b"data: "):
                    yield json.loads(line[6:], parse_constant=no_json)
        finally:
            connection.close()


def no_json(name: str) -> None:
    raise AssertionError(f"{name} is no JSON: a browser shows nothing")


@pytest.fixture(scope="module")
def cluster():
    with slurmsim.cluster(nodes=4, frozen=True, start=1_767_600_000, users={"ann": 4001}) as c:
        yield c


@pytest.fixture(scope="module")
def controlled(cluster):
    with cluster.web(control=True) as page:
        yield Visitor(page.url).enter()


def test_only_who_has_the_address_from_this_machine(cluster):
    with cluster.web() as page:
        stranger = Visitor(page.url)
        assert stranger.ask("/")[0] == stranger.ask("/events")[0] == stranger.ask("/?token=wrong")[0] == 401
        assert stranger.ask("/why?job=1", Cookie="slurmsim=1")[0] == 401
        assert stranger.ask(f"/?{stranger.query}", Host="evil.example")[0] == 421
        assert stranger.ask(f"/?{stranger.query}", Origin="http://evil.example")[0] == 403
        visitor = stranger.enter()
        status, text = visitor.ask("/")
        assert status == 200 and "<script>" not in text and "frame-ancestors 'none'" in visitor.headers[
            "content-security-policy"]  # fmt: skip
        assert {visitor.headers[name] for name in ("cache-control", "referrer-policy")} == {"no-store", "no-referrer"}
        for name in ("watch.js", "watch.css", "picture.js", "common.js", "vendored/tabulator.min.js"):
            assert visitor.ask(f"/{name}")[0] == 200
        assert visitor.ask("/../app.py")[0] == visitor.ask("/vendored/../../text.py")[0] == 404
        assert visitor.ask("/do/clock", {"action": "freeze"}, Origin="http://evil.example")[0] == 403
        assert visitor.ask("/do/clock", {"action": "freeze"}, Origin="")[0] == 403
        assert visitor.ask("/do/clock", {"action": "step", "seconds": 60})[0] == 403  # it only watches
        assert cluster.now == 1_767_600_000


def test_what_happens_is_told_as_it_happens(cluster, controlled):
    told = controlled.told()
    first = next(told)
    assert first["all"] and first["clock"]["mode"] == "frozen" and len(first["nodes"]["set"]) == 4
    cluster.run("sbatch -J long -N 4 --exclusive -t 2:00:00 --wrap 'sleep 3600'", check=True)
    cluster.run("sbatch -J next -N 2 -t 60 --wrap 'sleep 600'", user="ann", check=True)
    jobs = {}

    def until(wanted):
        for message in told:
            assert not message.get("all")
            for row in message.get("jobs", {}).get("set", ()):
                job = dict(zip(first["columns"], row, strict=True))
                jobs[job["name"]] = job
            for key in message.get("jobs", {}).get("gone", ()):
                jobs.pop(next(name for name, job in jobs.items() if job["key"] == key))
            if wanted(message):
                return message
        raise AssertionError("it ended")

    until(lambda _: "next" in jobs)
    assert jobs["next"]["user"] == "ann" and jobs["next"]["state"] == "PENDING"
    cluster.step(120)
    until(lambda _: jobs["next"]["start"])
    assert jobs["long"]["state"] == "RUNNING" and jobs["long"]["places"] == [[0, 4]]
    assert jobs["next"]["start"] == jobs["long"]["start"] + 7200 and jobs["next"]["places"] == [[0, 2]]
    lines = json.loads(controlled.ask(f"/why?job={jobs['next']['job']}")[1])["lines"]
    assert any(line.startswith("Planned start") for line in lines) and any("Resources" in line for line in lines)
    assert "error" in json.loads(controlled.ask("/why?job=999")[1])
    cluster.step("2h")
    message = until(lambda message: "past" in message)
    assert [row[2] for row in message["past"]] == ["long", "next"] and jobs == {}  # MinJobAge has passed
    with cluster.inject("unreachable", command="squeue"):
        assert until(lambda message: message.get("faults"))["faults"][0]["what"] == "unreachable"
    assert until(lambda message: "faults" in message)["faults"] == []
    cluster.fail_node("n1")
    until(lambda message: "nodes" in message)
    cluster.resume_node("n1")
    told.close()


def test_clock_faults_and_nodes_may_be_changed(cluster, controlled):
    before = cluster.now
    assert controlled.ask("/do/clock", {"action": "step", "seconds": "10m"})[0] == 200 and cluster.now == before + 600
    status, text = controlled.ask("/do/inject", {"what": "slow", "given": {"command": "squeue", "seconds": "2s"}})
    assert status == 200 and [one.what for one in cluster.faults()] == ["slow"]
    assert controlled.ask("/do/end_fault", {"id": json.loads(text)["fault"]["id"]})[0] == 200 and not cluster.faults()
    assert controlled.ask("/do/node_action", {"action": "drain", "nodes": "n2", "reason": "look"})[0] == 200
    assert [node.reason for node in cluster.nodes() if node.reason] == ["look"]
    cluster.resume_node("n2")
    assert "slow" in json.loads(controlled.ask("/faults")[1])


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/do/down", {}, "no such thing to do: 'down'"),
        ("/do/submit", {"job": {}}, "no such thing to do: 'submit'"),
        ("/do/clock", {"action": "explode"}, "Invalid argument"),
        ("/do/clock", {"action": "step", "seconds": "soon"}, "bad step 'soon'"),
        ("/do/clock", {"action": "step", "extra": 1}, "not known here: 'extra'"),
        ("/do/inject", {"what": "nothing", "given": {}}, "nothing"),
        ("/do/inject", {"what": "slow", "given": 3}, "settings of a fault are an object"),
        ("/do/node_action", {"action": "drain", "nodes": "x[1-99999999]"}, "Invalid node name"),
        ("/do/clock", "[1]", "a JSON object is expected"),
        ("/do/clock", "{" * 5000, "a JSON object is expected"),
        ("/do/clock", '"' + "x" * (1 << 17) + '"', "at most 65536 bytes"),
    ],
)
def test_what_cannot_be_done_is_said(controlled, path, body, said):
    status, text = controlled.ask(path, body)
    assert status == 400 and said in json.loads(text)["error"] and "Traceback" not in text


def test_no_request_breaks_it(controlled):
    """Mutated requests: an answer each, never a server error; and it still serves."""
    rng = random.Random(3)
    words = ["/", "events2", "why", "why?job=", "do/clock", "do/inject", "%00", "..", "%ff", "?token=", "a" * 3000, "é"]
    for _ in range(150):
        path = "/" + "".join(rng.choice(words) for _ in range(rng.randint(1, 4)))
        path = "".join(c for c in path.replace("é", "%C3%A9"))
        body = rng.choice([None, b"", b"\xff\x00", b'{"action":', b'{"action":"step","seconds":1e400}', b"[]"])
        method = rng.choice(["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "X"])
        try:
            status, text = controlled.ask(path, body, method)
        except (http.client.HTTPException, ConnectionError):
            continue  # no HTTP at all: it hung up
        assert status < 500 and "Traceback" not in text, (method, path, body)
    assert controlled.ask("/")[0] == 200


def test_shares_without_use_are_shown(tmp_path):
    """Fair Tree's level of an account without usage is infinite, which JSON cannot say."""
    (tmp_path / "slurm.conf").write_text(
        "ClusterName=c\nSlurmctldHost=h\nAccountingStorageType=accounting_storage/slurmdbd\n"
        "PriorityType=priority/multifactor\nPriorityWeightFairshare=1000\nNodeName=n1 CPUs=2\n"
        "PartitionName=p Nodes=n1 Default=YES\n"
    )
    with slurmsim.cluster(conf=tmp_path / "slurm.conf", frozen=True) as c:
        c.run("sacctmgr -i add account a,b", check=True)
        c.step(600)
        with c.web() as page:
            told = Visitor(page.url).enter().told()
            shares = next(told)["shares"]
            told.close()
    assert [row[0] for row in shares if row[1] is None] == ["root", "a", "b"]
    assert all(len(row) == 7 for row in shares)


def test_it_ends_with_its_cluster_and_says_what_it_cannot():
    with slurmsim.cluster(nodes=1, frozen=True) as c:
        page = c.web()
        told = Visitor(page.url).enter().told()
        assert next(told)["all"]
        c.stop()
        assert next(told)["away"]
        c.start()
        while not next(told).get("all"):
            pass
        told.close()
        c.stop()
        last = time.monotonic() + 20
        while page._process.poll() is None and time.monotonic() < last:
            time.sleep(0.1)
        assert page._process.poll() == 0
        with pytest.raises(OutputError, match="the page cannot be served: no cluster is running"):
            c.web()
