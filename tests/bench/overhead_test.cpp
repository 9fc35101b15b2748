#include "bench/families/overhead.h"

#include <gtest/gtest.h>

#include "estimator/profile.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit::bench {
namespace {

/// Processes whose figures rise from one to the next; eager ones have everything in the context.
class FakeGpu {
 public:
  Result sample(const std::string& module_loading) {
    const int i = ++processes_[module_loading];
    const bool eager = module_loading == "EAGER";
    Result result;
    result.counters.set("driver_reserved", 600.0);
    result.counters.set("context", 500.0 + i + (eager ? 400 : 0));
    result.counters.set("cublaslt", eager ? 0.0 : 20.0);
    result.counters.set("cudnn", 10.0);
    result.counters.set("modules", eager ? 0.0 : 60.0);
    return result;
  }
  std::map<std::string, int> processes_;
};

double of(OverheadRows& rows, const std::string& part, const char* counter) {
  return rows.run("Overhead/" + part).counters.values().at(counter);
}

class Overheads : public testing::Test {
 protected:
  FakeGpu gpu_;
  OverheadRows rows_{[this](const std::string& mode) { return gpu_.sample(mode); }};
};

TEST_F(Overheads, EachFigureIsOfFiveProcesses) {
  EXPECT_EQ(of(rows_, "context", "min"), 501);
  EXPECT_EQ(of(rows_, "context", "median"), 503);
  EXPECT_EQ(of(rows_, "context", "max"), 505);
  EXPECT_EQ(of(rows_, "modules:lazy", "median"), 60);
  EXPECT_EQ(gpu_.processes_, (std::map<std::string, int>{{"LAZY", 5}}));
}

TEST_F(Overheads, EagerCodeIsCountedWhereverItIsLoaded) {
  // 901..905 + 0 + 10 + 0 in all, less 503 + 20 + 10 that context and handles take without it.
  EXPECT_EQ(of(rows_, "modules:eager", "min"), 378);
  EXPECT_EQ(of(rows_, "modules:eager", "median"), 380);
  EXPECT_EQ(gpu_.processes_, (std::map<std::string, int>{{"LAZY", 5}, {"EAGER", 5}}));
}

TEST_F(Overheads, TheProfileIsReadAsItWasWritten) {
  const Profile profile = parse_profile(rows_.profile({{"gpu", "NVIDIA H200"},
                                                       {"driver", "580.159.04"},
                                                       {"cuda", "13.0"},
                                                       {"cublas", "13.1.0"},
                                                       {"cudnn", "9.19.0"},
                                                       {"commit", "abc"}}),
                                        "test");
  EXPECT_EQ(profile.gpu, "NVIDIA H200");
  EXPECT_EQ(profile.overhead.driver_reserved, 600U);
  EXPECT_EQ(profile.overhead.context, 503U);
  EXPECT_EQ(profile.overhead.libraries, 20U + 10 + 60);
  EXPECT_EQ(profile.overhead.source,
            "measured on NVIDIA H200, driver 580.159.04, CUDA 13.0, commit abc");
}

TEST(Profile, LeavesToTheCardWhatItDoesNotHold) {
  Card card;
  card.title = "NVIDIA H200";
  card.overhead.range = 6;
  Profile profile{card.title, "580.1", "13.0", {}};
  profile.overhead.context = 500;
  EXPECT_EQ(overhead_of(card, profile).range, 6U);
  profile.overhead.range = 7;
  EXPECT_EQ(overhead_of(card, profile).range, 7U);
}

TEST(OverheadRows, AProcessThatFailsIsTheRowsFailure) {
  OverheadRows rows([](const std::string&) { return failure("no driver"); });
  EXPECT_EQ(rows.run("Overhead/context").error, "no driver");
}

TEST(Profile, NamesWhatIsWrong) {
  expect_bad_input([] { read_profile("/no/such/file"); }, {"profile", "/no/such/file"});
  expect_bad_input([] { parse_profile(R"({"schema": 1})", "p.json"); }, {"p.json", "overhead"});
  EXPECT_EQ(profile_name("NVIDIA H200", "580.159.04", "13.0"), "nvidia-h200-580.159.04-13.0.json");
}

}  // namespace
}  // namespace vramfit::bench
