#pragma once

#include <exception>

#include "runtimes/pytorch/memory/memory.h"

namespace vramfit::pytorch {

/// A stage as a scope, so that it ends also where memory does.
class StageOf {
 public:
  StageOf(Memory& memory, Stage stage, int step)
      : memory_(memory), exceptions_(std::uncaught_exceptions()) {
    memory.begin_stage(stage, step);
  }
  ~StageOf() { memory_.end_stage(std::uncaught_exceptions() > exceptions_); }
  StageOf(const StageOf&) = delete;
  StageOf& operator=(const StageOf&) = delete;

 private:
  Memory& memory_;
  int exceptions_;
};

}  // namespace vramfit::pytorch
