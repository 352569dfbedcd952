# What every test sees: tests/ and every layer's private headers, Catch2, and where data and command line lie (support/paths.hpp).
add_library(lastbit_test_support INTERFACE)
target_include_directories(lastbit_test_support INTERFACE "${PROJECT_SOURCE_DIR}/tests")
lastbit_see_inside(lastbit_test_support INTERFACE analysis)
target_link_libraries(lastbit_test_support INTERFACE lastbit::lastbit Catch2::Catch2WithMain)
target_compile_definitions(
  lastbit_test_support
  INTERFACE LASTBIT_SOURCE_DIR="${PROJECT_SOURCE_DIR}" LASTBIT_MODELS_DIR="${LASTBIT_MODELS_DIR}"
            LASTBIT_TOOL="$<$<TARGET_EXISTS:lastbit_tool>:$<TARGET_FILE:lastbit_tool>>")

# What most tests include, precompiled once for all of them.
if(LASTBIT_PRECOMPILE)
  file(CONFIGURE OUTPUT tests/precompiled.cpp CONTENT "")
  add_library(lastbit_test_precompiled OBJECT "${PROJECT_BINARY_DIR}/tests/precompiled.cpp")
  lastbit_configure(lastbit_test_precompiled)
  lastbit_optimise(lastbit_test_precompiled -O0)
  target_link_libraries(lastbit_test_precompiled PRIVATE lastbit_test_support)
  lastbit_precompile(
    lastbit_test_precompiled <algorithm> <cmath> <filesystem> <random> <string> <vector> <nlohmann/json.hpp> <support/catch.hpp>
    <lastbit/emulator.hpp> <lastbit/io/npy.hpp> <lastbit/registry.hpp> <lastbit/rules.hpp>)
  lastbit_use_headers(lastbit_test_precompiled nlohmann_json::nlohmann_json)
endif()

# What a test may take, on the slowest of machines.
set(test_seconds 600)
if(LASTBIT_SANITIZERS)
  set(test_seconds 1800)
endif()

# lastbit_add_test(name LABELS label... SOURCES file... [LIBRARIES target...] [COMPUTES]): one Catch2 program, one ctest entry. What most tests
# compute, the library computes: not optimised, they compile in half the time and run as fast. COMPUTES says that much is computed in the test
# itself, in loops of its own or in templates that the linker then takes for the whole program: -O1; the exhaustive tests are nothing but such
# loops: the build's level.
# A test labelled `models` reads recorded networks and nothing else: it is skipped as a whole where they are missing.
function(lastbit_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "COMPUTES" "" "LABELS;SOURCES;LIBRARIES")
  if(NOT arg_LABELS OR NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "lastbit_add_test(${name}): needs LABELS and SOURCES, and takes only LIBRARIES and COMPUTES besides")
  endif()
  add_executable(${name} ${arg_SOURCES})
  lastbit_configure(${name})
  if(arg_COMPUTES)
    if(NOT LASTBIT_SANITIZERS)
      lastbit_optimise(${name} -O1)
    endif()
  elseif(NOT "exhaustive" IN_LIST arg_LABELS)
    lastbit_optimise(${name} -O0)
    if(LASTBIT_PRECOMPILE)
      target_precompile_headers(${name} REUSE_FROM lastbit_test_precompiled)
    endif()
  endif()
  target_link_libraries(${name} PRIVATE lastbit_test_support ${arg_LIBRARIES})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${test_seconds})
  if("models" IN_LIST arg_LABELS)
    set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: no folder of recorded networks")
  endif()
endfunction()

# lastbit_test_every_path(name): the same test once more on each host path, not only on the one that dispatch picks here.
function(lastbit_test_every_path name)
  get_test_property(${name} LABELS labels)
  foreach(path IN ITEMS scalar sse42 avx2 avxvnni avx512vnni neon)
    add_test(NAME ${name}_${path} COMMAND ${name})
    set_tests_properties(
      ${name}_${path} PROPERTIES LABELS "${labels}" TIMEOUT ${test_seconds} ENVIRONMENT LASTBIT_PATH=${path}
                                 SKIP_REGULAR_EXPRESSION "no path '${path}' on this machine;skipped: no folder of recorded networks")
  endforeach()
endfunction()
