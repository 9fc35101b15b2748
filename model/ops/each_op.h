#pragma once

#include "model/ops/device.h"

namespace vramfit {

/// A device that does the same with every op: calls Derived::each, a template.
template <typename Derived>
class EachOp : public Device {
 public:
#define VRAMFIT_RUN_EACH(Op) \
  void run(const Op& op) final { static_cast<Derived&>(*this).each(op); }
  VRAMFIT_OPS(VRAMFIT_RUN_EACH)
#undef VRAMFIT_RUN_EACH
};

}  // namespace vramfit
