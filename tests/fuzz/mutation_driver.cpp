// config_mutations FOLDER [SECONDS [SEED]]: for that long, feeds the config reader mutations of all
// config.json files under FOLDER. The input at hand always lies in config_mutations.input, so that
// it is there when the program is not any more. Needs no fuzzing engine, so that every compiler's
// build runs it.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/fuzz/config_fuzz.h"
#include "tests/fuzz/mutator.h"

namespace {

constexpr const char* kInput = "config_mutations.input";

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

bool survives(std::FILE* file, const std::string& text) {
  std::rewind(file);
  std::fwrite(text.data(), 1, text.size(), file);
  std::fflush(file);
  std::filesystem::resize_file(kInput, text.size());
  return vramfit::survives_config(text);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> corpus =
      argc >= 2 ? configs_under(argv[1]) : std::vector<std::string>();
  if (corpus.empty()) {
    std::fputs("usage: config_mutations FOLDER_OF_CONFIGS [SECONDS [SEED]]\n", stderr);
    return 2;
  }
  const std::chrono::duration<double> limit(argc >= 3 ? std::stod(argv[2]) : 5.0);
  vramfit::Mutator mutator(corpus, argc >= 4 ? std::stoull(argv[3]) : 1);

  std::FILE* file = std::fopen(kInput, "wb");
  if (file == nullptr) {
    std::fprintf(stderr, "cannot write %s\n", kInput);
    return 2;
  }
  for (const std::string& text : corpus) {
    if (!survives(file, text)) {
      std::fprintf(stderr, "a config of the corpus is refused:\n%s\n", text.c_str());
      return 1;
    }
  }
  long read = 0;
  long refused = 0;
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < limit) {
    ++(survives(file, mutator.next()) ? read : refused);
  }
  std::fclose(file);
  std::filesystem::remove(kInput);
  std::printf("%ld configs read, %ld refused\n", read, refused);
  // Mutations that are all refused, or all read, would test half of the reader.
  return read * 50 > refused && refused * 50 > read ? 0 : 1;
}
