#include "bench/quality/tensor_file.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "kernels/cpu/element.h"
#include "model/errors.h"

namespace vramfit::bench {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLongestHeader = 100'000'000;  // the format's own limit

struct Word {
  DType dtype;
  const char* word;
};
constexpr std::array kWords = {Word{DType::Fp64, "F64"}, Word{DType::Fp32, "F32"},
                               Word{DType::Fp16, "F16"}, Word{DType::Bf16, "BF16"},
                               Word{DType::Int8, "I8"},  Word{DType::Fp8, "F8_E4M3"}};

const char* word_of(Format format) {
  for (const Word& row : kWords) {
    if (format == Format(row.dtype)) return row.word;
  }
  throw std::logic_error(std::string("safetensors has no word for ") + format.name());
}

DType dtype_of(const std::string& word) {
  for (const Word& row : kWords) {
    if (word == row.word) return row.dtype;
  }
  throw BadInput("safetensors: elements of " + word + " are not read here");
}

std::string header_of(const std::vector<const Tensor*>& tensors,
                      const std::map<std::string, std::string>& facts) {
  json header = {{"__metadata__", facts}};
  std::uint64_t end = 0;
  for (const Tensor* tensor : tensors) {
    json shape = json::array();
    for (std::size_t i = 0; i < tensor->stored().rank(); ++i) shape.push_back(tensor->stored()[i]);
    header[tensor->name().text()] = {{"dtype", word_of(tensor->format())},
                                     {"shape", shape},
                                     {"data_offsets", {end, end + tensor->bytes()}}};
    end += tensor->bytes();
  }
  return header.dump();
}

}  // namespace

void write_tensors(const std::filesystem::path& path, Device& device,
                   const std::vector<const Tensor*>& tensors,
                   const std::map<std::string, std::string>& facts) {
  const std::filesystem::path beside = path.string() + ".part";
  std::ofstream file(beside, std::ios::binary);
  const std::string header = header_of(tensors, facts);
  const std::uint64_t header_bytes = header.size();
  file.write(reinterpret_cast<const char*>(&header_bytes), sizeof header_bytes);
  file << header;
  std::vector<char> bytes;
  for (const Tensor* tensor : tensors) {
    bytes.resize(tensor->bytes());
    device.download(bytes.data(), *tensor, bytes.size());
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  file.close();
  if (!file) throw BadInput(path.string() + ": cannot be written");
  std::filesystem::rename(beside, path);
}

TensorFile::TensorFile(const std::filesystem::path& path)
    : path_(path), file_(path, std::ios::binary) {
  std::uint64_t header_bytes = 0;
  read(0, reinterpret_cast<char*>(&header_bytes), sizeof header_bytes);
  if (header_bytes > kLongestHeader) throw BadInput(path.string() + ": is no .safetensors file");
  std::string text(header_bytes, '\0');
  read(sizeof header_bytes, text.data(), header_bytes);
  try {
    const json header = json::parse(text);
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") {
        facts_ = entry.get<std::map<std::string, std::string>>();
        continue;
      }
      const auto from = entry.at("data_offsets").at(0).get<std::uint64_t>();
      const auto to = entry.at("data_offsets").at(1).get<std::uint64_t>();
      entries_[name] = {dtype_of(entry.at("dtype").get<std::string>()),
                        sizeof header_bytes + header_bytes + from, to - from};
    }
  } catch (const json::exception&) {
    throw BadInput(path.string() + ": is no .safetensors file");
  }
}

void TensorFile::read(std::uint64_t first, char* to, std::uint64_t bytes) {
  file_.seekg(static_cast<std::streamoff>(first));
  file_.read(to, static_cast<std::streamsize>(bytes));
  if (!file_) throw BadInput(path_.string() + ": cannot be read, or ends too early");
}

const std::string& TensorFile::fact(const std::string& name) const {
  const auto found = facts_.find(name);
  if (found == facts_.end()) throw BadInput(path_.string() + ": does not say its " + name);
  return found->second;
}

const TensorFile::Entry& TensorFile::at(const std::string& tensor) const {
  const auto found = entries_.find(tensor);
  if (found == entries_.end()) throw BadInput(path_.string() + ": has no " + tensor);
  return found->second;
}

void TensorFile::fill(Device& device, const Tensor& tensor) {
  const Entry& entry = at(tensor.name().text());
  if (Format(entry.dtype) != tensor.format() || entry.bytes != tensor.bytes()) {
    throw BadInput(path_.string() + ": " + tensor.name().text() + " is of another model");
  }
  std::vector<char> bytes(entry.bytes);
  read(entry.first, bytes.data(), bytes.size());
  device.upload(tensor, bytes.data(), bytes.size());
}

std::vector<float> TensorFile::floats(const std::string& tensor, std::int64_t first,
                                      std::int64_t count) {
  const Entry& entry = at(tensor);
  std::vector<float> values(static_cast<std::size_t>(count));
  with_element(entry.dtype, [&](auto e) {
    std::vector<decltype(e)> elements(values.size());
    const std::uint64_t from = static_cast<std::uint64_t>(first) * sizeof e;
    if (from + elements.size() * sizeof e > entry.bytes) {
      throw BadInput(path_.string() + ": " + tensor + " is of another model");
    }
    read(entry.first + from, reinterpret_cast<char*>(elements.data()), elements.size() * sizeof e);
    std::transform(elements.begin(), elements.end(), values.begin(),
                   [](auto element) { return static_cast<float>(element); });
  });
  return values;
}

}  // namespace vramfit::bench
