#!/bin/sh
# Runs the command line of this folder with the Node of this folder.
here=$(dirname "$(readlink -f "$0")")
exec "$here/node/bin/node" --disable-warning=ExperimentalWarning "$here/apps/cli/src/main.ts" "$@"
