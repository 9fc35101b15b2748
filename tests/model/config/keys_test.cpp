#include "model/config/keys.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "model/config/families.h"
#include "model/config/hugging_face.h"
#include "tests/model/config/config_text.h"
#include "tests/model/published_models.h"
#include "tests/support/scratch_folder.h"

namespace vramfit {
namespace {

using Use = KeyRow::Use;

std::vector<std::string> words(std::string_view list) {
  std::istringstream text{std::string(list)};
  return {std::istream_iterator<std::string>(text), {}};
}

std::vector<std::string> families_of(const KeyRow& row) {
  if (!row.families.empty()) return words(row.families);
  std::vector<std::string> all;
  for (const FamilyReader& family : families()) all.emplace_back(family.model_type);
  return all;
}

/// A key that the pattern stands for.
std::string example(std::string pattern) {
  for (char& c : pattern) c = c == '*' ? 'x' : c;
  return pattern;
}

std::vector<std::string> notes(const std::string& family, const Keys& keys) {
  return parse_hugging_face(config_text(family, keys), "tiny").notes;
}

TEST(ConfigKeys, HaveEveryOneOfTransformers) {
  const auto recorded = nlohmann::json::parse(text_of(VRAMFIT_CONFIG_KEYS));
  EXPECT_EQ(recorded["families"].size(), families().size());
  for (const FamilyReader& family : families()) {
    for (const nlohmann::json& keys :
         {recorded["families"][family.model_type], recorded["generation"]}) {
      EXPECT_GE(keys.size(), 30U);
      for (const std::string key : keys) {
        EXPECT_NE(find_row(key, family.model_type), nullptr) << family.model_type << ": " << key;
      }
    }
  }
}

TEST(ConfigKeys, NameAFamilysKeyOnce) {
  for (const KeyRow& row : config_keys()) {
    for (const std::string& key : words(row.keys)) {
      for (const std::string& family : families_of(row)) {
        EXPECT_EQ(find_row(example(key), family), &row) << family << ": " << key;
      }
    }
  }
}

/// What holds a list of lists no reader takes for a value.
void expect_done(const KeyRow& row, const std::string& family, const std::string& key) {
  SCOPED_TRACE(family + ": " + key);
  const Keys keys = {{"use_sliding_window", family.rfind("qwen", 0) == 0 ? "true" : ""},
                     {key, "[[[]]]"}};
  const std::string message = refusal(config_text(family, keys));
  if (row.use == Use::Read || row.use == Use::Refused) {
    EXPECT_NE(message.find(": " + key + ": "), std::string::npos) << message;
    return;
  }
  ASSERT_EQ(message, "");
  const std::vector<std::string> said = notes(family, keys);
  ASSERT_EQ(said.size(), row.use == Use::Noted ? 1U : 0U);
  for (const std::string& note : said) {
    EXPECT_EQ(note.rfind(key + " is a list in the config: ", 0), 0U) << note;
  }
}

TEST(ConfigKeys, AreReadRefusedNotedOrIgnoredAsTheTableSays) {
  for (const KeyRow& row : config_keys()) {
    for (const std::string& key : words(row.keys)) {
      for (const std::string& family : families_of(row)) expect_done(row, family, example(key));
    }
  }
}

TEST(ConfigKeys, AsUsualAreQuiet) {
  for (const KeyRow& row : config_keys()) {
    if (row.usual.empty()) continue;
    for (const std::string& key : words(row.keys)) {
      for (const std::string& family : families_of(row)) {
        EXPECT_TRUE(notes(family, {{example(key), std::string(row.usual)}}).empty()) << key;
      }
    }
  }
}

TEST(ConfigKeys, OfPublishedModelsAreQuiet) {
  for (const std::string& name : published_names()) {
    EXPECT_TRUE(published(name).notes.empty()) << name << ": " << published(name).notes.front();
  }
}

TEST(ConfigKeys, NobodyKnowsAreNamed) {
  EXPECT_EQ(notes("llama", {{"n_embd", "64"}, {"flux", "{\"a\": [1]}"}, {"none", "null"}}),
            std::vector<std::string>{
                "passed over in the config, since nobody here knows it: flux, n_embd"});
  EXPECT_EQ(notes("llama", {{"a", "1"}, {"b", "1"}, {"c", "1"}, {"d", "1"}, {"e", "1"}}).front(),
            "passed over in the config, since nobody here knows it: a, b, c, d and 1 more");
  const std::string hostile = std::string(1000, 'x') + "\\u001b[31m";
  const std::string note = notes("llama", {{"\\u001b[31m" + hostile, "1"}}).front();
  EXPECT_LT(note.size(), 200U);
  EXPECT_NE(note.find(": ?[31mxxx"), std::string::npos) << note;
}

/// What the page says of rows that are used so.
std::string section(const char* title, Use use) {
  std::ostringstream text;
  text << "## " << title << "\n\n| key | families | |\n|---|---|---|\n";
  for (const KeyRow& row : config_keys()) {
    if (row.use != use) continue;
    const auto list = [&text](const std::vector<std::string>& items, const char* quote) {
      for (std::size_t i = 0; i < items.size(); ++i) {
        text << (i == 0 ? "" : ", ") << quote << items[i] << quote;
      }
    };
    text << "| ";
    list(words(row.keys), "`");
    text << " | ";
    const std::vector<std::string> of = families_of(row);
    if (of.size() == families().size()) {
      text << "all";
    } else if (of.size() + 1 == families().size() &&
               row.families.find("gpt2") == row.families.npos) {
      text << "all but gpt2";
    } else {
      list(of, "");
    }
    text << " | ";
    if (!row.usual.empty() && row.usual != "null") text << "unless `" << row.usual << "`: ";
    text << row.what << " |\n";
  }
  return text.str();
}

TEST(ConfigKeys, StandInTheDocs) {
  const std::string expected =
      section("Read", Use::Read) + "\n" + section("Refused", Use::Refused) + "\n" +
      section("Noted", Use::Noted) + "\n" + section("Ignored", Use::Ignored);
  const char* const path = VRAMFIT_DOCS "/config_keys.md";
  const std::string page = text_of(path);
  const std::size_t tables = page.find("## ");
  ASSERT_NE(tables, std::string::npos);
  if (std::getenv("VRAMFIT_WRITE_DOCS") != nullptr) {
    std::ofstream(path, std::ios::binary) << page.substr(0, tables) << expected;
    return;
  }
  EXPECT_TRUE(page.substr(tables) == expected)
      << "run with VRAMFIT_WRITE_DOCS=1, this test writes them anew";
}

}  // namespace
}  // namespace vramfit
