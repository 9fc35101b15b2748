# `cmake --install`: the commands vramfit, vramfit-bench and vramfit-compare, each whole by itself, and a CMake package
# for programs that ask the estimator themselves: find_package(vramfit), vramfit::estimator.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/vramfit)
set(headers ${CMAKE_INSTALL_INCLUDEDIR}/vramfit)  # and in it each from its room on, as here

install(PROGRAMS $<TARGET_FILE:fit> DESTINATION ${CMAKE_INSTALL_BINDIR} RENAME vramfit)
if(TARGET bench)
  install(PROGRAMS $<TARGET_FILE:bench> DESTINATION ${CMAKE_INSTALL_BINDIR} RENAME vramfit-bench)
  install(PROGRAMS $<TARGET_FILE:compare> DESTINATION ${CMAKE_INSTALL_BINDIR} RENAME vramfit-compare)
endif()

install(FILES LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(DIRECTORY model runtimes estimator DESTINATION ${headers}
  FILES_MATCHING PATTERN *.h PATTERN fit EXCLUDE PATTERN version.h EXCLUDE)
foreach(library IN ITEMS model runtimes estimator)
  set_target_properties(vramfit_${library} PROPERTIES EXPORT_NAME ${library})
  install(TARGETS vramfit_${library} EXPORT vramfit INCLUDES DESTINATION ${headers})
endforeach()
install(EXPORT vramfit NAMESPACE vramfit:: DESTINATION ${package})

configure_package_config_file(cmake/package.cmake.in ${PROJECT_BINARY_DIR}/vramfit-config.cmake
  INSTALL_DESTINATION ${package}
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/vramfit-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/vramfit-config.cmake ${PROJECT_BINARY_DIR}/vramfit-config-version.cmake
  DESTINATION ${package})
