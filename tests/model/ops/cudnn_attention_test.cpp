#include "model/ops/cudnn_attention.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace vramfit {
namespace {

constexpr int kMultiprocessors = 132;  // of an H200

TEST(CudnnAttention, WorksInWhatWasMeasured) {
  std::ifstream file(VRAMFIT_DATA_DIR "/reference/cudnn_attention.jsonl");
  int shapes = 0;
  for (std::string line; std::getline(file, line); ++shapes) {
    const auto measured = nlohmann::json::parse(line);
    const CudnnAttention attention = {measured.at("batch"),    measured.at("heads"),
                                      measured.at("kv_heads"), measured.at("queries"),
                                      measured.at("keys"),     measured.at("head_dim")};
    EXPECT_EQ(cudnn_forward_workspace(attention, kMultiprocessors), measured.at("forward")) << line;
    if (measured.contains("backward")) {
      EXPECT_EQ(cudnn_backward_workspace(attention), measured.at("backward")) << line;
    }
  }
  EXPECT_EQ(shapes, 374);
}

}  // namespace
}  // namespace vramfit
