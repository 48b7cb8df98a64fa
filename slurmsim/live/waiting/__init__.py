"""Why a job of a live cluster waits: `explain` reads what the cluster has on disk, running or not.

Nothing of the cluster changes: `onlooker` makes an engine of its journal and snapshot in this process, and forks of
that engine try what would start the job now (`trial_changes`). `numbers` has the figures behind each reason, `text`
the words.
"""
