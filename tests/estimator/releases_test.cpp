#include "estimator/releases.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "estimator/data.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

using Json = nlohmann::json;
using pytorch::Release;
using pytorch::Version;

TEST(Releases, AreFoundByName) {
  EXPECT_EQ(&release_named(current_release().name), &current_release());
  expect_bad_input([] { release_named("1.0"); }, {"release: unknown '1.0'; 2.9, 2.11"});
}

TEST(Releases, FiguresAreOfOneThatWasMeasured) {
  EXPECT_FALSE(current_release().simulated);
  EXPECT_TRUE(releases().back().simulated);
}

TEST(Releases, RulesCompareVersionsByNumber) {
  EXPECT_GE((Version{5, 17, 0}), (Version{5, 17}));
  EXPECT_GT((Version{5, 17}), (Version{5, 9}));
  EXPECT_GT((Version{5, 0}), (Version{4, 57, 1}));
  EXPECT_LT((Version{9, 15, 0}), (Version{9, 15, 1}));
}

/// The file with one value replaced, or taken away where `value` is discarded.
std::string changed(const char* pointer, const Json& value) {
  Json file = Json::parse(data_text("releases.json"));
  const Json::json_pointer at(pointer);
  if (value.is_discarded()) {
    file[at.parent_pointer()].erase(at.back());
  } else {
    file[at] = value;
  }
  return file.dump();
}

TEST(Releases, AreReadStrictly) {
  const Json absent(Json::value_t::discarded);
  const std::vector<std::tuple<const char*, Json, const char*>> cases = {
      {"/schema", 2, "schema"},
      {"/releases", Json::array(), "releases"},
      {"/releases/0", 7, "release 1"},
      {"/releases/0/name", absent, "name"},
      {"/releases/0/name", "2.10", "is '2.10', whose rules nobody derived"},
      {"/releases/0/torhc", 1, "torhc"},
      {"/releases/0/torch", absent, "torch"},
      {"/releases/0/torch/version", "2.11.0+cu130", "a version such as 2.11.0"},
      {"/releases/0/torch/version", "2", "a version such as 2.11.0"},
      {"/releases/0/torch/version", "2.11.", "a version such as 2.11.0"},
      {"/releases/0/torch/version", "2.11.0.1", "a version such as 2.11.0"},
      {"/releases/0/torch/version", "20111.0", "a version such as 2.11.0"},
      {"/releases/0/torch/version", "2.-1", "a version such as 2.11.0"},
      {"/releases/0/torch/version", 2.11, "version"},
      {"/releases/0/torch/source", "", "source"},
      {"/releases/0/cudnn", "9.19.0", "cudnn"},
      {"/releases/0/least_arch/value", "75", "sm_90"},
      {"/releases/1", Json::parse(data_text("releases.json"))["releases"][0],
       "the oldest first, each once"},
  };
  for (const auto& [pointer, value, part] : cases) {
    SCOPED_TRACE(pointer);
    const std::string text = changed(pointer, value);
    expect_bad_input([&] { parse_releases(text, "text"); }, {"text", part});
  }
}

}  // namespace
}  // namespace vramfit
