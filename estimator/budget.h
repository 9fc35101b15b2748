#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "estimator/cards.h"

namespace vramfit {

/// A GPU as an estimate sees it: its size, and what of it a run cannot have. Bytes.
struct Budget {
  std::string gpu;    ///< the card's name in the catalogue; empty where it is not in it
  std::string title;  ///< for people
  Arch arch;
  std::uint64_t vram = 0;
  Overhead overhead;
  std::uint64_t headroom = 0;      ///< to be left free
  std::vector<std::string> notes;  ///< what was assumed, a line each

  std::uint64_t capacity() const { return pool_capacity(vram, overhead, headroom); }
};

Budget budget_of(const Card& card);

/// What of it a runtime's rules read.
inline Gpu gpu_of(const Budget& budget) { return {budget.arch, 132, budget.overhead}; }

/// A GPU of which only the size is known. The rest is that of the catalogue's nearest card in size,
/// and a note says so.
Budget budget_of_size(std::uint64_t vram);

/// A GPU whose driver told its name, architecture and size: one of the catalogue where the name is
/// there, otherwise with the overhead of the nearest card in size.
Budget budget_of_gpu(const std::string& title, Arch arch, std::uint64_t vram);

}  // namespace vramfit
