#!/usr/bin/env bash
# The README's commands on fresh machines: a table environment x command x result.
#
#   benchmarks/fresh_machine.sh [--main] [--tests "PATH ..."] [--out FILE] [ENVIRONMENT ...]
#
# --main    run the README's first command as well, not the tests alone
# --tests   run only these tests
# --out     append rows to FILE, and leave out what has a row there
#
# Without names, all environments run, one after the other; the list is at the end. Environments
# with the same Python share one installation of a clean clone. Nothing is inherited but PATH. Data,
# browser and node are hidden except in `complete`, which installs them. Ordinary users need root.
# Interpreters: $PYTHONS (paths, separated by spaces), else python3.11 and newer of PATH and pyenv.
set -euo pipefail
exec </dev/null
here=$(cd "$(dirname "$0")/.." && pwd)
main=false tests='' out=''
while [[ ${1:-} == --* ]]; do
  case $1 in
    --main) main=true; shift ;;
    --tests) tests=$2; shift 2 ;;
    --out) out=$(realpath -m "$2"); shift 2 ;;
    *) echo "$1: is not an option; see the head of $0" >&2; exit 2 ;;
  esac
done

work=$(mktemp -d)
chmod 755 "$work"
user=onegrad-$$ uid=65500 # a user whom this script makes, and one whom the system does not know
clean_up() {
  if id "$user" >/dev/null 2>&1; then userdel "$user"; fi
  rm -rf "$work"
}
trap clean_up EXIT
git clone --quiet "$here" "$work/clone"
root=$([ "$(id -u)" -eq 0 ] && echo true || echo false)
if $root; then useradd --system --home-dir "$work/home" --shell /bin/sh "$user"; fi
install -d "$work/home" "$work/none" "$work/read-only"
if $root; then chown "$user" "$work/home"; fi
chmod 555 "$work/read-only"

# Interpreters that work, by version: "3.11 /usr/bin/python3.11".
read -ra candidates <<<"${PYTHONS:-$(compgen -c python3. | grep -xE 'python3\.[0-9]+' | sort -u | xargs -r which -a | xargs)}"
if [ -z "${PYTHONS:-}" ]; then candidates+=("${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3); fi
pythons=$(for python in "${candidates[@]}"; do
  "$python" -c 'import sys, ensurepip, venv
if sys.version_info >= (3, 11): print("%d.%d" % sys.version_info[:2], sys.argv[1])' "$python" 2>/dev/null || true
done | sort -V)
# python_of VERSION|newest|user: the first interpreter of that kind, "VERSION PATH"
python_of() {
  case $1 in
    newest) tail -n 1 <<<"$pythons" ;;
    user) while read -r version path; do
        if as_user "$uid" "$path" -c pass 2>/dev/null; then echo "$version $path"; break; fi
      done <<<"$pythons" ;;
    *) grep -m 1 "^$1 " <<<"$pythons" || true ;;
  esac
}
as_user() { setpriv --reuid="$1" --regid="$(id -g "$1" 2>/dev/null || echo "$1")" --clear-groups "${@:2}"; }

# The README's commands, in their parts: extras to install, and what runs then.
mapfile -t commands < <(grep '^python3 -m venv' "$here/README.md")
extras_of() { sed "s/.*install --quiet '\.\[\(.*\)\]'.*/\1/" <<<"$1"; }
# installation VERSION PATH COMMAND [CONSTRAINTS]: the folder of a virtual environment, made if need be
installation() {
  local extras folder
  extras=$(extras_of "$3")
  folder=$work/venv-$1-$extras${4:+-oldest}
  if [ ! -e "$folder/ready" ]; then
    (cd "$work/clone" && "$2" -m venv "$folder" &&
      "$folder/bin/pip" install --quiet ${4:+--constraint "$4"} ".[$extras]") >"$work/pip.log" 2>&1 ||
      { tail -n 3 "$work/pip.log" >&2; return 1; }
    touch "$folder/ready"
  fi
  echo "$folder"
}

row() { # row ENVIRONMENT PYTHON COMMAND RESULT SECONDS
  local line
  line=$(printf '| %s | %s | %s | %s | %s |' "$@")
  echo "$line"
  if [ -n "$out" ]; then echo "$line" >>"$out"; fi
}

