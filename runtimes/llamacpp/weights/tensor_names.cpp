#include "runtimes/llamacpp/weights/tensor_names.h"

#include <charconv>

namespace vramfit::llamacpp {
namespace {

constexpr std::string_view kPrefix = "blk.";

}  // namespace

std::int64_t layer_of(std::string_view name) {
  if (name.substr(0, kPrefix.size()) != kPrefix) return -1;
  std::int64_t layer = -1;
  const std::from_chars_result read =
      std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), layer);
  const bool ends = read.ptr != name.data() + name.size() && *read.ptr == '.';
  return read.ec == std::errc() && ends ? layer : -1;
}

std::string_view within_layer(std::string_view name) {
  return layer_of(name) < 0 ? name : name.substr(name.find('.', kPrefix.size()) + 1);
}

bool is_embedding(std::string_view name) {
  return name == "token_embd.weight" || name == "per_layer_token_embd.weight";
}

bool ends_with(std::string_view name, std::string_view end) {
  return name.size() >= end.size() && name.substr(name.size() - end.size()) == end;
}

bool contains(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

}  // namespace vramfit::llamacpp
