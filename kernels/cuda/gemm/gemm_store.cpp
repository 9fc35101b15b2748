#include "kernels/cuda/gemm/gemm_store.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "kernels/cuda/base/error.h"

namespace vramfit {
namespace {

/// Algorithms are opaque words that mean something to one cuBLAS on one kind of GPU.
std::string header() {
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  return "vramfit gemm algorithms 2, cuBLAS " + cublas_version() + ", " + properties.name;
}

template <typename Values>
bool read(std::istream& from, Values& values) {
  for (auto& value : values) {
    if (!(from >> value)) return false;
  }
  return true;
}

template <typename Values>
void write(std::ostream& to, const Values& values) {
  for (const auto& value : values) to << value << ' ';
}

}  // namespace

GemmStore::GemmStore(std::string file) : file_(std::move(file)) {
  if (file_.empty()) return;
  std::ifstream stream(file_);
  std::string line;
  if (!std::getline(stream, line) || line != header()) return;
  GemmKey key;
  cublasLtMatmulAlgo_t algorithm{};
  while (read(stream, key) && read(stream, algorithm.data)) algorithms_[key] = algorithm;
}

GemmStore::~GemmStore() {
  if (!changed_ || file_.empty()) return;
  // Renamed when whole, so that no other process reads half of it.
  const std::string whole = file_ + "." + std::to_string(getpid());
  std::error_code error;
  try {
    std::ofstream stream(whole);
    stream << header() << '\n';
    for (const auto& [key, algorithm] : algorithms_) {
      write(stream, key);
      write(stream, algorithm.data);
      stream << '\n';
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
