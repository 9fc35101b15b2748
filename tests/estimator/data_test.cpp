#include "estimator/data.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "model/text_file.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

namespace fs = std::filesystem;

/// The folder that is built in.
const fs::path kData = VRAMFIT_DATA_DIR;

/// $VRAMFIT_DATA for as long as this lives.
class DataVariable {
 public:
  explicit DataVariable(const char* value) { setenv("VRAMFIT_DATA", value, 1); }
  ~DataVariable() { unsetenv("VRAMFIT_DATA"); }
  DataVariable(const DataVariable&) = delete;
  DataVariable& operator=(const DataVariable&) = delete;
};

TEST(Data, IsBuiltInToTheByte) {
  for (const char* file : {"attributes.json", "gpus.json", "overheads.json", "releases.json",
                           "shapes.json", "slowdowns.json", "sweep.json", "tolerances.json",
                           "article/claims.json", "models/parameters.json"}) {
    EXPECT_EQ(data_text(file), read_text_file(kData / file, "data", "", 1 << 20)) << file;
  }
  std::size_t models = 0;
  for (const auto& entry : fs::directory_iterator(kData / "models")) models += entry.is_directory();
  const std::vector<std::string> names = data_folders("models");
  EXPECT_EQ(names.size(), models);
  for (const std::string& name : names) {
    const std::string file = "models/" + name + "/config.json";
    EXPECT_EQ(data_text(file), read_text_file(kData / file, "data", "", 1 << 20)) << file;
  }
}

TEST(Data, TheVariableComesFirstAndIsNotPassedOver) {
  const DataVariable variable((kData / "models").c_str());
  EXPECT_EQ(data_text("llama2-7b/config.json"),
            read_text_file(kData / "models/llama2-7b/config.json", "data", "", 1 << 20));
  EXPECT_FALSE(data_folders(".").empty());
  expect_bad_input([] { data_text("gpus.json"); }, {"VRAMFIT_DATA", "gpus.json", "unset"});
  expect_bad_input([] { data_folders("models"); }, {"VRAMFIT_DATA", "models", "unset"});
}

TEST(Data, AnEmptyVariableIsNone) {
  const DataVariable variable("");
  EXPECT_FALSE(data_text("gpus.json").empty());
}

TEST(Data, SaysWhatIsMissing) {
  expect_bad_input([] { data_text("no-such-file"); }, {"data", "no-such-file"});
  EXPECT_TRUE(data_folders("no-such-folder").empty());
}

}  // namespace
}  // namespace vramfit
