"""The OpenAPI document of the paths of `routes` and the records of the tables; every word of it is ours.

A table is described field by field, in each version with the fields it has there. Other parts of a document are
objects without named members.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from slurmsim import releases
from slurmsim.commands.json import configuration
from slurmsim.commands.json.job import JOB
from slurmsim.commands.json.node import NODE
from slurmsim.commands.json.partition import PARTITION
from slurmsim.commands.json.small_records import LICENSE, RESERVATION
from slurmsim.commands.json.versions import Always, Field
from slurmsim.rest import controller_writing, database_tables, job_description, routes
from slurmsim.rest.body import SHAPES, Table

Schema = dict[str, Any]
OBJECT: Schema = {"type": "object", "additionalProperties": True}
_STRING: Schema = {"type": "string"}
_STRINGS: Schema = {"type": "array", "items": _STRING}
_TYPES: dict[str, Schema] = {
    "str": _STRING, "int": {"type": "integer"}, "bool": {"type": "boolean"}, "float": {"type": "number"},
    "list[str]": _STRINGS, "list": _STRINGS, "list[Record]": {"type": "array", "items": OBJECT}, "Record": OBJECT,
}  # fmt: skip
_RECORDS: dict[str, Sequence[Field]] = {
    "job_info": JOB, "node": NODE, "partition_info": PARTITION, "reservation_info": RESERVATION, "license": LICENSE,
}  # fmt: skip
_LISTS = {"jobs": "job_info", "nodes": "node", "partitions": "partition_info", "reservations": "reservation_info",
          "licenses": "license"}  # fmt: skip
_DATABASE = {"db_jobs": "jobs", "qos": "qos", "accounts": "accounts", "users": "users",
             "associations": "associations", "clusters": "clusters", "tres": "TRES", "db_pings": "pings",
             "pings": "pings", "states": "jobs", "status": "status", "resources": "nodes",
             "wckeys": "wckeys", "made_reservations": "reservations"}  # fmt: skip
_ENTRIES = {"qos": "qos", "accounts": "account", "users": "user", "associations": "assoc", "clusters": "cluster_rec",
            "wckeys": "wckey", "tres": "tres", "made_reservations": "reservation_desc_msg"}  # fmt: skip
"""The records of answers that writes take as well."""
_CONFIGURATIONS = {"slurm_conf": configuration.SLURM, "slurmdbd_conf": configuration.DATABASE}
_NAMES = frozenset({"removed_accounts", "removed_users", "removed_associations", "removed_qos", "deleted_clusters",
                    "deleted_wckeys", "hostnames"})  # fmt: skip
_WORDS = frozenset({"added_accounts", "added_users", "hostlist"})
_BODY_NAMES = {
    "db_accounts": "openapi_accounts_resp", "db_users": "openapi_users_resp", "db_associations": "openapi_assocs_resp",
    "db_qos": "openapi_slurmdbd_qos_resp", "db_wckeys": "openapi_wckey_resp", "db_clusters": "openapi_clusters_resp",
    "db_users_association": "openapi_users_add_cond_resp", "nodes": "update_node_msg", "node": "update_node_msg",
    "db_accounts_association": "openapi_accounts_add_cond_resp", "reservation": "reservation_desc_msg",
    "hostnames": "openapi_hostnames_req_resp", "hostlist": "openapi_hostlist_req_resp",
    "requeue": "openapi_jobs_requeue_query", "reservations": "reservation_mod_req",
    "partitions": "openapi_partitions_mod_req", "submit": "job_submit_req", "job": "job_desc_msg",
    "allocate": "job_alloc_req", "new_node": "openapi_create_node_req",
}  # fmt: skip
"""The names Slurm's document has for what writes take: clients that are generated from either have the same."""
_BODIES: dict[str, Table] = {**database_tables.BODIES, **controller_writing.BODIES}
NUMBER = "uint32_no_val_struct"
_NUMERIC = frozenset({"number", "_minutes"})
_DESCRIPTIONS = {
    200: "What was asked for.", 401: "The user of the request is unknown.", 404: "There is no such thing.",
    "default": "What went wrong, in `errors`.",
}  # fmt: skip


