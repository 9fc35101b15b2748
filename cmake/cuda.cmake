# CUDA is optional: kernels/cuda is built where nvcc is found, GPU or not.
set(VRAMFIT_CUDA AUTO CACHE STRING "Build kernels/cuda: AUTO (where nvcc is found), ON or OFF")
set_property(CACHE VRAMFIT_CUDA PROPERTY STRINGS AUTO ON OFF)

find_program(VRAMFIT_NVCC nvcc HINTS ENV CUDA_HOME /usr/local/cuda PATH_SUFFIXES bin)
if(NOT EXISTS ${PROJECT_SOURCE_DIR}/kernels/cuda)
  set(obstacle "not built: this tree has no kernels/cuda")
elseif(NOT VRAMFIT_NVCC)
  set(obstacle "not found: kernels/cuda left out")
elseif(VRAMFIT_CUDA STREQUAL OFF)
  set(obstacle "switched off: kernels/cuda left out")
endif()

if(NOT DEFINED obstacle)
  if(NOT DEFINED ENV{CUDACXX})
    set(ENV{CUDACXX} ${VRAMFIT_NVCC})
  endif()
  # A100 and Ada, Hopper, and by way of its PTX what came after.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
  endif()
  enable_language(CUDA)
  # CMake 3.25 knows CUDA's dialects up to C++17.
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  # Kernels that no GPU will run, see .ci/run: nothing around them is to be fast either. nvcc hands its -O to the
  # host's compiler.
  if(CMAKE_CUDA_FLAGS MATCHES "Ofast-compile=max")
    set(VRAMFIT_CUDA_COMPILES_ONLY ON)
    set(CMAKE_CUDA_FLAGS_RELEASE -DNDEBUG)
  endif()
  message(STATUS "CUDA ${CMAKE_CUDA_COMPILER_VERSION} found: building kernels/cuda")
elseif(VRAMFIT_CUDA STREQUAL ON)
  message(FATAL_ERROR "CUDA ${obstacle}. Without it, use the preset cpu.")
else()
  message(STATUS "CUDA ${obstacle}")
endif()
