# What every test sees: tests/ and every layer's private headers, Catch2, and where data and command line lie (support/paths.hpp).
add_library(lastbit_test_support INTERFACE)
target_include_directories(lastbit_test_support INTERFACE "${PROJECT_SOURCE_DIR}/tests")
lastbit_see_inside(lastbit_test_support INTERFACE analysis)
target_link_libraries(lastbit_test_support INTERFACE lastbit::lastbit Catch2::Catch2WithMain)
target_include_directories(lastbit_test_support SYSTEM INTERFACE $<TARGET_PROPERTY:nlohmann_json::nlohmann_json,INTERFACE_INCLUDE_DIRECTORIES>)
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
endif()

# What a test may take, on the slowest of machines.
set(test_seconds 600)
if(LASTBIT_SANITIZERS)
  set(test_seconds 1800)
endif()

# That a name finds no case is a failure: version 3 of Catch2 needs not be told.
set(no_cases_fail "")
if(Catch2_VERSION VERSION_LESS 3)
  set(no_cases_fail --warn NoTests)
endif()

# lastbit_add_test(name LABELS label... SOURCES file... [LIBRARIES target...] [COMPUTES] [ALONE]): one ctest entry, the cases of some files. The files
# of a folder are one Catch2 program, <folder>_tests, which is told the files' names: a program for each would be linked, and its headers compiled,
# hundreds of times. What most tests compute, the library computes: not optimised, they compile in half the time and run as fast. COMPUTES says that
# much is computed in the test itself, in loops of its own or in templates that the linker then takes for the whole program: -O1, in a program
# <folder>_computing_tests; the exhaustive tests are nothing but such loops: the build's level. ALONE: a program of its own, called as the test.
# A test labelled `models` reads recorded networks and nothing else: it is skipped as a whole where they are missing.
function(lastbit_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "COMPUTES;ALONE" "" "LABELS;SOURCES;LIBRARIES")
  if(NOT arg_LABELS OR NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "lastbit_add_test(${name}): needs LABELS and SOURCES, and takes only LIBRARIES, COMPUTES and ALONE besides")
  endif()
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME folder)
  set(level -O0)
  set(program ${folder}_tests)
  if(arg_ALONE)
    set(program ${name})
  elseif(arg_COMPUTES)
    set(program ${folder}_computing_tests)
  endif()
  if("exhaustive" IN_LIST arg_LABELS OR (arg_COMPUTES AND LASTBIT_SANITIZERS))
    set(level "")
  elseif(arg_COMPUTES)
    set(level -O1)
  endif()
  if(NOT TARGET ${program})
    lastbit_add_test_program(${program} "${level}")
  endif()
  target_link_libraries(${program} PRIVATE ${arg_LIBRARIES})
  set(files ${arg_SOURCES})
  list(FILTER files INCLUDE REGEX "_test\\.cpp$")
  list(REMOVE_ITEM arg_SOURCES ${files})
  target_sources(${program} PRIVATE ${arg_SOURCES})
  set_property(TARGET ${program} APPEND PROPERTY LASTBIT_TEST_FILES ${files})
  list(TRANSFORM files REPLACE "^.*/|\\.cpp$" "")
  set_property(GLOBAL PROPERTY LASTBIT_TEST_PROGRAM_${name} ${program})
  set_property(GLOBAL PROPERTY LASTBIT_TEST_FILES_${name} ${files})
  lastbit_test_again(${name} OF ${name} LABELS ${arg_LABELS})
endfunction()

