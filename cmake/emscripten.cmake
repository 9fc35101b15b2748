# The toolchain file of the preset `wasm`: Emscripten's own, wherever em++ is installed.
find_program(VRAMFIT_EM_CONFIG em-config)
if(NOT VRAMFIT_EM_CONFIG)
  message(FATAL_ERROR "Emscripten not found (em-config): apt-get install emscripten, or its SDK")
endif()
execute_process(COMMAND ${VRAMFIT_EM_CONFIG} EMSCRIPTEN_ROOT
  OUTPUT_VARIABLE root OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
include(${root}/cmake/Modules/Platform/Emscripten.cmake)
