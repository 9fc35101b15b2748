#include "bench/command/paths.h"

#include <filesystem>
#include <system_error>

#include "model/errors.h"

namespace vramfit::bench {
namespace {

namespace fs = std::filesystem;

struct NamedFile {
  const char* flag;
  fs::path path;
  bool written;
};

std::vector<NamedFile> files_of(const BenchOptions& options) {
  const std::vector<NamedFile> all = {
      {"benchmark_out", options.google.out, true},
      {"journal", options.journal, true},
      {"snapshot", options.snapshot, true},
      {"trace", options.trace, true},
      {"write-profile", options.write_profile.value_or(""), true},
      {"gemm-algorithms", options.measuring.gemm_algorithms, true},
      {"config", options.config.value_or(""), false},
      {"profile", options.profile.value_or(""), false},
      {"sweep", options.sweep.value_or(""), false},
  };
  std::vector<NamedFile> named;
  for (const NamedFile& file : all) {
    if (!file.path.empty()) named.push_back(file);
  }
  return named;
}

/// However they are spelled, and whether or not they are there yet.
bool are_one(const fs::path& a, const fs::path& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  return fs::weakly_canonical(fs::absolute(a), error) ==
         fs::weakly_canonical(fs::absolute(b), error);
}

}  // namespace

void require_distinct_files(const BenchOptions& options) {
  const std::vector<NamedFile> files = files_of(options);
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!(files[i].written || files[j].written) || !are_one(files[i].path, files[j].path))
        continue;
      throw BadInput(std::string(files[i].flag) + ": '" + files[i].path.string() + "' is --" +
                     files[j].flag + "'s file; a file of its own");
    }
  }
}

}  // namespace vramfit::bench
