# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The package that is installed: for CMake an export set for the core and one for each reader, so that a consumer finds
# only what he asks for,
#   find_package(fxpass COMPONENTS read_pt2)
# and for pkg-config a file for each. Nothing here depends on the machine, so it goes to share/ and not to lib/; nothing
# names the prefix, so the installed tree can be moved.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/fxpass)
set(pkgconfig_dir ${CMAKE_INSTALL_DATADIR}/pkgconfig)

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

# NAME.pc. It says nothing of the language level, which is the consumer's to choose (C++20 or later), and nothing of
# Boost.Hana, which has no file of this kind and lies where compilers look.
function(fxpass_install_pkgconfig name description)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "REQUIRES" "")
  file(RELATIVE_PATH prefix ${CMAKE_INSTALL_FULL_DATADIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "/$" "" prefix ${prefix})
  set(includedir ${CMAKE_INSTALL_INCLUDEDIR})
  if(NOT IS_ABSOLUTE ${includedir})
    string(PREPEND includedir "\${prefix}/")
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/fxpass.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${pkgconfig_dir})
endfunction()

fxpass_install_pkgconfig(fxpass ${PROJECT_DESCRIPTION})
if(FXPASS_READERS)
  fxpass_install_pkgconfig(fxpass-read-json "FX JSON and torch.export's JSON as input of fxpass"
    REQUIRES "fxpass, simdjson")
  fxpass_install_pkgconfig(fxpass-read-pt2 "Files of torch.export.save as input of fxpass"
    REQUIRES "fxpass-read-json, libzip")
endif()
