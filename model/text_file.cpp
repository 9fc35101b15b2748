#include "model/text_file.h"

#include <array>
#include <fstream>
#include <system_error>

#include "model/errors.h"
#include "model/printable.h"

namespace vramfit {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShownPathBytes = 80;

}  // namespace

bool names_a_path(const fs::path& path) { return path.native().find('\0') == std::string::npos; }

std::string obstacle(const fs::path& path) {
  if (!names_a_path(path)) return ": there is none";
  std::error_code error;
  switch (fs::status(path, error).type()) {
    case fs::file_type::regular:
    case fs::file_type::none:
      return "";
    case fs::file_type::directory:
      return ": it is a folder";
    case fs::file_type::not_found:
      return ": there is none";
    default:
      return ": it is no regular file";
  }
}

std::string read_text_file(const fs::path& path, const char* field, const char* expected,
                           std::size_t at_most) {
  const auto fail = [&](const std::string& why) {
    throw BadInput(std::string(field) + ": cannot read '" +
                   one_line(path.string(), kShownPathBytes) + "'" + why + "; " + expected);
  };
  const std::string why = obstacle(path);
  if (!why.empty()) fail(why);
  std::error_code error;
  if (fs::file_size(path, error) > at_most && !error) {
    fail(": it is larger than " + std::to_string(at_most >> 20U) + " MiB");
  }
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 1 << 14> part{};
  while (file.read(part.data(), part.size()) || file.gcount() > 0) {
    text.append(part.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (!file.eof()) fail("");
  return text;
}

}  // namespace vramfit
