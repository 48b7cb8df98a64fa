"""``--json`` and ``--yaml``: documents of each release, field by field as recorded.

``openapi_*`` is 22.05's, the others are 24.11's and 26.05's.
"""