# lastbit_test_again(name OF test [FILE file TAGS tags] [LABELS label...]): the cases of a test once more, or those of one file of it that have the
# tags and are hidden to it, as an entry of its own.
function(lastbit_test_again name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OF;FILE;TAGS" "LABELS")
  get_property(program GLOBAL PROPERTY LASTBIT_TEST_PROGRAM_${arg_OF})
  get_property(files GLOBAL PROPERTY LASTBIT_TEST_FILES_${arg_OF})
  if(arg_FILE)
    set(files ${arg_FILE})  # Catch2 takes a file without such a case for a mistake
  else()
    set(arg_TAGS "~[.]")
  endif()
  set(cases "")
  foreach(file IN LISTS files)
    string(APPEND cases ",[#${file}]${arg_TAGS}")
  endforeach()
  string(SUBSTRING "${cases}" 1 -1 cases)  # without the first comma
  add_test(NAME ${name} COMMAND ${program} ${no_cases_fail} --filenames-as-tags "${cases}")
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${test_seconds})
  if("models" IN_LIST arg_LABELS)
    set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: no folder of recorded networks")
  endif()
endfunction()

# lastbit_test_every_path(name path...): the same test once more on each host path, not only on the one that dispatch picks here.
function(lastbit_test_every_path name)
  get_test_property(${name} LABELS labels)
  foreach(path IN LISTS ARGN)
    lastbit_test_again(${name}_${path} OF ${name} LABELS ${labels})
    set_tests_properties(
      ${name}_${path} PROPERTIES ENVIRONMENT LASTBIT_PATH=${path}
                                 SKIP_REGULAR_EXPRESSION "no path '${path}' on this machine;skipped: no folder of recorded networks")
  endforeach()
endfunction()
set(host_paths scalar sse42 avx2 avxvnni avx512vnni neon)

# A Catch2 program that lastbit_add_test gives its files. `level` is one of lastbit_optimise, or empty: the build's.
function(lastbit_add_test_program program level)
  add_executable(${program})
  lastbit_configure(${program})
  if(level)
    lastbit_optimise(${program} ${level})
  endif()
  if(level STREQUAL "-O0" AND LASTBIT_PRECOMPILE)
    target_precompile_headers(${program} REUSE_FROM lastbit_test_precompiled)
  endif()
  target_link_libraries(${program} PRIVATE lastbit_test_support)
  # Of a template or an inline function the linker keeps the first it meets, for the whole program: the library's, not that of a test.
  target_link_options(${program} PRIVATE LINKER:--whole-archive "$<TARGET_FILE:lastbit_engine>" "$<TARGET_FILE:lastbit_analysis>"
                      LINKER:--no-whole-archive)
  cmake_language(EVAL CODE "cmake_language(DEFER CALL lastbit_join_tests ${program})")
endfunction()

# The files of a test program, joined where the build joins files (lastbit_join): up to 50 kB of them, each in a namespace of its own, so that names
# of one mean nothing in another.
function(lastbit_join_tests program)
  get_target_property(files ${program} LASTBIT_TEST_FILES)
  list(TRANSFORM files PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  if(NOT CMAKE_UNITY_BUILD)
    target_sources(${program} PRIVATE ${files})
    return()
  endif()
  set(number 0)
  set(joined "")
  set(bytes 0)
  foreach(file IN LISTS files ITEMS "")
    set(size 0)
    if(file)
      file(SIZE "${file}" size)
    endif()
    math(EXPR sum "${bytes} + ${size}")
    if(joined AND (NOT file OR sum GREATER 50000))
      lastbit_join_test_files(${program} ${number} ${joined})
      math(EXPR number "${number} + 1")
      set(joined "")
      set(sum ${size})
    endif()
    list(APPEND joined "${file}")
    set(bytes ${sum})
  endforeach()
endfunction()

# One source of these files, or the file where it is one.
function(lastbit_join_test_files program number)
  set(source "${ARGN}")
  if(ARGC GREATER 3)
    set(source "${CMAKE_CURRENT_BINARY_DIR}/${program}_${number}.cpp")
    set(script "${PROJECT_SOURCE_DIR}/cmake/join_tests.cmake")
    add_custom_command(
      OUTPUT "${source}"
      COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${source}" "-DFILES=${ARGN}" -P "${script}"
      DEPENDS ${ARGN} "${script}"
      COMMENT "" VERBATIM)
  endif()
  target_sources(${program} PRIVATE "${source}")
endfunction()
