// Asks the installed estimator whether a model fits a card, as `vramfit --json` is asked.
#include <iostream>
#include <nlohmann/json.hpp>

#include "estimator/ask/ask.h"

int main() {
  const nlohmann::json flags = {{"model", "llama2-7b"}, {"batch", 1}, {"gpu", "rtx4090"}};
  const vramfit::Asked asked = vramfit::ask(flags);
  std::cout << asked.json();
  return asked.yes() ? 0 : 1;
}
