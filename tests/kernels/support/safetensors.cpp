#include "tests/kernels/support/safetensors.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace vramfit {
namespace {

template <typename Stored>
std::vector<double> decode(const std::string& data) {
  std::vector<Stored> values(data.size() / sizeof(Stored));
  std::memcpy(values.data(), data.data(), data.size());
  return {values.begin(), values.end()};
}

std::vector<double> decode(const std::string& dtype, const std::string& data) {
  if (dtype == "F64") return decode<double>(data);
  if (dtype == "F32") return decode<float>(data);
  if (dtype == "I32") return decode<std::int32_t>(data);
  throw std::runtime_error("safetensors: dtype " + dtype);
}

}  // namespace

Safetensors::Safetensors(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  std::uint64_t header_bytes = 0;
  if (text.size() < sizeof header_bytes) {
    throw std::runtime_error(file.string() + ": cannot be read");
  }
  std::memcpy(&header_bytes, text.data(), sizeof header_bytes);
  const auto header = nlohmann::json::parse(text.substr(sizeof header_bytes, header_bytes));
  const std::string data = text.substr(sizeof header_bytes + header_bytes);
  for (const auto& [name, tensor] : header.items()) {
    const auto from = tensor.at("data_offsets").at(0).get<std::size_t>();
    const auto to = tensor.at("data_offsets").at(1).get<std::size_t>();
    entries_[name] = {tensor.at("shape").get<std::vector<std::int64_t>>(),
                      decode(tensor.at("dtype").get<std::string>(), data.substr(from, to - from))};
  }
}

const Safetensors::Entry& Safetensors::at(const std::string& name) const {
  const auto entry = entries_.find(name);
  if (entry == entries_.end()) throw std::out_of_range("safetensors: no tensor " + name);
  return entry->second;
}

std::vector<std::int32_t> Safetensors::integers(const std::string& name) const {
  const std::vector<double>& from = values(name);
  std::vector<std::int32_t> result;
  for (const double value : from) result.push_back(static_cast<std::int32_t>(value));
  return result;
}

std::filesystem::path fixture(const std::string& relative) {
  const char* elsewhere = std::getenv("VRAMFIT_FIXTURES");
  return std::filesystem::path(elsewhere != nullptr ? elsewhere : VRAMFIT_FIXTURES) / relative;
}

}  // namespace vramfit
