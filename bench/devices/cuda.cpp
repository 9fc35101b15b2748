#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "bench/data/data_folder.h"
#include "bench/devices/rates.h"
#include "bench/devices/real_device.h"
#include "estimator/cards.h"
#include "estimator/machine/nvml.h"
#include "estimator/models.h"
#include "estimator/profile.h"
#include "kernels/cuda/device/cuda_device.h"
#include "kernels/cuda/gpu/gpu_info.h"
#include "kernels/cuda/gpu/handle_bytes.h"
#include "kernels/cuda/gpu/stage_marks.h"
#include "kernels/cuda/memory/pinned_memory.h"
#include "kernels/cuda/memory/virtual_memory.h"
#include "kernels/host/host_memory.h"
#include "model/errors.h"
#include "model/memory/host_memory.h"

namespace vramfit::bench {
namespace {

class GpuClock final : public Stopwatch {
 public:
  explicit GpuClock(CudaDevice& device) : device_(device) {}
  void lap() override { device_.lap(); }
  std::vector<double> laps() override { return device_.laps(); }
  void note_waits() override { device_.note_waits(); }
  double waited() override { return device_.waited(); }

 private:
  CudaDevice& device_;
};

double bytes(std::uint64_t count) { return static_cast<double>(count); }

std::string module_loading() {
  const char* value = std::getenv("CUDA_MODULE_LOADING");
  return value != nullptr ? value : "LAZY";
}

/// What the card loses, as it was measured on such a GPU with such a driver where that was kept.
Overhead best_overhead(const Card& card, const GpuInfo& gpu, const std::string& driver) {
  const auto path = data_folder("gpus") / profile_name(gpu.name, driver, gpu.cuda);
  return std::filesystem::exists(path) ? overhead_of(card, read_profile(path)) : card.overhead;
}

/// What its driver says of a GPU that CUDA found.
class Driver {
 public:
  explicit Driver(const GpuInfo& gpu) : nvml_(Nvml::load()) {
    if (nvml_) gpu_ = nvml_->gpu_at(gpu.pci_bus_id);
    if (!gpu_) {
      throw BadInput("device: NVML does not say how much memory " + gpu.name +
                     " has; a driver with libnvidia-ml.so.1");
    }
  }

  std::string version() const { return nvml_->driver_version(); }
  std::uint64_t vram() const { return gpu_->vram; }

  std::optional<std::uint64_t> sent() const { return nvml_->nvlink_sent(*gpu_); }

  /// Asked before this process has a context, all of them are others even where a container hides
  /// which process this is.
  std::vector<GpuProcess> other_processes() const {
    std::vector<GpuProcess> processes = nvml_->processes(*gpu_);
    std::erase_if(processes, [own = static_cast<std::uint32_t>(getpid())](const GpuProcess& p) {
      return p.pid == own;
    });
    return processes;
  }

 private:
  std::optional<Nvml> nvml_;
  std::optional<MachineGpu> gpu_;
};

Card card_of_gpu(const GpuInfo& gpu, const Driver& driver) {
  const Card* known = card_titled(gpu.name, driver.vram());
  Card card = known != nullptr ? *known : card_like(gpu.arch, driver.vram());
  if (known == nullptr) {
    card.name = gpu.name;
    card.overhead = assumed(card.overhead, card.title);
  }
  card.article_vram_gb.reset();
  card.title = gpu.name;
  card.arch = gpu.arch;
  card.multiprocessors = gpu.multiprocessors;
  card.vram = driver.vram();
  card.overhead = best_overhead(card, gpu, driver.version());
  card.overhead_assumed = card.overhead.source.rfind("assumed", 0) == 0;
  return card;
}

/// An hour of a step, as fast as any goes.
constexpr double kMostFlops = 1e18;
/// Large enough for the rates that a GPU sustains.
constexpr RateSizes kSizes{8192, std::uint64_t{1} << 30};

/// One layer of the article's model: the kernels of all its steps, without their memory.
ModelConfig one_layer() {
  ModelConfig config = model_named("llama2-7b");
  config.layers = 1;
  return config;
}

/// The memory of a run: the card's, and what of it is in the host's.
class RunMemory {
 public:
  explicit RunMemory(std::uint64_t capacity)
      : source_(capacity),
        pool_(source_),
        ledger_(pool_),
        host_source_(available_host_memory()),
        host_(host_source_, ledger_) {}

  Ledger& ledger() { return ledger_; }

 private:
  CudaSource source_;
  Pool pool_;
  Ledger ledger_;
  PinnedSource host_source_;
  HostMemory host_;
};

class Cuda final : public RealDevice {
 public:
  Cuda(int device, const MeasuringOptions& measuring)
      : RealDevice(measuring),
        device_(device),
        gpu_(gpu_info(device)),
        driver_(gpu_),
        card_(card_of_gpu(gpu_, driver_)) {}

