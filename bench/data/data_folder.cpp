#include "bench/data/data_folder.h"

#include <cstdlib>
#include <system_error>

#include "model/text_file.h"

namespace vramfit::bench {
namespace {

namespace fs = std::filesystem;

/// The folder of all that bench measures.
fs::path data_root() {
  const char* own = std::getenv("VRAMFIT_DATA");
  if (own != nullptr && *own != '\0') return own;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  // Run from build/ or build/<preset>/bin/, or built elsewhere.
  const fs::path checkouts[] = {program / "../data", program / "../../data",
                                program / "../../../data", VRAMFIT_DATA_DIR};
  for (const fs::path& folder : checkouts) {
    if (fs::exists(folder / "gpus.json", error)) return folder.lexically_normal();
  }
  return (program / "../share/vramfit").lexically_normal();
}

}  // namespace

fs::path data_folder(const std::string& name) { return data_root() / name; }

std::string read_text(const fs::path& path) {
  constexpr std::size_t kMaxBytes = std::size_t{1} << 28;
  return read_text_file(path, "data", "a readable file", kMaxBytes);
}

}  // namespace vramfit::bench
