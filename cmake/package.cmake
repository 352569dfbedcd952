# What cpack makes: Debian's packages, one of each component of cmake/install.cmake; of a command line that is linked to nothing, an archive.
set(CPACK_PACKAGE_CONTACT "lastbit maintainers <maintainers@users.noreply.a-seed-87864129.example>")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)  # xz takes as many as there are processors
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

if(LASTBIT_STATIC)
  set(CPACK_GENERATOR TXZ)
  string(TOLOWER "${PROJECT_NAME}-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}" CPACK_PACKAGE_FILE_NAME)
  include(CPack)
  return()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL tool library)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# One revision for each release of Debian, the newer one being greater.
cmake_host_system_information(RESULT release QUERY DISTRIB_VERSION_ID)
cmake_host_system_information(RESULT codename QUERY DISTRIB_VERSION_CODENAME)
set(CPACK_DEBIAN_PACKAGE_RELEASE "1~deb${release}")

# With a summary for each package, not the project's for all.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(about "lastbit runs a quantised network as an NPU does: with its widths, roundings and
saturations, in its order. It shows layer by layer where two devices differ,
names the rule, and proves where they cannot.")

set(CPACK_DEBIAN_TOOL_PACKAGE_NAME lastbit)
set(CPACK_DEBIAN_TOOL_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_TOOL_PACKAGE_SUGGESTS "gnuplot-nox, openmpi-bin")
set(CPACK_COMPONENT_TOOL_DESCRIPTION "computes what an NPU computes, to the last bit
${about}
.
This package has the command line, its manual pages and the data of its demos.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME liblastbit-dev)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "libjpeg-dev, libonnx-dev, libpng-dev, libprotobuf-dev, libtbb-dev, zlib1g-dev")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "computes what an NPU computes, to the last bit - C++ library
${about}
.
This package has the headers, the static libraries and what CMake's
find_package(lastbit) reads.")

if(LASTBIT_PYTHON_MODULE_FOUND)
  list(APPEND CPACK_COMPONENTS_ALL python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-lastbit)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  math(EXPR next "${Python_VERSION_MINOR}+1")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.${Python_VERSION_MINOR}), python3 (<< 3.${next}), python3-numpy")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS python3-pytest)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA "${PROJECT_SOURCE_DIR}/cmake/package/postinst" "${PROJECT_SOURCE_DIR}/cmake/package/prerm")
  set(CPACK_COMPONENT_PYTHON_DESCRIPTION "computes what an NPU computes, to the last bit - Python module
${about}
.
This package has the module for Python, which takes and gives numpy arrays.")
endif()

# When it changed: with its last commit.
set(date "")
if(GIT_EXECUTABLE)
  execute_process(COMMAND "${GIT_EXECUTABLE}" log -1 --format=%cD
                  WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
                  OUTPUT_VARIABLE date
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT date)  # the sources are no clone
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
endif()
configure_file(cmake/package/finish.cmake.in finish_packages.cmake @ONLY)
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_BINARY_DIR}/finish_packages.cmake")
include(CPack)
