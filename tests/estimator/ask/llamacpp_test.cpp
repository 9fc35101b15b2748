// llama.cpp behind the door: its flags, models that no reader has, its searches and advice.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "estimator/ask/ask.h"
#include "estimator/cards.h"
#include "estimator/models.h"
#include "estimator/runtimes.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

using Json = nlohmann::ordered_json;

Json told(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--runtime", "llama.cpp"});
  return Json::parse(ask(parse_options(arguments), {}).json());
}

std::uint64_t part(const Json& answer, std::size_t device, const char* name) {
  return answer.at("devices").at(device).at("parts").at(name);
}

TEST(LlamaCpp, AnswersAboutModelsThatNoReaderHas) {
  for (const std::string& name : more_model_names()) {
    SCOPED_TRACE(name);
    const Json answer = told({"--model", name, "-c", "4096", "--gpu", "h200"});
    EXPECT_GT(answer.at("model").at("parameters"), 0);
    EXPECT_GT(part(answer, 0, "model"), 0U);
    EXPECT_GT(part(answer, 0, "context"), 0U);
  }
}

TEST(LlamaCpp, OthersRefuseWhatItAloneReads) {
  const FitOptions options = parse_options({"--model", "qwen3-30b-a3b", "--gpu", "h200"});
  EXPECT_THROW(ask(options, {}), UnknownModel);
  expect_bad_input(
      [] {
        ask(parse_options({"--gguf", "x.gguf", "--vram", "24GB"}), {});
      },
      {"gguf: 'x.gguf' is a path"});
  expect_bad_input([] { told({"--model", "gpt2-124m", "--gpu", "h200"}); }, {"gpt2-124m"});
  expect_bad_input([] { told({"--model", "llama3-8b", "--train", "--gpu", "h200"}); }, {"train"});
  expect_bad_input(
      [] {
        told({"--model", "llama3-8b", "--max-batch", "--gpu", "h200"});
      },
      {"max-batch: not under --runtime llama.cpp; --max-ctx"});
}

TEST(LlamaCpp, TakesItsOwnFlagsByOneDash) {
  const Json answer = told({"--model", "llama3-8b", "-c", "8192", "-ngl", "20", "-ctk", "q8_0",
                            "-np", "2", "-kvu", "-fa", "on", "-ub", "256", "--gpu", "rtx4090"});
  const Json& asked = answer.at("asked");
  EXPECT_EQ(asked.at("ctx"), 8192);
  EXPECT_EQ(asked.at("gpu_layers"), 20);
  EXPECT_EQ(asked.at("cache_type_k"), "q8_0");
  EXPECT_EQ(asked.at("parallel"), 2);
  EXPECT_EQ(asked.at("kv_unified"), true);
  EXPECT_EQ(asked.at("flash_attn"), "on");
  EXPECT_EQ(asked.at("ubatch_size"), 256);
  EXPECT_EQ(answer.at("on_host").at("layers"), 13);
  const Json ollama = told({"--model", "llama3-8b", "--num_ctx", "8192", "--num_gpu=20",
                            "--num_parallel=2", "--gpu", "rtx4090"});
  EXPECT_EQ(ollama.at("asked").at("gpu_layers"), 20);
}

// common/arg.cpp: is_truthy, is_falsey, is_autoy.
TEST(LlamaCpp, SwitchesAreSpeltAsLlamaCppsParserReadsThem) {
  const auto asked = [](const char* flag, const char* value) {
    return told({"--model", "llama3-8b", "-c", "4096", flag, value, "--gpu", "h200"}).at("asked");
  };
  for (const char* on : {"on", "enabled", "true", "1"}) {
    EXPECT_EQ(asked("-fa", on).at("flash_attn"), "on") << on;
    EXPECT_EQ(asked("-fit", on).at("fit"), "on") << on;
  }
  for (const char* off : {"off", "disabled", "false", "0"}) {
    EXPECT_EQ(asked("-fa", off).at("flash_attn"), "off") << off;
    EXPECT_EQ(asked("-fit", off).at("fit"), "off") << off;
  }
  EXPECT_EQ(asked("-fa", "auto").at("flash_attn"), "auto");
  EXPECT_EQ(asked("-fa", "-1").at("flash_attn"), "auto");
  expect_bad_input([&] { asked("-fa", "2"); }, {"fa", "'2'", "on, off or auto"});
}

