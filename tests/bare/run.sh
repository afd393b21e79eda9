#!/usr/bin/env bash
# What a newcomer does, on a machine that has nothing: a fresh clone in an empty folder, HOME and cache empty, no Java on PATH;
# then make demo and make test. As root, make demo is run once more by a user who may do nothing.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
place=$(mktemp -d "${TMPDIR:-/tmp}/comporta-bare-XXXXXX")
trap 'rm -rf "$place"' EXIT
chmod 755 "$place"

# Everything on PATH but Java, and but what would do our work for us.
mkdir "$place/bin"
IFS=: read -ra folders <<<"$PATH"
for ((i = ${#folders[@]} - 1; i >= 0; i--)); do
  for program in "${folders[i]}"/*; do
    case "${program##*/}" in
      java* | jar | keytool | uv | uvx | docker* | psql | pg_* | postgres | kafka* | spark* | pyspark*) ;;
      *) if [ -x "$program" ] && [ ! -d "$program" ]; then ln -sf "$program" "$place/bin/"; fi ;;
    esac
  done
done
# Where apt-get will put it, if make test has to fetch it.
[ -e "$place/bin/chromium" ] || ln -sf /usr/bin/chromium "$place/bin/chromium"

# python_for COMMAND...: a Python 3.11 or newer with pip that whoever COMMAND makes of us may run; behind a version manager, the real one.
python_for() {
  local candidate real
  for candidate in python3 /usr/bin/python3 /usr/local/bin/python3; do
    real=$("$candidate" -c 'import os, sys; print(os.path.realpath(sys.executable))' 2>/dev/null) || continue
    if "$@" test -r "$real" && "$@" "$real" -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$real"
      return
    fi
  done
  return 1
}

# What the network needs from outside stays: proxies, certificates, where pip looks.
kept=()
while IFS= read -r name; do
  case "$name" in
    *_proxy | *_PROXY | SSL_* | *_CA_BUNDLE | *_CERT | PIP_INDEX_URL | PIP_EXTRA_INDEX_URL | PIP_TRUSTED_HOST | PIP_FIND_LINKS | UV_DEFAULT_INDEX | LANG)
      kept+=("$name=${!name}")
      ;;
  esac
done < <(compgen -e)

bare() { # bare FOLDER PYTHON COMMAND...: with nothing but PATH, an empty HOME, what was kept, and ports that are free
  local folder=$1 python=$2
  shift 2
  (cd "$folder/comporta" && env -i HOME="$folder/home" TMPDIR="$folder/tmp" PATH="$place/bin" PYTHON="$python" \
    COMPORTA_KAFKA_PORT=0 COMPORTA_POSTGRES_PORT=0 COMPORTA_DASHBOARD_PORT=0 ${kept[@]+"${kept[@]}"} "$@" </dev/null)
}

fresh() { # fresh NAME: a clone, an empty HOME and an empty folder for temporary files
  mkdir -p "$place/$1/home" "$place/$1/tmp"
  git clone --quiet "file://$top" "$place/$1/comporta"
}

python=$(python_for env)
fresh newcomer
if bare "$place/newcomer" "$python" bash -c 'command -v java'; then
  echo "there is a java on PATH" >&2
  exit 1
fi
bare "$place/newcomer" "$python" make demo ARGS="--for 30s"
bare "$place/newcomer" "$python" make test

if [ "$(id -u)" = 0 ]; then
  nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
  if python=$(python_for "${nobody[@]}"); then
    fresh nobody
    chown -R 65534:65534 "$place/nobody"
    bare "$place/nobody" "$python" "${nobody[@]}" make demo ARGS="--for 30s"
  else
    echo "NOT SHOWN: that make demo works without being root: there is no setpriv, or no Python that another user may run" >&2
  fi
fi
echo "make demo and make test pass in a bare environment"
