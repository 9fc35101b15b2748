#include "model/transformer/pipeline.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace vramfit {
namespace {

/// Where a tied head's gradients arrive: large enough that sending is no slower for it.
constexpr std::int64_t kSlotBytes = std::int64_t{16} << 20;

}  // namespace

Tensor Pipeline::exchange(const Pass* before, Tensor made, const Pass* after, const Shape& rows) {
  if (!mesh_.pipelined()) return made;
  const std::int64_t none = mesh_.ranks;
  const auto rank = [&](bool next) {
    const std::int64_t other = mesh_.rank + (next ? 1 : -1);
    return other < 0 ? none : other;
  };
  const std::int64_t to = before == nullptr ? none : rank(!before->backward);
  const std::int64_t from = after == nullptr ? none : rank(after->backward);
  Ticket ticket;
  Exchange op{{}, {}, ticket};
  Tensor received;
  if (to != none) op.sends.push_back({made, to});
  if (from != none) {
    received = model_.context.activation(after->backward ? Name("dx") : Name("x"), rows);
    op.receives.push_back({received, from});
  }
  if (to != none || from != none) {
    model_.context.device.run(op);
    model_.context.device.run(Await{ticket});
  }
  return from == none && to == none ? std::move(made) : std::move(received);
}

void Pipeline::end(const Pass& last, Tensor made, const Tensor& loss) {
  if (!mesh_.pipelined()) return;
  exchange(&last, std::move(made), nullptr, {});
  sum_tied_head();
  Ticket ticket;
  model_.context.device.run(AllReduce{{&loss}, mesh_.ranks, ticket});
  model_.context.device.run(Await{ticket});
}

void Pipeline::sum_tied_head() {
  const bool has_one = model_.stage.embeds || model_.stage.has_head;
  if (!model_.config.tied_head || !has_one || !model_.weights.trains(Role::TokenEmbedding)) return;
  const Tensor& gradient = model_.weights.gradient(model_.context, Role::TokenEmbedding).tensor;
  const auto bytes = static_cast<std::int64_t>(gradient.bytes());
  const Tensor slot = model_.context.bytes("tied_head_slot",
                                           static_cast<std::uint64_t>(std::min(bytes, kSlotBytes)));
  Ticket ticket;
  const std::int64_t other = model_.stage.embeds ? mesh_.ranks - 1 : 0;
  model_.context.device.run(SumWith{gradient, other, slot, ticket});
  model_.context.device.run(Await{ticket});
}

}  // namespace vramfit