def specification(release: str, plugins: frozenset[str], versions: Iterable[int]) -> dict[str, Any]:
    """Return the whole document."""
    paths: dict[str, Any] = {}
    schemas: dict[str, Any] = {}
    for version in versions:
        schemas |= _schemas(version)
        for route in routes.of_version(version, plugins, release):
            path = f"/{route.plugin}/v0.0.{version}/{route.path}"
            path += "" if route.path.endswith("}") or "job/" in route.path else "/"
            paths.setdefault(path, {})[route.method.lower()] = _operation(route, version)
    return {
        "openapi": "3.0.3",
        "info": {
            "title": f"slurmsim as Slurm {release}", "version": releases.VERSIONS[release],
            "description": "The paths of slurmrestd that a live cluster of slurmsim answers.",
            "license": {"name": "MIT"},
        },
        "servers": [{"url": "/"}],
        "security": [{}, {"user": [], "token": []}, {"bearerAuth": []}],
        "tags": [{"name": "slurm", "description": "The controller."},
                 {"name": "slurmdb", "description": "The database."},
                 {"name": "util", "description": "Lists of hosts."}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "user": {"type": "apiKey", "in": "header", "name": "X-SLURM-USER-NAME"},
                "token": {"type": "apiKey", "in": "header", "name": "X-SLURM-USER-TOKEN"},
                "bearerAuth": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
            },
        },
    }  # fmt: skip


def _ref(version: int, name: str) -> Schema:
    return {"$ref": f"#/components/schemas/v0.0.{version}_{name}"}


_KINDS = {
    "uint16": "cpus_per_task distribution_plane_size kill_warning_delay minimum_cpus_per_node over_time_limit resume"
    " segment_size sockets_per_node suspend tasks_per_board tasks_per_core tasks_per_node tasks_per_socket"
    " tasks_per_tres threads_per_core cores_per_socket",
    "uint64": "accrue_time begin_time boot_time deadline eligible_time end end_time free_mem last_busy last_update"
    " last_sched_evaluation memory_per_cpu memory_per_node partition_memory_per_cpu partition_memory_per_node"
    " pre_sus_time preempt_time preemptable_time reason_changed_at resize_time resume_after slurmd_start_time start"
    " start_time submit_time value",
    "float64": "billable_tres factor effective_usage level shares_normalized usage_factor usage_threshold",
}  # fmt: skip
"""Kinds of numbers in Slurm's document, by the names of fields; others are of 32 bits."""
_KIND_OF = {name: f"{kind}_no_val_struct" for kind, names in _KINDS.items() for name in names.split()}


def _number(version: int, name: str) -> Schema:
    return _ref(version, _KIND_OF.get(name.rpartition(".")[2], NUMBER))


def _of_field(row: Field, version: int) -> Schema:
    """Return the schema of one field, by what its value is made with."""
    make = row.make
    if isinstance(make, Always):
        return _of_value(make.value, version, row.key)
    told = str(getattr(make, "__annotations__", {}).get("return", "")) or getattr(make, "__name__", "")
    if told == "Number":
        return _number(version, row.key)
    if told == "Record | None":
        return {**OBJECT, "nullable": True}
    return dict(_TYPES.get(told, OBJECT))


def _of_value(value: Any, version: int, name: str) -> Schema:
    if isinstance(value, dict):
        return _number(version, name) if "number" in value else dict(OBJECT)
    if isinstance(value, list):
        return dict(_STRINGS)
    return dict(_TYPES[type(value).__name__])


