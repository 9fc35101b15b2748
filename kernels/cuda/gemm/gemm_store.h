#pragma once

#include <map>
#include <string>

#include "kernels/cuda/gemm/gemm_key.h"

namespace vramfit {

/// Algorithms chosen by timing, and a file that keeps them for the next process on the same GPU
/// with the same cuBLAS.
class GemmStore {
 public:
  /// Reads `file` where there is one that fits. Empty: keeps nothing beyond the process.
  explicit GemmStore(std::string file);
  /// Writes what has been added; says so on stderr where it cannot.
  ~GemmStore();
  GemmStore(const GemmStore&) = delete;
  GemmStore& operator=(const GemmStore&) = delete;

  /// Null where none has been chosen.
  const cublasLtMatmulAlgo_t* find(const GemmKey& key) const;
  void add(const GemmKey& key, const cublasLtMatmulAlgo_t& algorithm);

 private:
  std::string file_;
  std::map<GemmKey, cublasLtMatmulAlgo_t> algorithms_;
  bool changed_ = false;
};

}  // namespace vramfit
