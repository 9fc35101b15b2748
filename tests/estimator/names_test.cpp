#include "estimator/names.h"

#include <gtest/gtest.h>

namespace vramfit {
namespace {

TEST(Names, AreTheSameHoweverTheyAreSpelt) {
  EXPECT_EQ(folded("RTX 4090"), "rtx4090");
  EXPECT_EQ(folded("Llama-3.2_1B"), "llama321b");
  EXPECT_EQ(folded("org/name"), "org/name");
  EXPECT_EQ(folded(" -_. "), "");
}

TEST(Names, ThatAreCloseAreSuggested) {
  const std::vector<std::string> names = {"alpha-one", "alpha-two", "alpha-three", "alpha-four",
                                          "beta"};
  EXPECT_EQ(did_you_mean("bata", names), "; did you mean 'beta'?");
  EXPECT_EQ(did_you_mean("Alpha_One!", names), "; did you mean 'alpha-one'?");
  EXPECT_EQ(did_you_mean("alpha", names),
            "; did you mean 'alpha-one', 'alpha-two' or 'alpha-four'?")
      << "the closest";
  EXPECT_EQ(did_you_mean("gamma-ray", names), "");
  EXPECT_EQ(did_you_mean("", names), "");
  EXPECT_EQ(did_you_mean(std::string(100'000, 'x'), names), "");
}

}  // namespace
}  // namespace vramfit
