#include "model/transformer/checkpointing.h"

#include <array>
#include <string>

#include "model/errors.h"
#include "model/printable.h"

namespace vramfit {
namespace {

constexpr std::array<const char*, 3> kNames = {"none", "selective", "full"};

}  // namespace

Checkpoint parse_checkpoint(std::string_view text) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (text == kNames[i]) return static_cast<Checkpoint>(i);
  }
  throw BadInput("checkpoint: is '" + shortened(std::string(text), 40) +
                 "'; none, selective or full");
}

const char* name(Checkpoint checkpoint) { return kNames[static_cast<std::size_t>(checkpoint)]; }

}  // namespace vramfit
