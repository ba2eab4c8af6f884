# One folder that runs on another x86-64 Linux: bin/softmax-tune and lib/libsoftmax_dispatch.so with the shared libraries
# they need beside them (Debian's libyaml-cpp.a is not position-independent, and it packages no libfmt.a or libspdlog.a).
# The C++ runtime stays the host's. Linked in, it would stand beside the one that libyaml-cpp.so uses: an exception of
# yaml-cpp that meets the other unwinder aborts the process; and Debian 12's libstdc++.a needs glibc 2.36, its libstdc++.so
# what any GCC 11 provides (GLIBCXX_3.4.29, glibc 2.34). Carried along, it would take the place of a newer one in a host
# program that loads this library first.
foreach(target softmax_dispatch_shared softmax-tune)
  if(TARGET ${target})
    # RPATH, not RUNPATH: it serves the libraries that those beside it need, too.
    target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  endif()
endforeach()
install(RUNTIME_DEPENDENCY_SET softmax_dispatch_carried
  PRE_INCLUDE_REGEXES "^lib(fmt|spdlog|yaml-cpp)\\.so" PRE_EXCLUDE_REGEXES "."
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
