# vramfit_cudnn_frontend: cudnn-frontend's headers, from the first of: -DCUDNN_FRONTEND_DIR=…, the
# folder .cudnn-frontend, the Python package nvidia-cudnn-frontend, the pinned release.
set(CUDNN_FRONTEND_DIR "" CACHE PATH "Folder of cudnn-frontend that holds include/cudnn_frontend.h")

find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND)
  execute_process(COMMAND ${Python3_EXECUTABLE} -c
    "import importlib.metadata as m; print(m.distribution('nvidia-cudnn-frontend').locate_file(''))"
    OUTPUT_VARIABLE cudnn_frontend_package OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()

unset(CUDNN_FRONTEND_INCLUDE_DIR CACHE)
find_path(CUDNN_FRONTEND_INCLUDE_DIR cudnn_frontend.h PATH_SUFFIXES include
  HINTS ${CUDNN_FRONTEND_DIR} ${PROJECT_SOURCE_DIR}/.cudnn-frontend ${cudnn_frontend_package})
if(CUDNN_FRONTEND_DIR AND
    NOT CUDNN_FRONTEND_INCLUDE_DIR STREQUAL "${CUDNN_FRONTEND_DIR}/include")
  message(FATAL_ERROR "CUDNN_FRONTEND_DIR: ${CUDNN_FRONTEND_DIR} has no include/cudnn_frontend.h")
endif()

if(NOT CUDNN_FRONTEND_INCLUDE_DIR)  # 1.23.0; headers alone, so its CMakeLists.txt is not run
  FetchContent_Declare(cudnn_frontend
    GIT_REPOSITORY https://github.com/NVIDIA/cudnn-frontend.git
    GIT_TAG fb682ce761a2705e40f9b5d528737a3e0eb33cec
    SOURCE_SUBDIR include)
  FetchContent_MakeAvailable(cudnn_frontend)
  set(CUDNN_FRONTEND_INCLUDE_DIR ${cudnn_frontend_SOURCE_DIR}/include)
endif()
message(STATUS "cudnn-frontend: ${CUDNN_FRONTEND_INCLUDE_DIR}")

add_library(vramfit_cudnn_frontend INTERFACE)
target_include_directories(vramfit_cudnn_frontend SYSTEM INTERFACE ${CUDNN_FRONTEND_INCLUDE_DIR})
# Graphs written as JSON, which nobody here does, are a third of what compiling it takes.
target_compile_definitions(vramfit_cudnn_frontend INTERFACE CUDNN_FRONTEND_SKIP_JSON_LIB)
