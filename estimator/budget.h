#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "estimator/cards.h"

namespace vramfit {

/// A GPU as an estimate sees it: its size, and what of it a run cannot have. Bytes.
struct Budget {
  std::string gpu;    ///< the card's name in the catalogue; empty where it is not in it
  std::string title;  ///< for people
  Platform platform = Platform::Cuda;
  Arch arch;
  int multiprocessors = 0;
  std::uint64_t vram = 0;
  double bandwidth = 0;  ///< of its memory, bytes a second
  Flops flops;           ///< by format; one that is absent, the GPU lacks
  Traits traits;
  Overhead overhead;
  std::uint64_t headroom = 0;      ///< to be left free
  std::uint64_t held = 0;          ///< by other processes
  std::vector<std::string> notes;  ///< what was assumed, a line each
  /// Where cards of several kinds are in one machine: all of them, in its order. This is one.
  std::vector<Budget> machine = {};

  /// What is not a run's to take, driver and libraries apart.
  std::uint64_t set_aside() const { return headroom + held; }
  std::uint64_t room() const { return vram - std::min(vram, set_aside()); }
  /// Of the machine's cards the one at that place; where there is one card, that.
  const Budget& at(std::size_t place) const { return machine.empty() ? *this : machine[place]; }
  std::uint64_t capacity() const { return pool_capacity(vram, overhead, set_aside()); }
};

Budget budget_of(const Card& card);

/// "sm_89", or "metal".
std::string arch_text(const Budget& budget);

/// What of it a runtime's rules read.
Gpu gpu_of(const Budget& budget);

/// A GPU of which only the size is known. The rest is that of the card that stands for such sizes,
/// and a note says so.
Budget budget_of_size(std::uint64_t vram);

/// A GPU whose driver told its name, architecture and size: one of the catalogue where the name is
/// there, otherwise with the rest of a card like it, which a note names.
Budget budget_of_gpu(const std::string& title, Arch arch, std::uint64_t vram);

}  // namespace vramfit
