#!/usr/bin/env bash
# Writes the locks again from pyproject.toml: every version pinned, every file hashed, no address named.
# Pins stay as they are unless pyproject.toml says otherwise; scripts/lock.sh --upgrade takes the newest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

compile() { # compile NAME ARGUMENTS...
  local name=$1
  shift
  .tools/uv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
    --custom-compile-command "make lock" --output-file "requirements/$name.txt" "$@"
}

compile runtime pyproject.toml "$@"
compile dev pyproject.toml --group dev --group build --constraints requirements/runtime.txt "$@"
compile build --group build --constraints requirements/dev.txt "$@"
compile uv requirements/uv.in "$@"
