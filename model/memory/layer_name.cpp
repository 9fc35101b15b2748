#include "model/memory/layer_name.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace vramfit {
namespace {

constexpr std::string_view kLayers = "layers.";  ///< as Name::text() writes it
constexpr std::size_t kMostDigits = 6;

/// A number that is written in one way only, so that text() gives the name back.
bool is_number(const std::string& digits) {
  if (digits.empty() || digits.size() > kMostDigits) return false;
  if (digits.size() > 1 && digits.front() == '0') return false;
  return std::all_of(digits.begin(), digits.end(),
                     [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
}

}  // namespace

LayerName layer_name(const std::string& name) {
  const std::size_t dot = name.starts_with(kLayers) ? name.find('.', kLayers.size()) : name.npos;
  if (dot == name.npos) return {name};
  const std::string digits = name.substr(kLayers.size(), dot - kLayers.size());
  return is_number(digits) ? LayerName{name.substr(dot + 1), std::stoi(digits)} : LayerName{name};
}

std::string LayerName::text() const {
  return layer < 0 ? base : std::string(kLayers) + std::to_string(layer) + "." + base;
}

std::string LayerName::of_all_layers() const {
  return layer < 0 ? base : std::string(kLayers) + "*." + base;
}

}  // namespace vramfit
