#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtimes/llamacpp/base/model.h"
#include "runtimes/llamacpp/base/run_options.h"

// Which buffers a model's weights go to: llama_model_base::load_tensors and
// llama_model_loader::create_tensor.
namespace vramfit::llamacpp {

struct Place {
  enum class Kind : std::uint8_t {
    Gpu,
    Host,       ///< pageable: "CPU"
    Pinned,     ///< page-locked: "CUDA_Host"
    NotLoaded,  ///< of next-token prediction, where that is not asked for
  };
  Kind kind = Kind::Host;
  int gpu = 0;  ///< which, of kind Gpu

  bool on_gpu() const { return kind == Kind::Gpu; }
  friend bool operator==(Place a, Place b) { return a.kind == b.kind && a.gpu == b.gpu; }
};

/// Bytes of weights' buffers.
struct WeightBytes {
  std::vector<std::uint64_t> gpus;
  std::uint64_t host = 0;
  std::uint64_t pinned = 0;
};

struct WeightPlaces {
  /// Of each layer, and behind them of the output: which GPU runs it, or the host (dev_layer).
  std::vector<Place> layers;
  std::vector<Place> tensors;      ///< of each of the model's
  std::optional<Place> tied_head;  ///< of the embedding as head, where there is no other
  /// By layer: of what it rotates by, where the model has that.
  std::vector<Place> rope_factors;
  WeightBytes bytes;

  Place output() const { return layers.back(); }
};

/// `free`: of each GPU, in bytes, by which layers are shared out where nothing else says. Throws
/// BadInput on a placement that llama.cpp refuses.
WeightPlaces place_weights(const Model& model, const Placement& placement,
                           const std::vector<std::uint64_t>& free);

}  // namespace vramfit::llamacpp
