# The estimator's libraries, and the stand-in, as they were built in the folder VRAMFIT_BUILT, for the Python
# package.
find_package(Threads REQUIRED)
set(libraries
  estimator/libvramfit_fit.a estimator/libvramfit_machine.a estimator/libvramfit_version.a
  estimator/libvramfit_estimator.a
  runtimes/libvramfit_runtimes.a model/libvramfit_model.a)
list(TRANSFORM libraries PREPEND ${VRAMFIT_BUILT}/)
add_library(vramfit_built INTERFACE)
target_link_libraries(vramfit_built INTERFACE
  ${libraries} nlohmann_json::nlohmann_json Threads::Threads ${CMAKE_DL_LIBS})
foreach(library IN ITEMS estimator fit version)
  add_library(vramfit::${library} ALIAS vramfit_built)
endforeach()
if(VRAMFIT_STANDIN)
  set(folder ${VRAMFIT_BUILT}/lib)
  if(VRAMFIT_ZIG)
    string(APPEND folder /old_glibc)
  endif()
  add_library(vramfit_standin SHARED IMPORTED)
  set_target_properties(vramfit_standin PROPERTIES
    IMPORTED_LOCATION ${folder}/libvramfit_standin.so)
endif()
