#include "model/parallel/mesh.h"

#include <array>
#include <string>

#include "model/errors.h"
#include "model/printable.h"

namespace vramfit {
namespace {

struct Spelling {
  const char* text;
  Strategy strategy;
};

/// The first of a strategy is its name; the others are the article's and DeepSpeed's.
constexpr std::array kSpellings = {
    Spelling{"none", Strategy::None},   Spelling{"ddp", Strategy::Ddp},
    Spelling{"zero1", Strategy::Zero1}, Spelling{"zero2", Strategy::Zero2},
    Spelling{"fsdp", Strategy::Fsdp},   Spelling{"pipeline", Strategy::Pipeline},
    Spelling{"zero3", Strategy::Fsdp},  Spelling{"data-parallel", Strategy::Ddp},
};

}  // namespace

const char* name(Strategy strategy) {
  for (const Spelling& spelling : kSpellings) {
    if (spelling.strategy == strategy) return spelling.text;
  }
  return "";
}

Strategy parse_strategy(std::string_view text) {
  for (const Spelling& spelling : kSpellings) {
    if (text == spelling.text) return spelling.strategy;
  }
  throw BadInput("strategy: is '" + shortened(std::string(text), 40) +
                 "'; ddp, zero1, zero2, fsdp or pipeline");
}

void validate(const Mesh& mesh) {
  if (mesh.ranks < 1 || mesh.ranks > kMaxRanks) {
    throw BadInput("gpus: is " + std::to_string(mesh.ranks) + "; a whole number from 1 to " +
                   std::to_string(kMaxRanks));
  }
  if (mesh.rank < 0 || mesh.rank >= mesh.ranks) {
    throw BadInput("rank: is " + std::to_string(mesh.rank) + "; from 0 to " +
                   std::to_string(mesh.ranks - 1));
  }
  if (mesh.ranks > 1 && mesh.strategy == Strategy::None) {
    throw BadInput("gpus: " + std::to_string(mesh.ranks) +
                   " share a model by --strategy ddp, zero1, zero2, fsdp or pipeline");
  }
}

}  // namespace vramfit
