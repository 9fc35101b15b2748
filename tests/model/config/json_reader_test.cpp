#include "model/config/json_reader.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "model/errors.h"

namespace vramfit {
namespace {

class JsonReaderTest : public testing::Test {
 protected:
  std::string refusal(const std::function<void()>& read) const {
    try {
      read();
    } catch (const BadInput& error) {
      return error.what();
    }
    return "";
  }

  const nlohmann::json object = parse_json_object(
      R"({"three": 3, "half": 0.5, "huge": 18446744073709551615, "none": null, "yes": true,
          "word": "a", "words": ["a", "b"], "mixed": ["a", 1], "inner": {"deep": "x"}})",
      "file", "an object");
  const JsonReader json{object, "file"};
};

TEST_F(JsonReaderTest, BoundsAreInclusive) {
  EXPECT_EQ(json.integer("three", 3, 3), 3);
  EXPECT_EQ(json.number("half", 0.5, 0.5), 0.5);
  EXPECT_EQ(json.number("three", 0, 10), 3.0) << "a whole number is a number";
  EXPECT_EQ(refusal([&] { json.integer("three", 4, 9); }),
            "file: three: is 3; a whole number from 4 to 9");
  EXPECT_EQ(refusal([&] { json.integer("three", 0, 2); }),
            "file: three: is 3; a whole number from 0 to 2");
  EXPECT_EQ(refusal([&] { json.number("half", 0.6, 1); }),
            "file: half: is 0.5; a number from 0.6 to 1.0");
}

TEST_F(JsonReaderTest, UnsignedValuesDoNotWrapIntoSignedOnes) {
  EXPECT_NE(refusal([&] { json.integer("huge", INT64_MIN, INT64_MAX); }), "");
}

TEST_F(JsonReaderTest, NullIsAbsent) {
  EXPECT_FALSE(json.has("none"));
  EXPECT_FALSE(json.has("nowhere"));
  EXPECT_TRUE(json.is_null("none"));
  EXPECT_FALSE(json.is_null("nowhere"));
  EXPECT_FALSE(json.is_null("three"));
  EXPECT_EQ(json.integer_or("none", 7, 1, 2), 7);
  EXPECT_EQ(json.number_or("nowhere", 7, 1, 2), 7);
  EXPECT_TRUE(json.boolean_or("none", true));
  EXPECT_EQ(json.text_or("none", "b"), "b");
  EXPECT_FALSE(json.object("none"));
  EXPECT_EQ(refusal([&] { json.text("none"); }), "file: none: missing; a string");
  EXPECT_NO_THROW(json.refuse("none", "why"));
}

TEST_F(JsonReaderTest, ReadsWhatIsThere) {
  EXPECT_EQ(json.integer_or("three", 7, 1, 9), 3);
  EXPECT_TRUE(json.boolean_or("yes", false));
  EXPECT_EQ(json.text("word"), "a");
  EXPECT_EQ(json.texts("words"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(refusal([&] { json.texts("mixed"); }), "file: mixed: holds 1; a list of strings");
}

TEST_F(JsonReaderTest, InnerObjectsSayWhereTheyAre) {
  const auto inner = json.object("inner");
  ASSERT_TRUE(inner);
  EXPECT_EQ(inner->text("deep"), "x");
  EXPECT_EQ(refusal([&] { inner->integer("deep", 1, 2); }),
            "file: inner: deep: is \"x\"; a whole number from 1 to 2");
}

}  // namespace
}  // namespace vramfit
