# cmake -DROOT=<source> -DVERSION=<x.y.z> -DOUTPUT=<file> -P version.cmake: writes version and commit as
# a source file, and leaves the file alone where nothing changed, so that only a new commit costs a
# compilation.
find_program(GIT git)
set(commit unknown)
if(GIT)
  execute_process(COMMAND ${GIT} -C ${ROOT} describe --always --dirty
    OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed AND described)
    set(commit ${described})
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[
#include "estimator/version.h"

namespace vramfit {
const char* const kCommit = "@commit@";
const char* const kVersionLine = "vramfit @VERSION@ (@commit@)";
}
]] @ONLY)
