#include "runtimes/vllm/rank_experts.h"

#include "runtimes/vllm/elements.h"

namespace vramfit::vllm {

std::int64_t ranks_of_experts(const Options& options) {
  return options.tensor_parallel * options.data_parallel;
}

bool shares_tokens_out(const Options& options) {
  return options.expert_parallel && options.tensor_parallel > 1 && options.data_parallel > 1;
}

RankExperts experts_of_rank(const Shape& shape, const Options& options) {
  const Experts& experts = shape.experts;
  const std::int64_t ranks = ranks_of_experts(options);
  RankExperts rank{
      .count = experts.count,
      .width = experts.width / ranks,
      .shared = experts.shared / (shares_tokens_out(options) ? 1 : options.tensor_parallel),
      .steps = options.data_parallel};
  if (options.expert_parallel && ranks > 1) {
    rank.count = ceil_div(experts.count, ranks);
    rank.width = experts.width;
  }
  return rank;
}

}  // namespace vramfit::vllm
