# Kernel sources become string literals at build time, so that no file is needed at run time.
# softmax_dispatch_embed(OUT file.cpp FUNCTION name ROOT dir FILES ...): writes
#   std::span<const EmbeddedFile> name();   of (path relative to ROOT, text) pairs.
function(softmax_dispatch_embed)
  cmake_parse_arguments(ARG "" "OUT;FUNCTION;ROOT" "FILES" ${ARGN})
  string(REPLACE ";" "|" files "${ARG_FILES}")
  add_custom_command(OUTPUT ${ARG_OUT}
    COMMAND ${CMAKE_COMMAND} -DOUT=${ARG_OUT} -DFUNCTION=${ARG_FUNCTION} -DROOT=${ARG_ROOT} "-DFILES=${files}"
            -P ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake
    DEPENDS ${ARG_FILES} ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake
    COMMENT "Embedding ${ARG_FUNCTION}" VERBATIM)
endfunction()
