#include "estimator/ask/titles.h"

#include "model/printable.h"

namespace vramfit {
namespace {

constexpr std::size_t kNameBytes = 40;

std::string sizes_text(const Request& request, std::optional<Size> search) {
  const std::string batch = std::to_string(request.workload->batch());
  const std::string seq = std::to_string(request.workload->seq());
  if (search == Size::Batch) return "the largest batch x " + seq + " tokens";
  if (search == Size::Seq) return "batch " + batch + " x the longest sequence";
  return "batch " + batch + " x " + seq + " tokens";
}

}  // namespace

std::string short_name(const ModelConfig& model) { return shortened(model.name, kNameBytes); }

std::string workload_text(const Request& request, std::optional<Size> search) {
  return request.workload->text(sizes_text(request, search));
}

}  // namespace vramfit
