// Holds the algorithm that tuning chooses, for each product of the measured training rows, against
// every one that cuBLASLt offers within the workspace, with the bias or without: prints both times
// and their ratio. Takes a minute of a GPU; ends with the worst ratio, and 1 where it is beyond 3
// %.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include "kernels/cuda/base/error.h"
#include "kernels/cuda/base/launch.h"
#include "kernels/cuda/base/stream.h"
#include "kernels/cuda/gemm/gemm_problem.h"
#include "kernels/cuda/memory/virtual_memory.h"
#include "model/memory/pool.h"
#include "model/ops/arch.h"
#include "model/ops/workspaces.h"

namespace vramfit {
namespace {

constexpr int kAll = 512;
constexpr int kRounds = 5;
constexpr double kAllowed = 1.03;

/// A linear layer of a row of data/measure.json.
struct Layer {
  const char* name;
  std::int64_t tokens;
  std::int64_t in;
  std::int64_t out;
  bool bias;
};

constexpr Layer kLayers[] = {
    {"llama2-7b qkv", 8192, 4096, 12288, false}, {"llama2-7b out", 8192, 4096, 4096, false},
    {"llama2-7b up", 8192, 4096, 22016, false},  {"llama2-7b down", 8192, 11008, 4096, false},
    {"tinyllama qkv", 16384, 2048, 2560, false}, {"tinyllama out", 16384, 2048, 2048, false},
    {"tinyllama up", 16384, 2048, 11264, false}, {"tinyllama down", 16384, 5632, 2048, false},
    {"gpt2-1.5b qkv", 16384, 1600, 4800, true},  {"gpt2-1.5b out", 16384, 1600, 1600, true},
    {"gpt2-1.5b up", 16384, 1600, 6400, true},   {"gpt2-1.5b down", 16384, 6400, 1600, true},
    {"gpt2-124m qkv", 65536, 768, 2304, true},   {"gpt2-124m out", 65536, 768, 768, true},
    {"gpt2-124m up", 65536, 768, 3072, true},    {"gpt2-124m down", 65536, 3072, 768, true},
    {"gpt2-124m head", 2560, 768, 50304, false}, {"llama2-7b head", 4096, 4096, 32000, false},
};

class Clock {
 public:
  explicit Clock(cudaStream_t stream) : stream_(stream) {}

  /// Milliseconds a run: the least of a few short series.
  double operator()(const std::function<void()>& run) {
    constexpr int kRuns = 4;
    constexpr int kSeries = 5;
    float best = 0;
    run();
    for (int series = 0; series < kSeries; ++series) {
      begin_.note(stream_);
      for (int i = 0; i < kRuns; ++i) run();
      end_.note(stream_);
      end_.wait();
      const float milliseconds = end_.milliseconds_since(begin_);
      best = series == 0 ? milliseconds : std::min(best, milliseconds);
    }
    return static_cast<double>(best) / kRuns;
  }

 private:
  cudaStream_t stream_;
  Moment begin_{Moment::Timed::Yes};
  Moment end_{Moment::Timed::Yes};
};

class Contest {
 public:
  Contest() : source_(std::uint64_t{20} << 30), pool_(source_), ledger_(pool_) {
    check(cublasLtCreate(&handle_), "cublasLtCreate");
  }
  ~Contest() { cublasLtDestroy(handle_); }
  Contest(const Contest&) = delete;
  Contest& operator=(const Contest&) = delete;

  /// The worst ratio of the layer's three products.
  double hold(const Layer& layer) {
    const Tensor x = tensor("x", {layer.tokens, layer.in}, 1);
    const Tensor weight = tensor("weight", {layer.out, layer.in}, 2);
    const Tensor y = tensor("y", {layer.tokens, layer.out}, 3);
    const Tensor bias = tensor("bias", {layer.out}, 4);
    const GemmMatrix x_matrix = GemmMatrix::of(x, layer.tokens, layer.in);
    const GemmMatrix w_matrix = GemmMatrix::of(weight, layer.out, layer.in);
    const GemmMatrix y_matrix = GemmMatrix::of(y, layer.tokens, layer.out);
    Gemm forward{x_matrix, w_matrix.transpose(), y_matrix};
    if (layer.bias) forward.bias = bias.data();
    return std::max({hold(layer.name, "forward", forward),
                     hold(layer.name, "input", {y_matrix, w_matrix, x_matrix}),
                     hold(layer.name, "weight", {y_matrix.transpose(), x_matrix, w_matrix})});
  }

