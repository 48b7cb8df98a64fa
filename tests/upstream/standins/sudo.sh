#!/bin/bash
# sudo of a machine on which one person plays all users: it changes who slurmsim takes the caller for, and no uid.
user=root
while [ $# -gt 0 ]; do
    case $1 in
    -ln | -l) echo "    (ALL : ALL) NOPASSWD: ALL"; exit 0 ;;
    -u) user=$2; shift 2 ;;
    --user=*) user=${1#*=}; shift ;;
    --) shift; break ;;
    -*) shift ;;
    *) break ;;
    esac
done
home=$(awk -F: -v user="$user" '$1 == user { print $6 }' /etc/passwd)
if [ -z "$home" ]; then
    echo "sudo: unknown user $user" >&2
    exit 1
fi
exec env -i PATH="$PATH" HOME="$home" USER="$user" LOGNAME="$user" SLURMSIM_USER="$user" SUDO_USER="$USER" LANG=C.UTF-8 \
    SHELL=/bin/bash TERM=dumb UPSTREAM_PREFIX="$UPSTREAM_PREFIX" SLURM_TESTSUITE_CONF="$SLURM_TESTSUITE_CONF" "$@"
