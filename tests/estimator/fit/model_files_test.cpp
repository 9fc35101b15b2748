#include "estimator/fit/model_files.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "estimator/models.h"
#include "model/errors.h"
#include "tests/support/scratch_folder.h"

namespace vramfit::fit {
namespace {

constexpr const char* kUnknown = R"({"model_type": "qwen3_moe"})";

TEST(ModelFiles, AConfigIsGivenAsItStandsWhateverItsFamily) {
  const ScratchFolder folder;
  const std::filesystem::path file = folder.write("it/config.json", kUnknown);
  EXPECT_EQ(config_text(file).second, kUnknown);
  EXPECT_EQ(config_text(file.parent_path()).second, kUnknown);
  setenv("HF_HUB_CACHE", folder.path().c_str(), 1);
  folder.write("models--owner--moe-30B-A3B/snapshots/1a2b/config.json", kUnknown);
  EXPECT_EQ(config_text("owner/moe-30B-A3B"),
            std::pair(std::string("owner/moe-30B-A3B"), std::string(kUnknown)));
  EXPECT_THROW(config_text("Qwen/another"), BadInput);
}

TEST(ModelFiles, AShippedOnesIsGivenByWhateverItIsCalled) {
  const auto [name, text] = config_text("meta-llama/Meta-Llama-3-8B");
  EXPECT_EQ(name, "llama3-8b");
  EXPECT_EQ(text, shipped_config("llama3-8b"));
  EXPECT_THROW(config_text("llama9"), BadInput);
}

TEST(ModelFiles, AFamilyThatHasNoStepIsToldFromAConfigThatIsWrong) {
  const ScratchFolder folder;
  const auto read = [&](const char* text) { config_on_disk(folder.write("config.json", text)); };
  EXPECT_THROW(read(kUnknown), UnknownModel);
  EXPECT_THROW(read(R"({"text_config": {"model_type": "mllama_text_model"}})"), UnknownModel);
  for (const char* wrong : {"{}", "[", R"({"model_type": "llama"})"}) {
    try {
      read(wrong);
      ADD_FAILURE() << wrong;
    } catch (const UnknownModel&) {
      ADD_FAILURE() << wrong;
    } catch (const BadInput&) {
    }
  }
}

}  // namespace
}  // namespace vramfit::fit