def _schemas(version: int) -> dict[str, Schema]:
    found: dict[str, Schema] = {
        name: {
            "type": "object", "description": "A number that may be unset, or without end.",
            "properties": {"set": {"type": "boolean"}, "infinite": {"type": "boolean"}, "number": {"type": "number"}},
        } for name in ("uint16_no_val_struct", NUMBER, "uint64_no_val_struct", "float64_no_val_struct")
    }  # fmt: skip
    found |= {
        "openapi_error": {
            "type": "object",
            "properties": {"description": _STRING, "error_number": {"type": "integer"}, "error": _STRING,
                           "source": _STRING},
        },
        "openapi_resp": {"type": "object", "properties": _around(version)},
        "openapi_warning": {"type": "object", "properties": {"description": _STRING, "source": _STRING}},
        "job_desc_msg": {"type": "object", "properties": {
            name: _of_input(reader, version, name) for name, (_, reader) in sorted(job_description.FIELDS.items())
        }},
    }  # fmt: skip
    found["job_submit_req"] = {
        "type": "object", "required": ["script"],
        "properties": {
            "script": _STRING, "job": _ref(version, "job_desc_msg"),
            "jobs": {"type": "array", "items": _ref(version, "job_desc_msg")},
        },
    }  # fmt: skip
    found["tres"] = {"type": "object", "properties": {
        "type": _STRING, "name": _STRING, "id": {"type": "integer"}, "count": {"type": "integer"},
    }}  # fmt: skip
    found["stats_rec"] = {"type": "object", "properties": {
        "time_start": {"type": "integer"}, "rollups": OBJECT,
        "RPCs": {"type": "array", "items": OBJECT}, "users": {"type": "array", "items": OBJECT},
    }}  # fmt: skip
    found["job_alloc_req"] = {"type": "object", "properties": {"job": _ref(version, "job_desc_msg")}}
    for name, table in _BODIES.items():
        found[_BODY_NAMES[name]] = _of_table(table, version, found)
    if version >= configuration.FIRST:
        found |= {name: _of_configuration(rows) for name, rows in _CONFIGURATIONS.items()}
    found |= {name: _of_record(table, version) for name, table in _RECORDS.items()}
    return {f"v0.0.{version}_{name}": schema for name, schema in found.items()}


def _of_configuration(rows: str) -> Schema:
    """Return the schema of a configuration; numbers that may be unset, and ranges, are objects."""
    properties = {key: dict(_OF_KIND.get(kind, OBJECT)) for key, kind, _ in configuration.kinds(rows)}
    return {"type": "object", "properties": properties}


_OF_KIND: dict[str, Schema] = {
    **dict.fromkeys(("text", "user", "returns", "nice"), _STRING),
    **dict.fromkeys(("list", "preempt", "priority_flags", "states", "families", "daemon_flags", "empty"), _STRINGS),
    **dict.fromkeys(("int", "overtime", "uid", "zero", "one"), _TYPES["int"]),
    **dict.fromkeys(("flag", "no"), _TYPES["bool"]), "controllers": {"type": "array", "items": OBJECT},
}  # fmt: skip


def _of_record(table: Sequence[Field], version: int) -> Schema:
    """Return the schema of a record; what stands within a place is described there."""
    found: Schema = {"type": "object", "properties": {}}
    for row in table:
        if row.first <= version <= row.last:
            *outer, inner = row.key.split(".")
            here = found
            for part in outer:
                here = here["properties"].setdefault(part, {"type": "object", "properties": {}})
            here["properties"][inner] = _of_field(row, version)
    return found


def _of_table(rows: Table, version: int, found: dict[str, Schema]) -> Schema:
    """Return the schema of a body that is read by a table; records that lists hold are put into `found`."""
    properties = {key: _of_shape(SHAPES.get(row.read), version, found, key) for key, row in rows.items()}
    required = sorted(key for key, row in rows.items() if row.required)
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _of_shape(shape: Any, version: int, found: dict[str, Schema], key: str) -> Schema:
    if isinstance(shape, list):
        table, name = shape
        if name not in _RECORDS:  # partitions are read and written as the same record
            found[name] = _of_table(table, version, found)
        return {"type": "array", "items": _ref(version, name)}
    if isinstance(shape, str):
        return {
            "number": _number(version, key), "strings": dict(_STRINGS),
            "tres": {"type": "array", "items": _ref(version, "tres")},
        }.get(shape, {"type": shape})  # fmt: skip
    if shape is None:
        return dict(_TAKEN.get(key, OBJECT))
    return _of_table(shape, version, found)


