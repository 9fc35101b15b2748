# What the estimator needs where it is compiled to WebAssembly: two libraries of headers alone. The
# system's are linked into a folder of their own, since those beside them are of another C library.
include(FetchContent)

function(vramfit_headers target folder header repository commit)
  find_path(VRAMFIT_HEADERS_OF_${folder} ${header} PATHS /usr/include /usr/local/include
    NO_CMAKE_FIND_ROOT_PATH)
  set(found ${VRAMFIT_HEADERS_OF_${folder}})
  if(found)
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include)
    file(CREATE_LINK ${found}/${folder} ${CMAKE_BINARY_DIR}/include/${folder} SYMBOLIC)
    set(found ${CMAKE_BINARY_DIR}/include)
  else()
    FetchContent_Declare(${folder}_headers GIT_REPOSITORY https://github.com/${repository}.git
      GIT_TAG ${commit} SOURCE_SUBDIR include)
    FetchContent_MakeAvailable(${folder}_headers)
    set(found ${${folder}_headers_SOURCE_DIR}/include)
  endif()
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE ${found})
endfunction()

# The releases that cmake/dependencies.cmake pins.
vramfit_headers(nlohmann_json::nlohmann_json nlohmann nlohmann/json.hpp
  nlohmann/json 9cca280a4d0ccf0c08f47a99aa71d1b0e52f8d03)
vramfit_headers(CLI11::CLI11 CLI CLI/CLI.hpp
  CLIUtils/CLI11 6c7b07a878ad834957b98d0f9ce1dbe0cb204fc9)
