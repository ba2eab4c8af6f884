# The package: found by find_package(softmax_dispatch) in the build tree and in an install tree.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/softmax_dispatch)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(FILES ${PROJECT_BINARY_DIR}/include/softmax_dispatch/version.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/softmax_dispatch)

set(carried "")
if(SOFTMAX_DISPATCH_PORTABLE)
  include(portable)
  set(carried RUNTIME_DEPENDENCY_SET softmax_dispatch_carried)
endif()

# An export set each: who links the shared library need not have what the static one is made of.
foreach(kind shared static)
  install(TARGETS softmax_dispatch_${kind} EXPORT softmax_dispatch-${kind} ${carried}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT softmax_dispatch-${kind} NAMESPACE softmax_dispatch:: FILE softmax_dispatch-${kind}.cmake
    DESTINATION ${package_dir})
  export(EXPORT softmax_dispatch-${kind} NAMESPACE softmax_dispatch::
    FILE ${PROJECT_BINARY_DIR}/softmax_dispatch-${kind}.cmake)
endforeach()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/softmax_dispatch-config.cmake.in
  ${PROJECT_BINARY_DIR}/softmax_dispatch-config.cmake INSTALL_DESTINATION ${package_dir}
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/softmax_dispatch-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/softmax_dispatch-config.cmake
  ${PROJECT_BINARY_DIR}/softmax_dispatch-config-version.cmake DESTINATION ${package_dir})

if(TARGET softmax-tune)
  install(TARGETS softmax-tune ${carried} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
