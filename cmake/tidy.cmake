# `cmake --build --preset dev --target tidy` runs clang-tidy, as .clang-tidy sets it up, over the product's sources.
find_program(SOFTMAX_DISPATCH_RUN_CLANG_TIDY NAMES run-clang-tidy run-clang-tidy-14 DOC "Script that runs clang-tidy in parallel")
mark_as_advanced(SOFTMAX_DISPATCH_RUN_CLANG_TIDY)
if(SOFTMAX_DISPATCH_RUN_CLANG_TIDY)
  add_custom_target(tidy
    COMMAND ${SOFTMAX_DISPATCH_RUN_CLANG_TIDY} -quiet -p ${PROJECT_BINARY_DIR} "^${PROJECT_SOURCE_DIR}/(src|tuning|cli)/"
    USES_TERMINAL VERBATIM)
endif()
