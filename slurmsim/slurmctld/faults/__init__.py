"""Faults on request, as the daemon keeps them: `registry` has the rules and counts whom they strike; `job_outcomes`
and `node_troubles` make happen what happens to jobs and nodes; `behind` shows accounting as it was a while ago."""
