#include "runtimes/llamacpp/weights/placement.h"

#include <algorithm>
#include <string_view>

#include "model/checked.h"
#include "runtimes/llamacpp/weights/layer_split.h"
#include "runtimes/llamacpp/weights/overrides.h"
#include "runtimes/llamacpp/weights/tensor_names.h"

namespace vramfit::llamacpp {
namespace {

constexpr std::uint64_t kGpuAlignment = 128;  // ggml_backend_cuda_buffer_type_get_alignment
constexpr std::uint64_t kHostAlignment = 32;  // TENSOR_ALIGNMENT
/// Rows of quantised matrices are followed by what makes them a multiple (MATRIX_ROW_PADDING).
constexpr std::int64_t kRowMultiple = 512;
/// An input that is larger is mapped by itself and read row by row (lazy_read::add).
constexpr std::uint64_t kReadWhole = std::uint64_t{4} << 30;

/// ggml_backend_cuda_buffer_type_get_alloc_size.
std::uint64_t gpu_bytes(const ModelTensor& tensor) {
  std::uint64_t bytes = tensor.bytes();
  const std::int64_t over = tensor.ne[0] % kRowMultiple;
  if (is_quantized(tensor.type) && over != 0) bytes += tensor.type.bytes(kRowMultiple - over);
  return round_up(bytes, kGpuAlignment);
}

/// Of types that no kernel of CUDA's multiplies by, or gathers rows of
/// (ggml_backend_cuda_device_supports_op).
bool cuda_reads(const ModelTensor& tensor, bool gathered) {
  const std::string_view type = tensor.type.name();
  if (type == "tq1_0" || type == "tq2_0" || type == "q8_1") return false;
  if (!gathered) return true;
  if (type == "iq4_nl" || type == "mxfp4") return tensor.ne[0] % 256 == 0;
  return type != "nvfp4" && type != "q8_K";
}

/// Whether layers share it, of which each that lies elsewhere has a copy.
bool is_rope_factors(std::string_view name) {
  return name == "rope_freqs.weight" || name == "rope_factors_long.weight" ||
         name == "rope_factors_short.weight";
}

/// Tensors without a layer in their name that are used by the first.
bool is_of_first_layer(std::string_view name) {
  return name == "per_layer_model_proj.weight" || name == "per_layer_proj_norm.weight";
}

class Placing {
 public:
  Placing(const Model& model, const Placement& placement, const std::vector<std::uint64_t>& free)
      : model_(model), placement_(placement), overrides_(placement, static_cast<int>(free.size())) {
    const auto layers = static_cast<std::int64_t>(model.hparams.layers.size());
    places_.layers = split_layers(layers, placement, free);
    places_.bytes.gpus.resize(free.size(), 0);
  }

  WeightPlaces run() {
    for (const ModelTensor& tensor : model_.tensors) places_.tensors.push_back(place(tensor));
    place_tied_head();
    if (placement_.mmap) count_mapped();
    return std::move(places_);
  }

 private:
  Place place(const ModelTensor& tensor) {
    const std::int64_t layer = layer_of(tensor.name);
    const std::int64_t loaded = placement_.load_nextn
                                    ? static_cast<std::int64_t>(model_.hparams.layers.size())
                                    : model_.hparams.run_layers();
    if (layer >= loaded) return {Place::Kind::NotLoaded, 0};
    if (is_rope_factors(tensor.name)) return place_rope_factors(tensor);
    const Place at = select(tensor, device_of(tensor.name, layer), is_embedding(tensor.name));
    count(tensor, at);
    return at;
  }

  /// The device whose buffers are tried first.
  Place device_of(std::string_view name, std::int64_t layer) const {
    if (layer >= 0) return places_.layers[static_cast<std::size_t>(layer)];
    if (is_embedding(name)) return {Place::Kind::Host, 0};
    return is_of_first_layer(name) ? places_.layers.front() : places_.output();
  }

