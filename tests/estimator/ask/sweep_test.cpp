#include "estimator/ask/sweep.h"

#include <gtest/gtest.h>

#include "estimator/ask/ask.h"
#include "model/errors.h"

namespace vramfit {
namespace {

using Json = nlohmann::json;

Json training(const char* runtime) {
  return {{"model", "llama2-7b"}, {"train", true}, {"gpu", "h100-80gb"}, {"runtime", runtime}};
}

/// What a sweep says of flags, as text: the estimate's figures, or why there is none.
std::string told(Sweep& sweep, const Json& flags) {
  try {
    const auto [estimate, fits] = sweep(flags);
    return std::to_string(estimate.total) + " " + std::to_string(estimate.levels.allocated) + " " +
           name(estimate.verdict) + (fits ? " fits" : "");
  } catch (const BadInput& error) {
    return error.what();
  }
}

std::string told_alone(const Json& flags) {
  const Environment none;
  Sweep sweep(none);
  return told(sweep, flags);
}

TEST(Sweep, SaysOfEachWhatIsSaidOfItAlone) {
  const Environment none;
  for (const char* runtime : {"vramfit", "pytorch", "article"}) {
    Sweep sweep(none);
    for (const Json& sizes : std::vector<Json>{{{"batch", 4}, {"seq", 512}},
                                               {{"batch", 1}, {"seq", 2048}},
                                               {{"batch", 0}, {"seq", 512}},
                                               {{"batch", 4}, {"seq", 1'000'000'000'000}},
                                               {{"batch", 2}},
                                               {{"seq", 100}},
                                               {{"batch", nullptr}, {"seq", 100}},
                                               {{"batch", "4"}, {"seq", 512}},
                                               {{"batch", 4.5}, {"seq", 512}},
                                               Json::object(),
                                               {{"batch", 8}, {"seq", 512}}}) {
      Json flags = training(runtime);
      flags.update(sizes);
      EXPECT_EQ(told(sweep, flags), told_alone(flags)) << flags;
      flags["gpu"] = "rtx4090";
      EXPECT_EQ(told(sweep, flags), told_alone(flags)) << flags;
    }
  }
}

TEST(Sweep, SaysWhatAnAnswerDoes) {
  const Environment none;
  Sweep sweep(none);
  for (const int batch : {1, 4, 64}) {
    Json flags = training("vramfit");
    flags["batch"] = batch;
    const Estimate alone = ask(flags).answers.front().estimate;
    EXPECT_EQ(sweep(flags).estimate.total, alone.total);
    EXPECT_EQ(sweep(flags).fits, alone.fits);
  }
}

TEST(Sweep, CountsWhatSurelyFitsWhereItIsAskedStrictly) {
  const Environment none;
  Sweep sweep(none);
  Json flags = training("pytorch");
  flags.update({{"strict", true}, {"batch", 1}});
  const auto [estimate, fits] = sweep(flags);
  EXPECT_EQ(fits, estimate.verdict == Verdict::Fits);
}

// Samples may cut a sequence, which is another for each size.
TEST(Sweep, LooksAtSamplesForEachRun) {
  const Environment samples{.sample_lengths = [](const std::string&) {
    return SampleLengths{.samples = 3, .longest = 300};
  }};
  Sweep sweep(samples);
  Json flags = training("pytorch");
  flags["lengths"] = "train.jsonl";
  const auto allocated = [&](int seq) {
    flags["seq"] = seq;
    return sweep(flags).estimate.levels.allocated;
  };
  EXPECT_LT(allocated(200), allocated(300));
  EXPECT_EQ(allocated(400), allocated(300));
}

TEST(Sweep, IsOfRunsOfOneSizeOnOneCard) {
  Json flags = training("vramfit");
  flags["max_batch"] = true;
  EXPECT_EQ(told_alone(flags), "max-batch: not of many; each run has its size");
  flags = training("vramfit");
  flags.erase("gpu");
  EXPECT_EQ(told_alone(flags), "gpu: missing; --gpu or --vram names the card of a run");
}

}  // namespace
}  // namespace vramfit
