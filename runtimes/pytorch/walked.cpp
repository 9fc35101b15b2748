#include "runtimes/pytorch/walked.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "runtimes/pytorch/transformers/loading/from_pretrained.h"
#include "runtimes/pytorch/transformers/make_model.h"
#include "runtimes/pytorch/transformers/modules/outliers.h"

namespace vramfit::pytorch {
namespace {

/// Whether there is memory that holds some of several layers: buckets of gradients.
bool spans_layers(const TorchTraining& options) {
  return options.distributed && reduces_in_buckets(*options.distributed);
}

/// Whether not even what finds a layer's outliers is like another's.
bool each_differs(const ModelConfig& config, const std::optional<Pretrained>& pretrained) {
  return keeps_outliers(pretrained) && outliers_grow_with_depth(config);
}

Walked folded(const ModelConfig& config, const Fold& fold) {
  return {fold.walked(config), fold, std::nullopt};
}

/// In place of a GPU's number: another one, whose layers take nothing here.
constexpr int kElsewhere = -2;

/// Layers one after another that lie at one place.
struct Placed {
  Layers layers;
  int place;

  std::int64_t count() const { return layers.end - layers.first; }
};

/// By where modules lie that act on this GPU: here, or on the host.
std::vector<Placed> placed_layers(int here, const DeviceMap& map) {
  std::vector<Placed> all;
  for (std::size_t i = 0; i < map.gpu.size(); ++i) {
    if (!map.layer[i]) continue;
    const std::int64_t layer = *map.layer[i];
    const int place = map.runs_on(i) == here ? map.gpu[i] : kElsewhere;
    if (all.empty() || all.back().place != place) all.push_back({{layer, layer}, place});
    all.back().layers.end = layer + 1;
  }
  return all;
}

Walked without_layers(const Walked& walked, std::int64_t first, std::int64_t count) {
  const ModelConfig config = vramfit::without_layers(walked.config, first, count);
  return {config, Fold::none(config), without_layers(*walked.map, first, count)};
}

/// All layers that act on that GPU, and of those that do not, and take nothing there, a period at
/// either end.
Walked share_of(int here, const ModelConfig& config, const DeviceMap& map) {
  Walked share{config, Fold::none(config), map};
  const std::int64_t period = period_of(config, {0, config.layers});
  const std::vector<Placed> all = placed_layers(here, map);
  for (std::size_t i = all.size(); i-- > 0;) {
    if (all[i].place != kElsewhere) continue;
    const std::int64_t count = all[i].count() - 2 * period;
    if (count > 0) share = without_layers(share, all[i].layers.first + period, count);
  }
  return share;
}

/// Few of those alike that act there, where most are.
Walked few_of_share(int here, const Walked& share) {
  Layers most{0, 0};
  for (const Placed& placed : placed_layers(here, *share.map)) {
    if (placed.place == kElsewhere || placed.count() <= most.end - most.first) continue;
    most = placed.layers;
  }
  const Fold fold = Fold::of(share.config, most);
  Walked few = without_layers(share, fold.behind(), fold.left_out());
  few.fold = fold;
  return few;
}

}  // namespace

Walked all_of(const ModelConfig& config) { return folded(config, Fold::none(config)); }

Walked few_of(const ModelConfig& config, const TorchTraining& options) {
  if (each_differs(config, options.pretrained) || spans_layers(options)) return all_of(config);
  return folded(config, Fold::of(config));
}

Walked few_of(const ModelConfig& config, const TorchGeneration& options,
              const std::optional<DeviceMap>& map) {
  if (map && has_no_room(*map, *options.pretrained)) return all_of(config);
  const bool differ = each_differs(config, options.pretrained);
  if (!map) return differ ? all_of(config) : folded(config, Fold::of(config));
  const Walked share = share_of(options.pretrained->gpu, config, *map);
  return differ ? share : few_of_share(options.pretrained->gpu, share);
}

bool alike(const Walked& a, int gpu_of_a, const Walked& b, int gpu_of_b) {
  if (!a.map || !b.map) return false;
  if (a.map->main_gpu() == gpu_of_a || b.map->main_gpu() == gpu_of_b) return false;
  if (outliers_grow_with_depth(a.config)) return false;
  const auto same_place = [&](int of_a, int of_b) {
    return (of_a == gpu_of_a) == (of_b == gpu_of_b);
  };
  const auto bytes = [](const Walked& walked, int gpu) {
    return walked.map->gpu_bytes[static_cast<std::size_t>(gpu)];
  };
  return a.fold.layers() == b.fold.layers() && a.map->layer == b.map->layer &&
         a.config.sliding_layers == b.config.sliding_layers &&
         bytes(a, gpu_of_a) == bytes(b, gpu_of_b) &&
         std::equal(a.map->gpu.begin(), a.map->gpu.end(), b.map->gpu.begin(), b.map->gpu.end(),
                    same_place);
}

std::optional<DeviceMap> map_of(const Gpu& gpu, const Release& release, const ModelConfig& config,
                                const TorchGeneration& options, std::uint64_t capacity) {
  if (!options.pretrained || !options.pretrained->auto_device_map) return std::nullopt;
  Tape tape(config.layers);
  Context context(tape, release, gpu, capacity);
  const Setting meta(context.meta, true);
  ModelSettings settings;
  settings.type = scalar_type(options.precision);
  const std::unique_ptr<CausalLm> model = make_model(context, config, settings);
  return device_map(context, *model, config, *options.pretrained);
}

}  // namespace vramfit::pytorch
