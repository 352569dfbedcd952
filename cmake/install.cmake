include(CMakePackageConfigHelpers)

set(LASTBIT_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/lastbit")
install(TARGETS lastbit_arith lastbit_backends lastbit EXPORT lastbit-targets FILE_SET HEADERS)
get_target_property(vendor_headers lastbit_backends LASTBIT_VENDOR_HEADERS)
install(FILES ${vendor_headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/lastbit/backends")
install(EXPORT lastbit-targets NAMESPACE lastbit:: DESTINATION "${LASTBIT_PACKAGE_DIR}")
configure_package_config_file(cmake/lastbit-config.cmake.in lastbit-config.cmake INSTALL_DESTINATION "${LASTBIT_PACKAGE_DIR}")
write_basic_package_version_file(lastbit-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/lastbit-config.cmake" "${PROJECT_BINARY_DIR}/lastbit-config-version.cmake"
        DESTINATION "${LASTBIT_PACKAGE_DIR}")
if(TARGET lastbit_tool)
  install(TARGETS lastbit_tool)
endif()
