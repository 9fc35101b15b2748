// llama.cpp behind the door: its flags, models that no reader has, its searches and advice.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "estimator/cards.h"
#include "estimator/models.h"
#include "estimator/runtimes.h"
#include "tests/estimator/ask/told_of_llamacpp.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::uint64_t part(const OrderedJson& answer, std::size_t device, const char* name) {
  return answer.at("devices").at(device).at("parts").at(name);
}

TEST(LlamaCpp, AnswersAboutModelsThatNoReaderHas) {
  const std::set<std::string> of_vllm_alone = {"falcon-h1-small", "granite-4.0-h-tiny"};
  for (const std::string& name : more_model_names()) {
    SCOPED_TRACE(name);
    if (of_vllm_alone.contains(name)) {
      expect_bad_input(
          [&] {
            told_of_llamacpp({"--model", name, "-c", "4096", "--gpu", "h200"});
          },
          {"not known here under llama.cpp"});
      continue;
    }
    const OrderedJson answer = told_of_llamacpp({"--model", name, "-c", "4096", "--gpu", "h200"});
    EXPECT_GT(answer.at("model").at("parameters"), 0);
    EXPECT_GT(part(answer, 0, "model"), 0U);
    EXPECT_GT(part(answer, 0, "context"), 0U);
  }
}

TEST(LlamaCpp, OthersRefuseWhatItAloneReads) {
  const FitOptions options = parse_options({"--model", "falcon-7b", "--gpu", "h200"});
  EXPECT_THROW(ask(options, {}), BadInput);
  expect_bad_input(
      [] {
        ask(parse_options({"--gguf", "x.gguf", "--vram", "24GB"}), {});
      },
      {"gguf: 'x.gguf' is a path"});
  expect_bad_input(
      [] {
        told_of_llamacpp({"--model", "gpt2-124m", "--gpu", "h200"});
      },
      {"gpt2-124m"});
  expect_bad_input(
      [] {
        told_of_llamacpp({"--model", "llama3-8b", "--train", "--gpu", "h200"});
      },
      {"train"});
  expect_bad_input(
      [] {
        told_of_llamacpp({"--model", "llama3-8b", "--max-batch", "--gpu", "h200"});
      },
      {"max-batch: not under --runtime llama.cpp; --max-ctx"});
}

TEST(LlamaCpp, TensorsOfAModelThatDraftsStayOnTheHost) {
  const auto draft = [](std::vector<std::string> flags) {
    flags.insert(flags.begin(),
                 {"--model", "qwen3-8b", "-md", "qwen3-0.6b", "-c", "4096", "--gpu", "rtx4090"});
    return part(told_of_llamacpp(flags), 0, "draft");
  };
  EXPECT_LT(draft({"-otd", "ffn_.*=CPU"}), draft({}));
  EXPECT_EQ(draft({"-ncmoed", "4"}), draft({}));  // it has no experts
  expect_bad_input([&] { draft({"-otd", "ffn"}); }, {"otd: 'ffn'"});
}

TEST(LlamaCpp, SaysWhyFitGivesUp) {
  const std::vector<std::string> run = {"--model", "llama2-7b", "--quant", "F16",    "-c",
                                        "32768",   "-ngl",      "30",      "--vram", "8GiB"};
  constexpr const char* kWhy = "n_gpu_layers already set by user to 30";
  const OrderedJson answer = told_of_llamacpp(run);
  EXPECT_EQ(answer.at("own_choice_failure"), kWhy);
  std::vector<std::string> fitting = run;
  fitting.insert(fitting.end(), {"--fit", "on"});
  EXPECT_NE(told_of_llamacpp(fitting).at("notes").dump().find(kWhy), std::string::npos);
  EXPECT_FALSE(told_of_llamacpp({"--model", "llama2-7b", "-c", "4096", "--gpu", "h200"})
                   .contains("own_choice_failure"));
}

