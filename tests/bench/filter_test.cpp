#include "bench/rows/filter.h"

#include <gtest/gtest.h>

#include "model/errors.h"

namespace vramfit::bench {
namespace {

constexpr const char* kName = "Training/llama2-7b/fp16/adamw/batch:4/seq:512";

TEST(Filter, NothingAndAllSelectEverything) {
  EXPECT_TRUE(Filter("").selects(kName));
  EXPECT_TRUE(Filter("all").selects(kName));
}

TEST(Filter, FindsAnywhereInAName) {
  EXPECT_TRUE(Filter("adamw/batch:[24]").selects(kName));
  EXPECT_FALSE(Filter("adamw/batch:[28]").selects(kName));
}

TEST(Filter, EndsWhereTheFrozenNameEnds) {
  EXPECT_TRUE(Filter("^Training.*/seq:512$").selects(kName));
  EXPECT_FALSE(Filter("^Training.*/seq:51$").selects(kName));
}

TEST(Filter, MinusSelectsTheOthers) {
  EXPECT_FALSE(Filter("-Training").selects(kName));
  EXPECT_TRUE(Filter("-Inference").selects(kName));
}

TEST(Filter, RefusesWhatIsNoExpression) { EXPECT_THROW(Filter("("), BadInput); }

}  // namespace
}  // namespace vramfit::bench
