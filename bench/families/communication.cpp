#include "bench/families/communication.h"

#include "model/ops/each_op.h"
#include "runtimes/vramfit/virtual_memory.h"

namespace vramfit::bench {
namespace {

/// Runs nothing and adds up what collectives send.
class SendingDevice final : public EachOp<SendingDevice> {
 public:
  SendingDevice(Arch arch, std::int64_t ranks)
      : arch_(arch), share_(static_cast<double>(ranks - 1) / static_cast<double>(ranks)) {}

  Arch arch() const override { return arch_; }
  void upload(const Tensor&, const void*, std::uint64_t) override {}
  void download(void*, const Tensor&, std::uint64_t) override {}
  void synchronize() override {}

  template <typename Op>
  void each(const Op&) {}
  void each(const AllReduce& op) {
    for (const Tensor* tensor : op.tensors) sent_ += 2 * share_ * bytes(*tensor);
  }
  void each(const ReduceScatter& op) {
    for (const PartOfSum& one : op.parts) sent_ += share_ * bytes(one.whole);
  }
  void each(const AllGather& op) {
    for (const PartOfWhole& one : op.parts) sent_ += share_ * bytes(one.whole);
  }
  void each(const Exchange& op) {
    for (const Message& one : op.sends) sent_ += bytes(one.tensor);
  }
  void each(const SumWith& op) { sent_ += bytes(op.tensor); }

  double sent() const { return sent_; }

 private:
  static double bytes(const Tensor& tensor) { return static_cast<double>(tensor.bytes()); }

  Arch arch_;
  double share_;
  double sent_ = 0;
};

}  // namespace

void count_communication(Counters& counters, const ModelConfig& config, Arch arch,
                         const TrainingOptions& options) {
  VirtualMemory memory(kUnlimitedBytes, false);
  SendingDevice device(arch, options.mesh.ranks);
  Trainer trainer(device, memory.ledger(), config, options);
  const BatchLoader batches = random_batches(config.vocab, 1);
  trainer.step(batches);
  const double first = device.sent();
  trainer.step(batches);  // like all that follow: of the first, less is there already
  counters.set("pred_sent", device.sent() - first);
  if (options.mesh.pipelined()) {
    const auto filling = static_cast<double>(options.mesh.ranks - 1);
    counters.set("pred_bubble", filling / (static_cast<double>(options.accumulate) + filling));
  }
}

}  // namespace vramfit::bench
