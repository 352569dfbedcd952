# The layers, lowest first, each a target of its own. One sees the headers of those below it and no others: of its own and of a lower layer's
# private headers by the folder build/layers/<layer>, which holds one link, <layer>, to lib/<layer>; of public ones by include/<layer>.
# tools/check_layers reads the same lists.
set_property(GLOBAL PROPERTY LASTBIT_LAYERS "")

# lastbit_add_layer(layer [BELOW layer...] [HEADERS header...] [SOURCES file...] [LOOPS file...]): BELOW names the layers directly below, whose
# own come along; HEADERS are the public ones, named as after "lastbit/": what is installed, and what tests/headers compiles one by one. A layer
# without sources is headers alone. LOOPS are the files in whose loops programs spend their time: objects of lastbit_<layer>_loops, a target that has
# its own level of optimisation and is part of the layer's library.
function(lastbit_add_layer layer)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "BELOW;HEADERS;SOURCES;LOOPS")
  set(target lastbit_${layer})
  set(below ${arg_BELOW})
  list(TRANSFORM below PREPEND lastbit_)
  if(arg_SOURCES)
    set(scope PUBLIC)
    add_library(${target} STATIC ${arg_SOURCES})
    lastbit_configure_layer(${target} ${layer} ${arg_BELOW})
  else()
    set(scope INTERFACE)
    add_library(${target} INTERFACE)
  endif()
  if(arg_LOOPS)
    add_library(${target}_loops OBJECT ${arg_LOOPS})
    lastbit_configure_layer(${target}_loops ${layer} ${arg_BELOW})
    target_include_directories(${target}_loops PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_loops>)
  endif()
  add_library(lastbit::${layer} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${layer})
  target_compile_features(${target} ${scope} cxx_std_20)
  target_link_libraries(${target} ${scope} ${below})
  cmake_path(SET include NORMALIZE "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../include/${layer}")
  list(TRANSFORM arg_HEADERS PREPEND "${include}/lastbit/")
  target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS "${include}" FILES ${arg_HEADERS})
  set_property(GLOBAL APPEND PROPERTY LASTBIT_LAYERS ${layer})
  set_property(GLOBAL PROPERTY LASTBIT_BELOW_${layer} ${arg_BELOW})
endfunction()

# lastbit_configure_layer(target layer below...): of a target whose files are the layer's.
function(lastbit_configure_layer target layer)
  lastbit_configure(${target})
  if(LASTBIT_FUZZERS)  # counts edges, and what is compared, but where that is most of the work; of no consequence to other programs
    if(layer MATCHES "^(model|engine|analysis)$")
      target_compile_options(${target} PRIVATE -fsanitize-coverage=inline-8bit-counters,pc-table)
    else()
      target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    endif()
  endif()
  lastbit_see_inside(${target} PRIVATE ${layer} ${ARGN})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# lastbit_see_inside(target scope layer...): lets a target include the private headers of these layers and of all below them.
function(lastbit_see_inside target scope)
  set(seen "")
  set(layers ${ARGN})
  while(layers)
    list(POP_FRONT layers layer)
    if(layer IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${layer})
    get_property(below GLOBAL PROPERTY LASTBIT_BELOW_${layer})
    list(APPEND layers ${below})
    lastbit_link_folder("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../lib/${layer}" "layers/${layer}" root)
    target_include_directories(${target} ${scope} "${root}")
  endwhile()
endfunction()

# lastbit_link_folder(folder place root): in the build folder `place`, whose path is returned in `root`, a link to `folder` by its name.
function(lastbit_link_folder folder place root)
  cmake_path(NORMAL_PATH folder)
  cmake_path(GET folder FILENAME name)
  set(directory "${PROJECT_BINARY_DIR}/${place}")
  file(MAKE_DIRECTORY "${directory}")
  file(CREATE_LINK "${folder}" "${directory}/${name}" SYMBOLIC)
  set(${root} "${directory}" PARENT_SCOPE)
endfunction()
