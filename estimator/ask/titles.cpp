#include "estimator/ask/titles.h"

#include "model/printable.h"

namespace vramfit {
namespace {

constexpr std::size_t kNameBytes = 40;

/// "batch 4 x the longest sequence"
std::string sizes_text(const Request& request, const SearchAxis* search) {
  std::string text;
  for (const SearchAxis& axis : request.workload->runtime().axes()) {
    text += (text.empty() ? "" : " x ") + (search != nullptr && axis == *search
                                               ? std::string(axis.largest)
                                               : text_of(axis, request.workload->size(axis)));
  }
  return text;
}

}  // namespace

std::string short_name(const ModelConfig& model) { return shortened(model.name, kNameBytes); }

std::string workload_text(const Request& request, const SearchAxis* search) {
  return request.workload->text(sizes_text(request, search));
}

}  // namespace vramfit
