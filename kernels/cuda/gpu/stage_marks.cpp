#include "kernels/cuda/gpu/stage_marks.h"

#include <nvtx3/nvToolsExt.h>

#include <string>

#include "kernels/cuda/gpu/gpu_info.h"

namespace vramfit {

void StageMarks::stage_begins(Stage stage, int step) {
  device_.synchronize();
  nvtxRangePushA((std::string(name(stage)) + " " + std::to_string(step)).c_str());
}

void StageMarks::stage_ends(const StageRecord&) {
  device_.synchronize();
  nvtxRangePop();
  device_used_.push_back(device_memory().used());
}

}  // namespace vramfit
