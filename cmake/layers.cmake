# A layer is one folder of src/ built as an object library. Its DEPENDS are the only arrows it may have: they are link
# targets here, and tests/unit/tree/layering_test.cpp holds the #include lines to the same list.
function(softmax_dispatch_layer name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;PRIVATE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  add_library(softmax_dispatch_${name} OBJECT ${sources})
  target_include_directories(softmax_dispatch_${name} PUBLIC
    ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/src/include ${PROJECT_BINARY_DIR}/include)
  target_compile_definitions(softmax_dispatch_${name} PRIVATE SOFTMAX_DISPATCH_BUILDING)
  target_link_libraries(softmax_dispatch_${name} PUBLIC fmt::fmt PRIVATE softmax_dispatch_compiler ${ARG_PRIVATE})
  foreach(dependency IN LISTS ARG_DEPENDS)
    target_link_libraries(softmax_dispatch_${name} PUBLIC softmax_dispatch_${dependency})
  endforeach()
endfunction()
