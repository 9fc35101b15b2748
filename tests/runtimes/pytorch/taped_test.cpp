// A model by its tape does what the same model does by code that is written down by hand.
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "model/config/hugging_face.h"
#include "model/errors.h"
#include "model/text_file.h"
#include "model/transformer/parameters.h"
#include "runtimes/pytorch/transformers/taped/config_keys.h"
#include "runtimes/pytorch/transformers/taped/layer_kinds.h"
#include "runtimes/pytorch/transformers/taped/op_tape.h"
#include "runtimes/pytorch/transformers/taped/taped_config.h"
#include "tests/runtimes/pytorch/cases.h"
#include "tests/runtimes/pytorch/events.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit::pytorch {
namespace {

std::string tape_of_tests(const std::string& model_type) {
  const std::string folder = std::string(VRAMFIT_PYTORCH_FIXTURES) + "/tapes/";
  return read_text_file(folder + model_type + ".tape", "tape", "a tape", std::size_t{1} << 20);
}

/// The release, with the tapes of tests for types that it has none of.
Release with_tapes() {
  Release release = measured_release();
  release.tape = [](const std::string& type) -> std::optional<std::string> {
    if (type != "llama" && type != "qwen3") return std::nullopt;
    return tape_of_tests(type);
  };
  return release;
}

std::string config_text(const std::string& type, bool tied) {
  return R"({"model_type": ")" + type + R"(", "hidden_size": 768, "intermediate_size": 2048,
    "num_hidden_layers": 9, "num_attention_heads": 12, "num_key_value_heads": 4, "head_dim": 64,
    "vocab_size": 5000, "bos_token_id": 1, "eos_token_id": 2, "max_position_embeddings": 4096, "rms_norm_eps": 1e-6,
    "tie_word_embeddings": )" +
         (tied ? "true}" : "false}");
}

struct Asked {
  std::string type = "llama";
  bool tied = false;
  std::variant<TorchTraining, TorchGeneration> options = {};
};

/// Bytes that come and go in steps, in order. What the constructor asks for beside parameters, a
/// few hundred bytes, is not written down by hand.
ByteEvents events(const Release& release, const ModelConfig& config,
                  const std::variant<TorchTraining, TorchGeneration>& options) {
  const RunReport report =
      std::visit([&](const auto& one) { return run(h200(), release, config, one); }, options);
  // Nor are answers of a byte to what generate() asks on the way.
  const std::int64_t least = std::holds_alternative<TorchGeneration>(options) ? 64 : 1;
  return events_of(report, least, [](const Event& event) { return event.step > 0; });
}

class Taped : public testing::TestWithParam<Asked> {};

TEST_P(Taped, DoesWhatIsWrittenDown) {
  const Asked& asked = GetParam();
  const std::string text = config_text(asked.type, asked.tied);
  static const Release release = with_tapes();
  const auto source = std::make_shared<const ModelSource>(ModelSource{"model", text});
  const std::optional<ModelConfig> taped = taped_config(source, release);
  ASSERT_TRUE(taped);
  const ModelConfig written = parse_hugging_face(text, "model");
  const ByteEvents by_tape = events(release, *taped, asked.options);
  const ByteEvents by_hand = events(release, written, asked.options);
  EXPECT_EQ(first_difference(by_hand, by_tape), "");
  EXPECT_EQ(by_tape.size(), by_hand.size());
  EXPECT_EQ(taped->taped->parameters, parameter_count(written));
}

TorchTraining training(const std::function<void(TorchTraining&)>& change) {
  TorchTraining options;
  options.batch = 2;
  options.seq = 256;
  change(options);
  return options;
}

