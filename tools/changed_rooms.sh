#!/usr/bin/env bash
# Print the folders of tests/ that speak of what changed since origin/main (or since the last commit), one a line.
# What has no folder of its own belongs to tests/project.
set -euo pipefail
cd "$(dirname "$0")/.."
base=$(git merge-base HEAD origin/main 2>/dev/null || git rev-parse HEAD)
{ git diff --name-only "$base"; git ls-files --others --exclude-standard; echo Makefile; } | sed -E '
  s,^tests/(cases|reference|strategies).*,engine,;                    t found
  s,^tests/([a-z_]+)/.*,\1,;                                          t found
  s,^kernels_core/grammar/json_schema/.*,json_schema,;                t found
  s,^kernels_core/(grammar|tokens)/.*,\1,;                            t found
  s,^kernels_core/inspect/.*,inspection,;                             t found
  s,^kernels_core/.*,engine,;                                         t found
  s,^workbench/tokenizers/.*,tokens,;                                 t found
  s,^workbench/(compat|generation)/.*,\1,;                            t found
  s,^workbench/serving/.*,serve,;                                     t found
  s,^(workbench|visualizers|experiments)/.*,\1,;                      t found
  s,.*,project,
  :found' | sort -u | while read -r room; do if [ -d "tests/$room" ]; then echo "tests/$room"; fi; done
