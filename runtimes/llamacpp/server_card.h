#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtimes/gpu.h"
#include "runtimes/llamacpp/base/account.h"
#include "runtimes/llamacpp/compute_buffers.h"
#include "runtimes/runtime.h"

// What a card leaves to a server's buffers, and what these take of it.
namespace vramfit::llamacpp {

inline constexpr std::uint64_t kGranule = std::uint64_t{2} << 20;  ///< of cudaMalloc

/// A GPU as a start meets it.
struct Card {
  Device device;
  Overhead overhead;
  std::uint64_t capacity = 0;  ///< that buffers may have of it, bytes
};

/// Of a card that leaves so many bytes to buffers. `cublas`: whether that is loaded.
Card card_of(const Gpu& gpu, bool cublas, std::uint64_t capacity);
/// Of a machine's cards each, which leaves what it has.
std::vector<Card> machine_of(const std::vector<Gpu>& machine, bool cublas);
std::vector<Device> devices_of(const std::vector<Card>& cards);

/// Buffers of a GPU, and its pool, each as cudaMalloc gives it.
std::uint64_t reserved_by(const Buffers& buffers, std::uint64_t pool);
/// The GPU that has least to spare.
std::size_t fullest(const std::vector<Card>& cards, const std::vector<CardUse>& uses);

}  // namespace vramfit::llamacpp
