// config_mutations FOLDER [COUNT [SEED]]: feeds the config reader so many mutations of all
// config.json files under FOLDER. The input at hand always lies in config_mutations.SEED.input, so
// that it is there when the program is not any more: a broken promise aborts it, and a hang an
// alarm. Needs no fuzzing engine, so that every compiler's build runs it.

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/fuzz/config_fuzz.h"
#include "tests/fuzz/mutator.h"

namespace {

constexpr unsigned kHangSeconds = 10;
// Of the configs that are read; the others' parameters are counted.
constexpr long kRunEvery = 4;
constexpr long kEstimateEvery = 32;

std::vector<std::string> configs_under(const char* folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().filename() == "config.json") paths.push_back(entry.path());
  }
  // Directories list in any order; the same seed is to mean the same inputs.
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const auto& path : paths) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    texts.push_back(text.str());
  }
  return texts;
}

/// Keeps the input at hand on disk, and counts what became of inputs.
class Inputs {
 public:
  explicit Inputs(std::string path)
      : path_(std::move(path)), file_(std::fopen(path_.c_str(), "wb")) {}
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;
  ~Inputs() {
    if (file_ != nullptr) std::fclose(file_);
    std::filesystem::remove(path_);
  }

  bool open() const { return file_ != nullptr; }
  const std::string& path() const { return path_; }

  bool survives(const std::string& text, vramfit::Asked asked) {
    std::rewind(file_);
    std::fwrite(text.data(), 1, text.size(), file_);
    std::fflush(file_);
    std::filesystem::resize_file(path_, text.size());
    alarm(kHangSeconds);
    const auto start = std::chrono::steady_clock::now();
    const bool read = vramfit::survives_config(text, asked);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    alarm(0);
    worst_ = std::max(worst_, taken.count());
    sum_ += taken.count();
    ++(read ? read_ : refused_);
    return read;
  }

  /// Every so many configs that were read are run as well.
  vramfit::Asked next() const {
    if (read_ % kEstimateEvery == 0) return vramfit::Asked::Estimates;
    return read_ % kRunEvery == 0 ? vramfit::Asked::DryRuns : vramfit::Asked::Counts;
  }

  void report() const {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf("config_mutations: %ld inputs (%ld read, %ld refused); 0 broken\n",
                read_ + refused_, read_, refused_);
    std::printf("  mean %.3f ms; worst %.2f s\n  memory at most %ld MB\n",
                1e3 * sum_ / static_cast<double>(read_ + refused_), worst_, usage.ru_maxrss / 1000);
  }

  /// Mutations that are all refused, or all read, would test half of the reader.
  bool both() const { return read_ * 50 > refused_ && refused_ * 50 > read_; }

 private:
  std::string path_;
  std::FILE* file_;
  long read_ = 0;
  long refused_ = 0;
  double sum_ = 0;
  double worst_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> corpus =
      argc >= 2 ? configs_under(argv[1]) : std::vector<std::string>();
  if (corpus.empty()) {
    std::fputs("usage: config_mutations FOLDER_OF_CONFIGS [COUNT [SEED]]\n", stderr);
    return 2;
  }
  const long count = argc >= 3 ? std::stol(argv[2]) : 10'000;
  const std::uint64_t seed = argc >= 4 ? std::stoull(argv[3]) : 1;
  vramfit::Mutator mutator(corpus, seed);
  Inputs inputs("config_mutations." + std::to_string(seed) + ".input");
  if (!inputs.open()) {
    std::fprintf(stderr, "cannot write %s\n", inputs.path().c_str());
    return 2;
  }
  for (const std::string& text : corpus) {
    if (!inputs.survives(text, vramfit::Asked::DryRuns)) {
      std::fprintf(stderr, "a config of the corpus is refused:\n%s\n", text.c_str());
      return 1;
    }
  }
  for (long i = 0; i < count; ++i) inputs.survives(mutator.next(), inputs.next());
  inputs.report();
  return inputs.both() ? 0 : 1;
}
