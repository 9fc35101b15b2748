#include "estimator/missing_formats.h"

#include <gtest/gtest.h>

#include "estimator/card_names.h"
#include "estimator/estimate.h"
#include "estimator/models.h"
#include "estimator/releases.h"
#include "estimator/runtimes.h"

namespace vramfit {
namespace {

Budget on(const char* card) { return budget_of(card_named(card)); }

TEST(Lacks, FormatsTheCardHasNoArithmeticFor) {
  EXPECT_EQ(missing_formats(on("t4"), DType::Bf16).size(), 1U);
  EXPECT_EQ(missing_formats(on("t4"), DType::Bf16)[0].find("t4 (sm_75) has no bf16 arithmetic"),
            0U);
  EXPECT_EQ(missing_formats(on("v100-32gb"), DType::Bf16).size(), 1U);
  EXPECT_TRUE(missing_formats(on("t4"), DType::Fp16).empty());
  EXPECT_TRUE(missing_formats(on("t4"), DType::Fp64).empty());
  for (const char* card : {"rtx4090", "a100-40gb", "rtx6000-ada", "h100-80gb", "h200"}) {
    EXPECT_TRUE(missing_formats(on(card), DType::Bf16).empty()) << card;
  }
}

TEST(Lacks, GpusOutsideTheCatalogueAreLikeThoseOfTheirComputeCapability) {
  const Budget gpu = budget_of_gpu("NVIDIA GeForce RTX 2070", Arch{75}, 8'000'000'000);
  EXPECT_EQ(missing_formats(gpu, DType::Bf16).size(), 1U);
  EXPECT_TRUE(missing_formats(gpu, DType::Fp16).empty());
}

Estimate trained(const char* card, DType precision, const pytorch::PyTorchRuntime& runtime) {
  pytorch::TorchTraining options;
  options.precision = precision;
  options.batch = 2;
  options.seq = 512;
  return estimate({model_named("gpt2-124m"),
                   std::make_shared<pytorch::TorchWorkload>(runtime, options), on(card)});
}

Estimate trained(const char* card, DType precision) {
  return trained(card, precision, current_pytorch());
}

TEST(Lacks, CardsThatAReleasesBuildHasNoCodeFor) {
  const std::vector<std::string> notes = trained("v100-16gb", DType::Fp16).notes;
  ASSERT_EQ(notes.size(), 1U);
  const pytorch::Release release = current_release();
  const std::string begins = "PyTorch " + pytorch::text(release.torch) + " as built for CUDA ";
  EXPECT_EQ(notes[0].find(begins), 0U) << notes[0];
  EXPECT_NE(notes[0].find(" begins at sm_75 "), std::string::npos) << notes[0];
  EXPECT_TRUE(trained("t4", DType::Fp16).notes.empty());

  pytorch::Release older = release;
  older.least_arch = Arch{70};
  const pytorch::PyTorchRuntime runtime({older}, older.name);
  EXPECT_TRUE(trained("v100-16gb", DType::Fp16, runtime).notes.empty());
}

TEST(Lacks, IsNotedAndNotRefused) {
  const Estimate asked = trained("v100-32gb", DType::Bf16);
  EXPECT_TRUE(asked.fits);
  EXPECT_EQ(asked.notes.size(), 3U) << "no code for it, no fused attention, no arithmetic";
  EXPECT_TRUE(trained("rtx3090", DType::Bf16).notes.empty());
}

TEST(Attention, BeforeAmpereRunsWithoutFlashAndInBf16WithoutAnyFusedKernel) {
  const auto allocated = [](const char* card, DType precision) {
    return trained(card, precision).levels.allocated;
  };
  EXPECT_EQ(allocated("rtx3090", DType::Fp16), allocated("rtx3090", DType::Bf16));
  EXPECT_LT(allocated("t4", DType::Fp16), allocated("t4", DType::Bf16));
}

}  // namespace
}  // namespace vramfit
