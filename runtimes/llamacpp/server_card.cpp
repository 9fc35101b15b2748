#include "runtimes/llamacpp/server_card.h"

#include <algorithm>
#include <utility>

namespace vramfit::llamacpp {
namespace {

/// Beside what is allocated on a card.
Overhead overhead_on(const Gpu& gpu, bool cublas) {
  Overhead overhead = gpu.overhead;
  if (gpu.platform != Platform::Cuda) return overhead;
  if (const RuntimeOverhead* parts = gpu.overhead.of("llama.cpp")) {
    overhead.context = (*parts)["context"];
    overhead.libraries = (*parts)["kernels"];
    if (cublas) overhead.libraries += (*parts)["cublas"];
  }
  return overhead;
}

std::uint64_t whole_granules(std::uint64_t bytes) {
  return (bytes + kGranule - 1) / kGranule * kGranule;
}

}  // namespace

Card card_of(const Gpu& gpu, bool cublas, std::uint64_t capacity) {
  Overhead overhead = overhead_on(gpu, cublas);
  // Layers are shared out by what is free before kernels are loaded.
  const Device device{capacity + overhead.libraries, gpu.arch.sm * 10, gpu.multiprocessors};
  return {device, std::move(overhead), capacity};
}

std::vector<Card> machine_of(const std::vector<Gpu>& machine, bool cublas) {
  std::vector<Card> cards;
  for (const Gpu& gpu : machine) {
    const std::uint64_t gone = overhead_on(gpu, cublas).total();
    const std::uint64_t left = gpu.room - std::min(gpu.room, gone);
    cards.push_back(card_of(gpu, cublas, left / kGranule * kGranule));
  }
  return cards;
}

std::vector<Device> devices_of(const std::vector<Card>& cards) {
  std::vector<Device> devices;
  for (const Card& card : cards) devices.push_back(card.device);
  return devices;
}

std::uint64_t reserved_by(const Buffers& buffers, std::uint64_t pool) {
  return whole_granules(buffers.model) + whole_granules(buffers.context) +
         whole_granules(buffers.compute) + whole_granules(pool);
}

std::size_t fullest(const std::vector<Card>& cards, const std::vector<CardUse>& uses) {
  const auto spare = [&](std::size_t i) {
    return static_cast<std::int64_t>(cards[i].capacity) -
           static_cast<std::int64_t>(uses[i].reserved);
  };
  std::size_t fullest = 0;
  for (std::size_t i = 1; i < cards.size(); ++i) {
    if (spare(i) < spare(fullest)) fullest = i;
  }
  return fullest;
}

}  // namespace vramfit::llamacpp
