#include "kernels/cuda/gemm/gemm.h"

#include <array>
#include <map>
#include <stdexcept>
#include <vector>

#include "kernels/cuda/base/error.h"
#include "kernels/cuda/gemm/gemm_key.h"
#include "kernels/cuda/gemm/gemm_problem.h"
#include "kernels/cuda/gemm/gemm_store.h"
#include "kernels/cuda/gemm/gemm_tuning.h"

namespace vramfit {
namespace {

constexpr int kCandidates = 16;

struct Handle {
  Handle() { check(cublasLtCreate(&handle), "cublasLtCreate"); }
  ~Handle() { cublasLtDestroy(handle); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  cublasLtHandle_t handle = nullptr;
};

/// The sizes of a product's operands, transposes applied.
std::int64_t rows_of(const GemmMatrix& m) { return m.transposed ? m.columns : m.rows; }
std::int64_t columns_of(const GemmMatrix& m) { return m.transposed ? m.rows : m.columns; }

void require_sizes(const Gemm& gemm) {
  const bool fit = columns_of(gemm.a) == rows_of(gemm.b) && rows_of(gemm.a) == gemm.to.rows &&
                   columns_of(gemm.b) == gemm.to.columns && !gemm.to.transposed &&
                   (gemm.a.format == gemm.b.format || gemm.scales == GemmScales::Tensor);
  if (!fit) throw std::logic_error("a GEMM's matrices do not fit each other");
}

std::string text(const Gemm& gemm) {
  return std::string("GEMM of ") + std::to_string(gemm.to.rows) + " x " +
         std::to_string(gemm.to.columns) + " x " + std::to_string(columns_of(gemm.a)) + ", " +
         gemm.a.format.name() + " to " + gemm.to.format.name() + ", batch " +
         std::to_string(gemm.batch);
}

struct Plan {
  Plan(const Gemm& gemm, bool tf32) : problem(gemm, tf32) {}

  GemmProblem problem;
  cublasLtMatmulAlgo_t algorithm{};
};

}  // namespace

struct GemmRunner::Impl {
  Impl(cudaStream_t stream_, const GemmOptions& options_)
      : stream(stream_), options(options_), store(options_.algorithms) {}

  bool tunes(const Gemm& gemm) const { return options.tune && sum_of(gemm) != GemmSum::InPlace; }

  /// A GEMM that adds in place cannot be timed, as every run would add again: it takes the
  /// algorithm that was fastest without adding, where that was timed.
  const cublasLtMatmulAlgo_t* known(const Gemm& gemm, std::uint64_t workspace_bytes) const {
    Gemm timed = gemm;
    if (sum_of(gemm) == GemmSum::InPlace) timed.plus = nullptr;
    return store.find(gemm_key(timed, options.tf32, workspace_bytes));
  }

  void choose(Plan& plan, const Gemm& gemm, const GemmKey& key, const Tensor& workspace) {
    const cublasLtMatmulAlgo_t* algorithm = known(gemm, workspace.bytes());
    if (algorithm != nullptr && plan.problem.accepts(lt.handle, *algorithm, workspace.bytes())) {
      plan.algorithm = *algorithm;
      return;
    }
    const std::vector<cublasLtMatmulAlgo_t> algorithms = candidates(plan.problem, gemm, workspace);
    if (algorithms.empty()) throw CudaError("cuBLASLt has no algorithm for a " + text(gemm));
    plan.algorithm = algorithms.front();
    if (!tunes(gemm)) return;
    const auto attempt = [&](int i) {
      return plan.problem.run(lt.handle, gemm, algorithms[static_cast<std::size_t>(i)], workspace,
                              stream) == CUBLAS_STATUS_SUCCESS;
    };
    const int choice = fastest(static_cast<int>(algorithms.size()), attempt, stream);
    if (choice < 0) throw CudaError("cuBLASLt runs no algorithm for a " + text(gemm));
    plan.algorithm = algorithms[static_cast<std::size_t>(choice)];
    store.add(key, plan.algorithm);
  }

  /// Candidates, best first as cuBLASLt ranks them; where they are to be timed, also those it has
  /// for the product without its bias, which often add the bias as well, and faster.
  std::vector<cublasLtMatmulAlgo_t> candidates(GemmProblem& problem, const Gemm& gemm,
                                               const Tensor& workspace) {
    std::array<cublasLtMatmulHeuristicResult_t, kCandidates> results{};
    std::vector<cublasLtMatmulAlgo_t> list;
    int count = problem.candidates(lt.handle, gemm, workspace.bytes(), results.data(), kCandidates);
    for (int i = 0; i < count; ++i) list.push_back(results[static_cast<std::size_t>(i)].algo);
    if (!tunes(gemm) || gemm.bias == nullptr) return list;

    Gemm bare = gemm;
    bare.bias = nullptr;
    count = GemmProblem(bare, options.tf32)
                .candidates(lt.handle, bare, workspace.bytes(), results.data(), kCandidates);
    for (int i = 0; i < count; ++i) {
      const cublasLtMatmulAlgo_t& algorithm = results[static_cast<std::size_t>(i)].algo;
      if (problem.accepts(lt.handle, algorithm, workspace.bytes())) list.push_back(algorithm);
    }
    return list;
  }

  cudaStream_t stream;
  GemmOptions options;
  Handle lt;
  GemmStore store;
  std::map<GemmKey, Plan> plans;
};

GemmMatrix GemmMatrix::of(const Tensor& tensor, std::int64_t rows, std::int64_t columns,
                          std::int64_t first) {
  if (first + rows * columns > tensor.stored().elements()) {
    throw std::logic_error(tensor.name().text() + ": a GEMM wants more than the tensor holds");
  }
  auto* data = tensor.as<std::byte>() + tensor.format().bytes(first);
  return {data, tensor.format(), rows, columns, columns};
}

GemmMatrix GemmMatrix::columns_of(const Tensor& matrix, std::int64_t first, std::int64_t count) {
  const Shape& stored = matrix.stored();
  if (first + count > stored[1]) {
    throw std::logic_error(matrix.name().text() + ": a GEMM wants columns that there are not");
  }
  auto* data = matrix.as<std::byte>() + matrix.format().bytes(first);
  return {data, matrix.format(), stored[0], count, stored[1]};
}

GemmMatrix GemmMatrix::transpose() const {
  GemmMatrix result = *this;
  result.transposed = !transposed;
  return result;
}

GemmRunner::GemmRunner(cudaStream_t stream, const GemmOptions& options)
    : impl_(std::make_unique<Impl>(stream, options)) {}

GemmRunner::~GemmRunner() = default;

void GemmRunner::run(const Gemm& gemm, const Tensor& workspace) {
  require_sizes(gemm);
  const GemmKey key = gemm_key(gemm, impl_->options.tf32, workspace.bytes());
  auto plan = impl_->plans.find(key);
  if (plan == impl_->plans.end()) {
    plan = impl_->plans.try_emplace(key, gemm, impl_->options.tf32).first;
    try {
      impl_->choose(plan->second, gemm, key, workspace);
    } catch (...) {
      impl_->plans.erase(plan);
      throw;
    }
  }
  const cublasStatus_t status = plan->second.problem.run(
      impl_->lt.handle, gemm, plan->second.algorithm, workspace, impl_->stream);
  if (status != CUBLAS_STATUS_SUCCESS) check(status, text(gemm).c_str());
}

std::string cublas_version() {
  const std::size_t version = cublasLtGetVersion();
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace vramfit
