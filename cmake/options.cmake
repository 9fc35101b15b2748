# What every target of ours shares: the language, where binaries go, warnings, where data/ lies.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

# A bare `cmake -B build/x`, without a preset, is a release build too.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

option(VRAMFIT_PYTHON "Build the Python package's module, and of the rest only what it needs" OFF)
set(VRAMFIT_BUILT "" CACHE PATH "For that: a folder where the libraries were built already")
set(VRAMFIT_ZIG "" CACHE FILEPATH "zig, where the package is linked for glibc 2.28: cmake/old_glibc.cmake")
option(VRAMFIT_BENCH "Build bench, its tests and those of kernels/cuda, which use it" ON)

# It is machine code for the loader of one kind of machine.
if(CMAKE_SYSTEM_NAME STREQUAL Linux AND CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  set(VRAMFIT_STANDIN ON)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # It passes by what uses precompiled headers unless it is told that they are like others.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endif()

# Includes are spelled from the repository's root, so that each line shows which room it reaches into.
include_directories(${PROJECT_SOURCE_DIR})

add_library(vramfit_warnings INTERFACE)
add_library(vramfit::warnings ALIAS vramfit_warnings)
target_compile_options(vramfit_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wcast-qual
  -Wnon-virtual-dtor -Woverloaded-virtual -Wundef -Wformat=2 -Wimplicit-fallthrough -Werror>)

# GCC 13 takes a reference that a function returns for one into its arguments, and says it dangles.
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-Wdangling-reference VRAMFIT_HAS_DANGLING_REFERENCE)
if(VRAMFIT_HAS_DANGLING_REFERENCE)
  target_compile_options(vramfit_warnings INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-dangling-reference>)
endif()

# The last place where binaries look for data/; the environment and their own location come first.
add_library(vramfit_data_dir INTERFACE)
add_library(vramfit::data_dir ALIAS vramfit_data_dir)
target_compile_definitions(vramfit_data_dir
  INTERFACE VRAMFIT_DATA_DIR="${PROJECT_SOURCE_DIR}/data")
