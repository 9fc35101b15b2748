#include "standin/card/visible.h"

#include <gtest/gtest.h>

#include "standin/machine.h"
#include "tests/standin/machine_of_tests.h"

namespace vramfit::standin {
namespace {

using Devices = std::vector<int>;

TEST(Visible, AllWhereNobodySays) { EXPECT_EQ(visible_devices(nullptr, 3), (Devices{0, 1, 2})); }

TEST(Visible, ThoseThatAreNamedInThatOrder) {
  EXPECT_EQ(visible_devices("2,0", 3), (Devices{2, 0}));
  EXPECT_EQ(visible_devices(" 1", 3), (Devices{1}));
  EXPECT_EQ(visible_devices("GPU-02", 3), (Devices{1}));
  EXPECT_EQ(visible_devices((uuid_text(2) + ",0").c_str(), 3), (Devices{2, 0}));
}

TEST(Visible, UpToTheFirstThatIsNone) {
  EXPECT_EQ(visible_devices("", 3), Devices{});
  EXPECT_EQ(visible_devices("-1", 3), Devices{});
  EXPECT_EQ(visible_devices("NoDevFiles", 3), Devices{});
  EXPECT_EQ(visible_devices("0,3,1", 3), (Devices{0}));
  EXPECT_EQ(visible_devices("1,1,0", 3), (Devices{1}));
  EXPECT_EQ(visible_devices("MIG-0", 3), Devices{});
}

TEST(VisibleDeathTest, CudaSeesThemAndNvmlAll) {
  EXPECT_EXIT(
      {
        ::setenv("CUDA_VISIBLE_DEVICES", "1", 1);
        Machine machine(facts_of_tests());
        const bool right = machine.visible().size() == 1 && machine.gpu(0).number == 1 &&
                           !machine.has(1) && machine.devices.size() == 2;
        ::exit(right ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace vramfit::standin
