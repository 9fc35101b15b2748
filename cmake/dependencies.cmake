# Third-party libraries: the system's package where there is one, otherwise the pinned release.
include(FetchContent)

set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)  # their option()s take the values set here
set(JSON_BuildTests OFF)
set(JSON_Install ON)  # our package names it
set(BENCHMARK_ENABLE_TESTING OFF)
set(BENCHMARK_ENABLE_WERROR OFF)
set(BENCHMARK_ENABLE_INSTALL OFF)
set(INSTALL_GTEST OFF)

# A fourth argument is the oldest version of the system's that will do.
function(vramfit_dependency package repository commit)
  FetchContent_Declare(${package} SYSTEM
    GIT_REPOSITORY https://github.com/${repository}.git
    GIT_TAG ${commit}
    FIND_PACKAGE_ARGS ${ARGN})
  FetchContent_MakeAvailable(${package})
endfunction()

# 3.11.3, 2.4.2, 11.0.2, 1.15.2, 1.9.1, 1.3.1
vramfit_dependency(nlohmann_json nlohmann/json 9cca280a4d0ccf0c08f47a99aa71d1b0e52f8d03)
vramfit_dependency(CLI11 CLIUtils/CLI11 6c7b07a878ad834957b98d0f9ce1dbe0cb204fc9)
vramfit_dependency(fmt fmtlib/fmt 0c9fce2ffefecfdce794e1859584e25877b7b592)
if(VRAMFIT_PYTHON)  # needs no more
  return()
endif()
vramfit_dependency(GTest google/googletest b514bdc898e2951020cbdca1304b75f5950d1f59)
vramfit_dependency(benchmark google/benchmark c58e6d0710581e3a08d65c349664128a8d9a2461 1.7)
vramfit_dependency(ZLIB madler/zlib 51b7f2abdade71cd9bb0e7a373ef2610ec6f9daf)
if(NOT TARGET ZLIB::ZLIB)
  add_library(ZLIB::ZLIB ALIAS zlibstatic)
  target_include_directories(zlibstatic SYSTEM INTERFACE ${zlib_SOURCE_DIR} ${zlib_BINARY_DIR})
endif()
