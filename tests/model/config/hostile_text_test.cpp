#include <gtest/gtest.h>

#include <string>

#include "model/config/hugging_face.h"
#include "tests/model/config/config_text.h"

namespace vramfit {
namespace {

using std::string_literals::operator""s;

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

void expect_not_json(const std::string& text) {
  const std::string message = refusal(text);
  EXPECT_NE(message.find("not valid JSON at byte "), std::string::npos) << message;
  EXPECT_NE(message.find("config.json is expected"), std::string::npos) << message;
}

TEST(HostileText, TruncatedAnywhereIsNotJson) {
  const std::string text = config_text("llama");
  for (std::size_t size = 0; size < text.size(); ++size) expect_not_json(text.substr(0, size));
}

TEST(HostileText, SaysWhereItStopsBeingJson) {
  EXPECT_EQ(refusal("{\"hidden_size\": 64,, }"),
            "tiny: not valid JSON at byte 20; a Hugging Face config.json is expected");
}

TEST(HostileText, IsNotJson) {
  const std::string good = config_text("llama");
  for (const std::string& text : {""s,
                                  " "s,
                                  "\0"s,
                                  good + "\0"s,
                                  good + "\0\0 and more"s,
                                  "{\"a\": \"\0\"}"s,
                                  good + good,
                                  good + "x",
                                  "{'a': 1}"s,
                                  "{\"a\": NaN}"s,
                                  "{\"a\": Infinity}"s,
                                  "{\"a\": -}"s,
                                  "{\"a\": 01}"s,
                                  "{\"a\": 0x10}"s,
                                  "{\"a\": \"\n\"}"s,
                                  "{\"a\": \"\\ud800\"}"s,
                                  "{\"a\": \"\xFF\"}"s,
                                  "{\"\xC0\x80\": 1}"s,
                                  "{\"a\" 1}"s,
                                  "// comment\n{}"s,
                                  "\xFE\xFF\0{\0}"s}) {
    expect_not_json(text);
  }
}

TEST(HostileText, IsNotAnObject) {
  for (const char* text : {"[]", "null", "3", "\"config\"", "true", "[{}]"}) {
    EXPECT_NE(refusal(text).find("not a JSON object"), std::string::npos) << text;
  }
}

TEST(HostileText, AnEmptyObjectMissesItsType) {
  EXPECT_NE(refusal("{}").find("model_type: missing"), std::string::npos);
}

TEST(HostileText, NumbersOutOfRangeAreRefused) {
  for (const char* number : {"1e999", "-1e999", "1e308000000000000000000"}) {
    const std::string message = refusal(config_text("llama", {{"anything", number}}));
    EXPECT_NE(message.find("a number is out of range; at most"), std::string::npos) << message;
  }
  EXPECT_EQ(refusal(config_text("llama", {{"anything", "1e-999"}})), "")
      << "zero, and not looked at";
}

TEST(HostileText, NestingIsAsDeepAsItLikes) {
  constexpr int kDeep = 100'000;
  expect_not_json(repeated("[", kDeep));
  expect_not_json(repeated("{\"a\":", kDeep));
  const std::string lists = repeated("[", kDeep) + repeated("]", kDeep);
  const std::string objects = repeated("{\"a\":", kDeep) + "1" + repeated("}", kDeep);
  EXPECT_NE(refusal(lists).find("not a JSON object"), std::string::npos);
  EXPECT_EQ(refusal(config_text("llama", {{"anything", lists}})), "") << "nobody looks at it";
  for (const char* key : {"hidden_size", "model_type", "rope_theta", "attention_bias",
                          "rope_scaling", "layer_types", "hidden_act", "quantization_config"}) {
    EXPECT_NE(refusal(config_text("llama", {{key, lists}})).find(key), std::string::npos) << key;
  }
  EXPECT_NE(refusal(config_text("llama", {{"hidden_size", objects}})).find("hidden_size"),
            std::string::npos);
}

TEST(HostileText, LongValuesAreCutInMessages) {
  const std::string quoted = "\"" + std::string(1'000'000, 'x') + "\"";
  for (const char* key : {"hidden_size", "model_type", "hidden_act", "rope_theta"}) {
    const std::string message = refusal(config_text("llama", {{key, quoted}}));
    EXPECT_NE(message.find("xxxx…"), std::string::npos) << message;
  }
}

TEST(HostileText, ControlCharactersStayOutOfMessages) {
  const std::string message =
      refusal(config_text("llama", {{"hidden_act", "\"a\\nb\\u0000\\u001b[31m\\u00e9\""}}));
  EXPECT_NE(message.find("a\\nb\\u0000\\u001b[31m\\u00e9"), std::string::npos) << message;
}

TEST(HostileText, OfTwoEqualKeysTheLastCountsAsInPython) {
  std::string text = config_text("llama");
  text.insert(1, "\"hidden_size\": 0, ");
  EXPECT_EQ(parse_hugging_face(text, "tiny").hidden, 64);
}

TEST(HostileText, AByteOrderMarkIsNoHarm) {
  EXPECT_EQ(refusal("\xEF\xBB\xBF" + config_text("llama")), "");
}

}  // namespace
}  // namespace vramfit
