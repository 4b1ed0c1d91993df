#!/usr/bin/env bash
# Installs the Debian packages that are missing. Quiet when nothing is to do. Arguments: package names.
set -u
missing=()
for p in "$@"; do
  dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || missing+=("$p")
done
[ ${#missing[@]} -eq 0 ] && exit 0
echo "installing: ${missing[*]}"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "error: these packages are missing and neither root nor sudo is at hand: ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
log=$(mktemp)
export DEBIAN_FRONTEND=noninteractive
for try in 1 2 3; do
  if "${as_root[@]}" apt-get update -qq >"$log" 2>&1 &&
     "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >>"$log" 2>&1; then
    rm -f "$log"
    exit 0
  fi
  sleep $((try * 2))
done
echo "error: could not install ${missing[*]}; what apt said:" >&2
tail -n 20 "$log" >&2
echo "hint: LLVM 22 comes from Debian 12's bookworm-security suite, which must be among the apt sources" >&2
exit 1
