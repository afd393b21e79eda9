#!/usr/bin/env bash
# Makes .venv from the hashed lock and leaves the command at .venv/bin/comporta. Needs Python 3.11 or newer with pip, and bash.
# Does nothing when .venv is already what the lock says. INSTALLER=pip does without uv.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

lock=requirements/dev.txt
builders=requirements/build.txt

find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python}; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  echo "setup: no Python 3.11 or newer found; install one, or name it: make setup PYTHON=/path/to/python3.11" >&2
  return 3
}

hash_of() { # hash_of TEXT FILES...: one fingerprint
  "$python" -c 'import hashlib, pathlib, sys
parts = [sys.argv[1].encode(), *(pathlib.Path(name).read_bytes() for name in sys.argv[2:])]
print(hashlib.sha256(b"\0".join(parts)).hexdigest())' "$@"
}

pip_setting() { # pip_setting NAME: what pip was told, by file or environment, so that uv asks the same places
  "$python" -m pip config list 2>/dev/null | sed -n "s/^[^=]*\.$1='\(.*\)'\$/\1/p" | tail -n 1
}

# told COMMAND...: runs it, shows what it fetches and builds, keeps the rest for the case that it fails.
told() {
  mkdir -p .tools
  if "$@" 2>&1 | tee .tools/setup.log | sed -nE 's/^ *(Downloading [^ ]+ \([^)]*\)|Building( wheel for)? [^ ]+).*/setup:   \1/p'; then return; fi
  tail -n 30 .tools/setup.log >&2
  return 1
}

fetch_uv() {
  uv="$PWD/.tools/uv/bin/uv"
  if [ "$("$uv" --version 2>/dev/null | cut -d ' ' -f 2)" = "$(sed -n 's/^uv==\([^ ]*\).*/\1/p' requirements/uv.txt)" ]; then return; fi
  echo "setup: first uv, which fetches the rest quickly"
  rm -rf .tools/uv
  told "$python" -m pip --disable-pip-version-check install --no-deps --require-hashes --target .tools/uv -r requirements/uv.txt
}

install_with_uv() {
  local index certificates
  fetch_uv || return 1
  index=$(pip_setting index-url)
  certificates=$(pip_setting cert)
  [ -z "$index" ] || export UV_DEFAULT_INDEX="${UV_DEFAULT_INDEX:-$index}"
  [ -z "$certificates" ] || export SSL_CERT_FILE="${SSL_CERT_FILE:-$certificates}"
  export VIRTUAL_ENV="$PWD/.venv"
  if [ "$(head -n 1 .venv/made-from 2>/dev/null)" != "$place" ]; then
    "$uv" venv --quiet --clear --no-project --python "$python" .venv || return 1
  fi
  told "$uv" pip sync --compile-bytecode --require-hashes --build-constraints "$builders" "$lock" &&
    told "$uv" pip install --offline --no-deps --no-build-isolation --editable .
}

install_with_pip() {
  local pip=(.venv/bin/python -m pip --disable-pip-version-check install --progress-bar off)
  "$python" -m venv --clear .venv
  told "${pip[@]}" --require-hashes -r "$builders"
  told "${pip[@]}" --require-hashes --no-build-isolation -r "$lock"
  told "${pip[@]}" --no-deps --no-build-isolation --editable .
}

python=$(find_python)
place=$(hash_of "$("$python" -VV) $python $PWD") # an environment's scripts name the folder and the Python they were made with
stamp="$place
$(hash_of "${INSTALLER:-uv}" "$lock" "$builders" requirements/uv.txt pyproject.toml)"
if [ "$(cat .venv/made-from 2>/dev/null)" = "$stamp" ]; then exit 0; fi

echo "setup: .venv from $(grep -c '==' "$lock") pinned packages, about 0.8 GB to fetch (PySpark alone 0.4 GB) unless your cache has them."
echo "setup: interrupted? Run it again: what has arrived is kept."
case "${INSTALLER:-uv}" in
  pip) install_with_pip ;;
  uv)
    if ! install_with_uv; then
      echo "setup: uv could not do it; pip goes on, more slowly" >&2
      install_with_pip
    fi
    ;;
  *) echo "setup: INSTALLER is uv or pip, not ${INSTALLER}" >&2; exit 2 ;;
esac
echo "$stamp" > .venv/made-from
echo "setup: done; the command is .venv/bin/comporta"
