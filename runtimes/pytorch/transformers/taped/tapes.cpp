#include "runtimes/pytorch/transformers/taped/tapes.h"

#include <map>
#include <mutex>

namespace vramfit::pytorch {

const OpTape* tape_of(const Release& release, const std::string& model_type) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<const OpTape>> read;
  if (!release.tape) return nullptr;
  const std::lock_guard lock(mutex);
  const auto known = read.find(model_type);
  if (known != read.end()) return known->second.get();
  std::optional<std::string> text = release.tape(model_type);
  if (!text) return nullptr;
  return (read[model_type] = std::make_unique<const OpTape>(read_op_tape(*std::move(text)))).get();
}

}  // namespace vramfit::pytorch
