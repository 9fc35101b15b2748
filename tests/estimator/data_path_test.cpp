#include "estimator/data_path.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

/// $VRAMFIT_DATA for as long as this lives.
class DataVariable {
 public:
  explicit DataVariable(const char* value) { setenv("VRAMFIT_DATA", value, 1); }
  ~DataVariable() { unsetenv("VRAMFIT_DATA"); }
  DataVariable(const DataVariable&) = delete;
  DataVariable& operator=(const DataVariable&) = delete;
};

TEST(DataPath, FindsFilesAndFolders) {
  EXPECT_TRUE(std::filesystem::is_regular_file(data_file("gpus.json")));
  EXPECT_TRUE(std::filesystem::is_directory(data_file("models")));
}

TEST(DataPath, TheVariableComesFirstAndIsNotPassedOver) {
  const std::filesystem::path folder = data_file("models");
  const DataVariable variable(folder.c_str());
  EXPECT_EQ(data_file("llama2-7b"), folder / "llama2-7b");
  expect_bad_input([] { data_file("gpus.json"); }, {"VRAMFIT_DATA", "gpus.json", "unset"});
}

TEST(DataPath, AnEmptyVariableIsNone) {
  const DataVariable variable("");
  EXPECT_TRUE(std::filesystem::exists(data_file("gpus.json")));
}

TEST(DataPath, SaysWhatIsMissing) {
  expect_bad_input([] { data_file("no-such-file"); }, {"data", "no-such-file", "VRAMFIT_DATA"});
  expect_bad_input([] { read_text("/no/such/file"); }, {"data", "/no/such/file"});
}

}  // namespace
}  // namespace vramfit
