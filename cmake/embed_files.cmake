# Script side of softmax_dispatch_embed().
string(REPLACE "|" ";" FILES "${FILES}")
list(LENGTH FILES count)
# std::array, because there may be no files.
set(text "#include <array>\n\n#include \"support/embedded.hpp\"\n\nnamespace softmax_dispatch {\n\nstd::span<const EmbeddedFile> ${FUNCTION}() {\n  static const std::array<EmbeddedFile, ${count}> files = {{\n")
foreach(file IN LISTS FILES)
  file(READ ${file} content)
  file(RELATIVE_PATH name ${ROOT} ${file})
  # A raw string literal holds at most 64 KiB in some compilers; kernel files are far below.
  string(APPEND text "    {\"${name}\", R\"__embedded__(${content})__embedded__\"},\n")
endforeach()
string(APPEND text "  }};\n  return files;\n}\n\n}  // namespace softmax_dispatch\n")
file(WRITE ${OUT} "${text}")
