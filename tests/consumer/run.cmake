# Configures, builds and runs the stranger's project in WORK_DIR, with lastbit installed from BUILD_DIR or taken from SOURCE_DIR.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")
if(KIND STREQUAL "installed")
  run("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${WORK_DIR}/prefix")
  if(EXISTS "${WORK_DIR}/prefix/bin/lastbit")  # finds the data of its demos
    run("${WORK_DIR}/prefix/bin/lastbit" demo digits WORKING_DIRECTORY "${WORK_DIR}")
  endif()
  set(lastbit_from "-DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix" -DCMAKE_BUILD_TYPE=Release)
else()  # joined and not optimised: a third of the time
  set(lastbit_from "-DLASTBIT_SOURCE_DIR=${SOURCE_DIR}" -DCMAKE_UNITY_BUILD=ON -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0)
endif()

run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/stranger" -B "${WORK_DIR}/build" -G "${GENERATOR}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}" ${lastbit_from})
run("${CMAKE_COMMAND}" --build "${WORK_DIR}/build")
run("${CMAKE_CTEST_COMMAND}" --test-dir "${WORK_DIR}/build" --output-on-failure)
