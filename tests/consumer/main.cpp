// Asks the installed estimator whether a model fits a card.
#include <iostream>

#include "estimator/cards.h"
#include "estimator/estimate.h"
#include "estimator/models.h"

int main() {
  const vramfit::Request request{vramfit::model_named("llama2-7b"), vramfit::GenerationOptions{},
                                 vramfit::budget_of(vramfit::card_named("rtx4090"))};
  const vramfit::Estimate estimate = vramfit::estimate(request);
  std::cout << estimate.total << " bytes of " << request.budget.vram << "\n";
  return estimate.fits ? 0 : 1;
}
