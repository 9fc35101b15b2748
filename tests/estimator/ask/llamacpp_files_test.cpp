// GGUF files that llama.cpp is asked about.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "estimator/ask/ask.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/scratch_folder.h"

namespace vramfit {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// A file of one layer, in fp32, with its tensors' data.
std::string one_layer() {
  GgufWriter writer;
  writer.text("general.architecture", "llama")
      .u32("llama.block_count", 1)
      .u32("llama.context_length", 4096)
      .u32("llama.embedding_length", 256)
      .u32("llama.feed_forward_length", 512)
      .u32("llama.attention.head_count", 4)
      .texts("tokenizer.ggml.tokens", 128, "token");
  std::uint64_t data = 0;
  const auto tensor = [&](const char* name, std::int64_t columns, std::int64_t rows) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(columns * rows) * 4;
    writer.tensor(name, {columns, rows}, 0, bytes);
    data += bytes;
  };
  tensor("token_embd.weight", 256, 128);
  tensor("output_norm.weight", 256, 1);
  for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_output"}) {
    tensor((std::string("blk.0.") + name + ".weight").c_str(), 256, 256);
  }
  for (const char* name : {"attn_norm", "ffn_norm"}) {
    tensor((std::string("blk.0.") + name + ".weight").c_str(), 256, 1);
  }
  for (const char* name : {"ffn_gate", "ffn_up"}) {
    tensor((std::string("blk.0.") + name + ".weight").c_str(), 256, 512);
  }
  tensor("blk.0.ffn_down.weight", 512, 256);
  std::string file = writer.header();
  file.resize((file.size() + 31) / 32 * 32 + data);
  return file;
}

TEST(LlamaCppFiles, ThatWereCutShortAreSaidToBe) {
  const ScratchFolder folder;
  const std::string file = one_layer();
  const auto notes = [&](std::size_t cut) {
    folder.write("m.gguf", file.substr(0, file.size() - cut));
    Environment disk;
    disk.gguf = [](const std::string& path) { return gguf::read_file(path, "gguf"); };
    // Under llama.cpp, as nothing else reads it.
    const FitOptions options =
        parse_options({"--gguf", (folder / "m.gguf").string(), "--gpu", "h200"});
    return OrderedJson::parse(ask(options, disk).json()).at("notes").dump();
  };
  EXPECT_EQ(notes(0).find("the file ends"), std::string::npos);
  EXPECT_NE(notes(5000).find("the file ends 5,000 bytes before its tensors do"), std::string::npos);
}

}  // namespace
}  // namespace vramfit