TEST(LlamaCpp, TheLongestContextIsTheLastThatFits) {
  const auto at = [](const std::string& ctx) {
    return told_of_llamacpp({"--model", "qwen3-30b-a3b", "-c", ctx, "--vram", "21GiB"})
        .at("fits")
        .get<bool>();
  };
  const OrderedJson found =
      told_of_llamacpp({"--model", "qwen3-30b-a3b", "--max-ctx", "--vram", "21GiB"});
  const std::int64_t largest = found.at("max_ctx");
  ASSERT_GT(largest, 0);
  ASSERT_LT(largest, 40960);
  EXPECT_TRUE(at(std::to_string(largest)));
  EXPECT_FALSE(at(std::to_string(largest + 256)));
  EXPECT_LE(found.at("largest_surely"), largest);
  EXPECT_GE(found.at("largest_possibly"), largest);
}

TEST(LlamaCpp, EachSlotOfTheLongestContextMayBeAsLongAsTheModelAllows) {
  const auto longest = [](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"--model", "llama3-8b", "--max-ctx", "--gpu", "h200"});
    return told_of_llamacpp(std::move(flags)).at("max_ctx").get<std::int64_t>();
  };
  EXPECT_EQ(longest({}), 8192);
  EXPECT_EQ(longest({"--parallel", "4"}), 4 * 8192);
  EXPECT_EQ(longest({"--parallel", "4", "--kv-unified"}), 8192);
}

// Slots that are asked for have a cache each, unlike the server's own four.
TEST(LlamaCpp, TheMostSlotsAreThoseOfAStartThatAsksForThem) {
  const auto with = [](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"--model", "qwen3-8b", "-c", "8192", "--gpu", "rtx3060-12gb"});
    return told_of_llamacpp(std::move(flags));
  };
  const OrderedJson found = with({"--max-parallel"});
  const std::int64_t slots = found.at("max_parallel");
  EXPECT_LT(slots, 256);
  EXPECT_EQ(found.at("devices"), with({"--parallel", std::to_string(slots)}).at("devices"));
  EXPECT_EQ(with({"--max-parallel", "--kv-unified"}).at("max_parallel"), 256);
}

TEST(LlamaCpp, SaysWhatItWouldSetByItselfAndThatFits) {
  const OrderedJson answer =
      told_of_llamacpp({"--model", "qwen3-30b-a3b", "--quant", "Q8_0", "--gpu", "rtx4090"});
  EXPECT_EQ(answer.at("verdict"), "OOM");
  const OrderedJson& choice = answer.at("own_choice");
  const OrderedJson chosen =
      told_of_llamacpp({"--model", "qwen3-30b-a3b", "--quant", "Q8_0", "--gpu", "rtx4090", "-c",
                        choice.at("ctx"), "-ngl", choice.at("gpu_layers"),
                        "--override-tensor=" + choice.at("override_tensor").get<std::string>()});
  EXPECT_TRUE(chosen.at("fits"));
  const OrderedJson itself = told_of_llamacpp(
      {"--model", "qwen3-30b-a3b", "--quant", "Q8_0", "--gpu", "rtx4090", "--fit", "on"});
  EXPECT_TRUE(itself.at("fits"));
  EXPECT_EQ(itself.at("devices"), chosen.at("devices"));
}

TEST(LlamaCpp, AdvisesTheBestQuantisationThatFits) {
  const OrderedJson answer = told_of_llamacpp(
      {"--model", "llama2-13b", "--quant", "Q8_0", "-c", "4096", "--vram", "16GiB", "--advise"});
  bool smaller = false;
  for (const OrderedJson& advice : answer.at("advice"))
    smaller |= advice.at("flags") == "--quant Q6_K";
  EXPECT_TRUE(smaller) << answer.at("advice").dump(1);
}

