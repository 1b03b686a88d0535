# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# One function for each third-party library: the installed package where there is one, else a pinned download.
# tools/packages.debian names the Debian packages.

include(FetchContent)

# Downloads a header-only library without configuring it, and makes TARGET of the headers in INCLUDE_DIR.
# As an imported target its headers are system headers: their warnings are not ours.
function(fxpass_fetch_headers target name include_dir)
  FetchContent_Declare(${name} ${ARGN} SOURCE_SUBDIR fxpass-takes-the-headers-only)
  FetchContent_MakeAvailable(${name})
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} INTERFACE ${${name}_SOURCE_DIR}/${include_dir})
endfunction()

# Hana by itself is enough: fxpass includes narrow Hana headers only, and those need no other part of Boost.
function(fxpass_need_hana)
  find_package(Boost 1.74 CONFIG QUIET)
  if(NOT TARGET Boost::headers)
    fxpass_fetch_headers(Boost::headers fxpass_hana include
      GIT_REPOSITORY https://github.com/boostorg/hana.git
      GIT_TAG boost-1.84.0)
  endif()
endfunction()

# No version is asked for: range-v3's version file accepts the exact version alone.
function(fxpass_need_range_v3)
  find_package(range-v3 CONFIG QUIET)
  if(NOT TARGET range-v3::range-v3)
    fxpass_fetch_headers(range-v3::range-v3 fxpass_range_v3 include
      URL https://github.com/ericniebler/range-v3/archive/refs/tags/0.12.0.tar.gz
      URL_HASH SHA256=015adb2300a98edfceaf0725beec3337f542af4915cec4d0b89fa0886f4ba9cb)
  endif()
endfunction()

function(fxpass_need_simdjson)
  find_package(simdjson CONFIG QUIET)
  if(NOT TARGET simdjson::simdjson)
    FetchContent_Declare(fxpass_simdjson
      URL https://github.com/simdjson/simdjson/archive/refs/tags/v3.6.3.zip
      URL_HASH SHA1=2b063a2e81f74a5d1cb937fadf3d2fca0f1edb09)
    FetchContent_MakeAvailable(fxpass_simdjson)
  endif()
endfunction()

# The module Findlibzip.cmake beside this file, not libzip's own configuration: Debian's refers to programs that
# it puts into other packages, and stops the configuration where they are not installed.
function(fxpass_need_libzip)
  find_package(libzip MODULE QUIET)
  if(NOT TARGET libzip::zip)
    set(BUILD_TOOLS OFF)
    set(BUILD_REGRESS OFF)
    set(BUILD_EXAMPLES OFF)
    set(BUILD_DOC OFF)
    FetchContent_Declare(fxpass_libzip
      URL https://libzip.org/download/libzip-1.10.1.tar.gz
      URL_HASH SHA256=9669ae5dfe3ac5b3897536dc8466a874c8cf2c0e3b1fdd08d75b273884299363)
    FetchContent_MakeAvailable(fxpass_libzip)
  endif()
endfunction()

function(fxpass_need_cli11)
  find_package(CLI11 2.1 CONFIG QUIET)
  if(NOT TARGET CLI11::CLI11)
    fxpass_fetch_headers(CLI11::CLI11 fxpass_cli11 include
      GIT_REPOSITORY https://github.com/CLIUtils/CLI11.git
      GIT_TAG 6c7b07a878ad834957b98d0f9ce1dbe0cb204fc9) # v2.4.2
  endif()
endfunction()

function(fxpass_need_doctest)
  find_package(doctest 2.4 CONFIG QUIET)
  if(NOT TARGET doctest::doctest)
    fxpass_fetch_headers(doctest::doctest fxpass_doctest .
      GIT_REPOSITORY https://github.com/doctest/doctest.git
      GIT_TAG ae7a13539fb71f270b87eb2e874fbac80bc8dda2) # v2.4.11
  endif()
endfunction()

function(fxpass_need_benchmark)
  find_package(benchmark 1.7 CONFIG QUIET)
  if(NOT TARGET benchmark::benchmark)
    set(BENCHMARK_ENABLE_TESTING OFF)
    FetchContent_Declare(fxpass_benchmark
      GIT_REPOSITORY https://github.com/google/benchmark.git
      GIT_TAG 344117638c8ff7e239044fd0fa7085839fc03021) # v1.8.3
    FetchContent_MakeAvailable(fxpass_benchmark)
  endif()
endfunction()
