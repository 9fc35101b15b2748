#pragma once

#include <utility>
#include <vector>

#include "runtimes/pytorch/torch/tensor/tensor.h"
#include "runtimes/pytorch/transformers/taped/op_tape.h"

namespace vramfit::pytorch {

/// What layers under checkpointing make for later ones: a dict that each is called with, and that
/// keeps what a layer made until the layer, run again, has made all of it anew.
class Handed {
 public:
  /// `kept`: the dict; `own`: the program's tensors as the layer sees them.
  Handed(std::vector<Tensor>& kept, std::vector<Tensor>& own, const Body& layer)
      : kept_(kept), own_(own), layer_(layer) {
    for (const std::uint32_t number : layer.shared) {
      if (kept[number].defined()) own[number] = kept[number];
    }
    for (const std::uint32_t number : layer.made) own[number].reset();
  }
  Handed(const Handed&) = delete;
  Handed& operator=(const Handed&) = delete;
  ~Handed() { put(); }

  /// A tensor of the program was made.
  void made(std::uint32_t number) {
    if (!layer_.made.empty() && number == layer_.made.back()) put();
  }

 private:
  void put() {
    for (const std::uint32_t number : layer_.made) {
      if (own_[number].defined()) kept_[number] = own_[number];
    }
  }

  std::vector<Tensor>& kept_;
  std::vector<Tensor>& own_;
  const Body& layer_;
};

}  // namespace vramfit::pytorch
