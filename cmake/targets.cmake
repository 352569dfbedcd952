# lastbit_configure(target): language level, warnings and sanitizers of one of our own compiled targets. Fused multiply-add is
# off everywhere: which float operations a device fuses is its own rule, not the compiler's choice.
function(lastbit_configure target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF UNITY_BUILD OFF)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -ffp-contract=off
                                           $<$<BOOL:${LASTBIT_WARNINGS_AS_ERRORS}>:-Werror>)
  if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE "SHELL:--param ggc-min-heapsize=100000")  # kB: what gcc fills before it collects garbage
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-restrict)  # gcc 12 warns of every "literal" + std::string (gcc bug 105651)
  endif()
  if(LASTBIT_SANITIZERS)
    set(flags -fsanitize=${LASTBIT_SANITIZERS})
    target_compile_options(
      ${target} PRIVATE ${flags} -fno-sanitize-recover=all -fno-omit-frame-pointer
                        $<$<CXX_COMPILER_ID:Clang>:-fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/sanitizer_ignorelist.txt>)
    target_link_options(${target} PRIVATE ${flags})
  endif()
endfunction()

# lastbit_optimise(target level [COMPUTES]): the level at which a target is compiled in an optimised build, in place of the build's own. A layer states
# -O1 (the engine -O3): most of its code is compiled more often than it is waited for, and a higher level takes up to twice as long. -O0 is meant for
# every build. Under the sanitizers, whose checks are most of what the optimiser then has to read, -O1 is -O0 too, but for code that COMPUTES.
function(lastbit_optimise target level)
  if(level STREQUAL "-O0" OR (level STREQUAL "-O1" AND LASTBIT_SANITIZERS AND NOT "COMPUTES" IN_LIST ARGN))
    target_compile_options(${target} PRIVATE -O0)
  else()
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:${level}>)
  endif()
endfunction()

# A build for use, and one of CI's, is compiled once: CMAKE_UNITY_BUILD, which the presets release, strict, asan and tidy set, lets it parse
# headers once for several files. In all others a file stands alone, so that each is seen to state its own includes and a change rebuilds what
# it touches.
#
# lastbit_join(target kilobytes [alone...]): files of one folder, up to so many kilobytes of them in the order of their list, are one for the compiler,
# so a name of one means the same in all of the folder; those that stay alone use a name in another sense, or take long enough. Not files of several
# folders: a function of one would be called in place of another's, without a word, as soon as a file grows.
function(lastbit_join target kilobytes)
  if(NOT CMAKE_UNITY_BUILD)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(files ${target} SOURCES)
  list(FILTER files INCLUDE REGEX "\\.cpp$")
  list(REMOVE_ITEM files ${ARGN})
  math(EXPR limit "${kilobytes} * 1000")
  set(groups 0)
  foreach(file IN LISTS files)
    file(SIZE "${CMAKE_CURRENT_SOURCE_DIR}/${file}" size)
    cmake_path(GET file PARENT_PATH folder)
    if(DEFINED bytes_of_${folder})
      math(EXPR size "${size} + ${bytes_of_${folder}}")
    endif()
    if(NOT DEFINED bytes_of_${folder} OR size GREATER limit)
      math(EXPR groups "${groups} + 1")
      set(group_of_${folder} ${groups})
      file(SIZE "${CMAKE_CURRENT_SOURCE_DIR}/${file}" size)
    endif()
    set(bytes_of_${folder} ${size})
    set_source_files_properties("${file}" PROPERTIES UNITY_GROUP ${group_of_${folder}})
  endforeach()
endfunction()

# Headers are precompiled where files are joined, by gcc: with clang each test is seen to state its own includes. Not under ccache, which would
# find nothing again.
set(LASTBIT_PRECOMPILE OFF)
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
  set(LASTBIT_PRECOMPILE ON)
endif()

# lastbit_precompile(target header...): what most files of a target include, parsed once. A layer names headers of lower ones alone: among its
# own are some whose overloads a file's own names would meet.
function(lastbit_precompile target)
  if(LASTBIT_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# lastbit_use_headers(target package...): header-only packages, seen by the compiler alone, so that nothing of them is linked or exported.
function(lastbit_use_headers target)
  foreach(package IN LISTS ARGN)
    target_include_directories(${target} SYSTEM PRIVATE $<TARGET_PROPERTY:${package},INTERFACE_INCLUDE_DIRECTORIES>)
  endforeach()
endfunction()

# Builds every generated source and nothing else, for tools that read sources without building.
add_custom_target(lastbit_generated)

# lastbit_add_schema(target schema.fbs): generates schema_generated.h with flatc and lets `target` include it.
function(lastbit_add_schema target schema)
  cmake_path(ABSOLUTE_PATH schema)
  cmake_path(GET schema STEM stem)
  set(directory "${CMAKE_CURRENT_BINARY_DIR}/generated")
  add_custom_command(
    OUTPUT "${directory}/${stem}_generated.h"
    COMMAND "${LASTBIT_FLATC}" --cpp --scoped-enums -o "${directory}" "${schema}"
    DEPENDS "${schema}"
    VERBATIM)
  add_custom_target(lastbit_schema_${stem} DEPENDS "${directory}/${stem}_generated.h")
  add_dependencies(lastbit_generated lastbit_schema_${stem})
  add_dependencies(${target} lastbit_schema_${stem})
  target_sources(${target} PRIVATE "${directory}/${stem}_generated.h")
  target_include_directories(${target} SYSTEM PRIVATE "${directory}")
endfunction()
