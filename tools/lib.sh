# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash
#
# What the scripts in tools/ share; they source it. ROOT is the top of the tree, and the working directory.

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"

say() { printf '\n== %s\n' "$*"; }

die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "installing packages needs root or sudo: $*"
  fi
}

packages_for() { awk -v group="$1" '$1 == group { print $2 }' tools/packages.debian; }

is_installed() { [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# Installs what is missing of the given groups of tools/packages.debian. Does nothing, and needs no network, when
# everything is there; elsewhere than on Debian the tools have to be there already.
install_packages() {
  if ! command -v apt-get >/dev/null; then
    printf 'note: no apt-get here; tools/packages.debian lists what is needed\n'
    return
  fi
  local group package missing=()
  for group in "$@"; do
    for package in $(packages_for "$group"); do
      is_installed "$package" || missing+=("$package")
    done
  done
  if [ "${#missing[@]}" -gt 0 ]; then
    say "Installing ${missing[*]}"
    as_root apt-get update -q
    for package in $(packages_for optional); do
      is_installed "$package" || ! apt-cache show "$package" >/dev/null 2>&1 || missing+=("$package")
    done
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
  fi
}

# configure PRESET [CMAKE ARGUMENT...]
configure() {
  local preset="$1" launcher=()
  shift
  if command -v ccache >/dev/null; then
    launcher=(-D CMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  cmake --preset "$preset" "${launcher[@]}" "$@" >"build/configure-$preset.log" 2>&1 ||
    { cat "build/configure-$preset.log" >&2; die "cmake --preset $preset failed"; }
}

# The Python environment of the interop tests. Made anew only when their requirements or the interpreter changed.
VENV="$ROOT/build/venv"
make_venv() {
  local requirements=tests/interop/requirements.txt stamp
  stamp="$({ cat "$requirements"; python3 --version; } | sha256sum | cut -d' ' -f1)"
  if [ "$(cat "$VENV/stamp" 2>/dev/null)" = "$stamp" ]; then
    return
  fi
  say "Installing the Python packages of $requirements into build/venv"
  rm -rf "$VENV"
  python3 -m venv "$VENV"
  "$VENV/bin/python" -m pip install --quiet --requirement "$requirements"
  printf '%s\n' "$stamp" >"$VENV/stamp"
}
