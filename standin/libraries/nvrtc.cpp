#include <cstring>
#include <string>

#include "standin/libraries/cuda.h"
#include "standin/libraries/tables.h"

// NVRTC, by which PyTorch compiles some kernels as they are first used: nothing is compiled.
namespace vramfit::standin {
namespace {

struct Program {
  std::string name;
};

Result version(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return kSuccess;
}
Result create(Program** program, const char* /*source*/, const char*, int, const char**,
              const char**) {
  *program = new Program;
  return kSuccess;
}
Result destroy(Program** program) {
  delete *program;
  *program = nullptr;
  return kSuccess;
}
Result compile(Program* /*program*/, int, const char**) { return kSuccess; }
Result add_name(Program* program, const char* name) {
  program->name = name;
  return kSuccess;
}
Result lowered_name(Program* program, const char* /*name*/, const char** lowered) {
  *lowered = program->name.c_str();
  return kSuccess;
}
Result code_size(Program* /*program*/, std::size_t* bytes) {
  *bytes = 1;
  return kSuccess;
}
Result code(Program* /*program*/, char* to) {
  *to = '\0';
  return kSuccess;
}
const char* error_string(Result) { return "NVRTC, stood in for by vramfit"; }

}  // namespace

std::span<const Answer> nvrtc_answers() {
  static const Answer answers[] = {
      answer("nvrtcVersion", version),
      answer("nvrtcCreateProgram", create),
      answer("nvrtcDestroyProgram", destroy),
      answer("nvrtcCompileProgram", compile),
      answer("nvrtcAddNameExpression", add_name),
      answer("nvrtcGetLoweredName", lowered_name),
      answer("nvrtcGetPTXSize", code_size),
      answer("nvrtcGetPTX", code),
      answer("nvrtcGetCUBINSize", code_size),
      answer("nvrtcGetCUBIN", code),
      answer("nvrtcGetProgramLogSize", code_size),
      answer("nvrtcGetProgramLog", code),
      answer("nvrtcGetErrorString", error_string),
  };
  return answers;
}

}  // namespace vramfit::standin
