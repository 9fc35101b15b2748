#include "standin/machine.h"

#include <cstdlib>
#include <memory>
#include <utility>

#include "standin/card/visible.h"

namespace vramfit::standin {
namespace {

// Never destroyed: libraries call from their own destructors.
Machine* the_machine = nullptr;

}  // namespace

Machine::Machine(Facts all) : facts(std::move(all)), streams(facts.late_events) {
  for (int i = 0; i < facts.devices; ++i) devices.emplace_back(facts, i);
}

const std::vector<Device*>& Machine::visible() {
  if (!visible_) {
    visible_.emplace();
    for (const int number : visible_devices(std::getenv("CUDA_VISIBLE_DEVICES"), facts.devices)) {
      visible_->push_back(&devices[static_cast<std::size_t>(number)]);
    }
  }
  return *visible_;
}

int& Machine::current() {
  thread_local int device = 0;
  return device;
}

Device* Machine::owner(std::uint64_t address) {
  for (Device& device : devices) {
    if (device.memory.holds(address)) return &device;
  }
  return nullptr;
}

Device& Machine::active() {
  Device& gpu = device();
  if (!gpu.context) {
    gpu.context = true;
    gpu.memory.load(DriverCode::Other, facts.loads.context);
  }
  return gpu;
}

Machine& machine() { return *the_machine; }
bool started() { return the_machine != nullptr; }
void start(Facts facts) { the_machine = new Machine(std::move(facts)); }

}  // namespace vramfit::standin