# run NAME COMMAND-NUMBER: one row
run() {
  local name=$1 command=${commands[$2]} kind=user constraints='' what hide=true log started
  local home=$work/home parts=() as=() variables=(LANG=C.UTF-8) result code=0 seconds folder clone
  case $name in
    root) what="root" ;;
    user) what="ordinary user" as=(as_user "$user") ;;
    home-read-only) what="ordinary user, HOME read-only" as=(as_user "$user") home=$work/read-only ;;
    no-home) what="unknown user, HOME unset" as=(as_user "$uid") home='' ;;
    c) what="LANG=C" variables=(LANG=C LC_ALL=C) ;;
    utf-8) what="LANG=C.UTF-8" variables=(LANG=C.UTF-8 LC_ALL=C.UTF-8) ;;
    nohup) what="nohup, SIGINT and SIGHUP ignored" ;;
    no-terminal) what="new session, stdin closed" ;;
    terminal) what="terminal" variables+=(TERM=xterm) ;;
    oldest) what="oldest packages" kind=3.11 constraints=.ci/oldest.txt ;;
    newest) what="newest Python" kind=newest ;;
    complete) what="root, with data, browser, node" hide=false ;;
    *) echo "$name: is not an environment; one of $all" >&2; exit 2 ;;
  esac
  local title=reproduce
  if [ "$2" -eq 1 ]; then title="pytest${tests:+ $tests}"; fi
  if [ -n "$out" ] && grep -qF "| $what | $title |" <<<"$(cut -d '|' -f 1,2,4- "$out" 2>/dev/null)"; then return; fi
  if ! $root && [[ $name =~ ^(user|home-read-only|no-home|complete)$ ]]; then
    row "$what" - "$title" "not run: needs root" -; return
  fi
  local version path
  read -r version path < <(python_of "$kind"; echo)
  if [ -z "$version" ] && [ "$kind" = user ]; then read -r version path < <(python_of newest); fi
  if [ -z "$version" ]; then row "$what" "$kind" "$title" "not run: no such Python" -; return; fi
  folder=$(installation "$version" "$path" "$command" "$constraints") ||
    { row "$what" "$version" "$title" "**cannot be installed**" -; return; }

  clone=$work/run-$name
  rm -rf "$clone"
  cp -r "$work/clone" "$clone"
  ln -s "$folder" "$clone/.venv"
  cd "$clone"
  if $hide; then
    for part in DATA CHROMIUM NODE NODE_TOOLS; do variables+=("ONEGRAD_$part=$work/none/$part"); done
  else
    local adding
    adding=$(.venv/bin/python tests/optional_parts.py)
    DEBIAN_FRONTEND=noninteractive bash -c "${adding:-true}" >"$work/added" 2>&1 ||
      { tail -n 3 "$work/added" >&2; row "$what" "$version" "$title" "**parts cannot be installed**" -; return; }
  fi
  if [ "${#as[@]}" -gt 0 ]; then chown -R "${as[1]}" "$clone"; fi
  if [ -n "$home" ]; then variables+=("HOME=$home"); fi
  parts=("${as[@]}" env -i "PATH=$PATH" "${variables[@]}" bash -c "${command##*&& }${tests:+$([ "$2" -eq 1 ] && echo " $tests")}")
  log=$work/$name-$2.log
  started=$SECONDS
  case $name in
    nohup) (trap '' INT HUP; nohup "${parts[@]}" >"$log" 2>&1 & wait $!) || code=$? ;;
    no-terminal) setsid --wait "${parts[@]}" >"$log" 2>&1 <&- || code=$? ;;
    terminal) script --quiet --return --command "$(printf '%q ' "${parts[@]}")" /dev/null >"$log" 2>&1 || code=$? ;;
    *) "${parts[@]}" >"$log" 2>&1 || code=$? ;;
  esac
  seconds=$((SECONDS - started))
  if [ "$2" -eq 0 ]; then
    result="$(find figures -name '*.png' 2>/dev/null | wc -l) panels"
  else
    result=$(grep -aE '[0-9]+ (passed|failed|error)' "$log" | tail -n 1 | sed 's/\x1b\[[0-9;]*m//g; s/ in .*//; s/=//g' || true)
  fi
  if [ "$code" -ne 0 ]; then
    result="**code $code**, $result"
    { grep -aE '^(FAILED|ERROR)' "$log" || tail -n 5 "$log"; } >&2
    if [ -n "$out" ]; then cp "$log" "$out.$name-$2.log"; fi
  fi
  row "$what" "$version" "$title" "$result" "$seconds"
  cd "$work"
  rm -rf "$clone"
}

all="root user home-read-only no-home c utf-8 nohup no-terminal terminal oldest newest complete"
read -ra names <<<"${*:-$all}"
if [ -z "$out" ] || [ ! -s "$out" ]; then
  for line in '| environment | Python | command | result | seconds |' '|---|---|---|---|---|'; do
    echo "$line"
    if [ -n "$out" ]; then echo "$line" >>"$out"; fi
  done
fi
for name in "${names[@]}"; do
  if $main; then run "$name" 0; fi
  run "$name" 1
done
