# Fails if a public header exists that no target lists.
file(GLOB_RECURSE present LIST_DIRECTORIES false "${SOURCE_DIR}/include/*.hpp" "${SOURCE_DIR}/backends/*/include/*.hpp")
list(TRANSFORM present REPLACE "^.*/include/" "")
list(REMOVE_ITEM present ${LISTED})
if(present)
  message(FATAL_ERROR "public headers that no CMakeLists.txt lists: ${present}")
endif()
