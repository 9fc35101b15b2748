#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "model/config/hugging_face.h"
#include "model/errors.h"
#include "tests/model/config/config_text.h"
#include "tests/support/scratch_folder.h"

namespace vramfit {
namespace {

namespace fs = std::filesystem;

class ReadFile : public testing::Test {
 protected:
  fs::path write(const std::string& text) const {
    return scratch.write("my-model/config.json", text);
  }
  static std::string message(const fs::path& path) {
    try {
      read_hugging_face(path);
    } catch (const BadInput& error) {
      return error.what();
    }
    return "";
  }

  const ScratchFolder scratch;
  const fs::path folder = scratch / "my-model";
};

TEST_F(ReadFile, NamesTheModelAfterItsFolder) {
  const ModelConfig config = read_hugging_face(write(config_text("llama")));
  EXPECT_EQ(config.name, "my-model");
  EXPECT_EQ(config.hidden, 64);
}

TEST_F(ReadFile, NamesItAlsoWhereThePathDoesNot) {
  write(config_text("gpt2"));
  const fs::path before = fs::current_path();
  fs::current_path(folder);
  EXPECT_EQ(read_hugging_face("config.json").name, "my-model");
  EXPECT_EQ(read_hugging_face("./config.json").name, "my-model");
  fs::current_path(before);
}

TEST_F(ReadFile, SaysWhichFileIsWrong) {
  const std::string refusal = message(write(config_text("llama", {{"num_hidden_layers", "0"}})));
  const std::string end =
      "my-model/config.json: num_hidden_layers: is 0; a whole number from 1 to 512";
  EXPECT_EQ(refusal.find(end), refusal.size() - end.size()) << refusal;
}

TEST_F(ReadFile, ShowsNoNameThatCannotBeShown) {
  const fs::path strange = folder / "a\x1b[31m\xff\n模型";
  fs::create_directories(strange);
  std::ofstream(strange / "config.json") << config_text("llama");
  EXPECT_EQ(read_hugging_face(strange / "config.json").name, "a?[31m??模型");
}

TEST_F(ReadFile, RefusesWhatCannotBeRead) {
  for (const fs::path& path :
       {folder / "none.json", folder, fs::path(), fs::path("/"), folder / std::string(5000, 'x')}) {
    EXPECT_EQ(message(path).rfind("config: cannot read '", 0), 0U) << message(path);
  }
}

TEST_F(ReadFile, RefusesAnEmptyFile) {
  EXPECT_NE(message(write("")).find("not valid JSON"), std::string::npos);
}

TEST_F(ReadFile, ReadsNoFurtherThanAConfigCanBe) {
  const std::string padding(2 << 20, ' ');
  EXPECT_NE(message(write(config_text("llama") + padding)).find("larger than 1 MiB"),
            std::string::npos);
  EXPECT_EQ(message(write(config_text("llama") + std::string(1000, ' '))), "");
}

}  // namespace
}  // namespace vramfit
