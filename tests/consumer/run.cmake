# Configures, builds and runs the stranger's project in WORK_DIR, with lastbit installed from BUILD_DIR or taken from SOURCE_DIR.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")
set(project stranger)
set(hidden "")
if(KIND MATCHES "^core_")
  set(project stranger_core)
  foreach(package IN ITEMS Threads TBB JPEG PNG ZLIB Protobuf ONNX Eigen3 xsimd spdlog CLI11 nlohmann_json Flatbuffers)
    list(APPEND hidden "-DCMAKE_DISABLE_FIND_PACKAGE_${package}=ON")
  endforeach()
endif()
if(KIND MATCHES "installed$")
  run("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${WORK_DIR}/prefix")
  if(KIND STREQUAL "installed" AND EXISTS "${WORK_DIR}/prefix/bin/lastbit")  # finds the data of its demos
    run("${WORK_DIR}/prefix/bin/lastbit" demo digits WORKING_DIRECTORY "${WORK_DIR}")
  endif()
  set(lastbit_from "-DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix" -DCMAKE_BUILD_TYPE=Release)
else()  # joined and not optimised: a third of the time
  set(lastbit_from "-DLASTBIT_SOURCE_DIR=${SOURCE_DIR}" -DCMAKE_UNITY_BUILD=ON -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0)
endif()

run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/${project}" -B "${WORK_DIR}/build" -G "${GENERATOR}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}" ${lastbit_from} ${hidden})
run("${CMAKE_COMMAND}" --build "${WORK_DIR}/build")
run("${CMAKE_CTEST_COMMAND}" --test-dir "${WORK_DIR}/build" --output-on-failure)
