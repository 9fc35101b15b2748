#include "estimator/profile.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "model/config/json_reader.h"
#include "model/text_file.h"

namespace vramfit {
namespace {

constexpr std::size_t kMaxProfileBytes = std::size_t{1} << 20;

}  // namespace

Profile parse_profile(const std::string& json_text, const std::string& source) {
  const nlohmann::json object =
      parse_json_object(json_text, source, "a profile that --write-profile wrote");
  const JsonReader json(object, source);
  allow_only(json, object, {"schema", "gpu", "driver", "cuda", "cublas", "cudnn", "overhead"});
  json.integer("schema", 1, 1);
  const auto overhead = json.object("overhead");
  if (!overhead) json.fail("overhead", "missing");
  return {json.text("gpu"), json.text("driver"), json.text("cuda"),
          read_overhead(*overhead, object.at("overhead"))};
}

Profile read_profile(const std::filesystem::path& path) {
  const char* const expected = "a file that --write-profile wrote";
  return parse_profile(read_text_file(path, "profile", expected, kMaxProfileBytes),
                       path.filename().string());
}

Overhead overhead_of(const Card& card, const Profile& profile) {
  Overhead overhead =
      card.title == profile.gpu ? profile.overhead : assumed(profile.overhead, profile.gpu);
  // What a profile does not hold.
  if (!overhead.runtimes) overhead.runtimes = card.overhead.runtimes;
  overhead.range = std::max(overhead.range, card.overhead.range);
  return overhead;
}

std::string profile_name(const std::string& gpu, const std::string& driver,
                         const std::string& cuda) {
  std::string name = gpu + "-" + driver + "-" + cuda;
  for (char& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    c = std::isalnum(byte) != 0 || c == '.' ? static_cast<char>(std::tolower(byte)) : '-';
  }
  return name + ".json";
}

}  // namespace vramfit
