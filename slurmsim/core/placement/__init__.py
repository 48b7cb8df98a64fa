"""Which nodes, and which share of each, a request gets out of what is free now or in a supposition.

A request is compiled once against its partition (`compiled_request`), then asked of the `selector`. Nothing here knows
of queues, time or accounts, and nothing is changed: an allocation is proposed, the controller makes it.
"""