// By trying all of them: the largest file of which the answer is that it fits.
TEST(LlamaCpp, TheLargestQuantisationIsTheLastThatFits) {
  const std::vector<std::string> quants = {"Q2_K",      "Q3_K_S", "Q3_K_M", "Q3_K_L", "IQ4_XS",
                                           "IQ4_NL",    "Q4_K_S", "Q4_K_M", "Q5_K_S", "Q5_K_M",
                                           "MXFP4_MOE", "Q6_K",   "Q8_0",   "F16"};
  for (const std::string model : {"qwen3-8b", "gemma2-9b", "mixtral-8x7b", "gpt-oss-20b"}) {
    for (const std::string vram : {"6GiB", "13GiB", "15GiB", "24GiB", "40GiB"}) {
      SCOPED_TRACE(model + " " + vram);
      const auto at = [&](const std::string& quant) {
        return told_of_llamacpp({"--model", model, "--quant", quant, "-c", "4096", "--vram", vram});
      };
      std::uint64_t largest = 0;
      for (const std::string& quant : quants) {
        if (quant == "MXFP4_MOE" && model != "mixtral-8x7b" && model != "gpt-oss-20b") continue;
        const OrderedJson answer = at(quant);
        if (answer.at("fits")) largest = std::max<std::uint64_t>(largest, answer.at("total"));
      }
      const OrderedJson found =
          told_of_llamacpp({"--model", model, "--max-quant", "-c", "4096", "--vram", vram});
      if (largest == 0) {
        EXPECT_TRUE(found.at("max_quant").is_null());
        continue;
      }
      const std::string name = found.at("max_quant");
      EXPECT_EQ(found.at("total"), largest) << name;
      EXPECT_EQ(at(name).at("total"), largest) << name;
      EXPECT_TRUE(found.at("asked").at("quant").is_null());
      if (name == "F16") {
        EXPECT_TRUE(found.at("next").is_null());
        continue;
      }
      const OrderedJson next = at(found.at("next").at("name"));
      EXPECT_FALSE(next.at("fits"));
      EXPECT_EQ(next.at("total"), found.at("next").at("total"));
      EXPECT_EQ(next.at("margin"), found.at("next").at("margin"));
    }
  }
}

