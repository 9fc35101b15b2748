#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "model/memory/pool.h"
#include "model/ops/each_op.h"
#include "model/transformer/run.h"
#include "runtimes/vramfit/virtual_device.h"
#include "tests/model/transformer/runs.h"

// What several GPUs update while they still send: see DataParallel::update_parts.

namespace vramfit {
namespace {

/// What matters of an op: which collective it is or awaits, or what it updates.
struct Noted {
  enum class Kind : std::uint8_t { Sum, Gather, Await, UpdateWithFirstBlock, UpdateOfOthers };
  Kind kind;
  std::uint64_t collective = 0;
};

class NotingDevice final : public EachOp<NotingDevice> {
 public:
  Arch arch() const override { return {90}; }
  void upload(const Tensor&, const void*, std::uint64_t) override {}
  void download(void*, const Tensor&, std::uint64_t) override {}
  void synchronize() override {}

  template <typename Op>
  void each(const Op&) {}
  void each(const AllReduce& op) { give(op.ticket, Noted::Kind::Sum); }
  void each(const ReduceScatter& op) { give(op.ticket, Noted::Kind::Sum); }
  void each(const AllGather& op) { give(op.ticket, Noted::Kind::Gather); }
  void each(const Await& op) {
    if (op.ticket.number > 0) noted.push_back({Noted::Kind::Await, op.ticket.number});
    op.ticket = {};
  }
  void each(const OptimizerStep& op) {
    const bool first = std::any_of(op.updates.begin(), op.updates.end(), [](const auto& update) {
      return update.parameter->name().text().rfind("layers.0.", 0) == 0;
    });
    noted.push_back({first ? Noted::Kind::UpdateWithFirstBlock : Noted::Kind::UpdateOfOthers});
  }

  std::vector<Noted> noted;

 private:
  void give(Ticket& ticket, Noted::Kind kind) {
    ticket.number = ++collectives_;
    noted.push_back({kind, ticket.number});
  }

  std::uint64_t collectives_ = 0;
};

/// What is noted from the last sum of a step of two ranks on.
std::vector<Noted> end_of_step(Strategy strategy, DType precision) {
  VirtualSource source;
  Pool pool(source);
  Ledger ledger(pool);
  NotingDevice device;
  TrainingOptions options;
  options.precision = precision;
  options.batch = 1;
  options.seq = 64;
  options.mesh = {strategy, 2, 0};
  run_training(device, ledger, shallow("llama2-7b", 3), options, 1);
  const auto last_sum = std::find_if(device.noted.rbegin(), device.noted.rend(),
                                     [](const Noted& one) { return one.kind == Noted::Kind::Sum; });
  return {last_sum.base() - 1, device.noted.end()};
}

std::vector<Noted::Kind> kinds(const std::vector<Noted>& noted) {
  std::vector<Noted::Kind> list;
  for (const Noted& one : noted) list.push_back(one.kind);
  return list;
}

TEST(UpdateOrder, WhatBackwardEndedWithIsSummedDuringTheRest) {
  using Kind = Noted::Kind;
  for (const Strategy strategy : {Strategy::Ddp, Strategy::Zero1}) {
    const std::vector<Noted> end = end_of_step(strategy, DType::Bf16);
    const std::vector<Kind> expected = {Kind::Sum, Kind::Await, Kind::UpdateOfOthers, Kind::Await,
                                        Kind::UpdateWithFirstBlock};
    ASSERT_GE(end.size(), expected.size());
    EXPECT_EQ(kinds({end.begin(), end.begin() + 5}), expected);
    // Of the first block two halves, of the embeddings one, and of the loss one.
    EXPECT_EQ(end[1].collective, end[0].collective - 4);
    EXPECT_EQ(end[3].collective, end[0].collective);
  }
}

TEST(UpdateOrder, WhatForwardStartsWithIsGatheredDuringTheRest) {
  using Kind = Noted::Kind;
  const std::vector<Kind> expected = {Kind::Sum, Kind::Await, Kind::UpdateWithFirstBlock,
                                      Kind::Gather, Kind::UpdateOfOthers};
  EXPECT_EQ(kinds(end_of_step(Strategy::Fsdp, DType::Bf16)), expected);
}

TEST(UpdateOrder, InFp16AllSumsAreThereFirst) {
  for (const Strategy strategy : {Strategy::Ddp, Strategy::Zero1, Strategy::Fsdp}) {
    std::vector<Noted> noted = end_of_step(strategy, DType::Fp16);
    const auto updates = std::count_if(noted.begin(), noted.end(), [](const Noted& one) {
      return one.kind == Noted::Kind::UpdateWithFirstBlock ||
             one.kind == Noted::Kind::UpdateOfOthers;
    });
    EXPECT_EQ(updates, 1) << name(strategy);
  }
}

}  // namespace
}  // namespace vramfit