INSTANTIATE_TEST_SUITE_P(
    Steps, Taped,
    testing::Values(Asked{"llama", false, training([](auto&) {})},
                    Asked{"llama", true, training([](auto&) {})},
                    Asked{"qwen3", true, training([](auto& o) { o.batch = 1; })},
                    Asked{"qwen3", false, training([](auto& o) { o.precision = DType::Fp32; })},
                    Asked{"qwen3", false, training([](auto& o) {
                            o.precision = DType::Fp32;
                            o.autocast = DType::Bf16;
                          })},
                    Asked{"llama", false, training([](auto& o) {
                            o.checkpoint = GradientCheckpointing::Full;
                            o.accumulate = 2;
                          })},
                    Asked{"llama", true, training([](auto& o) {
                            o.checkpoint = GradientCheckpointing::Reentrant;
                            o.lora = LoraConfig{8, {"q_proj", "v_proj"}};
                          })},
                    Asked{"qwen3", false, training([](auto& o) {
                            o.lora = LoraConfig{8, {"q_proj"}};
                          })}));

/// Of masks that hide something, less is written down than their code does.
TorchGeneration generation(const std::function<void(TorchGeneration&)>& change) {
  TorchGeneration options;
  options.batch = 2;
  options.seq = 100;
  options.generate = 4;
  options.padded = false;
  change(options);
  return options;
}

INSTANTIATE_TEST_SUITE_P(
    Generations, Taped,
    testing::Values(Asked{"llama", false, generation([](auto&) {})},
                    Asked{"llama", true, generation([](auto& o) { o.batch = 1; })},
                    Asked{"llama", false, generation([](auto& o) { o.generate = 300; })},
                    Asked{"qwen3", false, generation([](auto& o) { o.precision = DType::Fp32; })},
                    Asked{"qwen3", true, generation([](auto& o) { o.seq = 1000; })}));

/// What is said of a step by llama's tape with a line of its plain programs replaced.
std::string step_with(const std::string& program, const std::string& line,
                      const std::string& replacement) {
  std::string tape = tape_of_tests("llama");
  const bool trains = program != "program prefill";
  tape.erase(tape.find(trains ? "program train fp32" : "program prefill eager"));
  const std::size_t at = tape.find("\n" + line + "\n", tape.find("\n" + program + "\n"));
  if (at == std::string::npos) return "no such line";
  tape.replace(at + 1, line.size(), replacement);
  static int asked = 0;  // a type's tape is read once
  const std::string type = "changed_" + std::to_string(++asked);
  Release release = measured_release();
  release.tape = [&](const std::string& name) {
    return name == type ? std::optional(tape) : std::nullopt;
  };
  std::variant<TorchTraining, TorchGeneration> options = generation([](auto&) {});
  if (trains) options = training([](auto& o) { o.batch = 1; });
  try {
    const auto source =
        std::make_shared<const ModelSource>(ModelSource{"model", config_text(type, false)});
    events(release, taped_config(source, release).value(), options);
  } catch (const BadInput& refused) {
    return refused.what();
  }
  return "none";
}

TEST(TapedLm, WhatItsTapeLacksIsRefused) {
  const std::string train = "program train";
  const std::string absent = "tape: names what is not there";
  const std::string no_list = "llama: torch's cat: joins what is no list of tensors";
  EXPECT_EQ(step_with(train, "free %5", "free %5"), "none");
  EXPECT_EQ(step_with(train, "$23 = cat [$22,$20] -1", "$23 = cat [] -1"), no_list);
  EXPECT_EQ(step_with(train, "$23 = cat [$22,$20] -1", "$23 = cat [1,$20] -1"), no_list);
  EXPECT_EQ(step_with(train, "%23 = cat [%22,%22] -1", "%23 = cat"), no_list);
  EXPECT_EQ(step_with(train, "%23 = cat [%22,%22] -1", "%23 = stack [] 0"),
            "llama: torch's stack: joins what is no list of tensors");
  EXPECT_EQ(step_with(train, "free %5", "free ^90000"), absent);
  EXPECT_EQ(step_with(train, "%24 = cos %23", "%24,%50 = cos %23"),
            "llama: torch's cos has not so many results");
  EXPECT_EQ(step_with(train, "return %45 %38", "return %45"),
            "tape: a program returns less than is asked of it");
  EXPECT_EQ(step_with("program prefill", "return %38", "return"),
            "tape: a program returns less than is asked of it");
  EXPECT_EQ(step_with("parameters", "layer A", "layer B"), "tape: no parameters of layer 'A'");
  EXPECT_EQ(step_with(train, "layer A", "layer B"), "tape: a program without layer 'A'");
  for (const char* gradient : {"gradient $48 ^7 [$47] []\n$53 = neg ^7\ngives $53",
                               "gradient $48 $53 [$47] []\n$54 = neg $53\ngives ^7"}) {
    EXPECT_EQ(step_with(train, "free $47", gradient), absent) << gradient;
  }
  // Where nothing comes, what is before makes nothing.
  EXPECT_EQ(step_with(train, "free $47", "gradient $48 $53 [$47] []\n$54 = neg $53\ngives _"),
            "none");
}

