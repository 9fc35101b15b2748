#pragma once

#include <functional>

#include "kernels/cpu/host_ranks.h"
#include "tests/kernels/support/host_run.h"

namespace vramfit {

/// What one rank on the CPU needs.
struct RankHost {
  RankHost(Arch arch, HostRanks& ranks, std::int64_t rank)
      : pool(source), ledger(pool), device(arch, ranks, rank) {}

  HostSource source{HostSource::kDefaultCapacity};
  Pool pool;
  Ledger ledger;
  CpuDevice device;
};

/// Runs `body` as each rank of a mesh, on threads of their own. Throws what one of them threw, of
/// those who did not merely lose another.
void on_ranks(std::int64_t ranks, const std::function<void(std::int64_t, RankHost&)>& body,
              Arch arch = Arch{90});

}  // namespace vramfit
