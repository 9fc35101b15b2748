#include <gtest/gtest.h>

#include "bench/compare/change_text.h"

namespace vramfit::bench::compare {
namespace {

RowChange changed(const std::map<std::string, Values>& before,
                  const std::map<std::string, Values>& after) {
  const auto run = [](const std::map<std::string, Values>& counters) {
    return RunFile{"run.json", {}, {}, {{"Training/x", true, "NVIDIA H200", "", counters}}};
  };
  return compare_runs(run(before), run(after), {}).rows.at(0);
}

TEST(DeviceUsed, IsSplitByWhatTookItAndDated) {
  const RowChange row = changed({{"mem_device_used", {100}},
                                 {"mem_reserved", {50}},
                                 {"mem_cudnn", {8}},
                                 {"mem_modules", {2}},
                                 {"mem_step1_loaded_device_used", {70}},
                                 {"mem_step1_forward_device_used", {100}}},
                                {{"mem_device_used", {106}},
                                 {"mem_reserved", {50}},
                                 {"mem_cudnn", {10}},
                                 {"mem_modules", {6}},
                                 {"mem_step1_loaded_device_used", {70}},
                                 {"mem_step1_forward_device_used", {106}}});
  EXPECT_EQ(device_used_text(row),
            "device used: cuDNN +2 B, modules and whatever allocates behind the pool +4 B; first "
            "at the end of forward of step 1");
}

TEST(DeviceUsed, OfRunsWithoutPartsTheRestIsSaid) {
  EXPECT_EQ(device_used_text(changed({{"mem_device_used", {1}}}, {{"mem_device_used", {2}}})),
            "device used: beside reserved");
  EXPECT_EQ(device_used_text(changed({{"mem_device_used", {1}}}, {{"mem_device_used", {1}}})), "");
}

}  // namespace
}  // namespace vramfit::bench::compare