TEST(LlamaCpp, TakesACommandOfItsServer) {
  const std::vector<std::string> run = {"--model", "llama3-8b", "-c", "4096", "--gpu", "h200"};
  std::vector<std::string> server = run;
  server.insert(server.end(), {"--host", "0.0.0.0", "--port", "8080", "--threads", "8", "--jinja",
                               "--temp", "0.7", "--mlock", "--mmproj", "mmproj.gguf"});
  const Json answer = told(server);
  EXPECT_EQ(answer.at("devices"), told(run).at("devices"));
  EXPECT_NE(answer.at("notes").dump().find("--mmproj: what sees is not counted"),
            std::string::npos);
  expect_bad_input(
      [] {
        told({"--model", "llama3-8b", "--ollama_kv_cache_type", "q8_0"});
      },
      {"--cache-type-k q8_0 --cache-type-v q8_0"});
}

TEST(LlamaCpp, TakesItsProgramsOtherFlagsByTheirShortNames) {
  const std::vector<std::string> run = {"--model", "llama3-8b", "-c",    "4096",
                                        "-np",     "2",         "--gpu", "h200"};
  std::vector<std::string> server = run;
  server.insert(server.end(), {"-t",
                               "8",
                               "-tb",
                               "16",
                               "-cb",
                               "-n",
                               "-1",
                               "-p",
                               "a prompt",
                               "-dev",
                               "CUDA0",
                               "-mm",
                               "mmproj.gguf",
                               "--no-kv-unified",
                               "--mmap",
                               "--kv-offload",
                               "--cache-ram",
                               "2048",
                               "--repeat-penalty",
                               "1.1",
                               "-lm",
                               "mmap",
                               "--alias",
                               "x",
                               "-v"});
  const Json answer = told(server);
  EXPECT_EQ(answer.at("devices"), told(run).at("devices"));
  const std::string notes = answer.at("notes").dump();
  EXPECT_NE(notes.find("-mm: what sees is not counted"), std::string::npos) << notes;
  EXPECT_NE(notes.find("-t, -tb, -cb, -n, -p, --repeat-penalty, --alias, -v"), std::string::npos)
      << notes;
  EXPECT_NE(notes.find("--cache-ram: is of the host's memory"), std::string::npos) << notes;
  const auto refused = [&](std::vector<std::string> flags, const char* what) {
    flags.insert(flags.begin(), run.begin(), run.end());
    expect_bad_input([&] { told(flags); }, {what});
  };
  refused({"-dev", "none"}, "dev: nothing is offloaded");
  refused({"--no-host"}, "no-host:");
  refused({"-sm", "tensor", "--gpus", "2"}, "split-mode: how tensor splits");
  refused({"-mu", "https://x/y.gguf"}, "mu: nothing is downloaded here");
  refused({"--port"}, "port: no value after it; memory does not depend on it");
  expect_bad_input(
      [] {
        ask(parse_options({"--model", "llama3-8b", "--gpu", "h200", "--mmproj", "x"}), {});
      },
      {"mmproj: only under --runtime llama.cpp"});
}

TEST(LlamaCpp, FlashAttentionStandsAloneAsOlderCommandsHaveIt) {
  const std::vector<std::string> run = {"--model", "llama3-8b", "-c", "4096", "--gpu", "h200"};
  const auto with = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), run.begin(), run.end());
    return told(flags).at("asked");
  };
  EXPECT_EQ(with({"-fa"}).at("flash_attn"), "on");
  EXPECT_EQ(with({"--flash-attn", "-ngl", "20"}).at("flash_attn"), "on");
  EXPECT_EQ(with({"-fa", "-ngl", "20"}).at("gpu_layers"), 20);
  EXPECT_EQ(with({"-fa", "-1"}).at("flash_attn"), "auto");
  EXPECT_EQ(with({"-lm", "none"}).at("mmap"), false);
  EXPECT_EQ(with({"--load-mode", "mmap+mlock"}).at("mmap"), true);
}

