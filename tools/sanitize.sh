#!/usr/bin/env bash
# Build a copy of the tree under sanitizers and run the engine in it.  The modules built in place are not touched.
# `tools/sanitize.sh PYTHON [pytest arguments]`: the engine's tests under the address and undefined-behaviour sanitizers.
# A write past an array's end, which would pass unnoticed otherwise, stops the run with a stack trace.
# `tools/sanitize.sh PYTHON --threads [SECONDS]`: eight threads at shared grammars under the thread sanitizer.  Each race is
# reported once, and the exit code is 66 if there was one.
set -euo pipefail
python=$(realpath -s "$1"); shift
cd "$(dirname "$0")/.."
copy=build/sanitize
if [ "${1:-}" = --threads ]; then
  copy=build/sanitize-threads
fi

mkdir -p "$copy"
git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -cf - -T - | tar -xf - -C "$copy"
cd "$copy"

if [ "${1:-}" = --threads ]; then
  MASKSCOPE_SANITIZE=thread "$python" setup.py --quiet build_ext --inplace
  # Python itself is not instrumented: its locks are seen, its memory would be reported if its own allocator moved it.
  exec env LD_PRELOAD="$(gcc -print-file-name=libtsan.so)" PYTHONMALLOC=malloc \
    TSAN_OPTIONS=history_size=5:report_signal_unsafe=0 "$python" -m tests.engine.crowd "${2:-60}"
fi

tests=("${@:-tests/engine}")
export MASKSCOPE_SANITIZE=1
"$python" setup.py --quiet build_ext --inplace

# Python itself leaks on purpose at exit, and its own allocator would hide our mistakes from the sanitizer.
export LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)"
export PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 UBSAN_OPTIONS=print_stacktrace=1
# What measures or bounds memory or time, of which the sanitizers take their own.
left_out=(
  --deselect tests/engine/test_bystanders.py::test_nobody_waits_for_what_nobody_does
  --deselect tests/engine/test_compile_cache.py::test_what_was_dropped_is_given_back
  --deselect "tests/engine/test_limits.py::test_no_grammar_takes_for_ever[many alternatives]"
)
# The report goes to standard error itself, which pytest must not keep to itself.
exec "$python" -m pytest --capture=sys -p no:cacheprovider "${left_out[@]}" "${tests[@]}"
