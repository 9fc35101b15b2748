#include "estimator/ask/titles.h"

#include "model/printable.h"

namespace vramfit {
namespace {

constexpr std::size_t kNameBytes = 40;

/// "batch 4 x the longest sequence"
std::string sizes_text(const Request& request, const SearchAxis* search) {
  std::string text;
  for (const SearchAxis& axis : request.workload->runtime().axes()) {
    if (axis.of_names && !(search != nullptr && axis == *search)) continue;
    text += (text.empty() ? "" : " x ") + (search != nullptr && axis == *search
                                               ? std::string(axis.largest)
                                               : text_of(axis, request.workload->size(axis)));
  }
  return text;
}

}  // namespace

std::string short_name(const ModelConfig& model) { return shortened(model.name, kNameBytes); }

std::string workload_text(const Request& request, const SearchAxis* search) {
  const std::string sizes = sizes_text(request, search);
  // What a request has of a name that is searched for is not what was asked.
  if (search == nullptr || !search->of_names) return request.workload->text(sizes);
  return std::string(request.workload->runtime().name()) + ", " + sizes;
}

}  // namespace vramfit