TEST(LlamaCpp, RepositoriesOfTheHubAreTheModelsThatTheyAreMadeOf) {
  const auto asked = [](const char* repository) {
    return told({"-hf", repository, "-c", "4096", "--gpu", "h200"}).at("asked");
  };
  EXPECT_EQ(asked("unsloth/Qwen3-8B-GGUF:q5_k_m").at("quant"), "Q5_K_M");
  EXPECT_EQ(asked("unsloth/Qwen3-8B-GGUF:q5_k_m").at("model"), "qwen3-8b");
  EXPECT_EQ(asked("bartowski/Meta-Llama-3.1-8B-Instruct-GGUF").at("model"), "llama3.1-8b");
  EXPECT_EQ(asked("bartowski/Qwen_Qwen3-8B-GGUF").at("model"), "qwen3-8b");
  EXPECT_EQ(asked("bartowski/Qwen_Qwen3-8B-GGUF").at("quant"), "Q4_K_M");
  expect_bad_input([&] { asked("unsloth/Qwen3-8B-GGUF:UD-Q4_K_XL"); },
                   {"hf: unknown 'UD-Q4_K_XL'"});
  expect_bad_input([&] { asked("some/Body-99B-GGUF"); }, {"some/Body-99B"});
  expect_bad_input([] { told({"-m", "x.gguf", "--gpu", "h200"}); }, {"m: 'x.gguf'"});
  expect_bad_input([] { told({"--model", "x.gguf", "--gpu", "h200"}); }, {"model: 'x.gguf'"});
}

TEST(LlamaCpp, TensorsOfAModelThatDraftsStayOnTheHost) {
  const auto draft = [](std::vector<std::string> flags) {
    flags.insert(flags.begin(),
                 {"--model", "qwen3-8b", "-md", "qwen3-0.6b", "-c", "4096", "--gpu", "rtx4090"});
    return part(told(flags), 0, "draft");
  };
  EXPECT_LT(draft({"-otd", "ffn_.*=CPU"}), draft({}));
  EXPECT_EQ(draft({"-ncmoed", "4"}), draft({}));  // it has no experts
  expect_bad_input([&] { draft({"-otd", "ffn"}); }, {"otd: 'ffn'"});
}

// llm/llama_server.go: -c num_ctx × OLLAMA_NUM_PARALLEL, -np, -b and -ub.
TEST(LlamaCpp, StartsAsOllamaDoesWhereNumCtxIsGiven) {
  const auto with = [](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"--model", "llama3.1-8b", "--gpu", "rtx4090"});
    return told(std::move(flags));
  };
  const Json two = with({"--num_ctx", "8192", "--ollama_num_parallel", "2"});
  EXPECT_EQ(two.at("asked").at("ctx"), 16384);
  EXPECT_EQ(two.at("asked").at("num_ctx"), 8192);
  EXPECT_EQ(two.at("asked").at("parallel"), 2);
  EXPECT_EQ(two.at("devices"),
            with({"-c", "16384", "-np", "2", "-b", "512", "-ub", "512"}).at("devices"));
  const Json one = with({"--num-ctx", "8192"});
  EXPECT_EQ(one.at("asked").at("parallel"), 1);
  EXPECT_EQ(one.at("asked").at("kv_unified"), false);
  EXPECT_EQ(one.at("devices"),
            with({"-c", "8192", "-np", "1", "-b", "512", "-ub", "512"}).at("devices"));
  const Json assumed = one.at("asked").at("assumed");
  EXPECT_EQ(assumed, Json({"quant", "parallel"}));
  EXPECT_EQ(with({"--num-ctx", "8192", "--num-batch", "1024"}).at("asked").at("ubatch_size"), 1024);
  const Json most = with({"--num-ctx", "8192", "--max-parallel"});
  const std::int64_t slots = most.at("max_parallel");
  EXPECT_EQ(most.at("devices"), with({"-c", std::to_string(slots * 8192), "-np",
                                      std::to_string(slots), "-b", "512", "-ub", "512"})
                                    .at("devices"));
}

