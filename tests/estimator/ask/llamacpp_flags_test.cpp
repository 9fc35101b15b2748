// What people type of llama.cpp's programs and of Ollama's settings.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/estimator/ask/told_of_llamacpp.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

using OrderedJson = nlohmann::ordered_json;

TEST(LlamaCppFlags, TakesItsOwnFlagsByOneDash) {
  const OrderedJson answer =
      told_of_llamacpp({"--model", "llama3-8b", "-c", "8192", "-ngl", "20", "-ctk", "q8_0", "-np",
                        "2", "-kvu", "-fa", "on", "-ub", "256", "--gpu", "rtx4090"});
  const OrderedJson& asked = answer.at("asked");
  EXPECT_EQ(asked.at("ctx"), 8192);
  EXPECT_EQ(asked.at("gpu_layers"), 20);
  EXPECT_EQ(asked.at("cache_type_k"), "q8_0");
  EXPECT_EQ(asked.at("parallel"), 2);
  EXPECT_EQ(asked.at("kv_unified"), true);
  EXPECT_EQ(asked.at("flash_attn"), "on");
  EXPECT_EQ(asked.at("ubatch_size"), 256);
  EXPECT_EQ(answer.at("on_host").at("layers"), 13);
  const OrderedJson ollama =
      told_of_llamacpp({"--model", "llama3-8b", "--num_ctx", "8192", "--num_gpu=20",
                        "--num_parallel=2", "--gpu", "rtx4090"});
  EXPECT_EQ(ollama.at("asked").at("gpu_layers"), 20);
}

// common/arg.cpp: is_truthy, is_falsey, is_autoy.
TEST(LlamaCppFlags, SwitchesAreSpeltAsLlamaCppsParserReadsThem) {
  const auto asked = [](const char* flag, const char* value) {
    return told_of_llamacpp({"--model", "llama3-8b", "-c", "4096", flag, value, "--gpu", "h200"})
        .at("asked");
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

TEST(LlamaCppFlags, TakesACommandOfItsServer) {
  const std::vector<std::string> run = {"--model", "llama3-8b", "-c", "4096", "--gpu", "h200"};
  std::vector<std::string> server = run;
  server.insert(server.end(), {"--host", "0.0.0.0", "--port", "8080", "--threads", "8", "--jinja",
                               "--temp", "0.7", "--mlock", "--mmproj", "mmproj.gguf"});
  const OrderedJson answer = told_of_llamacpp(server);
  EXPECT_EQ(answer.at("devices"), told_of_llamacpp(run).at("devices"));
  EXPECT_NE(answer.at("notes").dump().find("--mmproj: what sees is not counted"),
            std::string::npos);
  expect_bad_input(
      [] {
        told_of_llamacpp({"--model", "llama3-8b", "--ollama_kv_cache_type", "q8_0"});
      },
      {"--cache-type-k q8_0 --cache-type-v q8_0"});
}

TEST(LlamaCppFlags, TakesItsProgramsOtherFlagsByTheirShortNames) {
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
  const OrderedJson answer = told_of_llamacpp(server);
  EXPECT_EQ(answer.at("devices"), told_of_llamacpp(run).at("devices"));
  const std::string notes = answer.at("notes").dump();
  EXPECT_NE(notes.find("-mm: what sees is not counted"), std::string::npos) << notes;
  EXPECT_NE(notes.find("-t, -tb, -cb, -n, -p, --repeat-penalty, --alias, -v"), std::string::npos)
      << notes;
  EXPECT_NE(notes.find("--cache-ram: is of the host's memory"), std::string::npos) << notes;
  const auto refused = [&](std::vector<std::string> flags, const char* what) {
    flags.insert(flags.begin(), run.begin(), run.end());
    expect_bad_input([&] { told_of_llamacpp(flags); }, {what});
  };
  refused({"-dev", "none"}, "dev: nothing is offloaded");
  refused({"--no-host"}, "no-host:");
  refused({"-sm", "tensor", "--gpus", "2"}, "split-mode: how tensor splits");
  refused({"-mu", "https://x/y.gguf"}, "mu: nothing is downloaded here");
  EXPECT_NE(told_of_llamacpp({"--model", "llama3-8b", "--lora", "a.gguf", "--gpu", "h200"})
                .at("notes")
                .dump()
                .find("--lora: LoRA adapters and control vectors are not counted"),
            std::string::npos);
  refused({"--port"}, "port: no value after it; memory does not depend on it");
  expect_bad_input(
      [] {
        ask(parse_options({"--model", "llama3-8b", "--gpu", "h200", "--mmproj", "x"}), {});
      },
      {"mmproj: only under --runtime llama.cpp"});
}

TEST(LlamaCppFlags, FlashAttentionStandsAloneAsOlderCommandsHaveIt) {
  const std::vector<std::string> run = {"--model", "llama3-8b", "-c", "4096", "--gpu", "h200"};
  const auto with = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), run.begin(), run.end());
    return told_of_llamacpp(flags).at("asked");
  };
  EXPECT_EQ(with({"-fa"}).at("flash_attn"), "on");
  EXPECT_EQ(with({"--flash-attn", "-ngl", "20"}).at("flash_attn"), "on");
  EXPECT_EQ(with({"-fa", "-ngl", "20"}).at("gpu_layers"), 20);
  EXPECT_EQ(with({"-fa", "-1"}).at("flash_attn"), "auto");
  EXPECT_EQ(with({"-lm", "none"}).at("mmap"), false);
  EXPECT_EQ(with({"--load-mode", "mmap+mlock"}).at("mmap"), true);
}

