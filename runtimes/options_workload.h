#pragma once

#include <type_traits>
#include <utility>
#include <variant>

#include "model/transformer/model_precision.h"
#include "runtimes/flags.h"
#include "runtimes/runtime.h"

namespace vramfit {

/// A workload that is stated by one of two structs of options. `Self` is what derives from it
/// (CRTP), so that a resized copy is one of its own kind.
template <typename Self, typename Generation, typename Training>
class OptionsWorkload : public Workload {
 public:
  using Options = std::variant<Generation, Training>;

  explicit OptionsWorkload(Options options) : options_(std::move(options)) {}

  const Options& options() const { return options_; }

  bool training() const override { return std::holds_alternative<Training>(options_); }
  std::int64_t positions() const override { return size(kSeqAxis) + decodes(); }
  std::int64_t decodes() const override {
    const auto* generation = std::get_if<Generation>(&options_);
    return generation == nullptr ? 0 : generation->generate - 1;
  }
  std::int64_t micro_batches() const override {
    const auto* training = std::get_if<Training>(&options_);
    return training == nullptr ? 1 : training->accumulate;
  }
  std::int64_t size(const SearchAxis& axis) const override {
    return std::visit([&](const auto& options) { return on(axis, options); }, options_);
  }
  std::shared_ptr<const Workload> resized(const SearchAxis& axis,
                                          std::int64_t size) const override {
    auto resized = std::make_shared<Self>(static_cast<const Self&>(*this));
    std::visit([&](auto& options) { on(axis, options) = size; },
               static_cast<OptionsWorkload&>(*resized).options_);
    return resized;
  }

 private:
  /// What the options say of that axis: batch or seq.
  template <typename SomeOptions>
  static auto& on(const SearchAxis& axis, SomeOptions& options) {
    return axis == kBatchAxis ? options.batch : options.seq;
  }

  Options options_;
};

/// Reads what options of every kind have: precision, batch, seq.
template <typename Options>
void read_sizes(const Flags& flags, Options& options) {
  if (const auto precision = typed(flags, "precision")) {
    if constexpr (std::is_same_v<decltype(options.precision), DType>) {
      options.precision = parse_precision(*precision);
    } else {
      options.precision = parse_model_precision(*precision);
    }
  }
  options.batch = whole(flags, "batch", options.batch);
  options.seq = whole(flags, "seq", options.seq);
}

}  // namespace vramfit
