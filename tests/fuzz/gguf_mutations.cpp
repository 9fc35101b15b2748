// gguf_mutations [COUNT [SEED]]: feeds the reader of GGUF headers, and what llama.cpp's runtime
// reads of them, so many mutations of small files. The input at hand always lies in
// gguf_mutations.SEED.input, so that it is there when the program is not any more. The same seed
// means the same inputs.

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <sstream>

#include "model/errors.h"
#include "model/gguf/header.h"
#include "runtimes/llamacpp/architectures/load_model.h"
#include "runtimes/llamacpp/weights/placement.h"
#include "runtimes/llamacpp/weights/recipe.h"
#include "tests/support/gguf_writer.h"

namespace vramfit {
namespace {

constexpr unsigned kHangSeconds = 10;
/// Of memory, a sanitizer's own with it: no count in a file of some hundred bytes asks for more.
constexpr long kMostMegabytes = 1000;

[[noreturn]] void broken(const std::string& promise) {
  std::fprintf(stderr, "broken promise: %s\n", promise.c_str());
  std::abort();
}

std::vector<std::string> corpus() {
  const auto sizes = [](const std::string& arch) {
    GgufWriter writer;
    writer.text("general.architecture", arch)
        .u32(arch + ".block_count", 2)
        .u32(arch + ".context_length", 4096)
        .u32(arch + ".embedding_length", 256)
        .u32(arch + ".feed_forward_length", 512)
        .u32(arch + ".attention.head_count", 4)
        .numbers(arch + ".attention.head_count_kv", {2, 2})
        .u32(arch + ".attention.sliding_window", 512)
        .numbers(arch + ".attention.sliding_window_pattern", {1, 0})
        .f32(arch + ".rope.freq_base", 10000)
        .texts("tokenizer.ggml.tokens", 100, "token");
    return writer;
  };
  const auto tensors = [](GgufWriter writer) {
    return writer.tensor("token_embd.weight", {256, 100}, 12, 144 * 100)
        .tensor("output_norm.weight", {256}, 0, 1024)
        .tensor("blk.0.attn_q.weight", {256, 256}, 14, 210 * 256)
        .tensor("blk.1.ffn_down_exps.weight", {512, 256, 4}, 39, std::uint64_t{17} * 16 * 256 * 4)
        .header();
  };
  std::vector<std::string> files;
  for (const char* arch : {"llama", "gemma3", "qwen2"}) files.push_back(tensors(sizes(arch)));
  files.push_back(tensors(sizes("gpt-oss")
                              .u32("gpt-oss.expert_count", 4)
                              .u32("gpt-oss.expert_used_count", 2)
                              .u32("gpt-oss.expert_feed_forward_length", 512)));
  return files;
}

class GgufMutator {
 public:
  explicit GgufMutator(std::uint64_t seed) : corpus_(corpus()), random_(seed) {}

  std::string next() {
    std::string file = corpus_[below(corpus_.size())];
    for (std::size_t i = below(2) + 1; i > 0; --i) mutate(file);
    return file;
  }

 private:
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }

  void mutate(std::string& file) {
    if (file.empty()) return;
    const std::size_t at = below(file.size());
    switch (below(5)) {
      case 0:
        file[at] = static_cast<char>(random_());
        break;
      case 1:
        overwrite(file, at);
        break;
      case 2:
        file.resize(at);
        break;
      case 3:
        file.erase(at, below(16) + 1);
        break;
      default:
        file.insert(at, file.substr(below(file.size()), below(32) + 1));
        break;
    }
  }

  /// By a number that is a boundary of something.
  void overwrite(std::string& file, std::size_t at) {
    constexpr std::uint64_t kNasty[] = {
        0, 1, 12, 255, 1U << 16, 0x7FFFFFFF, 0xFFFFFFFF, 1ULL << 32, 1ULL << 62, ~0ULL >> 1, ~0ULL};
    const std::string bytes = GgufWriter::bytes(kNasty[below(std::size(kNasty))]);
    file.replace(at, std::min(bytes.size(), file.size() - at), bytes);
  }

  std::vector<std::string> corpus_;
  std::mt19937_64 random_;
};

void check_message(const std::string& message) {
  if (message.size() >= 300) broken("a refusal is short");
  for (const char c : message) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7F) broken("a refusal is one line");
  }
}

/// Reads the file as a program would. False: it was refused.
bool survives(const std::string& bytes) {
  try {
    std::istringstream in(bytes);
    gguf::Header header = gguf::read_header(in, bytes.size(), "fuzz");
    for (const gguf::Tensor& tensor : header.tensors) {
      if (tensor.elements() < 1) broken("tensors have elements");
    }
    llamacpp::Model model = llamacpp::model_of(
        gguf::File{std::move(header.metadata), std::move(header.tensors), {0}, header.alignment});
    const auto places = llamacpp::place_weights(model, {}, {std::uint64_t{80} << 30});
    if (places.tensors.size() != model.tensors.size()) broken("each tensor has a place");
    llamacpp::apply(llamacpp::Recipe::Q4_K_M, model.hparams, model.tensors);
    return true;
  } catch (const BadInput& refusal) {
    check_message(refusal.what());
    return false;
  }
}

/// The input at hand, in a file for as long as the program lives.
class KeptInput {
 public:
  explicit KeptInput(std::string path)
      : path_(std::move(path)), file_(std::fopen(path_.c_str(), "wb")) {
    if (file_ == nullptr) broken("the input can be kept");
  }
  KeptInput(const KeptInput&) = delete;
  KeptInput& operator=(const KeptInput&) = delete;
  ~KeptInput() {
    std::fclose(file_);
    std::remove(path_.c_str());
  }

  void keep(const std::string& input) {
    std::rewind(file_);
    std::fwrite(input.data(), 1, input.size(), file_);
    std::fflush(file_);
    if (ftruncate(fileno(file_), static_cast<off_t>(input.size())) != 0) broken("it is cut");
  }

 private:
  std::string path_;
  std::FILE* file_;
};

int run(long count, std::uint64_t seed) {
  GgufMutator mutator(seed);
  KeptInput kept("gguf_mutations." + std::to_string(seed) + ".input");
  long read = 0;
  for (const std::string& file : corpus()) {
    if (!survives(file)) {
      std::fputs("a file of the corpus is refused\n", stderr);
      return 1;
    }
  }
  for (long i = 0; i < count; ++i) {
    const std::string file = mutator.next();
    kept.keep(file);
    alarm(kHangSeconds);
    read += survives(file) ? 1 : 0;
    alarm(0);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("gguf_mutations: %ld inputs (%ld read, %ld refused); 0 broken; at most %ld MB\n",
              count, read, count - read, usage.ru_maxrss / 1000);
  // Mutations that are all refused, or all read, would test half of the reader.
  const bool both = read * 50 > count && (count - read) * 50 > count;
  return both && usage.ru_maxrss / 1000 < kMostMegabytes ? 0 : 1;
}

}  // namespace
}  // namespace vramfit

int main(int argc, char** argv) {
  return vramfit::run(argc > 1 ? std::stol(argv[1]) : 20'000, argc > 2 ? std::stoull(argv[2]) : 1);
}
