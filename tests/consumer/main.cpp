// Asks the installed estimator whether a model fits a card.
#include <iostream>

#include "estimator/cards.h"
#include "estimator/estimate.h"
#include "estimator/models.h"
#include "estimator/runtimes.h"

int main() {
  const vramfit::ModelConfig model = vramfit::model_named("llama2-7b");
  const vramfit::Runtime& pytorch = vramfit::runtime_named("pytorch");
  const vramfit::Request request{model, pytorch.workload({{"batch", "1"}}, false, model),
                                 vramfit::budget_of(vramfit::card_named("rtx4090"))};
  const vramfit::Estimate estimate = vramfit::estimate(request);
  std::cout << estimate.total << " bytes of " << request.budget.vram << "\n";
  return estimate.fits ? 0 : 1;
}