TEST(LlamaCpp, OllamaShortensWhatTheModelDoesNotTake) {
  const Json longer = told({"--model", "llama2-7b", "--num-ctx", "8192", "--gpu", "rtx4090"});
  EXPECT_EQ(longer.at("asked").at("ctx"), 4096);
  EXPECT_NE(longer.at("notes").dump().find("Ollama shortens it to 4096"), std::string::npos);
  const Json one = told(
      {"--model", "qwen3-next-80b-a3b", "--num-ctx", "8192", "--parallel", "2", "--vram", "141GB"});
  EXPECT_EQ(one.at("asked").at("ctx"), 8192);
  EXPECT_EQ(one.at("asked").at("parallel"), 1);
  EXPECT_NE(one.at("notes").dump().find("with one slot"), std::string::npos);
}

TEST(LlamaCpp, ContextIsSaidInOneMeasure) {
  const auto refused = [](std::vector<std::string> flags, const char* what) {
    flags.insert(flags.begin(), {"--model", "llama2-7b", "--gpu", "rtx4090"});
    expect_bad_input([&] { told(flags); }, {what});
  };
  refused({"--num-ctx", "4096", "--ctx", "4096"}, "ctx: --num-ctx says it in another measure");
  refused({"--num-batch", "512", "-ub", "512"}, "ub: --num-batch says it in another measure");
  refused({"--num-ctx", "4096", "--max-ctx"}, "--max-ctx and --num-ctx contradict each other");
  refused({"--num-ctx", "0"}, "num-ctx");
  refused({"--num-ctx", "4096", "--parallel", "-1"}, "parallel");
}

TEST(LlamaCpp, AdviceOfOllamasContextIsInItsWords) {
  const Json answer = told({"--model", "llama3.1-8b", "--num-ctx", "65536", "--parallel", "2",
                            "--vram", "16GiB", "--advise"});
  std::string flags;
  for (const Json& advice : answer.at("advice")) flags += advice.at("flags").dump();
  EXPECT_NE(flags.find("--num-ctx 32768"), std::string::npos) << flags;
  EXPECT_EQ(flags.find("--ctx"), std::string::npos) << flags;
}

TEST(LlamaCpp, SaysWhyFitGivesUp) {
  const std::vector<std::string> run = {"--model", "llama2-7b", "--quant", "F16",    "-c",
                                        "32768",   "-ngl",      "30",      "--vram", "8GiB"};
  constexpr const char* kWhy = "n_gpu_layers already set by user to 30";
  const Json answer = told(run);
  EXPECT_EQ(answer.at("own_choice_failure"), kWhy);
  std::vector<std::string> fitting = run;
  fitting.insert(fitting.end(), {"--fit", "on"});
  EXPECT_NE(told(fitting).at("notes").dump().find(kWhy), std::string::npos);
  EXPECT_FALSE(
      told({"--model", "llama2-7b", "-c", "4096", "--gpu", "h200"}).contains("own_choice_failure"));
}

TEST(LlamaCpp, TheLongestContextIsTheLastThatFits) {
  const auto at = [](const std::string& ctx) {
    return told({"--model", "qwen3-30b-a3b", "-c", ctx, "--vram", "21GiB"}).at("fits").get<bool>();
  };
  const Json found = told({"--model", "qwen3-30b-a3b", "--max-ctx", "--vram", "21GiB"});
  const std::int64_t largest = found.at("max_ctx");
  ASSERT_GT(largest, 0);
  ASSERT_LT(largest, 40960);
  EXPECT_TRUE(at(std::to_string(largest)));
  EXPECT_FALSE(at(std::to_string(largest + 256)));
  EXPECT_LE(found.at("largest_surely"), largest);
  EXPECT_GE(found.at("largest_possibly"), largest);
}

