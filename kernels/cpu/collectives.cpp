#include <cstring>

#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/host_ranks.h"
#include "kernels/cpu/matrix.h"

// Sums over ranks are in the accumulation dtype and in the order of the ranks, rounded once: every
// rank gets the same.

namespace vramfit {
namespace {

/// Elements [first, first + count) of the sum of every rank's offer.
template <typename Element>
std::vector<Accumulator<Element>> sum_of(const std::vector<const void*>& offers, std::int64_t first,
                                         std::int64_t count) {
  std::vector<Accumulator<Element>> sum(static_cast<std::size_t>(count));
  for (const void* offer : offers) {
    const Element* values = static_cast<const Element*>(offer) + first;
    for (std::int64_t i = 0; i < count; ++i) {
      sum[static_cast<std::size_t>(i)] += static_cast<Accumulator<Element>>(values[i]);
    }
  }
  return sum;
}

}  // namespace

HostRanks& CpuDevice::ranks() const {
  if (ranks_ == nullptr) throw std::logic_error("a collective on a device that is alone");
  return *ranks_;
}

void CpuDevice::run(const AllReduce& op) {
  require(op.ranks == ranks().count(), "all-reduce: of another number of ranks");
  for (const Tensor* tensor : op.tensors) {
    with_element(tensor->format(), [&](auto e) {
      using Element = decltype(e);
      const std::int64_t count = tensor->stored().elements();
      auto* values = output<Element>(*tensor, count);
      std::vector<Accumulator<Element>> sum;
      ranks().meet(rank_, values,
                   [&](const auto& offers) { sum = sum_of<Element>(offers, 0, count); });
      for (std::int64_t i = 0; i < count; ++i) {
        values[i] = static_cast<Element>(sum[static_cast<std::size_t>(i)]);
      }
    });
  }
}

void CpuDevice::run(const ReduceScatter& op) {
  require(op.rank == rank_, "reduce-scatter: of another rank");
  for (const PartOfSum& one : op.parts) {
    with_element(one.whole.format(), [&](auto e) {
      using Element = decltype(e);
      const std::int64_t count = one.part.stored().elements();
      const auto* whole = input<Element>(one.whole, count * ranks().count());
      auto* part = output<Element>(one.part, count);
      std::vector<Accumulator<Element>> sum;
      ranks().meet(rank_, whole, [&](const auto& offers) {
        sum = sum_of<Element>(offers, rank_ * count, count);
      });
      for (std::int64_t i = 0; i < count; ++i) {
        store(part[i], sum[static_cast<std::size_t>(i)], one.accumulate);
      }
    });
  }
}

void CpuDevice::run(const AllGather& op) {
  for (const PartOfWhole& one : op.parts) {
    const std::uint64_t bytes = one.part.bytes();
    require(one.whole.bytes() == bytes * static_cast<std::uint64_t>(ranks().count()),
            "all-gather: the whole is not as large as the parts");
    ranks().meet(rank_, one.part.data(), [&](const auto& offers) {
      auto* to = one.whole.template as<std::byte>();
      for (const void* offer : offers) {
        if (to != offer) std::memcpy(to, offer, bytes);
        to += bytes;
      }
    });
  }
}

void CpuDevice::run(const Exchange& op) {
  std::vector<HostRanks::Sent> sent;
  std::vector<HostRanks::Received> received;
  for (const Message& one : op.sends) sent.push_back({one.rank, one.tensor.data()});
  for (const Message& one : op.receives) {
    received.push_back({one.rank, [&tensor = one.tensor](const void* offer) {
                          std::memcpy(tensor.data(), offer, tensor.bytes());
                        }});
  }
  ranks().exchange(rank_, sent, received);
}

void CpuDevice::run(const SumWith& op) {
  with_element(op.tensor.format(), [&](auto e) {
    using Element = decltype(e);
    const std::int64_t count = op.tensor.stored().elements();
    auto* values = output<Element>(op.tensor, count);
    std::vector<Element> other(static_cast<std::size_t>(count));
    ranks().exchange(rank_, {{op.rank, values}}, {{op.rank, [&](const void* offer) {
                                                     std::memcpy(other.data(), offer,
                                                                 op.tensor.bytes());
                                                   }}});
    for (std::int64_t i = 0; i < count; ++i) {
      store(values[i], static_cast<Accumulator<Element>>(other[static_cast<std::size_t>(i)]), true);
    }
  });
}

// Collectives are done when they return.
void CpuDevice::run(const Await& op) { op.ticket = {}; }

}  // namespace vramfit
