#include "kernels/cuda/gemm/gemm_store.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "kernels/cuda/base/error.h"

namespace vramfit {

using Json = nlohmann::json;

static void to_json(Json& json, const Format& format) { json = format.name(); }
static void from_json(const Json& json, Format& format) {
  format = Format::named(json.get<std::string>()).value();
}
NLOHMANN_JSON_SERIALIZE_ENUM(GemmSum, {{GemmSum::None, "none"},
                                       {GemmSum::Other, "other"},
                                       {GemmSum::InPlace, "in_place"}})
NLOHMANN_JSON_SERIALIZE_ENUM(GemmScales, {{GemmScales::None, "none"},
                                          {GemmScales::Rows, "rows"},
                                          {GemmScales::Tensor, "tensor"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GemmOperand, rows, columns, step, batch_step, transposed, format,
                                   alignment)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GemmKey, a, b, to, batch, sum, plus_alignment, bias_alignment,
                                   tf32, scales, fast, workspace_bytes)

namespace {

/// Algorithms are opaque words that mean something to one cuBLAS on one kind of GPU.
std::string header() {
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  return "vramfit gemm algorithms 4, cuBLAS " + cublas_version() + ", " + properties.name;
}

}  // namespace

GemmStore::GemmStore(std::string file) : file_(std::move(file)) {
  if (file_.empty()) return;
  std::ifstream stream(file_);
  std::string line;
  if (!std::getline(stream, line) || line != header()) return;
  try {
    while (std::getline(stream, line)) {
      const Json choice = Json::parse(line);
      cublasLtMatmulAlgo_t algorithm{};
      choice.at("algorithm").get_to(algorithm.data);
      algorithms_[choice.at("gemm").get<GemmKey>()] = algorithm;
    }
  } catch (const std::exception&) {
    // What was read so far holds; the rest is timed again.
  }
}

GemmStore::~GemmStore() {
  if (!changed_ || file_.empty()) return;
  // The file is renamed once it is whole, so that no other process reads half of it.
  const std::string whole = file_ + "." + std::to_string(getpid());
  std::error_code error;
  try {
    std::ofstream stream(whole);
    stream << header() << '\n';
    for (const auto& [key, algorithm] : algorithms_) {
      stream << Json{{"gemm", key}, {"algorithm", algorithm.data}} << '\n';
    }
    stream.close();
    if (stream) std::filesystem::rename(whole, file_, error);
    if (stream && !error) return;
  } catch (const std::exception&) {
    // Said below.
  }
  std::filesystem::remove(whole, error);
  std::fprintf(stderr, "GEMM algorithms could not be kept in %s\n", file_.c_str());
}

const cublasLtMatmulAlgo_t* GemmStore::find(const GemmKey& key) const {
  const auto found = algorithms_.find(key);
  return found == algorithms_.end() ? nullptr : &found->second;
}

void GemmStore::add(const GemmKey& key, const cublasLtMatmulAlgo_t& algorithm) {
  algorithms_[key] = algorithm;
  changed_ = true;
}

}  // namespace vramfit
