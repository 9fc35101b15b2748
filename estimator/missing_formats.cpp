#include "estimator/missing_formats.h"

namespace vramfit {
namespace {

std::string called(const Budget& gpu) {
  return (gpu.gpu.empty() ? gpu.title : gpu.gpu) + " (sm_" + std::to_string(gpu.arch.sm) + ")";
}

}  // namespace

std::vector<std::string> missing_formats(const Budget& gpu, DType format) {
  // Every GPU has fp64, which the table of formats leaves out.
  // Of cards without CUDA it says nothing.
  if (gpu.flops.empty() || format == DType::Fp64 || gpu.flops.count(name(format)) > 0) return {};
  return {called(gpu) + " has no " + name(format) +
          " arithmetic: it is emulated, slowly; the memory is as shown"};
}

}  // namespace vramfit
