"""Policies as strangers wrote them for slurmsim 0.1, from its page on writing one; not to be brought up to date."""

from slurmsim.policy import Plan, Policy, PolicyOption, Reject, Start, WakeAt


class ShortestFirst(Policy):
    name = "mine"
    summary = "shortest time limit first; who has waited long goes before"
    OPTIONS = {"patience": PolicyOption(int, 86400, "seconds after which a job goes before all younger ones")}  # noqa: RUF012

    def schedule(self, view, now):
        patience = self.options["patience"]

        def turn(job):
            if now - job.eligible_time >= patience:
                return 0, job.eligible_time
            return 1, job.time_limit_s

        for job in sorted(view.pending, key=turn):
            if not (yield Start(job)):
                start = view.earliest_start(job)
                if start is not None:
                    yield Plan(job, start)
                break  # nobody overtakes it
        turns = [job.eligible_time + patience for job in view.pending]
        later = [time for time in turns if time > now]
        if later:
            yield WakeAt(min(later))


class FirstFit(Policy):
    name = "first_fit"
    summary = "whoever fits, pool by pool"

    def schedule(self, view, now):
        for pool in view.pools:
            for record in list(pool.pending):
                if record.job.queued and pool.fits(record):
                    yield Start(record)
                elif record.job.queued:
                    yield Reject(record.job, "Resources")
            pool.seen()
