#pragma once

#include <cstddef>

#include "estimator/timeline/acts.h"
#include "model/memory/kept_ledger.h"

namespace vramfit {

/// From where on a recording and a prediction are compared, act by act.
struct Start {
  std::size_t recorded = 0;   ///< act
  std::size_t predicted = 0;  ///< act
  bool late = false;          ///< the recording begins when the model is loaded, or later
};

/// Where a recording that begins late is found in the prediction: where most acts go on alike, and
/// of equals where the memory in use is most alike.
Start start_of(const Acts& recorded, const Acts& predicted, const KeptLedger& ledger,
               bool overflowed);

/// The act with which the prediction's run begins, its model loaded.
std::size_t act_after_loading(const Acts& predicted, const KeptLedger& ledger);

}  // namespace vramfit
