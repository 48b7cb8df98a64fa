#!/bin/bash
# The database of slurmdbd is a folder of slurmsim's: it can be there, be dropped, and be filled from a dump. No SQL.
database=$UPSTREAM_PREFIX/var/cluster
sql=
while [ $# -gt 0 ]; do
    case $1 in -e) sql=${2,,}; shift ;; esac
    shift
done
case $sql in
"") exec tar -x -C "${database%/*}" ;;
use*) [ -d "$database" ] ;;
"drop database"*) rm -rf "$database" ;;
"create database"*) ;;
*) echo "mysql: no SQL here: $sql" >&2; exit 1 ;;
esac