TEST(LlamaCpp, SaysWhatItWouldSetByItselfAndThatFits) {
  const Json answer = told({"--model", "qwen3-30b-a3b", "--quant", "Q8_0", "--gpu", "rtx4090"});
  EXPECT_EQ(answer.at("verdict"), "OOM");
  const Json& choice = answer.at("own_choice");
  const Json chosen =
      told({"--model", "qwen3-30b-a3b", "--quant", "Q8_0", "--gpu", "rtx4090", "-c",
            choice.at("ctx"), "-ngl", choice.at("gpu_layers"),
            "--override-tensor=" + choice.at("override_tensor").get<std::string>()});
  EXPECT_TRUE(chosen.at("fits"));
  const Json itself =
      told({"--model", "qwen3-30b-a3b", "--quant", "Q8_0", "--gpu", "rtx4090", "--fit", "on"});
  EXPECT_TRUE(itself.at("fits"));
  EXPECT_EQ(itself.at("devices"), chosen.at("devices"));
}

TEST(LlamaCpp, AdvisesTheBestQuantisationThatFits) {
  const Json answer = told(
      {"--model", "llama2-13b", "--quant", "Q8_0", "-c", "4096", "--vram", "16GiB", "--advise"});
  bool smaller = false;
  for (const Json& advice : answer.at("advice")) smaller |= advice.at("flags") == "--quant Q6_K";
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
        return told({"--model", model, "--quant", quant, "-c", "4096", "--vram", vram});
      };
      std::uint64_t largest = 0;
      for (const std::string& quant : quants) {
        if (quant == "MXFP4_MOE" && model != "mixtral-8x7b" && model != "gpt-oss-20b") continue;
        const Json answer = at(quant);
        if (answer.at("fits")) largest = std::max<std::uint64_t>(largest, answer.at("total"));
      }
      const Json found = told({"--model", model, "--max-quant", "-c", "4096", "--vram", vram});
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
      const Json next = at(found.at("next").at("name"));
      EXPECT_FALSE(next.at("fits"));
      EXPECT_EQ(next.at("total"), found.at("next").at("total"));
      EXPECT_EQ(next.at("margin"), found.at("next").at("margin"));
    }
  }
}

TEST(LlamaCpp, ExpertsOfMxfp4CheckpointsStaySo) {
  const auto weights = [](const char* quant) {
    const Json answer = told({"--model", "gpt-oss-20b", "--quant", quant, "--gpu", "h200"});
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
    return told(cards);
  };
  Json list = on({"--gpu", "rtx4090,rtx4090"});
  const Json alike = on({"--gpu", "rtx4090", "--gpus", "2"});
  EXPECT_EQ(list.at("machine").size(), 2U);
  for (const char* key : {"total", "margin", "verdict", "devices", "own_choice", "levels"}) {
    EXPECT_EQ(list.at(key), alike.at(key)) << key;
  }
}

TEST(LlamaCpp, CardsOfSeveralKindsShareLayersByWhatIsFree) {
  const Json answer =
      told({"--model", "llama3-70b", "-c", "8192", "--gpu", "rtx4090,rtx3060-12gb"});
  const Json& machine = answer.at("machine");
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
  const Json& choice = answer.at("own_choice");
  const Json chosen =
      told({"--model", "llama3-70b", "-c", choice.at("ctx"), "-ngl", choice.at("gpu_layers"), "-ts",
            choice.at("tensor_split"), "--gpu", "rtx4090,rtx3060-12gb"});
  EXPECT_TRUE(chosen.at("fits"));
  const Json itself =
      told({"--model", "llama3-70b", "-c", "8192", "--gpu", "rtx4090,rtx3060-12gb", "--fit", "on"});
  EXPECT_EQ(itself.at("devices"), chosen.at("devices"));
  EXPECT_TRUE(itself.at("fits"));
}

