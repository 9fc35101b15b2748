#pragma once

#include <memory>
#include <vector>

#include "runtimes/recorded/play.h"
#include "runtimes/recorded/run_tape.h"
#include "runtimes/runtime.h"

namespace vramfit::recorded {

/// A tape at one size.
class TapedRun final : public Workload {
 public:
  /// `values` of what the tape varies, in its order. Throws BadInput where a size is none there.
  TapedRun(std::shared_ptr<const RunTape> tape, std::vector<std::int64_t> values);

  const Runtime& runtime() const override;
  bool training() const override { return tape_->trains(); }
  bool has_sizes() const override { return !tape_->varied.empty(); }
  std::int64_t parameters(const ModelConfig&) const override { return 0; }
  std::int64_t size(const SearchAxis& axis) const override;
  std::shared_ptr<const Workload> resized(const SearchAxis& axis, std::int64_t size) const override;
  std::int64_t limit(const SearchAxis& axis, const ModelConfig& config) const override;
  void validate(const ModelConfig& config) const override;
  Demand demand() const override { return Demand::Cached; }
  Outcome run(const Gpu& gpu, std::uint64_t capacity, const ModelConfig& config,
              const Extent& extent) const override;
  std::vector<Adjustment> adjustments(const ModelConfig& config) const override;
  nlohmann::ordered_json asked() const override;
  std::string text(const std::string& sizes) const override;
  std::string types() const override;
  std::string about() const override;
  std::optional<double> reserved_error() const override { return 0; }

 private:
  std::vector<std::string> notes_on(const Gpu& gpu) const;
  /// Where it stands among what is varied; absent: the script does not vary it.
  std::optional<std::size_t> place_of(const SearchAxis& axis) const;

  std::shared_ptr<const RunTape> tape_;
  std::vector<std::int64_t> values_;
  Sizes sizes_;
  std::vector<std::string> doubtful_;  ///< of its conditions, those that are not known there
};

}  // namespace vramfit::recorded