TEST(LlamaCpp, ExpertsOfMxfp4CheckpointsStaySo) {
  const auto weights = [](const char* quant) {
    const OrderedJson answer =
        told_of_llamacpp({"--model", "gpt-oss-20b", "--quant", quant, "--gpu", "h200"});
    return part(answer, 0, "model");
  };
  // 24 layers of 32 experts, three matrices of 2,880 x 2,880 each, 17 bytes for 32 weights.
  const std::uint64_t experts = std::uint64_t{24} * 32 * 3 * 2880 * 2880 / 32 * 17;
  for (const char* quant : {"Q4_K_M", "MXFP4", "F16"}) {
    EXPECT_GT(weights(quant), experts) << quant;
    EXPECT_LT(weights(quant), experts + 3'000'000'000) << quant;
  }
}

TEST(LlamaCpp, SeveralCardsOfOneKindAreTheSameAsAList) {
  const std::vector<std::string> run = {"--model", "llama3-70b", "-c", "8192", "-ts", "3,2"};
  const auto on = [&](std::vector<std::string> cards) {
    cards.insert(cards.begin(), run.begin(), run.end());
    return told_of_llamacpp(cards);
  };
  OrderedJson list = on({"--gpu", "rtx4090,rtx4090"});
  const OrderedJson alike = on({"--gpu", "rtx4090", "--gpus", "2"});
  EXPECT_EQ(list.at("machine").size(), 2U);
  for (const char* key : {"total", "margin", "verdict", "devices", "own_choice", "levels"}) {
    EXPECT_EQ(list.at(key), alike.at(key)) << key;
  }
}

TEST(LlamaCpp, CardsOfSeveralKindsShareLayersByWhatIsFree) {
  const OrderedJson answer =
      told_of_llamacpp({"--model", "llama3-70b", "-c", "8192", "--gpu", "rtx4090,rtx3060-12gb"});
  const OrderedJson& machine = answer.at("machine");
  ASSERT_EQ(machine.size(), 2U);
  EXPECT_EQ(machine[0].at("gpu"), "rtx4090");
  EXPECT_EQ(machine[1].at("gpu"), "rtx3060-12gb");
  const double share = static_cast<double>(part(answer, 0, "context")) /
                       static_cast<double>(part(answer, 0, "context") + part(answer, 1, "context"));
  // Of each 1.2 GB are gone to driver and context, and a layer is the least.
  EXPECT_NEAR(share, 24.56 / (24.56 + 11.68), 1.0 / 80);
  // What is told at length is of the card with least to spare.
  const std::size_t least = machine[0].at("margin") < machine[1].at("margin") ? 0 : 1;
  EXPECT_EQ(answer.at("gpu").at("name"), machine[least].at("gpu"));
  EXPECT_EQ(answer.at("margin"), machine[least].at("margin"));
  EXPECT_EQ(answer.at("verdict"), "OOM");
  // As it would start by itself, all fit.
  const OrderedJson& choice = answer.at("own_choice");
  const OrderedJson chosen = told_of_llamacpp(
      {"--model", "llama3-70b", "-c", choice.at("ctx"), "-ngl", choice.at("gpu_layers"), "-ts",
       choice.at("tensor_split"), "--gpu", "rtx4090,rtx3060-12gb"});
  EXPECT_TRUE(chosen.at("fits"));
  const OrderedJson itself = told_of_llamacpp(
      {"--model", "llama3-70b", "-c", "8192", "--gpu", "rtx4090,rtx3060-12gb", "--fit", "on"});
  EXPECT_EQ(itself.at("devices"), chosen.at("devices"));
  EXPECT_TRUE(itself.at("fits"));
}

TEST(LlamaCpp, TheLongestContextFitsOnEachOfItsCards) {
  const OrderedJson found = told_of_llamacpp({"--model", "llama2-13b", "--quant", "Q8_0", "-np",
                                              "1", "--max-ctx", "--gpu", "rtx3060-12gb,rtx3070"});
  const std::int64_t largest = found.at("max_ctx");
  ASSERT_GT(largest, 0);
  const auto fits = [&](std::int64_t ctx) {
    const OrderedJson answer =
        told_of_llamacpp({"--model", "llama2-13b", "--quant", "Q8_0", "-np", "1", "-c",
                          std::to_string(ctx), "--gpu", "rtx3060-12gb,rtx3070"});
    bool all = true;
    for (const OrderedJson& card : answer.at("machine")) all = all && card.at("margin") >= 0;
    EXPECT_EQ(answer.at("fits").get<bool>(), all);
    return all;
  };
  EXPECT_TRUE(fits(largest));
  if (found.at("search_next").is_number()) {
    EXPECT_FALSE(fits(largest + 256));
  }
}

TEST(LlamaCpp, RefusesListsOfCardsThatMakeNoSense) {
  const auto refuses = [](std::vector<std::string> more, const char* what) {
    more.insert(more.begin(), {"--model", "llama3-8b"});
    expect_bad_input([&] { told_of_llamacpp(more); }, {what});
  };
  refuses({"--gpu", "rtx4090,rtx3090", "--gpus", "3"}, "gpus: --gpu names 2 cards");
  refuses({"--gpu", "rtx4090,rtx3090", "--vram", "24GiB"}, "vram: of one card");
  refuses({"--gpu", "rtx4090,mac-16gb"}, "gpu: mac-16gb beside others");
  refuses({"--gpu", "rtx4090,rtx9"}, "gpu: unknown 'rtx9'");
  refuses({"--gpu", ","}, "gpu: ");
  expect_bad_input(
      [] {
        ask(parse_options({"--model", "llama3-8b", "--gpu", "rtx4090,rtx3090"}), {});
      },
      {"gpu: a list of cards is not for --runtime pytorch"});
}

TEST(LlamaCpp, CardsWithoutCudaAreSizes) {
  for (const Card& card : other_cards()) {
    SCOPED_TRACE(card.name);
    const OrderedJson answer =
        told_of_llamacpp({"--model", "llama3-8b", "-c", "4096", "--gpu", card.name});
    EXPECT_EQ(answer.at("gpu").at("arch"), key_of(card.platform));
    EXPECT_EQ(answer.at("vram"), card.vram);
    EXPECT_EQ(part(answer, 0, "pool"), 0U);
    EXPECT_EQ(part(answer, 0, "model"),
              part(told_of_llamacpp({"--model", "llama3-8b", "-c", "4096", "--gpu", "a100-80gb"}),
                   0, "model"));
    bool said = false;
    for (const std::string note : answer.at("notes")) {
      said |= note.find("not known and not counted") != std::string::npos;
    }
    EXPECT_TRUE(said);
    expect_bad_input(
        [&] {
          ask(parse_options({"--model", "llama3-8b", "--gpu", card.name}), {});
        },
        {"has no CUDA", "--runtime llama.cpp"});
  }
  EXPECT_EQ(
      told_of_llamacpp({"--model", "llama3-8b", "--gpu", "Apple M1 Max 32GB"}).at("gpu").at("name"),
      "mac-32gb");
}

TEST(LlamaCpp, AModelOfASizeAloneIsALlamas) {
  const OrderedJson guessed = told_of_llamacpp({"--params", "6.74B", "--hidden", "4096", "--layers",
                                                "32", "--quant", "Q4_K_M", "--gpu", "rtx4090"});
  const OrderedJson known =
      told_of_llamacpp({"--model", "llama2-7b", "--quant", "Q4_K_M", "--gpu", "rtx4090"});
  EXPECT_EQ(guessed.at("devices"), known.at("devices"));
  EXPECT_EQ(guessed.at("total"), known.at("total"));
}

// A draft model is a server of its own beside the first, of the same context and slots.
TEST(LlamaCpp, ADraftModelIsCountedBesideIt) {
  const std::vector<std::string> run = {"-c", "8192", "--gpu", "rtx4090"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), run.begin(), run.end());
    return told_of_llamacpp(more);
  };
  const OrderedJson alone = with({"--model", "qwen3-8b"});
  const OrderedJson small = with({"--model", "qwen3-0.6b", "--quant", "Q8_0"});
  const OrderedJson both =
      with({"--model", "qwen3-8b", "-md", "qwen3-0.6b", "--quant-draft", "Q8_0"});
  for (const char* name : {"model", "context", "compute", "pool"}) {
    EXPECT_EQ(part(both, 0, name), part(alone, 0, name)) << name;
  }
  EXPECT_EQ(part(both, 0, "draft"), part(small, 0, "model") + part(small, 0, "context") +
                                        part(small, 0, "compute") + part(small, 0, "pool"));
  const auto reserved = [](const OrderedJson& answer) -> std::uint64_t {
    return answer.at("levels").at("reserved");
  };
  EXPECT_EQ(reserved(both), reserved(alone) + reserved(small));
  EXPECT_EQ(both.at("asked").at("draft").at("longest"), 0);
  EXPECT_FALSE(alone.at("asked").contains("draft"));
}