 private:
  Tensor tensor(const Name& name, const Shape& shape, std::uint64_t seed) {
    Tensor made(ledger_, name, Category::Activations, DType::Bf16, shape);
    launch(FillNormal{made, 0.0F, 1.0F, seed}, stream_);
    return made;
  }

  double hold(const char* layer, const char* pass, const Gemm& gemm) {
    const auto words = static_cast<std::int64_t>(gemm_workspace_bytes(Arch{90}) / 4);
    const Tensor workspace(ledger_, "workspace", Category::Workspace, DType::Int32, {words});
    Clock clock(stream_);
    GemmProblem problem(gemm, false);
    std::vector<cublasLtMatmulAlgo_t> all = offers(problem, problem, gemm, workspace);
    if (gemm.bias != nullptr) {
      Gemm bare = gemm;
      bare.bias = nullptr;
      GemmProblem without(bare, false);
      for (const auto& algorithm : offers(problem, without, bare, workspace)) {
        all.push_back(algorithm);
      }
    }
    double best = 0;
    std::function<void()> best_run;
    for (const cublasLtMatmulAlgo_t& algorithm : all) {
      const auto run = [&, algorithm] {
        check(problem.run(handle_, gemm, algorithm, workspace, stream_), "cublasLtMatmul");
      };
      const double time = clock(run);
      if (best_run != nullptr && time >= best) continue;
      best = time;
      best_run = run;
    }
    // They are timed in turn, since the GPU's clock varies by more than they differ.
    GemmRunner runner(stream_, {false, true, ""});
    double chosen = 0;
    for (int round = 0; round < kRounds; ++round) {
      const double of_best = clock(best_run);
      const double of_chosen = clock([&] { runner.run(gemm, workspace); });
      best = round == 0 ? of_best : std::min(best, of_best);
      chosen = round == 0 ? of_chosen : std::min(chosen, of_chosen);
    }
    std::printf("%-16s %-8s chosen %8.1f us, best of %2zu %8.1f us, ratio %.3f\n", layer, pass,
                chosen * 1e3, all.size(), best * 1e3, chosen / best);
    return chosen / best;
  }

  /// The algorithms that cuBLASLt has for `like` and that run `problem`.
  std::vector<cublasLtMatmulAlgo_t> offers(const GemmProblem& problem, GemmProblem& like,
                                           const Gemm& gemm, const Tensor& workspace) {
    std::vector<cublasLtMatmulHeuristicResult_t> results(kAll);
    const int count = like.candidates(handle_, gemm, workspace.bytes(), results.data(), kAll);
    std::vector<cublasLtMatmulAlgo_t> taken;
    for (int i = 0; i < count; ++i) {
      const cublasLtMatmulAlgo_t& algorithm = results[static_cast<std::size_t>(i)].algo;
      if (problem.accepts(handle_, algorithm, workspace.bytes())) taken.push_back(algorithm);
    }
    return taken;
  }

  CudaSource source_;
  Pool pool_;
  Ledger ledger_;
  Stream stream_;
  cublasLtHandle_t handle_ = nullptr;
};

}  // namespace
}  // namespace vramfit

int main() {
  double worst = 0;
  for (const vramfit::Layer& layer : vramfit::kLayers) {
    worst = std::max(worst, vramfit::Contest().hold(layer));
  }
  std::printf("worst ratio %.3f\n", worst);
  return worst <= vramfit::kAllowed ? 0 : 1;
}
