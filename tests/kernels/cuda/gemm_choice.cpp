// Prints, for the products of the measured training rows, what tuning's choice costs against the
// best of all that cuBLASLt offers within the workspace: milliseconds of the heuristic's first, of
// the best of as many as tuning times, of the best of all. Takes a minute of a GPU.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <utility>
#include <vector>

#include "kernels/cuda/error.h"
#include "kernels/cuda/gemm_problem.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/virtual_memory.h"
#include "model/memory/pool.h"
#include "model/ops/arch.h"

namespace vramfit {
namespace {

constexpr int kAll = 512;
constexpr int kTuned = 16;

/// Milliseconds a run; the least of a few short series.
float time_of(const std::function<cublasStatus_t()>& run, cudaStream_t stream, float limit) {
  constexpr int kRuns = 4;
  if (run() != CUBLAS_STATUS_SUCCESS) return 1e9F;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  float best = 1e9F;
  for (int series = 0; series < 3 && best > 0; ++series) {
    check(cudaEventRecord(begin, stream), "cudaEventRecord");
    for (int i = 0; i < kRuns; ++i) run();
    check(cudaEventRecord(end, stream), "cudaEventRecord");
    check(cudaEventSynchronize(end), "cudaEventSynchronize");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
    best = std::min(best, milliseconds / kRuns);
    if (best > 1.3F * limit) break;
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return best;
}

void compare(const char* what, std::int64_t tokens, std::int64_t in, std::int64_t out) {
  CudaSource source(std::uint64_t{20} << 30);
  Pool pool(source);
  Ledger ledger(pool);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream), "cudaStreamCreate");
  cublasLtHandle_t handle = nullptr;
  check(cublasLtCreate(&handle), "cublasLtCreate");
  const auto tensor = [&](const Name& name, const Shape& shape, std::uint64_t seed) {
    Tensor made(ledger, name, Category::Activations, DType::Bf16, shape);
    launch(FillNormal{made, 0.0F, 1.0F, seed}, stream);
    return made;
  };
  const Tensor x = tensor("x", {tokens, in}, 1);
  const Tensor weight = tensor("weight", {out, in}, 2);
  const Tensor y = tensor("y", {tokens, out}, 3);
  const auto words = static_cast<std::int64_t>(gemm_workspace_bytes(Arch{90}) / 4);
  const Tensor workspace(ledger, "workspace", Category::Workspace, DType::Int32, {words});
  const GemmMatrix x_matrix = GemmMatrix::of(x, tokens, in);
  const GemmMatrix w_matrix = GemmMatrix::of(weight, out, in);
  const GemmMatrix y_matrix = GemmMatrix::of(y, tokens, out);
  const std::pair<const char*, Gemm> passes[] = {
      {"forward", {x_matrix, w_matrix.transpose(), y_matrix}},
      {"input", {y_matrix, w_matrix, x_matrix}},
      {"weight", {y_matrix.transpose(), x_matrix, w_matrix}}};
  for (const auto& [pass, gemm] : passes) {
    GemmProblem problem(gemm, false);
    std::vector<cublasLtMatmulHeuristicResult_t> all(kAll);
    const int count = problem.candidates(handle, gemm, workspace.bytes(), all.data(), kAll);
    std::vector<float> times;
    float best = 1e9F;
    for (int i = 0; i < count; ++i) {
      const auto run = [&, &gemm = gemm] {
        return problem.run(handle, gemm, all[static_cast<std::size_t>(i)].algo, workspace, stream);
      };
      times.push_back(time_of(run, stream, best));
      best = std::min(best, times.back());
    }
    const auto first = times.begin();
    const auto last = std::min_element(first, times.end());
    const float tuned = *std::min_element(first, first + std::min(count, kTuned));
    const double flops = 2.0 * static_cast<double>(tokens) * static_cast<double>(in * out);
    std::printf("%-28s %-8s first %7.3f  tuned %7.3f  best %7.3f (%3ld of %3d)  %5.1f TFLOP/s\n",
                what, pass, times[0], tuned, *last, static_cast<long>(last - first), count,
                flops / *last / 1e9);
    std::fflush(stdout);
  }
  cublasLtDestroy(handle);
  cudaStreamDestroy(stream);
}

}  // namespace
}  // namespace vramfit

int main() {
  using vramfit::compare;
  compare("8192^3", 8192, 8192, 8192);
  compare("llama2-7b 8192 qkv", 8192, 4096, 12288);
  compare("llama2-7b 8192 out", 8192, 4096, 4096);
  compare("llama2-7b 8192 up", 8192, 4096, 22016);
  compare("llama2-7b 8192 down", 8192, 11008, 4096);
  compare("llama2-7b head chunk", 4096, 4096, 32000);
  compare("tinyllama 16384 qkv", 16384, 2048, 2560);
  compare("tinyllama 16384 out", 16384, 2048, 2048);
  compare("tinyllama 16384 up", 16384, 2048, 11264);
  compare("tinyllama 16384 down", 16384, 5632, 2048);
  compare("gpt2-1.5b 16384 qkv", 16384, 1600, 4800);
  compare("gpt2-1.5b 16384 out", 16384, 1600, 1600);
  compare("gpt2-1.5b 16384 up", 16384, 1600, 6400);
  compare("gpt2-1.5b 16384 down", 16384, 6400, 1600);
  compare("gpt2-124m 65536 qkv", 65536, 768, 2304);
  compare("gpt2-124m 65536 out", 65536, 768, 768);
  compare("gpt2-124m 65536 up", 65536, 768, 3072);
  compare("gpt2-124m 65536 down", 65536, 3072, 768);
  compare("gpt2 head chunk", 2560, 768, 50304);
  return 0;
}
