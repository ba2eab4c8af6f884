#!/usr/bin/env bash
# Adds a variant to a copy of the tree in the three places that CONTRIBUTING.md names, builds softmax-tune there, and checks
# that the program lists and compiles the new variant.
#   add_variant.sh SOURCE_DIR WORK_DIR
set -euo pipefail
source_dir=$1 work=$2 here=$1/tests/tree/new_variant
id=plain

# Modification times are kept, so that a second run compiles only what has changed.
mkdir -p "$work"
rm -rf "$work/tree"
mkdir "$work/tree"
for item in CMakeLists.txt cmake src kernels_src tuning configs cli; do
  cp -a "$source_dir/$item" "$work/tree/"
done

cp "$here/$id.cu" "$work/tree/kernels_src/"
cp "$here/$id.cpp" "$work/tree/src/variants/"
# The registry line of the new variant is that of an existing one with the other id.
registry=$work/tree/src/variants/registry.cpp
sed -i "/\bv1\b/{p;s/\bv1\b/$id/}" "$registry"
added=$(diff "$source_dir/src/variants/registry.cpp" "$registry" | grep -c '^[<>]') || true
if [[ $added -ne 1 ]]; then
  echo "expected one new line in $registry, found $added lines that differ" >&2
  exit 1
fi

launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
cmake -S "$work/tree" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE= -DSOFTMAX_DISPATCH_BUILD_TESTS=OFF -DSOFTMAX_DISPATCH_BUILD_EXAMPLES=OFF \
  -DSOFTMAX_DISPATCH_INSTALL=OFF "${launcher[@]}"
cmake --build "$work/build" --parallel 2 --target softmax-tune

export SOFTMAX_DISPATCH_CACHE=off
tune=$work/build/softmax-tune
listed=$("$tune" list --json)
grep -Eq "\"id\": *\"$id\"" <<<"$listed" || { echo "list --json does not show $id: $listed" >&2; exit 1; }
profile=$("$tune" profile --arch sm_75 --variant "$id" --problem f32:33x100 --json)
echo "$profile"
grep -Eq "\"variant\": *\"$id\"" <<<"$profile"
grep -Eq '"registers": *[1-9]' <<<"$profile"