TEST(TapedLm, AdaptersOfWhatGivesMoreThanATensorAreRefused) {
  Release release = measured_release();
  release.tape = [](const std::string& name) {
    return name == "routed" ? std::optional(tape_of_tests("llama") + "tuple_targets gate_proj\n")
                            : std::nullopt;
  };
  const auto adapt = [&](const char* target) {
    const auto source =
        std::make_shared<const ModelSource>(ModelSource{"model", config_text("routed", false)});
    events(release, taped_config(source, release).value(), training([&](auto& o) {
             o.batch = 1;
             o.lora = LoraConfig{4, {target}, 0};
           }));
  };
  EXPECT_NO_THROW(adapt("up_proj"));
  expect_bad_input([&] { adapt("gate_proj"); }, {"PEFT raises for .mlp.gate_proj.weight"});
}

TEST(TapedConfig, WhatIsWrongWithAConfigIsNotAVariantsToPassOver) {
  Release release = with_tapes();
  release.tape = [](const std::string& type) -> std::optional<std::string> {
    if (type == "varied") return tape_of_tests("llama") + "variants way off\n";
    if (type == "varied.off") return tape_of_tests("llama") + "holds hidden_size 1\n";
    if (type == "varied.way") return tape_of_tests("llama") + "flag hidden_act gelu silu\n";
    return std::nullopt;
  };
  const auto read = [&](std::string config) {
    return taped_config(std::make_shared<const ModelSource>(ModelSource{"m", std::move(config)}),
                        release);
  };
  const std::string text = config_text("varied", false);
  EXPECT_EQ(read(text)->taped->tape, "varied");
  const std::string gelu = R"({"hidden_act": "gelu", )";
  EXPECT_EQ(read(gelu + text.substr(1))->taped->tape, "varied.way");
  expect_bad_input([&] { read(gelu + R"("num_hidden_layers": 0, "model_type": "varied"})"); },
                   {"num_hidden_layers: is 0; 1 to "});
}

TEST(TapedConfig, AChanceIsToldAsItsConfigHasIt) {
  Release release = with_tapes();
  release.tape = [](const std::string& recorded) {
    return tape_of_tests("qwen3") + "flag attention_dropout " + recorded + "\n";
  };
  const auto read = [&](const std::string& recorded, const std::string& dropout) {
    std::string config = config_text(recorded, false);
    config.replace(config.find("\"vocab_size\""), 0, dropout);
    taped_config(std::make_shared<const ModelSource>(ModelSource{"m", config}), release);
  };
  expect_bad_input([&] { read("0", "\"attention_dropout\": 0.05, "); },
                   {"attention_dropout: is 0.05, and qwen3's code was recorded with 0"});
  expect_bad_input([&] { read("1", "\"attention_dropout\": 0.0, "); },
                   {"is 0.0, and qwen3's code was recorded with more than 0"});
  expect_bad_input([&] { read("0 1", ""); }, {"is more than 0 unless it is said, and"});
}

