"""The policy port: what a scheduling policy sees, what it may decide, and where policies register.

A policy is a class with a `schedule` generator. The controller calls it with a read-only view of the cluster and the
time. It carries out each decision as it is yielded and sends the outcome back into the generator (``ok = yield
Start(job)``). So the view already shows the decision when the policy goes on. Of Slurm's plugin API only the place is
the same: the entry-point name is what ``SchedulerType=sched/NAME`` selects.

The view has layers, each with all of the one before; stop at the first that is enough:

- `cluster`: jobs and a few names of the cluster (`ClusterView`);
- `pools`: independent parts of the cluster, and counting (`PoolsView`, `Pool`);
- `plans`: what will be free when, node by node (`PlansView`);
- `slurm`: limits, reservations, licenses, deadlines (`SlurmView`): all there is.

Beside plans stand, on top of pools, `power` (`PowerView`: watts, and jobs that change their size and cap) and, on top
of that, `layouts` (`LayoutsView`: nodes one by one, and jobs as units on them).

A `Predictor` is a plug-in of its own: it says how long jobs will run, to whichever policy takes one.
A `Discipline` is a policy's own: it says who is let into the queue that the policy sees, and in which order.

`PORT_VERSION` counts changes a policy made for the version before may notice; docs/adr/0014 says how it is kept.
"""

from slurmsim.policy.base import NamedCodeError, Policy, PolicyOption
from slurmsim.policy.cluster import ClusterView, Estimate, JobView, PartitionView, RecordView
from slurmsim.policy.decisions import (
    Cancel,
    Change,
    Decision,
    Decisions,
    Hold,
    Migrate,
    Outcome,
    Plan,
    Reconfigure,
    Reject,
    Release,
    Requeue,
    Resize,
    Resume,
    SetLimit,
    SetNice,
    SetPriority,
    Solve,
    Start,
    StartTogether,
    Suspend,
    Tested,
    WakeAt,
)
from slurmsim.policy.discipline import Discipline, Sight
from slurmsim.policy.given import GivenPolicy, check_without_code, choose_policy
from slurmsim.policy.layouts import LayoutsView
from slurmsim.policy.outlook import Outlook, PoolOutlook
from slurmsim.policy.plans import PlannedRecord, PlansView, RequestView, ReservedNodes, SharedNodes, WholeNodes
from slurmsim.policy.pools import Forecast, Pool, PoolsView
from slurmsim.policy.power import PowerFacts, PowerView, ShapeView
from slurmsim.policy.predictor import Predictor
from slurmsim.policy.registry import (
    GROUP,
    PREDICTOR,
    PREDICTORS,
    InstalledPolicy,
    configured_policy,
    installed_policies,
    load_policy,
    load_predictor,
    parse_policy,
    policy_names,
    predictor_names,
)
from slurmsim.policy.slurm import Access, LayerView, LimitsView, LimitTests, SlurmJob, SlurmRecord, SlurmView
from slurmsim.policy.units import Holding, JobUnits, Unit
from slurmsim.policy.workflow import Workflow

PORT_VERSION = 4

__all__ = [
    "GROUP",
    "PORT_VERSION",
    "PREDICTOR",
    "PREDICTORS",
    "Access",
    "Cancel",
    "Change",
    "ClusterView",
    "Decision",
    "Decisions",
    "Discipline",
    "Estimate",
    "Forecast",
    "GivenPolicy",
    "Hold",
    "Holding",
    "InstalledPolicy",
    "JobUnits",
    "JobView",
    "LayerView",
    "LayoutsView",
    "LimitTests",
    "LimitsView",
    "Migrate",
    "NamedCodeError",
    "Outcome",
    "Outlook",
    "PartitionView",
    "Plan",
    "PlannedRecord",
    "PlansView",
    "Policy",
    "PolicyOption",
    "Pool",
    "PoolOutlook",
    "PoolsView",
    "PowerFacts",
    "PowerView",
    "Predictor",
    "Reconfigure",
    "RecordView",
    "Reject",
    "Release",
    "RequestView",
    "Requeue",
    "ReservedNodes",
    "Resize",
    "Resume",
    "SetLimit",
    "SetNice",
    "SetPriority",
    "ShapeView",
    "SharedNodes",
    "Sight",
    "SlurmJob",
    "SlurmRecord",
    "SlurmView",
    "Solve",
    "Start",
    "StartTogether",
    "Suspend",
    "Tested",
    "Unit",
    "WakeAt",
    "WholeNodes",
    "Workflow",
    "check_without_code",
    "choose_policy",
    "configured_policy",
    "installed_policies",
    "load_policy",
    "load_predictor",
    "parse_policy",
    "policy_names",
    "predictor_names",
]  # fmt: skip
