#include "runtimes/llamacpp/fit_choice.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>

#include "runtimes/llamacpp/weights/layer_split.h"

namespace vramfit::llamacpp {
namespace {

// What cudaMalloc takes of a card.
std::uint64_t allocated(std::uint64_t bytes) {
  constexpr std::uint64_t kGranularity = 2U << 20U;
  return (bytes + kGranularity - 1) / kGranularity * kGranularity;
}

/// Of a layer that is not whole on its GPU, what is (common_layer_fraction_t).
enum class Part : std::uint8_t {
  Attention,
  Up,     ///< and the up projection
  Gate,   ///< and the gate
  Dense,  ///< all but experts
};

// get_overflow_pattern: the tensors that go elsewhere.
std::string overflow_of(std::uint32_t layer, Part part) {
  const std::string prefix = "blk\\." + std::to_string(layer) + "\\.";
  switch (part) {
    case Part::Attention:
      return prefix + "ffn_(gate|up|gate_up|down).*";
    case Part::Up:
      return prefix + "ffn_(gate|gate_up|down).*";
    case Part::Gate:
      return prefix + "ffn_down.*";
    default:
      return prefix + "ffn_(up|down|gate_up|gate)_(ch|)exps";
  }
}

/// A GPU's layers (ngl_t): the output counts as one, and is never partial.
struct Layers {
  std::uint32_t all = 0;
  std::uint32_t partial = 0;  ///< of them, first
  Part first = Part::Dense;   ///< of the first partial layer; of others all but experts is here

  std::uint32_t whole() const { return all - partial; }
};

/// A way to share layers out, and what each GPU takes so.
struct Share {
  std::vector<Layers> gpus;
  std::vector<std::string> overflow;  ///< where the first partial layer's rest goes
  std::vector<std::int64_t> taken;
  std::size_t first_dense = 0;  ///< the first GPU that has layers without their experts
};

class Fit {
 public:
  Fit(const Hparams& hparams, Placement placement, const ContextOptions& options,
      const FitTargets& targets, const Measure& measure)
      : layers_(static_cast<std::uint32_t>(hparams.run_layers() +
                                           (placement.load_nextn ? hparams.nextn_layers : 0))),
        experts_(hparams.experts > 0),
        trained_(hparams.context_train),
        placement_(std::move(placement)),
        options_(options),
        targets_(targets),
        measure_(measure),
        devices_(devices_of(placement_, targets.free.size())),
        gpus_(devices_.size()) {}

  FitChoice choose() {
    FitChoice choice;
    if (!context_suffices()) {
      choice.failure = refusal();
      if (choice.failure.empty()) share_layers();
    }
    choice.placement = placement_;
    choice.context = options_.context;
    return choice;
  }

 private:
  Breakdown breakdown(Placement placement) const {
    placement.mmap = false;
    return measure_(placement, options_);
  }
  const Buffers& of(const Breakdown& breakdown, std::size_t gpu) const {
    return breakdown.gpus[static_cast<std::size_t>(devices_[gpu])];
  }
  std::vector<std::int64_t> totals(const Breakdown& breakdown) const {
    std::vector<std::int64_t> totals;
    for (std::size_t i = 0; i < gpus_; ++i) {
      totals.push_back(static_cast<std::int64_t>(of(breakdown, i).total()));
    }
    return totals;
  }
  std::vector<std::int64_t> measured(const Placement& placement) const {
    return totals(breakdown(placement));
  }

  // Of what was free when all layers were measured: states of recurrent layers had been allocated.
  std::int64_t target(std::size_t gpu) const {
    const std::uint64_t free = targets_.free[static_cast<std::size_t>(devices_[gpu])];
    return static_cast<std::int64_t>(free - held_[gpu] - targets_.margins[gpu]);
  }
  std::int64_t all_targets() const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < gpus_; ++i) sum += target(i);
    return sum;
  }
  static std::int64_t sum(const std::vector<std::int64_t>& taken) {
    return std::accumulate(taken.begin(), taken.end(), std::int64_t{0});
  }

