"""Numbers and texts of Slurm's errors (slurm_errno.h), as ``scontrol errnumstr`` tells them.

One line a row: number, text in 22.05, and where they differ in 24.11 and 26.05; ``=`` as before, ``-`` unknown there.
"""

import os

from slurmsim.releases import recorded_cell

_ROWS = """\
1000 | Unexpected message received
1001 | Communication connection failure
1002 | Message send failure
1003 | Message receive failure
1004 | Communication shutdown failure
1005 | Incompatible versions of client and server code
1006 | I/O stream version number error
1007 | Protocol authentication error
1008 | Insane message length
1009 | Invalid MPI plugin name
1010 | MPI plugin's pre-launch setup failed
1011 | Plugin initialization failed
1012 | Can't find an address, check slurm.conf
1013 | Unexpected missing socket error
1014 | - | Unable to process incoming file descriptor | =
1015 | - | Unable to process outgoing file descriptor | =
1016 | - | Unable to process incoming and outgoing file descriptors | =
1017 | - | = | Read would block
1018 | - | = | Write would block
1019 | - | = | Connection rejected by handler
1020 | - | = | Connection forced closed by quiesce timeout
1021 | - | = | Connection timed out establishing
1022 | - | = | Connection timed out writing
1023 | - | = | Connection timed out reading
1800 | Unable to contact slurm controller (connect failure)
1801 | Unable to contact slurm controller (send failure)
1802 | Unable to contact slurm controller (receive failure)
1803 | Unable to contact slurm controller (shutdown failure)
1804 | - | Rate limit exceeded, please retry momentarily | =
1805 | - | Rate limit exceeded, please retry later | =
1900 | Data has not changed since time specified
2000 | Invalid partition name specified
2001 | No partition specified or system default partition
2002 | Access/permission denied
2003 | User's group not permitted to use this partition
2004 | Requested nodes not in this partition
2005 | More processors requested than permitted
2006 | Node count specification invalid
2007 | Unable to create job record, try again | = | MaxJobCount limit reached
2008 | Job size specification needs to be provided
2009 | Job script not specified
2010 | Invalid user id
2011 | Duplicate job id
2012 | Pathname of a file, directory or other parameter too long
2013 | Immediate execution impossible, insufficient priority
2014 | Requested node configuration is not available
2015 | Requested partition configuration not available now
2016 | Requested nodes are busy
2017 | Invalid job id specified
2018 | Invalid node name specified
2019 | I/O error writing script/environment to file
2020 | Job can not be altered now, try again later
2021 | Job/step already completing or completed
2022 | Error configuring interconnect
2023 | Task distribution specification invalid
2024 | Job is pending execution
2025 | Task count specification invalid
2026 | Error generating job credential
2027 | Slurm backup controller in standby mode
2028 | Invalid node state specified
2029 | Invalid feature specification
2030 | AuthType change requires restart of all Slurm daemons and  | AuthType change requires restart of all Slurm daemons and commands to take effect | =
2031 | Active features not subset of available features
2032 | SchedulerType change requires restart of the slurmctld daemon  | SchedulerType change requires restart of the slurmctld daemon to take effect | =
2033 | SelectType change requires restart of the slurmctld daemon  | SelectType change requires restart of the slurmctld daemon to take effect | =
2034 | SwitchType change requires restart of all Slurm daemons and  | SwitchType change requires restart of all Slurm daemons and jobs to take effect | =
2035 | Immediate execution impossible,  | Immediate execution impossible, resources too fragmented for allocation | =
2036 | Requested operation not supported on this system
2037 | Requested operation is presently disabled
2038 | Job dependency problem
2039 | Only batch jobs are accepted or processed
2040 | Current SwitchType does not permit arbitrary task distribution | Licenses currently unavailable | =
2041 | Requested more tasks than available processors | Unable to takeover, heartbeat file is missing | =
2042 | Job is in held state, pending scheduler release
2043 | CredType change requires restart of all Slurm daemons  | CredType change requires restart of all Slurm daemons to take effect | =
2044 | Memory required by task is not available
2045 | Invalid account or account/partition combination specified
2046 | Invalid parent account specified
2047 | Account already child of parent account specified
2048 | Invalid license specification
2049 | The node configuration changes that were made require restart  | The node configuration changes that were made require restart of the slurmctld daemon to take effect | =
2050 | Job violates accounting/QOS policy (job submit limit, user's  | Job violates accounting/QOS policy (job submit limit, user's size and/or time limits) | =
2051 | Requested time limit is invalid (missing or exceeds some limit)
2052 | Access denied to requested reservation
2053 | Requested reservation is invalid
2054 | Invalid time specified
2055 | Requested reservation is in use
2056 | Requested reservation not usable now
2057 | Invalid wckey specification
2058 | Requested reservation overlaps with another reservation
2059 | Required ports are in use
2060 | Requires more ports than can be reserved
2061 | PrologSlurmctld is still running
2062 | Job steps can not be run on this cluster
2063 | Invalid block state specified | Job cannot be submitted without the current working directory specified. | =
2064 | Functionality not available with current block layout mode | - | No running or pending steps in the job
2065 | Invalid block name specified | - | =
2066 | Invalid qos specification
2067 | QOS Preemption loop detected
2068 | Required node not available (down, drained or reserved)
2069 | CPU count specification invalid
2070 | Required partition not available (inactive or drain)
2071 | Circular job dependency
2072 | Invalid generic resource (gres) specification
2073 | Job is no longer pending execution
2074 | Requested account has breached requested QOS usage threshold
2075 | Partition is in use
2076 | Step limit reached for this job
2077 | Job is current suspended, requested operation disabled
2078 | Job can not start immediately
2079 | Switch resources currently not available | = | -
2080 | Reservation request lacks users, groups or accounts
2081 | Invalid job array specification
2082 | Duplicate reservation name
2083 | Job has already started
2084 | Job has already finished
2085 | Job is not running
2086 | Job is not pending nor running
2087 | Job is not suspended
2088 | Job is not finished
2089 | Duplicate event trigger
2090 | Slurm internal error, contact system administrator
2091 | BurstBufferType change requires restart of slurmctld daemon  | BurstBufferType change requires restart of slurmctld daemon to take effect | =
2092 | Burst Buffer permission denied
2093 | Burst Buffer resource limit exceeded
2094 | Burst Buffer request invalid
2095 | Changes to job priority are not persistent, change nice instead
2096 | Cannot modify scrontab jobs through scontrol
2097 | - | JobContainerType change requires restart of all Slurm daemons and commands to take effect | NamespaceType change requires restart of all Slurm daemons and commands to take effect
2098 | - | Cannot cancel scrontab jobs without --cron flag. | =
2099 | Invalid mcs_label specified
2100 | Waiting for burst buffer
2101 | Partition in DOWN state
2102 | Duplicate generic resource (gres) specification
2103 | Job update not available right now, the DB index is being set, try again in a bit | - | =
2104 | Reservation already started
2105 | System submissions disabled
2106 | Job not heterogeneous job
2107 | Job not heterogeneous job leader
2108 | Operation not permitted on individual component of heterogeneous job
2109 | Core-based reservation can not be updated
2110 | Duplicate job step id
2111 | Core count for reservation node list is not consistent!
2112 | X11 forwarding not available
2113 | Invalid group id
2114 | Job --batch option is invalid or not a subset of --constraints | Job --batch option is invalid or not a subset of --constraint | =
2115 | Invalid Trackable RESource (TRES) specification
2116 | Invalid TRESBillingWeights specification
2117 | Invalid JobDefaults specification
2118 | Job can not start due to maintenance reservation.
2119 | Invalid GRES specification (with and without type identification)
2120 | Reboot already in progress
2121 | Multiple KNL NUMA and/or MCDRAM constraints require use of a heterogeneous job
2122 | Requested GRES option unsupported by configured SelectType plugin
2123 | Invalid --nice value
2124 | Invalid time-min specification (exceeds job's time or other limits)
2125 | Immediate execution impossible.  | Immediate execution impossible. Individual job submission scheduling attempts deferred | =
2126 | ConfigLess mode is disabled in slurm configuration.
2127 | Environment is missing in job
2128 | Reservation given is not skipable, try deleting instead
2129 | Reservations can't have users and groups specified, only one or the other
2130 | Multiple partition job request not supported when a partition is set in the association
2131 | Controller is in standby mode, try a different controller
2132 | Cannot request more threads per core than the job allocation
2133 | Invalid preferred feature specification
2134 | Insufficient GRES available in allocation
2135 | - | Invalid container id specified | =
2136 | - | JobID must not be an empty string | =
2137 | - | JobID can not be zero | =
2138 | - | JobID can not be a negative number | =
2139 | - | JobID larger than acceptable range | =
2140 | - | JobID includes unexpected non-numeric characters | =
2141 | - | Job Array ID must not be an empty string | =
2142 | - | Job Array ID can not be a negative number | =
2143 | - | Job Array ID larger than acceptable range | =
2144 | - | Job Array ID includes unexpected non-numeric characters | =
2146 | - | HetJob component must not be an empty string | =
2147 | - | HetJob component can not be a negative number | =
2148 | - | HetJob component larger than acceptable range | =
2150 | - | StepID must not be an empty string | =
2151 | - | StepID can not be a negative number | =
2152 | - | StepID larger than acceptable range | =
2153 | - | StepID includes unexpected non-numeric characters | =
2154 | - | HetStep component must not be an empty string | =
2155 | - | HetStep component can not be zero | =
2156 | - | HetStep component can not be a negative number | =
2157 | - | HetStep component larger than acceptable range | =
2158 | - | HetStep component includes unexpected non-numeric characters | =
2159 | - | HetJob can not Het step id | =
2160 | - | Job killed due hitting max wall clock limit | =
2161 | - | Job killed due node failure | =
2162 | - | Empty list | =
2163 | - | Invalid group ID | =
2164 | - | Unable to resolve group ID to group name | =
2165 | - | Invalid user ID | =
2166 | - | Unable to resolve user ID to user name | =
2167 | - | Invalid or unknown association | =
2168 | - | Node already exists in the node table | =
2169 | - | Unable to add node, node table is full | =
2170 | - | Invalid QOS specification, relative QOS can only be used in a single partition per cluster. | =
2171 | - | Invalid extra constraints specification | =
2172 | - | Cannot signal job | =
2173 | - | Invalid signal jobs request, at least one job id or filter is required. | =
2174 | - | RestrictedCoresPerGPU: Not enough unique cores per GPU | =
2175 | - | RestrictedCoresPerGPU: Missing core topology for GPUs | =
2176 | - | RestrictedCoresPerGPU: No GPUs configured on node | =
2177 | - | Max powered up nodes reached | =
2178 | - | Requested topology configuration is not available | =
2179 | - | Preemption is required but is disabled on this system | =
2180 | - | = | Invalid node state transition
2181 | - | = | Invalid job state
2185 | - | = | SLUID is invalid
2186 | - | = | Requested operation requires extern step
2187 | - | = | Invalid power action
2188 | - | = | Step queued as pending
2189 | - | = | Invalid configuration for external job
2190 | - | = | Unable to load file for reading
7405 | - | = | Lua function execution failed due to runtime error
8000 | Time limit specification required, but not provided
"""  # noqa: E501


def texts(release: str) -> dict[int, str]:
    """Every number `release` has a text for."""
    found = {0: "No error", -1: "Unspecified error"}
    for line in _ROWS.splitlines():
        number, *cells = line.split(" | ")
        text = recorded_cell(cells, release)
        if text != "-":
            found[int(number)] = text
    return found


def text_of_number(number: int, release: str) -> str:
    """Return what slurm_strerror says of it.

    >>> text_of_number(2017, "22.05"), text_of_number(-5, "22.05")
    ('Invalid job id specified', 'Unknown negative error number')
    """
    known = texts(release).get(number)
    if known is not None:
        return known
    return os.strerror(number) if number > 0 else "Unknown negative error number"
