#!/usr/bin/env bash
# Build a copy of the tree under the address and undefined-behaviour sanitizers and run the engine's tests in it:
# `tools/sanitize.sh PYTHON [pytest arguments]`.  The modules built in place are not touched.
# A write past an array's end, which would pass unnoticed otherwise, stops the run with a stack trace.
set -euo pipefail
python=$(realpath -s "$1"); shift
cd "$(dirname "$0")/.."
copy=build/sanitize
tests=("${@:-tests/engine}")

mkdir -p "$copy"
git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -cf - -T - | tar -xf - -C "$copy"
cd "$copy"

export MASKSCOPE_SANITIZE=1
"$python" setup.py --quiet build_ext --inplace

# Python itself leaks on purpose at exit, and its own allocator would hide our mistakes from the sanitizer.
export LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)"
export PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 UBSAN_OPTIONS=print_stacktrace=1
# The report goes to standard error itself, which pytest must not keep to itself.
exec "$python" -m pytest --capture=sys -p no:cacheprovider "${tests[@]}"