  // Steps 1 and 2: whether all fits as asked, or with a smaller context.
  bool context_suffices() {
    const bool automatic = options_.context == 0;
    const auto streams = static_cast<std::uint32_t>(
        options_.unified ? 1 : std::max<std::int64_t>(1, options_.sequences));
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    const auto most = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(static_cast<std::uint64_t>(trained_) * streams, kMost));
    const auto least = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(std::uint64_t{targets_.least_context} * streams, kMost));
    if (automatic) options_.context = most;

    const Breakdown as_asked = breakdown(placement_);
    const std::vector<std::int64_t> full = totals(as_asked);
    for (std::size_t i = 0; i < gpus_; ++i) held_.push_back(allocated(of(as_asked, i).states));
    bool fits = true;
    for (std::size_t i = 0; i < gpus_; ++i) fits = fits && full[i] <= target(i);
    if (fits) return true;
    if (all_targets() >= sum(full) || !automatic || most <= least) return false;

    std::int64_t aim = all_targets();
    if (gpus_ > 1) {
      // For what is lost where only whole layers, or whole tensors of experts, fit.
      const auto offloaded = static_cast<std::int64_t>(
          std::min(static_cast<std::uint32_t>(placement_.gpu_layers), layers_));
      if (offloaded == 0) return false;
      std::int64_t weights = 0;
      for (const Buffers& gpu : as_asked.gpus) weights += static_cast<std::int64_t>(gpu.model);
      aim -= static_cast<std::int64_t>(gpus_ + 1) * (weights / offloaded) / (experts_ ? 6 : 2);
    }
    options_.context = least;
    const std::int64_t smallest = sum(measured(placement_));
    if (aim <= smallest) return false;
    // Linear between the smallest and the largest, down to what caches are padded to.
    const std::uint32_t more = static_cast<std::uint32_t>(
        (static_cast<std::int64_t>(most) - least) * (aim - smallest) / (sum(full) - smallest));
    const std::uint32_t context = least + more;
    options_.context = std::max(context - context % (256 * streams), least);
    return gpus_ == 1;
  }

  // What it does not touch.
  std::string refusal() const {
    if (placement_.gpu_layers != kLayersLeftOpen) {
      return "n_gpu_layers already set by user to " + std::to_string(placement_.gpu_layers);
    }
    const auto set = [](double share) { return share != 0; };
    if (gpus_ > 1 &&
        std::any_of(placement_.tensor_split.begin(), placement_.tensor_split.end(), set)) {
      return "model_params::tensor_split already set by user";
    }
    if (!placement_.overrides.empty() || placement_.cpu_moe_layers > 0) {
      return "model_params::tensor_buft_overrides already set by user";
    }
    return "";
  }

  // set_ngl_tensor_split_tbo.
  Placement placed(const Share& share) const {
    Placement placement = placement_;
    placement.gpu_layers = 0;
    placement.tensor_split.clear();
    for (const Layers& gpu : share.gpus) {
      placement.gpu_layers += gpu.all;
      if (gpus_ > 1) placement.tensor_split.push_back(gpu.all);
    }
    std::uint32_t layer = layers_ + 1 - static_cast<std::uint32_t>(placement.gpu_layers);
    for (std::size_t i = 0; i < gpus_; ++i) {
      const Layers& gpu = share.gpus[i];
      layer += gpu.whole();
      for (std::uint32_t n = 0; n < gpu.partial; ++n, ++layer) {
        placement.overrides.emplace_back(overflow_of(layer, n == 0 ? gpu.first : Part::Dense),
                                         n == 0 ? share.overflow[i] : "CPU");
      }
    }
    return placement;
  }
  void measure(Share& share) const { share.taken = measured(placed(share)); }

  // Between a share that fits and one that does not: how many layers further, as if each took the
  // same. Unsigned, as there: below 0 it is the most.
  std::uint32_t step(std::uint32_t apart, std::size_t gpu, const Share& low,
                     const Share& high) const {
    const std::int64_t more = high.taken[gpu] - low.taken[gpu];
    if (more == 0) return 1;  // where llama.cpp divides by it
    const std::int64_t layers = apart * (target(gpu) - low.taken[gpu]) / more;
    return std::min(std::max(static_cast<std::uint32_t>(layers), 1U), apart - 1);
  }

  // Steps 3 and 4.
  void share_layers() {
    std::int64_t spare = 0;  // with all experts on the host
    if (experts_) {
      Placement dense = placement_;
      dense.overrides = {{"blk\\.\\d+\\.ffn_(up|down|gate_up|gate)_(ch|)exps", "CPU"}};
      spare = all_targets() - sum(measured(dense));
    }
    Share share{std::vector<Layers>(gpus_), std::vector<std::string>(gpus_, "CPU"), {}, 0};
    measure(share);
    for (std::size_t i = gpus_; i-- > 0;) fill_back_to_front(share, i);
    if (experts_ && spare > 0) give_experts(share);
    placement_ = placed(share);
  }

  // The method of false position, on how many layers a GPU gets; of experts' layers all but these.
  void fill_back_to_front(Share& low, std::size_t gpu) const {
    const bool last = gpu + 1 == gpus_;
    std::uint32_t left = layers_ + 1;
    for (std::size_t i = gpu + 1; i < gpus_; ++i) left -= low.gpus[i].all;
    if (left == 0) return;
    Share high = low;
    high.gpus[gpu].all = left;
    if (experts_) high.gpus[gpu].partial = last ? left - 1 : left;
    measure(high);
    if (high.taken[gpu] <= target(gpu)) {
      low = high;
      return;
    }
    while (high.gpus[gpu].all - low.gpus[gpu].all > 1) {
      const std::uint32_t layers = step(high.gpus[gpu].all - low.gpus[gpu].all, gpu, low, high);
      Share test = low;
      Layers& tested = test.gpus[gpu];
      tested.all += layers;
      if (experts_) tested.partial += last && tested.partial == 0 ? layers - 1 : layers;
      measure(test);
      (test.taken[gpu] <= target(gpu) ? low : high) = test;
    }
  }

  // Where all that is dense fits: layers get their experts, front to back.
  void give_experts(Share& share) const {
    share.first_dense = gpus_;
    while (share.first_dense > 0 && share.gpus[share.first_dense - 1].all > 0) --share.first_dense;
    for (std::size_t gpu = 0; gpu <= share.first_dense && share.first_dense < gpus_; ++gpu) {
      make_whole(share, gpu);
      const std::uint32_t kept = gpu + 1 < gpus_ ? 0 : 1;  // the output
      if (share.gpus[share.first_dense].all > kept) add_partial(share, gpu);
    }
  }

  void make_whole(Share& low, std::size_t gpu) const {
    Share high = low;
    for (std::size_t i = low.first_dense; i < gpus_; ++i) {
      const std::uint32_t moved = i + 1 < gpus_ ? high.gpus[i].all : high.gpus[i].all - 1;
      high.gpus[gpu].all += moved;
      high.gpus[i].all -= moved;
      high.gpus[i].partial = 0;
    }
    high.first_dense = gpus_ - 1;
    measure(high);
    if (high.taken[gpu] <= target(gpu)) {
      low = high;
      return;
    }
    while (high.gpus[gpu].whole() - low.gpus[gpu].whole() > 1) {
      const std::uint32_t layers =
          step(high.gpus[gpu].whole() - low.gpus[gpu].whole(), gpu, low, high);
      Share test = low;
      std::uint32_t converted = 0;
      for (; test.first_dense < gpus_; ++test.first_dense) {
        Layers& from = test.gpus[test.first_dense];
        const std::uint32_t taken = std::min(layers - converted, from.partial);
        from.all -= taken;
        from.partial -= taken;
        test.gpus[gpu].all += taken;
        converted += taken;
        if (from.partial > 0) break;
      }
      measure(test);
      (test.taken[gpu] <= target(gpu) ? low : high) = test;
    }
  }

  // Part of one more layer, the rest of which goes to the next GPU, or to the host.
  void add_partial(Share& share, std::size_t gpu) const {
    Share test = share;
    Layers& from = test.gpus[test.first_dense];
    --from.all;
    --from.partial;
    ++test.gpus[gpu].all;
    ++test.gpus[gpu].partial;
    if (from.partial == 0) ++test.first_dense;
    if (gpu + 1 < gpus_) test.overflow[gpu] = "CUDA" + std::to_string(gpu + 1);
    if (fits_with(test, gpu, Part::Up)) {
      share = test;
      if (fits_with(test, gpu, Part::Gate)) share = test;
    } else if (fits_with(test, gpu, Part::Attention)) {
      share = test;
    }
  }

  bool fits_with(Share& share, std::size_t gpu, Part part) const {
    share.gpus[gpu].first = part;
    measure(share);
    return share.taken[gpu] < target(gpu) &&
           (gpu + 1 == gpus_ || share.taken[gpu + 1] < target(gpu + 1));
  }

  std::uint32_t layers_;  ///< the output is one more
  bool experts_;
  std::int64_t trained_;
  Placement placement_;
  ContextOptions options_;
  const FitTargets& targets_;
  const Measure& measure_;
  std::vector<int> devices_;  ///< that the model is on: what is numbered `gpu` here
  std::size_t gpus_;
  std::vector<std::uint64_t> held_;  ///< of each GPU by the measurement itself
};

}  // namespace

FitChoice choose_fit(const Hparams& hparams, const Placement& placement,
                     const ContextOptions& options, const FitTargets& targets,
                     const Measure& measure) {
  return Fit(hparams, placement, options, targets, measure).choose();
}

}  // namespace vramfit::llamacpp
