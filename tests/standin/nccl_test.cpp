#include <gtest/gtest.h>

#include <vector>

#include "standin/libraries/cuda.h"
#include "standin/machine.h"
#include "tests/standin/machine_of_tests.h"

namespace vramfit::standin {
namespace {

constexpr int kInt32 = 2;  // ncclInt32
constexpr int kSum = 0;
constexpr int kMax = 2;

struct UniqueId {
  char bytes[128];
};

template <class... Arguments>
int nccl(const std::string& name, Arguments... arguments) {
  return call("libnccl.so.2", name, arguments...);
}

class Nccl : public ::testing::Test {
 protected:
  Nccl() {
    nccl("ncclCommInitRank", &communicator_, 2, UniqueId{}, 1);
    cuda("cudaMalloc", &from_, std::size_t{1} << 21);
    cuda("cudaMalloc", &to_, std::size_t{1} << 21);
    const int values[] = {3, 5};
    cuda("cudaMemcpy", from_, static_cast<const void*>(values), sizeof values, 1);
  }
  ~Nccl() override {
    nccl("ncclCommDestroy", communicator_);
    cuda("cudaFree", from_);
    cuda("cudaFree", to_);
  }

  std::vector<int> received(std::size_t count) const {
    std::vector<int> values(count);
    cuda("cudaMemcpy", static_cast<void*>(values.data()), static_cast<const void*>(to_),
         count * sizeof(int), 2);
    return values;
  }
  Knowledge known() const { return machine().devices[0].memory.values().least(address_of(to_), 8); }

  void* communicator_ = nullptr;
  void* from_ = nullptr;
  void* to_ = nullptr;
};

TEST_F(Nccl, AllRanksAreAlike) {
  nccl("ncclAllGather", static_cast<const void*>(from_), to_, std::size_t{2}, kInt32, communicator_,
       static_cast<void*>(nullptr));
  EXPECT_EQ(received(4), (std::vector{3, 5, 3, 5}));
  nccl("ncclAllReduce", static_cast<const void*>(from_), to_, std::size_t{2}, kInt32, kMax,
       communicator_, static_cast<void*>(nullptr));
  EXPECT_EQ(received(2), (std::vector{3, 5}));
}

TEST_F(Nccl, ASumIsUnknown) {
  EXPECT_EQ(known(), Knowledge::Unknown);
  nccl("ncclAllGather", static_cast<const void*>(from_), to_, std::size_t{2}, kInt32, communicator_,
       static_cast<void*>(nullptr));
  EXPECT_EQ(known(), Knowledge::Known);
  nccl("ncclAllReduce", static_cast<const void*>(from_), to_, std::size_t{2}, kInt32, kSum,
       communicator_, static_cast<void*>(nullptr));
  EXPECT_EQ(known(), Knowledge::Unknown);
}

TEST_F(Nccl, AnotherCommunicatorTakesLess) {
  const LoadSizes loads = facts_of_tests().loads;
  nccl("ncclAllReduce", static_cast<const void*>(from_), to_, std::size_t{2}, kInt32, kSum,
       communicator_, static_cast<void*>(nullptr));
  const std::uint64_t before = machine().devices[0].memory.libraries();
  EXPECT_GE(before, loads.context + loads.kernels + loads.process_group - loads.streams +
                        loads.collectives);
  void* other = nullptr;
  nccl("ncclCommInitRank", &other, 2, UniqueId{}, 1);
  EXPECT_EQ(machine().devices[0].memory.libraries(), before + loads.more_communicators);
  for (int time = 0; time < 2; ++time) {
    nccl("ncclSend", static_cast<const void*>(from_), std::size_t{2}, kInt32, 0, other,
         static_cast<void*>(nullptr));
    EXPECT_EQ(machine().devices[0].memory.libraries(),
              before + loads.more_communicators + loads.more_collectives);
  }
  nccl("ncclCommDestroy", other);
}

}  // namespace
}  // namespace vramfit::standin
