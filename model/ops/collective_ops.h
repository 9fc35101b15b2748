#pragma once

#include <cstdint>
#include <vector>

#include "model/memory/tensor.h"

// What the ranks of a mesh do together. Those that take part in a collective call it in the same
// order. One starts when all ops before it are done, and the ops behind it do not wait for it:
// until they have awaited its ticket they must neither read what it writes nor write what it reads
// or writes. Collectives run one after another. A list is one exchange.

namespace vramfit {

/// Which collective to wait for; 0: none.
struct Ticket {
  std::uint64_t number = 0;
};

/// Each tensor becomes its sum over the ranks, the same on all of them. Sums of 16-bit elements may
/// be rounded once a rank.
struct AllReduce {
  std::vector<const Tensor*> tensors;
  std::int64_t ranks;
  Ticket& ticket;
};

/// part (+)= this rank's rows of the sum of `whole` over the ranks. `whole` stores as many parts as
/// there are ranks; it is overwritten where it is added to the part. The part may be those rows.
struct PartOfSum {
  const Tensor& whole;
  const Tensor& part;
  bool accumulate;
};
struct ReduceScatter {
  std::vector<PartOfSum> parts;
  std::int64_t rank;
  Ticket& ticket;
};

/// `whole` becomes the ranks' parts, in their order; this rank's part may be where it goes.
struct PartOfWhole {
  const Tensor& part;
  const Tensor& whole;
};
struct AllGather {
  std::vector<PartOfWhole> parts;
  Ticket& ticket;
};

/// A tensor that goes to another rank, or comes from it.
struct Message {
  const Tensor& tensor;
  std::int64_t rank;
};
/// Sends and receives all at once. What two ranks send each other comes in the order in which it is
/// sent, as many bytes. Only the two ranks of a message take part in it.
struct Exchange {
  std::vector<Message> sends;
  std::vector<Message> receives;
  Ticket& ticket;
};

/// The tensor becomes its sum with the other rank's, the same on both: of as many bytes at a time
/// as `slot` has room for, where they arrive. Only the two take part.
struct SumWith {
  const Tensor& tensor;
  std::int64_t rank;
  const Tensor& slot;
  Ticket& ticket;
};

/// The ops that follow wait for the ticket's collective, and for those before it. The ticket is
/// for none from here on.
struct Await {
  Ticket& ticket;
};

}  // namespace vramfit
