# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# One export set for the core and one for each reader, so that a consumer finds only what he asks for:
#   find_package(fxpass COMPONENTS read_pt2)

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/fxpass)

set(exported fxpass)
if(FXPASS_READERS)
  list(APPEND exported fxpass_read_json fxpass_read_pt2)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/Findlibzip.cmake DESTINATION ${package_dir})
endif()
foreach(target IN LISTS exported)
  install(TARGETS ${target} EXPORT ${target}Targets FILE_SET HEADERS)
  install(EXPORT ${target}Targets NAMESPACE fxpass:: DESTINATION ${package_dir})
endforeach()

configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/fxpassConfig.cmake.in ${PROJECT_BINARY_DIR}/fxpassConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/fxpassConfigVersion.cmake
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES
  ${PROJECT_BINARY_DIR}/fxpassConfig.cmake ${PROJECT_BINARY_DIR}/fxpassConfigVersion.cmake
  DESTINATION ${package_dir})