TEST(TapedConfig, HeadsThatAreWiderThanSharedOnesMayBeAreRefused) {
  std::string text = config_text("llama", false);
  const std::string narrow = R"("head_dim": 64)";
  text.replace(text.find(narrow), narrow.size(), R"("head_dim": 320)");
  const auto source = std::make_shared<const ModelSource>(ModelSource{"m", text});
  expect_bad_input([&] { taped_config(source, with_tapes()); },
                   {"head_dim: is 320, and llama's code was recorded with 256 or less"});
}

TEST(TapedConfig, LayersAreOfKindsByWhatLaterOnesShare) {
  const OpTape tape = read_op_tape(
      "vramfit tape 1\nmodel_type some\nlayers count path\n"
      "kinds by layer_types,^shared,>shared s,0,0=A f,0,0=B s,1,0=C f,1,0=D s,0,1=E f,0,1=F\n");
  const ConfigKeys keys(
      ModelSource{"model", R"({"layer_types": ["s", "f", "s", "s", "f", "s", "f"], "shared": 2})"},
      tape);
  EXPECT_EQ(layer_kinds(tape, keys, 7),
            (std::vector<std::string>{"A", "B", "A", "C", "D", "E", "F"}));
}

TEST(TapedConfig, LayersAreOfKindsByWhetherAFractionIsAboveNothing) {
  const OpTape tape = read_op_tape(
      "vramfit tape 1\nmodel_type some\nlayers count path\nkinds by type,+sparse s,1=A s,0=B "
      "f,0=C\n");
  const auto kinds = [&](const std::string& config) {
    return layer_kinds(tape, ConfigKeys(ModelSource{"model", config}, tape), 3);
  };
  EXPECT_EQ(kinds(R"({"type": ["s", "s", "f"], "sparse": [0.95, 0, 0.0]})"),
            (std::vector<std::string>{"A", "B", "C"}));
  expect_bad_input([&] { kinds(R"({"type": ["s", "s", "f"]})"); }, {"of its 3 layers, in sparse"});
  expect_bad_input([&] { kinds(R"({"type": ["s", "s", "f"], "sparse": ["x", 0, 0]})"); },
                   {"sparse: has 'x'; a number a layer"});
  expect_bad_input([&] { kinds(R"({"type": ["s", "s", "f"], "sparse": [0, 0, 0.5]})"); },
                   {"layers of 'f,1' were not recorded"});
}

TEST(TapedConfig, ATextModelIsAnsweredOfAWholeOne) {
  const std::string text = config_text("llama", false);
  const std::string whole =
      R"({"model_type": "llama_that_sees", "vision_config": {}, "text_config": )" + text + "}";
  const auto source = std::make_shared<const ModelSource>(ModelSource{"m", whole});
  static const Release release = with_tapes();
  const std::optional<ModelConfig> config = taped_config(source, release);
  ASSERT_TRUE(config);
  EXPECT_EQ(config->family, "llama");
  EXPECT_NE(config->notes.back().find("not counted is vision_config"), std::string::npos);
}

TEST(ConfigKeys, WhatIsNullIsNotAsNothing) {
  const OpTape tape = read_op_tape(
      "vramfit tape 1\nmodel_type some\nlayers count path\ndefault rank 8\ndefault dim 4\nnull dim "
      "heads*2\n");
  const auto keys = [&](const std::string& config) {
    return ConfigKeys(ModelSource{"model", config}, tape);
  };
  EXPECT_EQ(keys("{}")("rank"), 8);
  EXPECT_EQ(keys(R"({"count": 2, "rank": [16, 16]})")("rank"), 16);
  EXPECT_TRUE(keys(R"({"rank": [3, 5, 5]})").is("rank", 5));
  EXPECT_FALSE(keys(R"({"rank": [3, 5, 5]})").is("rank", 8)) << "which its class has";
  for (const char* list :
       {R"({"count": 2, "rank": [16, 32]})", R"({"count": 3, "rank": [16, 16]})"}) {
    expect_bad_input([&] { keys(list)("rank"); }, {"rank: some's sizes hang"});
  }
  EXPECT_EQ(keys("{}")("dim"), 4);
  EXPECT_EQ(keys(R"({"dim": null, "heads": 3})")("dim"), 6);
  const ConfigKeys null = keys(R"({"rank": null})");
  EXPECT_FALSE(null.has("rank"));
  EXPECT_TRUE(null.is_null("rank"));
  expect_bad_input([&] { null("rank"); },
                   {"rank: is null, and some's code was recorded with a number"});
}

