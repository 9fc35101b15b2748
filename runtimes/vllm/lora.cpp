#include "runtimes/vllm/lora.h"

#include "runtimes/vllm/elements.h"
#include "runtimes/vllm/weights.h"

namespace vramfit::vllm {
namespace {

class Slots {
 public:
  Slots(const Shape& shape, const Options& options, const Batch& batch)
      : shape_(shape), options_(options), batch_(batch) {}

  std::vector<std::uint64_t> operator()() {
    for (const Weight& weight : weights_of(shape_, options_)) {
      if (!weight.slices.empty()) add(weight);
    }
    if (shape_.first && shape_.adapted != Adapted::Products) add_embedding();
    if (shape_.last && (shape_.adapted == Adapted::Head || shape_.adapted == Adapted::HeadTwice)) {
      add_a(shape_.hidden);
      add_b(shape_.vocab);
    }
    // A tied head that is the embedding itself has its own once more.
    if (shape_.last && shape_.adapted == Adapted::HeadTwice && shape_.tied) add_embedding();
    add_mappings();
    return std::move(list_);
  }

 private:
  /// `inputs` may be those of all experts.
  void add_a(std::int64_t inputs) { add_bytes(inputs); }
  void add_b(std::int64_t outputs) { add_bytes(outputs); }
  void add_bytes(std::int64_t width) {
    const std::int64_t elements = options_.adapters * options_.adapters_rank * width;
    list_.push_back(static_cast<std::uint64_t>(elements * own_bytes(options_)));
  }

  void add(const Weight& weight) {
    for (std::size_t i = 0; i < weight.slices.size(); ++i) add_a(weight.columns * weight.copies);
    for (const std::int64_t outputs : weight.slices) add_b(outputs * weight.copies);
  }

  void add_embedding() {
    add_a(shape_.vocab);
    add_b(shape_.hidden);
  }

  /// PunicaWrapperBase, and LoRAKernelMeta of tokens and of prompts.
  void add_mappings() {
    const auto add = [&](std::int64_t bytes) {
      list_.push_back(static_cast<std::uint64_t>(bytes));
    };
    for (const std::int64_t rows : {1, 1, 1, 2}) add(rows * batch_.tokens * kLong);
    for (int i = 0; i < 3; ++i) add(batch_.sequences * kLong);
    for (int meta = 0; meta < 2; ++meta) {
      for (int i = 0; i < 2; ++i) add(batch_.tokens * kWord);
      for (int i = 0; i < 3; ++i) add((options_.adapters + 2) * kWord);
    }
  }

  const Shape& shape_;
  const Options& options_;
  const Batch& batch_;
  std::vector<std::uint64_t> list_;
};

}  // namespace

std::vector<std::uint64_t> adapter_slots(const Shape& shape, const Options& options,
                                         const Batch& batch) {
  if (options.adapters == 0) return {};
  return Slots(shape, options, batch)();
}

}  // namespace vramfit::vllm