TEST(LlamaCppFlags, RepositoriesOfTheHubAreTheModelsThatTheyAreMadeOf) {
  const auto asked = [](const char* repository) {
    return told_of_llamacpp({"-hf", repository, "-c", "4096", "--gpu", "h200"}).at("asked");
  };
  EXPECT_EQ(asked("unsloth/Qwen3-8B-GGUF:q5_k_m").at("quant"), "Q5_K_M");
  EXPECT_EQ(asked("unsloth/Qwen3-8B-GGUF:q5_k_m").at("model"), "qwen3-8b");
  EXPECT_EQ(asked("bartowski/Meta-Llama-3.1-8B-Instruct-GGUF").at("model"), "llama3.1-8b");
  EXPECT_EQ(asked("bartowski/Qwen_Qwen3-8B-GGUF").at("model"), "qwen3-8b");
  EXPECT_EQ(asked("bartowski/Qwen_Qwen3-8B-GGUF").at("quant"), "Q4_K_M");
  expect_bad_input([&] { asked("unsloth/Qwen3-8B-GGUF:UD-Q4_K_XL"); },
                   {"hf: unknown 'UD-Q4_K_XL'"});
  expect_bad_input([&] { asked("some/Body-99B-GGUF"); }, {"some/Body-99B"});
  expect_bad_input(
      [] {
        told_of_llamacpp({"-hf", ":Q4", "--gpu", "h200"});
      },
      {"hf: ':Q4' names no repo"});
  expect_bad_input([] { told_of_llamacpp({"-m", "x.gguf", "--gpu", "h200"}); }, {"m: 'x.gguf'"});
  expect_bad_input(
      [] {
        told_of_llamacpp({"--model", "x.gguf", "--gpu", "h200"});
      },
      {"model: 'x.gguf'"});
}

// llm/llama_server.go: -c num_ctx × OLLAMA_NUM_PARALLEL, -np, -b and -ub.
TEST(LlamaCppFlags, StartsAsOllamaDoesWhereNumCtxIsGiven) {
  const auto with = [](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"--model", "llama3.1-8b", "--gpu", "rtx4090"});
    return told_of_llamacpp(std::move(flags));
  };
  const OrderedJson two = with({"--num_ctx", "8192", "--ollama_num_parallel", "2"});
  EXPECT_EQ(two.at("asked").at("ctx"), 16384);
  EXPECT_EQ(two.at("asked").at("num_ctx"), 8192);
  EXPECT_EQ(two.at("asked").at("parallel"), 2);
  EXPECT_EQ(two.at("devices"),
            with({"-c", "16384", "-np", "2", "-b", "1024", "-ub", "1024"}).at("devices"));
  const OrderedJson one = with({"--num-ctx", "8192"});
  EXPECT_EQ(one.at("asked").at("parallel"), 1);
  EXPECT_EQ(one.at("asked").at("kv_unified"), false);
  EXPECT_EQ(one.at("devices"),
            with({"-c", "8192", "-np", "1", "-b", "1024", "-ub", "1024"}).at("devices"));
  const OrderedJson assumed = one.at("asked").at("assumed");
  EXPECT_EQ(assumed, OrderedJson({"quant", "parallel"}));
  EXPECT_EQ(with({"--num-ctx", "8192", "--num-batch", "1024"}).at("asked").at("ubatch_size"), 1024);
  const OrderedJson most = with({"--num-ctx", "8192", "--max-parallel"});
  const std::int64_t slots = most.at("max_parallel");
  EXPECT_EQ(most.at("devices"), with({"-c", std::to_string(slots * 8192), "-np",
                                      std::to_string(slots), "-b", "512", "-ub", "512"})
                                    .at("devices"));
}

