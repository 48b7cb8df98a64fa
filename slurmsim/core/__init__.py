"""The scheduler core: a deterministic state machine, facts in, actions out.

Its rooms, each seeing only those before it: `records` (what there is), `placement` (which nodes), `accounting` (who may
use how much), `queue` (who waits, in which order), `reservations`, `occupancy` (what happens to nodes and to jobs on
them), `scheduling` (who starts), `controller` (facts and time). The way in is `controller.controller.Controller`.
"""