TEST(LlamaCpp, ADraftModelHasItsOwnLayersTypesAndDrafts) {
  const auto with = [&](std::vector<std::string> more) {
    const std::vector<std::string> run = {"--model", "qwen3-8b", "-md",   "qwen3-0.6b",
                                          "-c",      "8192",     "--gpu", "rtx4090"};
    more.insert(more.begin(), run.begin(), run.end());
    return told_of_llamacpp(more);
  };
  const std::uint64_t usual = part(with({}), 0, "draft");
  EXPECT_LT(part(with({"-ngld", "0"}), 0, "draft"), usual);
  EXPECT_LT(part(with({"-ctkd", "q8_0", "-ctvd", "q8_0"}), 0, "draft"), usual);
  // Of each slot a token and three that were drafted have logits.
  const OrderedJson drafting = with({"--spec-type", "draft-simple"});
  const OrderedJson rows = told_of_llamacpp(
      {"--model", "qwen3-8b", "-c", "8192", "--gpu", "rtx4090", "-np", "16", "--kv-unified"});
  EXPECT_EQ(drafting.at("asked").at("draft").at("longest"), 3);
  EXPECT_GE(part(rows, 0, "compute"), part(drafting, 0, "compute"));
  expect_bad_input(
      [] {
        told_of_llamacpp({"--model", "llama3-8b", "-ngld", "3", "--gpu", "h200"});
      },
      {"--model-draft"});
}

TEST(LlamaCpp, FitLeavesRoomForADraftModel) {
  const auto own = [](const std::vector<std::string>& more) -> OrderedJson {
    std::vector<std::string> run = {"--model", "qwen3-8b", "--quant", "Q8_0", "--vram", "12GiB"};
    run.insert(run.end(), more.begin(), more.end());
    return told_of_llamacpp(run).at("own_choice");
  };
  const auto context = [](const OrderedJson& choice) {
    return std::stoll(choice.at("ctx").get<std::string>());
  };
  EXPECT_LT(context(own({"-md", "qwen3-0.6b"})), context(own({})));
}

}  // namespace
}  // namespace vramfit