// server/sched.go: automaticGenerationBatch. 4.58 GiB of weights in Q4_K_M, 128 KiB a position.
TEST(LlamaCppFlags, OllamasBatchIsLongerWhereItBelievesThatThereIsRoom) {
  const auto batch = [](const std::string& context, const std::string& card,
                        const std::string& flash) {
    const OrderedJson answer =
        told_of_llamacpp({"--model", "llama3.1-8b", "--quant", "Q4_K_M", "--num-ctx", context,
                          "--gpu", card, "--flash-attn", flash});
    EXPECT_EQ(answer.at("asked").at("ubatch_size"), nullptr);
    EXPECT_NE(answer.at("notes").dump().find("num-batch: as Ollama sets it"), std::string::npos);
    return std::stoi(answer.at("own_choice").at("num_batch").get<std::string>());
  };
  EXPECT_EQ(batch("4096", "rtx4090", "auto"), 512);
  EXPECT_EQ(batch("4097", "rtx4090", "auto"), 1024);
  EXPECT_EQ(batch("32768", "rtx4090", "auto"), 1024);
  EXPECT_EQ(batch("32769", "rtx4090", "auto"), 2048);
  EXPECT_EQ(batch("81920", "rtx4090", "auto"), 1024);  // 14.6 GiB: over 60 % of 23.5
  EXPECT_EQ(batch("131072", "rtx4090", "auto"), 512);  // 20.6 GiB: over 75 %
  EXPECT_EQ(batch("131072", "h200", "auto"), 2048);
  EXPECT_EQ(batch("32769", "rtx4090", "off"), 512);
  EXPECT_EQ(batch("8192", "rtx3050", "off"), 256);
}

TEST(LlamaCppFlags, OllamaShortensWhatTheModelDoesNotTake) {
  const OrderedJson longer =
      told_of_llamacpp({"--model", "llama2-7b", "--num-ctx", "8192", "--gpu", "rtx4090"});
  EXPECT_EQ(longer.at("asked").at("ctx"), 4096);
  EXPECT_NE(longer.at("notes").dump().find("Ollama shortens it to 4096"), std::string::npos);
  const OrderedJson one = told_of_llamacpp(
      {"--model", "qwen3-next-80b-a3b", "--num-ctx", "8192", "--parallel", "2", "--vram", "141GB"});
  EXPECT_EQ(one.at("asked").at("ctx"), 8192);
  EXPECT_EQ(one.at("asked").at("parallel"), 1);
  EXPECT_NE(one.at("notes").dump().find("with one slot"), std::string::npos);
}

TEST(LlamaCppFlags, EachSlotMayHaveAllPositionsOfTheModel) {
  const auto notes = [](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"--model", "llama3-8b", "--gpu", "rtx4090"});
    return told_of_llamacpp(std::move(flags)).at("notes").dump();
  };
  constexpr const char* kMore = "more than its config's max_position_embeddings";
  EXPECT_EQ(notes({"--num-ctx", "8192", "--parallel", "4"}).find(kMore), std::string::npos);
  EXPECT_EQ(notes({"--ctx", "32768", "--parallel", "4"}).find(kMore), std::string::npos);
  EXPECT_NE(notes({"--ctx", "32768", "--parallel", "2"}).find(kMore), std::string::npos);
  EXPECT_NE(notes({"--ctx", "32768"}).find(kMore), std::string::npos);
}

TEST(LlamaCppFlags, ContextIsSaidInOneMeasure) {
  const auto refused = [](std::vector<std::string> flags, const char* what) {
    flags.insert(flags.begin(), {"--model", "llama2-7b", "--gpu", "rtx4090"});
    expect_bad_input([&] { told_of_llamacpp(flags); }, {what});
  };
  refused({"--num-ctx", "4096", "--ctx", "4096"}, "ctx: --num-ctx says it in another measure");
  refused({"--num-batch", "512", "-ub", "512"}, "ub: --num-batch says it in another measure");
  refused({"--num-ctx", "4096", "--max-ctx"}, "--max-ctx and --num-ctx contradict each other");
  refused({"--num-ctx", "0"}, "num-ctx");
  refused({"--num-ctx", "4096", "--parallel", "-1"}, "parallel");
}

TEST(LlamaCppFlags, AdviceOfOllamasContextIsInItsWords) {
  const OrderedJson answer = told_of_llamacpp({"--model", "llama3.1-8b", "--num-ctx", "65536",
                                               "--parallel", "2", "--vram", "16GiB", "--advise"});
  std::string flags;
  for (const OrderedJson& advice : answer.at("advice")) flags += advice.at("flags").dump();
  EXPECT_NE(flags.find("--num-ctx 32768"), std::string::npos) << flags;
  EXPECT_EQ(flags.find("--ctx"), std::string::npos) << flags;
}

}  // namespace
}  // namespace vramfit
