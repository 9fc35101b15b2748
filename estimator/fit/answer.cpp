#include "estimator/fit/answer.h"

#include <algorithm>

#include "estimator/estimate_json.h"
#include "estimator/fit/in_parallel.h"

namespace vramfit::fit {
namespace {

using Json = nlohmann::ordered_json;

// A search for every card takes little longer than one for one card.
constexpr std::uint64_t kTableAllowance = kSearchAllowance / 16;
constexpr std::int64_t kTableSamples = 16;

Answer answer_one(Request request, Search search, std::uint64_t allowance) {
  Answer answer;
  if (search == Search::Batch) {
    answer.largest = largest_batch(request, allowance);
    set_batch(request, std::max<std::int64_t>(answer.largest->size, 1));
  } else if (search == Search::Seq) {
    answer.largest = largest_seq(request, allowance);
    set_seq(request, std::max<std::int64_t>(answer.largest->size, 1));
  }
  answer.estimate = estimate(request);
  answer.request = std::move(request);
  return answer;
}

void add_largest(Json& json, const char* key, const Largest& largest) {
  json[key] = json["largest"] = largest.size;
  json["search_step"] = largest.step;
  json["largest_without_holes"] = largest.holes ? Json(largest.without_holes()) : Json(nullptr);
  json["holes"] = largest.holes ? Json(*largest.holes) : Json(nullptr);
}

}  // namespace

std::vector<Answer> answer(const Question& question) {
  const std::size_t count = question.requests.size();
  std::vector<Answer> answers(count);
  in_parallel(count, [&](std::size_t i) {
    Request request = question.requests[i];
    const bool table_of_searches = question.every_card && question.search != Search::None;
    if (table_of_searches) request.samples = std::min(request.samples, kTableSamples);
    answers[i] = answer_one(std::move(request), question.search,
                            table_of_searches ? kTableAllowance : kSearchAllowance);
  });
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
    for (std::size_t i = 0; i < answers.size(); ++i) {
      add_largest(question.every_card ? json["cards"][i] : json, key, *answers[i].largest);
    }
  }
  // Names from files may hold anything.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace vramfit::fit