_TAKEN: dict[str, Schema] = {
    **dict.fromkeys(("id", "qos"), _TYPES["int"]), **dict.fromkeys(("flags", "preempt"), _STRINGS),
    **dict.fromkeys(("lineage", "nodes", "old_name", "select_plugin"), _STRING), "is_default": _TYPES["bool"],
    **{key: {"type": "array", "items": OBJECT} for key in ("accounting", "tres")}, "rpc_version": _TYPES["int"],
}  # fmt: skip
"""Kinds of values that a body may have and that change nothing, by their names."""


def _of_input(reader: Any, version: int, key: str) -> Schema:
    name = getattr(reader, "__name__", "")
    if name in _NUMERIC or name == "read":
        return _number(version, key)
    if name in ("_flag", "_hold"):
        return {"type": "boolean"}
    if name in ("_environment", "_argv", "_shared", "_mail"):
        return dict(_STRINGS)
    return dict(_STRING)


def _operation(route: routes.Route, version: int) -> dict[str, Any]:
    named = re.sub(r"\{\w+\}", "", route.path)
    words = [route.plugin, f"v00{version}", route.method.lower(), *re.findall(r"\w+", named)]
    if route.path.startswith("qos/{"):
        words.insert(-1, "single")
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": _STRING}
        for name in re.findall(r"\{(\w+)\}", route.path)
    ] + [{"name": name, "in": "query", "required": False, "schema": _STRING} for name in route.query]
    found: dict[str, Any] = {
        "operationId": "_".join(words), "summary": route.summary, "tags": [route.plugin], "parameters": parameters,
        "responses": {
            "200": _response(route, version, _DESCRIPTIONS[200]),
            "default": _response(None, version, _DESCRIPTIONS["default"]),
        },
    }  # fmt: skip
    if route.body:
        name = _BODY_NAMES.get(route.body)
        schema = OBJECT if name is None else _ref(version, name)
        found["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    return found


def _response(route: routes.Route | None, version: int, description: str) -> dict[str, Any]:
    properties = _around(version)
    key = "" if route is None else route.key
    if key in _LISTS:
        properties[key] = {"type": "array", "items": _ref(version, _LISTS[key])}
        properties["last_update"] = _ref(version, NUMBER)
    elif key == "submitted":
        properties |= {"job_id": {"type": "integer"}, "step_id": _STRING, "job_submit_user_msg": _STRING}
    elif key == "allocated":
        properties |= {"job_id": {"type": "integer"}, "job_submit_user_msg": _STRING}
    elif key in _NAMES:
        properties[key] = dict(_STRINGS)
    elif key in _WORDS:
        properties[key] = dict(_STRING)
    elif key in _DATABASE:
        name = _ENTRIES.get(key)
        items = OBJECT if name is None else _ref(version, name)
        properties[_DATABASE[key]] = {"type": "array", "items": items}
    elif key in _CONFIGURATIONS:
        properties[key] = _ref(version, key)
    elif key == "db_statistics":
        properties["statistics"] = _ref(version, "stats_rec")
    elif key:
        properties[key] = {**OBJECT, "nullable": True}
    schema: Schema = {"type": "object", "properties": properties} if key else _ref(version, "openapi_resp")
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _around(version: int) -> dict[str, Schema]:
    """Return what every answer has."""
    return {
        "meta": OBJECT, "errors": {"type": "array", "items": _ref(version, "openapi_error")},
        "warnings": {"type": "array", "items": _ref(version, "openapi_warning")},
    }  # fmt: skip