TEST(TapedConfig, WhatWasNullHasNoNumber) {
  Release release = with_tapes();
  release.tape = [](const std::string& type) -> std::optional<std::string> {
    if (type != "qwen3") return std::nullopt;
    return tape_of_tests(type) + "null clip_qkv\n";
  };
  std::string config = config_text("qwen3", false);
  config.replace(config.find("\"vocab_size\""), 0, "\"clip_qkv\": 8.0, ");
  expect_bad_input(
      [&] {
        taped_config(std::make_shared<const ModelSource>(ModelSource{"m", config}), release);
      },
      {"clip_qkv: is 8.0, and qwen3's code was recorded with null"});
}

TEST(TapedConfig, ACapThatThereWasIsThere) {
  Release release = with_tapes();
  release.tape = [](const std::string& type) -> std::optional<std::string> {
    if (type != "capped") return std::nullopt;  // a type's tape is read once
    return tape_of_tests("qwen3") + "flag final_logit_softcapping 1 null\n";
  };
  const auto with = [&](const std::string& cap) {
    std::string config = config_text("capped", false);
    config.replace(config.find("\"vocab_size\""), 0, cap);
    taped_config(std::make_shared<const ModelSource>(ModelSource{"m", config}), release);
  };
  with("\"final_logit_softcapping\": 20.0, ");
  const char* recorded = "and qwen3's code was recorded with more than 0";
  expect_bad_input([&] { with("\"final_logit_softcapping\": null, "); },
                   {"final_logit_softcapping: is null, ", recorded});
  expect_bad_input([&] { with(""); },
                   {"final_logit_softcapping: is null unless it is said, ", recorded});
}

TEST(TapedConfig, ASizeThatIsNullHasATapeOfItsOwn) {
  const std::string text =
      R"({"model_type": "deepseek_v2", "hidden_size": 4096, "num_attention_heads": 32, "q_lora_rank": )";
  const auto parameters = [&](const char* rank) {
    const auto source = std::make_shared<const ModelSource>(ModelSource{"m", text + rank + "}"});
    return taped_config(source, measured_release())->taped->parameters;
  };
  // DeepseekV2Config's: 32 layers of 32 heads of 192, from 4,096.
  const std::int64_t whole = 4096 * 32 * 192;
  const std::int64_t by_rank = 4096 * 1536 + 1536 + 1536 * 32 * 192;
  EXPECT_EQ(parameters("null") - parameters("1536"), 32 * (whole - by_rank));
}

TEST(Expression, IsWhatItSays) {
  const Symbols symbols = [](const std::string& name) -> std::int64_t {
    return name == "B" ? 3 : name == "hidden_size" ? 128 : throw BadInput(name);
  };
  const auto value = [&](const char* text) { return Expression::parse(text).value(symbols); };
  EXPECT_EQ(value("B*hidden_size+1"), 385);
  EXPECT_EQ(value("hidden_size/B/2"), 21);
  EXPECT_EQ(value("0-B"), -3);
  EXPECT_EQ(value("(B-1)*2"), 4);
  EXPECT_EQ(value("min(B,hidden_size)+max(1,2)"), 5);
  EXPECT_THROW(value("B/(B-3)"), BadInput);
  EXPECT_THROW(value("9223372036854775807*B"), BadInput);
  EXPECT_THROW(value("9223372036854775807+B"), BadInput);
}

}  // namespace
}  // namespace vramfit::pytorch
