#!/usr/bin/env bash
# Chromium for the browser tests: the one on PATH, else by apt-get where that is possible, else a loud note.
set -uo pipefail

for name in chromium chromium-browser google-chrome google-chrome-stable; do
  if command -v "$name" >/dev/null; then exit 0; fi
done

as_root=()
if [ "$(id -u)" != 0 ]; then as_root=(sudo -n); fi
if command -v apt-get >/dev/null && "${as_root[@]}" true 2>/dev/null; then
  echo "browser: no Chromium on PATH; fetching Debian's by apt-get (about 100 MB)"
  log=$(mktemp)
  if "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive bash -c \
    'apt-get update -q && apt-get install -qy --no-install-recommends chromium fonts-dejavu-core' >"$log" 2>&1 </dev/null; then
    rm -f "$log"
    exit 0
  fi
  tail -n 5 "$log"
  rm -f "$log"
fi
cat <<'NOTE'
*********************************************************************************************
*  NO CHROMIUM: the browser tests will be skipped, and nothing here says that the page works.
*  Install Chromium (apt-get install chromium, or Google Chrome) and run make test again.
*********************************************************************************************
NOTE
