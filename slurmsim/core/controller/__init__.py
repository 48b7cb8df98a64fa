"""The controller: facts with their time in, actions out; one step an instant.

`controller.Controller` is the way in for drivers. Here lives a job's way through the others' rooms: admission,
waiting, starts and ends, requeues, updates.
"""
