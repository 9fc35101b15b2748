# Each header compiles alone, twice: the target `headers`, and a test of the same name.
set(rooms model kernels/cpu estimator bench)
list(TRANSFORM rooms APPEND /*.h OUTPUT_VARIABLE patterns)
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${patterns})

foreach(header IN LISTS headers)
  set(source ${CMAKE_BINARY_DIR}/headers/${header}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "#include \"@header@\"\n#include \"@header@\"\n")
  list(APPEND sources ${source})
endforeach()

if(sources AND CMAKE_BUILD_TYPE STREQUAL Release)
  add_library(headers OBJECT EXCLUDE_FROM_ALL ${sources})
  target_compile_options(headers PRIVATE -O0)
  target_link_libraries(headers PRIVATE vramfit::warnings nlohmann_json::nlohmann_json fmt::fmt
    CLI11::CLI11 benchmark::benchmark)
  add_test(NAME headers COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target headers)
  set_tests_properties(headers PROPERTIES RUN_SERIAL ON)
endif()
