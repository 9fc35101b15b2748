#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtimes/llamacpp/ggml/backend.h"
#include "runtimes/llamacpp/ggml/tensor.h"

// Temporary buffers of ggml-cuda's ops: a stack in memory of its own (ggml_cuda_pool_vmm), which
// each op leaves empty and which never shrinks.
namespace vramfit::llamacpp::ggml {

/// The most that an op has on the stack, in bytes. Where experts are multiplied one by one
/// (weights that are not quantised, many tokens) it depends on what is routed to each; all tokens
/// to one is the most.
std::uint64_t pool_bytes(const Backend& backend, const Tensor& op);

/// The ops of a graph that take temporary buffers, those that are alike once: what they take may be
/// asked of several GPUs whose graphs are the same.
class PoolOps {
 public:
  void add(const Tensor& op);
  /// The most that one of them has on the stack, in bytes.
  std::uint64_t most(const Backend& backend) const;

 private:
  static constexpr std::size_t kSources = 4;  // as many as any of them is asked about
  struct Kept {
    Tensor op;  ///< its sources are below
    std::array<Tensor, kSources> sources;
    std::array<bool, kSources> there{};
  };
  static bool alike(const Kept& a, const Kept& b);

  std::vector<Kept> kept_;
};

/// What the card loses to a stack of so many bytes: pages of 2 MiB.
std::uint64_t pool_mapped(std::uint64_t most);

}  // namespace vramfit::llamacpp::ggml
