#pragma once

#include <string>
#include <utility>
#include <vector>

#include "estimator/ask/advise.h"
#include "estimator/ask/answer.h"

// Questions whose answers advise.
namespace vramfit::fit {

inline FitOptions training(const char* model, const char* gpu, Flags flags) {
  FitOptions options;
  options.model = model;
  options.gpu = gpu;
  options.train = true;
  options.advise = true;
  options.flags = std::move(flags);
  return options;
}

inline FitOptions inference(const char* model, const char* gpu, Flags flags) {
  FitOptions options = training(model, gpu, std::move(flags));
  options.train = false;
  return options;
}

inline Answer ask(const FitOptions& options) {
  const Question question = resolve_question(options, {});
  return answer(question).front();
}

inline std::vector<std::string> labels(const Advice& advice) {
  std::vector<std::string> list;
  for (const Choice& choice : advice.choices) list.push_back(choice.label);
  return list;
}

}  // namespace vramfit::fit
