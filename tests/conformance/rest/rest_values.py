"""What of a document only the machine and the moment of a recording know."""

from __future__ import annotations

import re

MEASURED = re.compile(
    r"\.(?:latency|cpu_load|free_mem\.number|load\.(?:minimum|maximum)|free\.(?:minimum|maximum)\.number|boot_time\.number"
    r"|operating_system|allocating_node|srun\.(?:host|pid)|sluid|original_sluid|gettimeofday_latency|server_thread_count"
    r"|client\.\w+)$"
    r"|\.statistics\.(?:(?:schedule|bf)_(?!exit|queue_length$|active$)\w+|rpcs_|pending_rpcs|jobs_|agent|job_states_ts"
    r"|(?:schedule|bf)_exit\.end_job_queue$)"
    r"|tres\.usage\[\d+\]\.value$|run_seconds\[\d+\]\.value|shares\[\d+\]\.(?:usage|effective_usage|usage_normalized|fairshare)"
    r"|\.fairshare\.|\.cores\[\d+\]\.status"
)
"""What only the machine and the moment of the recording know: loads, times, process ids, counts of RPCs, which of equal
cores a job has, and usage that grows while the recording goes on."""
MOMENT_S = 6
"""Instants and run times that differ by no more are the same: commands of the set-up took their time."""
RUN_TIME = re.compile(r"\.(?:elapsed|running\.number|planned\.number)$")
