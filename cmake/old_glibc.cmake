# Shared libraries for glibc 2.28 and newer, whichever this machine has: objects as they are, linked by zig against what
# glibc 2.28 exports. With them go GCC's C++ library, and LLVM's unwinder in place of GCC's, which asks for 2.35.

# For the libraries of the directory that calls it.
macro(vramfit_link_for_old_glibc)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libstdc++.a
    OUTPUT_VARIABLE vramfit_libstdcxx OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(CONCAT CMAKE_CXX_CREATE_SHARED_LIBRARY
    "\"${VRAMFIT_ZIG}\" cc -target x86_64-linux-gnu.2.28 -O2 -fPIC -fvisibility=hidden <LINK_FLAGS> -shared "
    "<SONAME_FLAG><TARGET_SONAME> -o <TARGET> <OBJECTS> <LINK_LIBRARIES> \"${PROJECT_SOURCE_DIR}/cmake/old_glibc.c\" "
    "\"${vramfit_libstdcxx}\" -lunwind -ldl -lpthread -lm")
  string(REPLACE "<SONAME_FLAG><TARGET_SONAME>" "" CMAKE_CXX_CREATE_SHARED_MODULE
    "${CMAKE_CXX_CREATE_SHARED_LIBRARY}")
endmacro()