  /// select_weight_buft: the first of a device's buffer types that it can compute from. Page-locked
  /// memory is left to weights that are not mapped.
  Place select(const ModelTensor& tensor, Place device, bool gathered) const {
    if (const auto target = overrides_.of(tensor.name)) {
      if (*target != Overrides::kHost) return {Place::Kind::Gpu, *target};
      device = {Place::Kind::Host, 0};
    }
    const bool reads = cuda_reads(tensor, gathered);
    if (device.on_gpu() && reads) return device;
    const bool pinned = reads && !placement_.mmap && !(gathered && is_lazy(tensor));
    return {pinned ? Place::Kind::Pinned : Place::Kind::Host, 0};
  }

  static bool is_lazy(const ModelTensor& tensor) {
    return tensor.name == "per_layer_token_embd.weight" && tensor.bytes() > kReadWhole;
  }

  /// The first layer that rotates by them has them, and each other place where one does a copy.
  Place place_rope_factors(const ModelTensor& tensor) {
    std::vector<Place> seen;
    places_.rope_factors.clear();
    const bool all = model_.hparams.arch != "gemma4";  // there, layers that do not slide
    for (std::int64_t i = 0; i < model_.hparams.run_layers(); ++i) {
      const auto layer = static_cast<std::size_t>(i);
      const Place at = select(tensor, places_.layers[layer], false);
      places_.rope_factors.push_back(at);
      if (!all && model_.hparams.layers[layer].sliding) continue;
      if (std::find(seen.begin(), seen.end(), at) != seen.end()) continue;
      seen.push_back(at);
      count(tensor, at);
    }
    return seen.empty() ? Place{Place::Kind::NotLoaded, 0} : seen.front();
  }

  /// A tied head is the embedding once more, unless they lie in the same place. gemma4 asks for the
  /// head before the embedding, and has both.
  void place_tied_head() {
    if (model_.find("output.weight") != nullptr) return;
    const ModelTensor* embedding = model_.find("token_embd.weight");
    if (embedding == nullptr) return;
    const Place at = select(*embedding, places_.output(), false);
    places_.tied_head = at;
    const auto index = static_cast<std::size_t>(embedding - model_.tensors.data());
    if (places_.tensors[index] == at && model_.hparams.arch != "gemma4") return;
    count(*embedding, at);
  }

  void count(const ModelTensor& tensor, Place at) {
    switch (at.kind) {
      case Place::Kind::Gpu:
        places_.bytes.gpus[static_cast<std::size_t>(at.gpu)] += gpu_bytes(tensor);
        break;
      case Place::Kind::Pinned:
        places_.bytes.pinned += round_up(tensor.bytes(), kHostAlignment);
        break;
      case Place::Kind::Host:
        places_.bytes.host += round_up(tensor.bytes(), kHostAlignment);
        break;
      case Place::Kind::NotLoaded:
        break;
    }
  }

  /// Of each file what lies between the first tensor on the host and the end of the last, with all
  /// between them: get_mapping_range.
  void count_mapped() {
    places_.bytes.host = 0;
    for (std::size_t file = 0; file < model_.files.size(); ++file) {
      const std::size_t end =
          file + 1 < model_.files.size() ? model_.files[file + 1] : model_.tensors.size();
      std::uint64_t offset = 0;
      std::optional<std::uint64_t> first;
      std::uint64_t last = 0;
      for (std::size_t i = model_.files[file]; i < end; ++i) {
        const ModelTensor& tensor = model_.tensors[i];
        if (is_lazy(tensor)) {
          places_.bytes.host += tensor.bytes();
        } else if (is_on_host(i)) {
          if (!first) first = offset;
          last = offset + tensor.bytes();
        }
        offset += round_up(tensor.bytes(), model_.alignment);
      }
      if (first) places_.bytes.host += last - *first;
    }
  }

  /// Or a copy of it is.
  bool is_on_host(std::size_t tensor) const {
    const ModelTensor& of = model_.tensors[tensor];
    const auto host = [](const Place& at) { return at.kind == Place::Kind::Host; };
    if (host(places_.tensors[tensor])) return true;
    return of.name == "token_embd.weight" && places_.tied_head && host(*places_.tied_head);
  }

  const Model& model_;
  const Placement& placement_;
  Overrides overrides_;
  WeightPlaces places_;
};

}  // namespace

WeightPlaces place_weights(const Model& model, const Placement& placement,
                           const std::vector<std::uint64_t>& free) {
  return Placing(model, placement, free).run();
}

}  // namespace vramfit::llamacpp
