#include "estimator/data_path.h"

#include <cstdlib>
#include <system_error>

#include "model/errors.h"
#include "model/text_file.h"

namespace vramfit {
namespace {

constexpr const char* kVariable = "VRAMFIT_DATA";

/// Nothing on systems that do not tell.
std::filesystem::path folder_of_this_program() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

bool is_there(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

}  // namespace

std::filesystem::path data_file(const std::string& relative) {
  if (const char* folder = std::getenv(kVariable); folder != nullptr && *folder != '\0') {
    const std::filesystem::path path = std::filesystem::path(folder) / relative;
    if (is_there(path)) return path;
    throw BadInput(std::string(kVariable) + ": no '" + relative + "' in '" + folder +
                   "'; unset it, or name the project's data folder");
  }
  // Installed into a prefix, or run from build/ or build/<preset>/bin/.
  const std::filesystem::path program = folder_of_this_program();
  for (const char* folder : {"../share/vramfit", "../data", "../../data", "../../../data"}) {
    const std::filesystem::path path = program / folder / relative;
    if (!program.empty() && is_there(path)) return path.lexically_normal();
  }
  const std::filesystem::path path = std::filesystem::path(VRAMFIT_DATA_DIR) / relative;
  if (is_there(path)) return path;
  throw BadInput("data: '" + relative + "' not found near the program; set " + kVariable +
                 " to the project's data folder");
}

std::string read_text(const std::filesystem::path& path) {
  constexpr std::size_t kMaxBytes = std::size_t{1} << 28;
  return read_text_file(path, "data", "a readable file", kMaxBytes);
}

}  // namespace vramfit
