#pragma once

#include <memory>

#include "runtimes/runtime.h"
#include "runtimes/vllm/start.h"

namespace vramfit::vllm {

/// Tokens of the longest request.
inline constexpr SearchAxis kLengthAxis = {
    .name = "max-model-len",
    .noun = "request",
    .largest = "the longest request",
    .help = "vLLM: the longest request that its cache holds, or --concurrency of them",
    .before = "requests of ",
    .after = " tokens",
    .of_positions = true,
    .step = 1};
/// Requests of that length.
inline constexpr SearchAxis kConcurrencyAxis = {
    .name = "concurrency",
    .noun = "number of requests",
    .largest = "as many requests at once as its cache holds",
    .help = "vLLM: the most requests of --max-model-len tokens that its cache holds at once",
    .after = " at once",
    .step = 1};

/// An engine on a card, filled.
class EngineWorkload final : public Workload {
 public:
  EngineWorkload(std::shared_ptr<const Shape> shape, Options options)
      : shape_(std::move(shape)), options_(std::move(options)) {}

  const Runtime& runtime() const override;
  nlohmann::ordered_json release() const override;
  Facts facts() const override;
  DType computes_in() const override { return options_.type; }
  std::int64_t positions() const override { return size(kLengthAxis); }
  std::int64_t parameters(const ModelConfig& config) const override;
  std::int64_t size(const SearchAxis& axis) const override;
  std::shared_ptr<const Workload> resized(const SearchAxis& axis, std::int64_t size) const override;
  std::int64_t limit(const SearchAxis& axis, const ModelConfig& config) const override;
  void validate(const ModelConfig& config) const override;
  Demand demand() const override { return Demand::Elastic; }
  Outcome run(const Gpu& gpu, std::uint64_t capacity, const ModelConfig& config,
              const Extent& extent) const override;
  std::vector<Adjustment> adjustments(const ModelConfig& config) const override;
  nlohmann::ordered_json asked() const override;
  std::string text(const std::string& sizes) const override;
  std::string types() const override;
  std::string about() const override;
  std::optional<double> reserved_error() const override;

 private:
  void refuse_type() const;
  void refuse_no_mixture() const;

  std::shared_ptr<const Shape> shape_;
  Options options_;
};

}  // namespace vramfit::vllm
