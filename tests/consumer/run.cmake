# Configures, builds and runs the consumer projects against a package.
#   cmake -DPACKAGE=DIR -DWORK=DIR -DSANITIZE=... -DGENERATOR=... -DC_COMPILER=... -DCXX_COMPILER=... -P run.cmake
# PACKAGE is a build tree or an installation prefix.
cmake_minimum_required(VERSION 3.22)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "failed (${result}): ${command}")
  endif()
endfunction()

set(flags "")
if(SANITIZE)
  set(flags "-fsanitize=${SANITIZE}")
endif()
# A device node is how a container or machine shows that it has a GPU.
set(arguments --expect-no-device)
if(EXISTS /dev/nvidiactl)
  set(arguments "")
endif()

# Who links the shared library alone, as the C project does, need not have what it is made of.
set(options_c "")
foreach(package fmt spdlog yaml-cpp)
  list(APPEND options_c -DCMAKE_DISABLE_FIND_PACKAGE_${package}=ON)
endforeach()

foreach(project cpp c)
  run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/${project} -B ${WORK}/${project} -G ${GENERATOR}
    -DCMAKE_PREFIX_PATH=${PACKAGE} -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=${C_COMPILER}
    -DCMAKE_CXX_COMPILER=${CXX_COMPILER} -DCMAKE_C_FLAGS=${flags} -DCMAKE_CXX_FLAGS=${flags}
    ${options_${project}} --no-warn-unused-cli)
  run(${CMAKE_COMMAND} --build ${WORK}/${project})
endforeach()
foreach(program cpp/consumer_softmax_dispatch cpp/consumer_static c/consumer_c)
  run(${CMAKE_COMMAND} -E env --unset=SOFTMAX_DISPATCH_DEVICE ${WORK}/${program} ${arguments})
endforeach()

# On the simulated device, whether there is a GPU or not. The C program selects it by itself.
set(own_cache ${CMAKE_COMMAND} -E env SOFTMAX_DISPATCH_CACHE=${WORK}/cache)
foreach(program cpp/consumer_softmax_dispatch cpp/consumer_static)
  run(${own_cache} SOFTMAX_DISPATCH_DEVICE=sim ${WORK}/${program} --host-memory)
endforeach()
run(${own_cache} --unset=SOFTMAX_DISPATCH_DEVICE ${WORK}/c/consumer_c --host-memory)
