#include "runtimes/vllm/stages.h"

namespace vramfit::vllm {

std::vector<Shape> stages_of(const Shape& shape, std::int64_t pipeline) {
  const auto layers = static_cast<std::int64_t>(shape.layers.size());
  // What is left over goes to those before the last one, from behind.
  const std::int64_t over = layers % pipeline;
  std::vector<Shape> stages;
  auto next = shape.layers.begin();
  for (std::int64_t i = 0; i < pipeline; ++i) {
    const bool one_more = i >= pipeline - 1 - over && i < pipeline - 1;
    const auto end = next + static_cast<std::ptrdiff_t>(layers / pipeline + (one_more ? 1 : 0));
    Shape stage = shape;
    stage.layers.assign(next, end);
    stage.first_layer = next - shape.layers.begin();
    stage.first = i == 0;
    stage.last = i == pipeline - 1;
    stages.push_back(std::move(stage));
    next = end;
  }
  return stages;
}

}  // namespace vramfit::vllm