TEST(LlamaCpp, TheLongestContextFitsOnEachOfItsCards) {
  const Json found = told({"--model", "llama2-13b", "--quant", "Q8_0", "-np", "1", "--max-ctx",
                           "--gpu", "rtx3060-12gb,rtx3070"});
  const std::int64_t largest = found.at("max_ctx");
  ASSERT_GT(largest, 0);
  const auto fits = [&](std::int64_t ctx) {
    const Json answer = told({"--model", "llama2-13b", "--quant", "Q8_0", "-np", "1", "-c",
                              std::to_string(ctx), "--gpu", "rtx3060-12gb,rtx3070"});
    bool all = true;
    for (const Json& card : answer.at("machine")) all = all && card.at("margin") >= 0;
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
    expect_bad_input([&] { told(more); }, {what});
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
    const Json answer = told({"--model", "llama3-8b", "-c", "4096", "--gpu", card.name});
    EXPECT_EQ(answer.at("gpu").at("arch"), key_of(card.platform));
    EXPECT_EQ(answer.at("vram"), card.vram);
    EXPECT_EQ(part(answer, 0, "pool"), 0U);
    EXPECT_EQ(part(answer, 0, "model"),
              part(told({"--model", "llama3-8b", "-c", "4096", "--gpu", "a100-80gb"}), 0, "model"));
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
  EXPECT_EQ(told({"--model", "llama3-8b", "--gpu", "Apple M1 Max 32GB"}).at("gpu").at("name"),
            "mac-32gb");
}

TEST(LlamaCpp, AModelOfASizeAloneIsALlamas) {
  const Json guessed = told({"--params", "6.74B", "--hidden", "4096", "--layers", "32", "--quant",
                             "Q4_K_M", "--gpu", "rtx4090"});
  const Json known = told({"--model", "llama2-7b", "--quant", "Q4_K_M", "--gpu", "rtx4090"});
  EXPECT_EQ(guessed.at("devices"), known.at("devices"));
  EXPECT_EQ(guessed.at("total"), known.at("total"));
}

// A draft model is a server of its own beside the first, of the same context and slots.
TEST(LlamaCpp, ADraftModelIsCountedBesideIt) {
  const std::vector<std::string> run = {"-c", "8192", "--gpu", "rtx4090"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), run.begin(), run.end());
    return told(more);
  };
  const Json alone = with({"--model", "qwen3-8b"});
  const Json small = with({"--model", "qwen3-0.6b", "--quant", "Q8_0"});
  const Json both = with({"--model", "qwen3-8b", "-md", "qwen3-0.6b", "--quant-draft", "Q8_0"});
  for (const char* name : {"model", "context", "compute", "pool"}) {
    EXPECT_EQ(part(both, 0, name), part(alone, 0, name)) << name;
  }
  EXPECT_EQ(part(both, 0, "draft"), part(small, 0, "model") + part(small, 0, "context") +
                                        part(small, 0, "compute") + part(small, 0, "pool"));
  const auto reserved = [](const Json& answer) -> std::uint64_t {
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
    return told(more);
  };
  const std::uint64_t usual = part(with({}), 0, "draft");
  EXPECT_LT(part(with({"-ngld", "0"}), 0, "draft"), usual);
  EXPECT_LT(part(with({"-ctkd", "q8_0", "-ctvd", "q8_0"}), 0, "draft"), usual);
  // Of each slot a token and three that were drafted have logits.
  const Json drafting = with({"--spec-type", "draft-simple"});
  const Json rows =
      told({"--model", "qwen3-8b", "-c", "8192", "--gpu", "rtx4090", "-np", "16", "--kv-unified"});
  EXPECT_EQ(drafting.at("asked").at("draft").at("longest"), 3);
  EXPECT_GE(part(rows, 0, "compute"), part(drafting, 0, "compute"));
  expect_bad_input(
      [] {
        told({"--model", "llama3-8b", "-ngld", "3", "--gpu", "h200"});
      },
      {"--model-draft"});
}

TEST(LlamaCpp, FitLeavesRoomForADraftModel) {
  const auto own = [](const std::vector<std::string>& more) -> Json {
    std::vector<std::string> run = {"--model", "qwen3-8b", "--quant", "Q8_0", "--vram", "12GiB"};
    run.insert(run.end(), more.begin(), more.end());
    return told(run).at("own_choice");
  };
  const auto context = [](const Json& choice) {
    return std::stoll(choice.at("ctx").get<std::string>());
  };
  EXPECT_LT(context(own({"-md", "qwen3-0.6b"})), context(own({})));
}

}  // namespace
}  // namespace vramfit