  std::string name() const override { return "cuda:" + std::to_string(device_) + " " + gpu_.name; }
  std::string flag() const override {
    return device_ == 0 ? "cuda" : "cuda:" + std::to_string(device_);
  }
  Arch arch() const override { return gpu_.arch; }
  int multiprocessors() const override { return gpu_.multiprocessors; }
  std::optional<Card> card() const override { return card_; }

  Card card_of(const std::string& name, std::uint64_t vram) const override {
    Card card = card_;
    card.name = name;
    card.vram = vram;
    card.article_vram_gb.reset();
    return card;
  }

  bool can_be(const Card& card) const override { return card.vram <= card_.vram; }

  std::map<std::string, std::string> facts() const override {
    return {{"gpu", gpu_.name},
            {"driver", driver_.version()},
            {"cuda", gpu_.cuda},
            {"cublas", gpu_.cublas},
            {"cudnn", gpu_.cudnn},
            {"nccl", nccl_version()},
            {"cuda_module_loading", module_loading()},
            {"tf32", measuring().tf32 ? "on" : "off"}};
  }

  std::string neighbours() const override {
    std::string text;
    for (const GpuProcess& process : driver_.other_processes()) {
      text += (text.empty() ? "" : ", ") + ("process " + std::to_string(process.pid)) + " with " +
              std::to_string(process.bytes >> 20) + " MiB";
    }
    return text;
  }

  void check(std::int64_t) const override {}
  double most_flops() const override { return kMostFlops; }

  Measurement measure(std::uint64_t capacity, const Run& run) override {
    Measurement measured;
    select_gpu(device_);
    measured.beside["context"] = device_memory().used();
    measured.beside["cublaslt"] = cublaslt_bytes();
    measured.beside["cudnn"] = cudnn_bytes();
    const std::uint64_t alone = device_memory().used();
    CudaDevice device(options(false));
    if (measuring().rank) measured.beside["nccl"] = device_memory().used() - alone;
    RunMemory memory(capacity);
    StageMarks marks(device);
    memory.ledger().set_observer(&marks);
    measured.report = run(device, memory.ledger());
    measured.device_used = marks.device_used();
    return measured;
  }

  void compute(std::uint64_t capacity, const Work& work) override {
    CudaDevice device(options(false));
    RunMemory memory(capacity);
    work(device, memory.ledger());
  }

  std::optional<std::uint64_t> sent() const override { return driver_.sent(); }

  void time(std::uint64_t capacity, const TimedRun& run) override {
    CudaDevice device(options(true));
    RunMemory memory(capacity);
    GpuClock clock(device);
    run(device, memory.ledger(), clock);
  }

  Rates rates(DType dtype, double seconds) override {
    CudaDevice device(options(true));
    RunMemory memory(device_memory().free);
    GpuClock clock(device);
    const auto copy = [&](const Tensor& from, Tensor& to) { device.copy(to, from); };
    return measure_rates(device, memory.ledger(), clock, dtype, kSizes, copy, seconds);
  }

  std::map<std::string, double> overhead() override {
    select_gpu(device_);
    const DeviceMemory bare = device_memory();
    const Measurement measured = measure(bare.free, [](Device& device, Ledger& ledger) {
      return run_training(device, ledger, one_layer(), TrainingOptions{});
    });
    double modules = bytes(measured.device_used.back()) - bytes(measured.report.reserved);
    std::map<std::string, double> parts = {
        {"driver_reserved", bytes(card_.vram) - bytes(bare.total)}};
    for (const auto& [part, size] : measured.beside) {
      parts[part] = bytes(size);
      modules -= bytes(size);
    }
    parts["modules"] = modules;
    return parts;
  }

 private:
  CudaOptions options(bool tune) const {
    CudaOptions options;
    options.device = device_;
    options.tf32 = measuring().tf32;
    options.tune = tune;
    if (tune) options.gemm_algorithms = measuring().gemm_algorithms;
    if (const auto& rank = measuring().rank) {
      options.rank = CudaRank{rank->ranks, rank->rank, rank->address, measuring().correspondents};
    }
    return options;
  }

  int device_;
  GpuInfo gpu_;
  Driver driver_;
  Card card_;
};

}  // namespace

int cuda_devices() { return gpu_count(); }

std::unique_ptr<RealDevice> make_cuda(int device, const MeasuringOptions& options) {
  return std::make_unique<Cuda>(device, options);
}

bool built_with_cuda() { return true; }

}  // namespace vramfit::bench
