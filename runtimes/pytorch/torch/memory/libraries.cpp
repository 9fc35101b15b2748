#include "runtimes/pytorch/torch/memory/libraries.h"

#include "model/errors.h"

namespace vramfit::pytorch {

std::optional<LibrarySizes> measured_sizes(const Overhead& overhead, std::string_view release) {
  const RuntimeOverhead* row = overhead.of("pytorch", release);
  if (row == nullptr) return std::nullopt;
  const RuntimeOverhead& parts = *row;
  return LibrarySizes{.context = parts["context"],
                      .blas = parts["cublas"],
                      .backward_blas = parts["cublas_backward"],
                      .attention = parts["attention"],
                      .backward_attention = parts["attention_backward"],
                      .streams = parts["streams"],
                      .process_group = parts["process_group"],
                      .collectives = parts["collectives"],
                      .more_communicators = parts["more_communicators"],
                      .more_collectives = parts["more_collectives"]};
}

LibrarySizes library_sizes(const Overhead& overhead, std::string_view release) {
  const std::optional<LibrarySizes> sizes = measured_sizes(overhead, release);
  if (!sizes) throw BadInput("gpu: what PyTorch takes of it was not measured; another");
  return *sizes;
}

}  // namespace vramfit::pytorch
