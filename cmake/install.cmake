# Three components, of which cmake/package.cmake makes the packages: tool, the command line; library, for programs; python, in python/.
if(NOT LASTBIT_STATIC)  # whose libraries would need what they were linked with
  include(CMakePackageConfigHelpers)
  set(LASTBIT_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/lastbit")
  get_property(layers GLOBAL PROPERTY LASTBIT_LAYERS)
  list(REMOVE_ITEM layers core)
  list(TRANSFORM layers PREPEND lastbit_)
  install(TARGETS lastbit_core EXPORT lastbit-core-targets COMPONENT library FILE_SET HEADERS COMPONENT library)
  install(EXPORT lastbit-core-targets NAMESPACE lastbit:: DESTINATION "${LASTBIT_PACKAGE_DIR}" COMPONENT library)
  install(TARGETS ${layers} lastbit EXPORT lastbit-targets COMPONENT library FILE_SET HEADERS COMPONENT library)
  get_target_property(vendor_headers lastbit_devices LASTBIT_VENDOR_HEADERS)
  install(FILES ${vendor_headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/lastbit/backends" COMPONENT library)
  install(EXPORT lastbit-targets NAMESPACE lastbit:: DESTINATION "${LASTBIT_PACKAGE_DIR}" COMPONENT library)
  configure_package_config_file(cmake/lastbit-config.cmake.in lastbit-config.cmake INSTALL_DESTINATION "${LASTBIT_PACKAGE_DIR}")
  write_basic_package_version_file(lastbit-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES "${PROJECT_BINARY_DIR}/lastbit-config.cmake" "${PROJECT_BINARY_DIR}/lastbit-config-version.cmake"
          DESTINATION "${LASTBIT_PACKAGE_DIR}" COMPONENT library)
endif()

if(TARGET lastbit_tool)
  install(TARGETS lastbit_tool COMPONENT tool)
  install(
    DIRECTORY examples/
    DESTINATION "${CMAKE_INSTALL_DATADIR}/lastbit/examples"
    COMPONENT tool
    PATTERN "*.cpp" EXCLUDE
    PATTERN CMakeLists.txt EXCLUDE)
endif()
if(LASTBIT_STATIC)  # parts of these packages are in the program
  install(FILES LICENSE cmake/package/copyright DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT tool)
  foreach(package IN ITEMS libc6 libcli11-dev libeigen3-dev libflatbuffers-dev libfmt-dev libgomp1 libjpeg62-turbo libonnx-dev libpng-dev libprotobuf-dev
                           libspdlog-dev libstdc++6 libxsimd-dev nlohmann-json3-dev zlib1g)
    if(EXISTS "/usr/share/doc/${package}/copyright")
      install(FILES "/usr/share/doc/${package}/copyright" DESTINATION "${CMAKE_INSTALL_DOCDIR}/parts" RENAME ${package} COMPONENT tool)
    endif()
  endforeach()
endif()
if(TARGET lastbit_shell_files)
  set(files "${PROJECT_BINARY_DIR}/tools/shell")
  # Debian's zsh looks below /usr into a folder of its own.
  install(CODE [[
    set(zsh_folder site-functions)
    if(CMAKE_INSTALL_PREFIX MATCHES "/usr/?$")
      set(zsh_folder vendor-completions)
    endif()]] COMPONENT tool)
  install(FILES "${files}/bash/lastbit" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT tool)
  install(FILES "${files}/zsh/_lastbit" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/\${zsh_folder}" COMPONENT tool)
  install(FILES "${files}/fish/lastbit.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" COMPONENT tool)
  install(DIRECTORY "${files}/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT tool)
endif()

# All that is installed: what `./dev install` and `./dev package` build.
add_custom_target(lastbit_installed)
foreach(target IN ITEMS lastbit_analysis lastbit_tool lastbit_shell_files lastbit_python)
  if(TARGET ${target})
    add_dependencies(lastbit_installed ${target})
  endif()
endforeach()
