#!/usr/bin/env bash
# Adds a variant to a copy of the tree in the three places that CONTRIBUTING.md names, and checks that softmax-tune lists,
# compiles and simulates it. Of the copy only the objects of these places are built; the rest of the program is that of
# BUILD_DIR, which shows that nothing else has to change.
#   add_variant.sh SOURCE_DIR BUILD_DIR WORK_DIR
set -euo pipefail
source_dir=$1 build=$2 work=$3 here=$1/tests/tree/new_variant
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
variants=src/CMakeFiles/softmax_dispatch_variants.dir jit=src/CMakeFiles/softmax_dispatch_jit.dir
objects=("$variants/variants/$id.cpp.o" "$variants/variants/registry.cpp.o" "$jit/embedded_kernels.cpp.o")
cmake --build "$work/build" --parallel 2 --target "${objects[@]}"

# The command that links the program, with the copy's objects before the library, which then gives none of theirs.
tune=$work/softmax-tune
link=$(cmake --build "$build" --target softmax-tune -- -t commands | tail -n 1)
[[ $link == *' -o softmax-tune '* ]] || { echo "not the command that links softmax-tune: $link" >&2; exit 1; }
(cd "$build" && bash -c "${link/ -o softmax-tune / ${objects[*]/#/$work/build/} -o $tune }")

export SOFTMAX_DISPATCH_CACHE=off
listed=$("$tune" list --json)
grep -Eq "\"id\": *\"$id\"" <<<"$listed" || { echo "list --json does not show $id: $listed" >&2; exit 1; }
profile=$("$tune" profile --arch sm_75 --device sim --variant "$id" --problem f32:33x100 --json)
echo "$profile"
grep -Eq "\"variant\": *\"$id\"" <<<"$profile"
grep -Eq '"registers": *[1-9]' <<<"$profile"
grep -Eq '"sampled_blocks": *33' <<<"$profile"
