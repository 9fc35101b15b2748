#include "estimator/fit/answer.h"

#include <algorithm>

#include "estimator/estimate_json.h"
#include "estimator/largest.h"
#include "model/transformer/sizes.h"

namespace vramfit::fit {
namespace {

using Json = nlohmann::ordered_json;

Answer answer_one(Request request, Search search) {
  Answer answer;
  if (search == Search::Batch) {
    answer.largest = largest_batch(request);
    answer.at_limit = *answer.largest == kMaxBatch;
    set_batch(request, std::max<std::int64_t>(*answer.largest, 1));
  } else if (search == Search::Seq) {
    answer.largest = largest_seq(request);
    answer.at_limit = *answer.largest == request.workload->seq_limit(request.model);
    set_seq(request, std::max<std::int64_t>(*answer.largest, 1));
  }
  answer.estimate = estimate(request);
  answer.request = std::move(request);
  return answer;
}

}  // namespace

std::vector<Answer> answer(const Question& question) {
  std::vector<Answer> answers;
  answers.reserve(question.requests.size());
  for (const Request& request : question.requests) {
    answers.push_back(answer_one(request, question.search));
  }
  return answers;
}

std::string json_text(const Question& question, const std::vector<Answer>& answers) {
  std::vector<Request> requests;
  std::vector<Estimate> estimates;
  for (const Answer& answer : answers) {
    requests.push_back(answer.request);
    estimates.push_back(answer.estimate);
  }
  Json json = question.every_card ? estimates_json(requests, estimates)
                                  : estimate_json(requests.front(), estimates.front());
  if (question.search != Search::None) {
    const bool batch = question.search == Search::Batch;
    const char* key = batch ? "max_batch" : "max_seq";
    // It was not asked for, but is the answer, which may be another one on each card.
    json["asked"][batch ? "batch" : "seq"] = nullptr;
    if (!question.every_card) json[key] = *answers.front().largest;
    for (std::size_t i = 0; question.every_card && i < answers.size(); ++i) {
      json["cards"][i][key] = *answers[i].largest;
    }
  }
  // Names from files may hold anything.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace vramfit::fit
