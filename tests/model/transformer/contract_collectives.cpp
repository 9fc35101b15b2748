#include <gtest/gtest.h>

#include "tests/model/transformer/contract_device.h"

namespace vramfit {

void ContractDevice::touched(const Tensor& tensor) {
  const auto* first = tensor.as<std::byte>();
  for (const InFlight& one : in_flight_) {
    EXPECT_FALSE(first < one.last && one.first < first + tensor.bytes())
        << tensor.name().text() << " is used while a collective is, which nobody has awaited";
  }
  used(tensor);
}

void ContractDevice::starts(Ticket& ticket) { ticket.number = ++collectives_; }

void ContractDevice::takes_part(const Tensor& tensor) {
  ASSERT_TRUE(tensor) << "nothing behind it any more";
  used(tensor);
  if (tensor.data() == nullptr) return;
  const auto* first = tensor.as<std::byte>();
  in_flight_.push_back({collectives_, first, first + tensor.bytes()});
}

void ContractDevice::check(const AllReduce& op) {
  starts(op.ticket);
  EXPECT_GT(op.ranks, 1);
  EXPECT_FALSE(op.tensors.empty());
  for (const Tensor* tensor : op.tensors) takes_part(*tensor);
}

void ContractDevice::check(const ReduceScatter& op) {
  starts(op.ticket);
  EXPECT_FALSE(op.parts.empty());
  for (const PartOfSum& one : op.parts) {
    EXPECT_EQ(one.whole.format(), one.part.format());
    EXPECT_GT(one.whole.bytes(), one.part.bytes());
    EXPECT_EQ(one.whole.bytes() % one.part.bytes(), 0U) << one.whole.name().text();
    takes_part(one.whole);
    takes_part(one.part);
  }
}

void ContractDevice::check(const AllGather& op) {
  starts(op.ticket);
  EXPECT_FALSE(op.parts.empty());
  for (const PartOfWhole& one : op.parts) {
    EXPECT_GT(one.whole.bytes(), one.part.bytes());
    EXPECT_EQ(one.whole.bytes() % one.part.bytes(), 0U) << one.whole.name().text();
    takes_part(one.part);
    takes_part(one.whole);
  }
}

void ContractDevice::check(const Exchange& op) {
  starts(op.ticket);
  EXPECT_FALSE(op.sends.empty() && op.receives.empty());
  for (const Message& one : op.sends) takes_part(one.tensor);
  for (const Message& one : op.receives) takes_part(one.tensor);
}

void ContractDevice::check(const SumWith& op) {
  starts(op.ticket);
  EXPECT_GT(op.slot.bytes(), 0U);
  EXPECT_EQ(op.slot.bytes() % op.tensor.format().bytes(1), 0U);
  takes_part(op.tensor);
  takes_part(op.slot);
}

void ContractDevice::check(const Await& op) {
  std::erase_if(in_flight_, [&](const InFlight& one) { return one.number <= op.ticket.number; });
  op.ticket = {};
}

}  // namespace vramfit
