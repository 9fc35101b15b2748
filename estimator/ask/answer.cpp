#include "estimator/ask/answer.h"

#include <algorithm>

#include "estimator/ask/in_parallel.h"
#include "model/errors.h"

namespace vramfit {
namespace {

// A search for every card takes little longer than one for one card.
constexpr std::uint64_t kTableAllowance = kSearchAllowance / 16;
constexpr std::int64_t kTableSamples = 16;

/// Of a machine the card that figures are of stands for it.
void show_card(std::size_t place, Budget& budget) {
  if (budget.machine.empty()) return;
  Budget card = budget.machine[place];
  card.machine = std::move(budget.machine);
  budget = std::move(card);
}

Answer answer_one(Request request, const Question& question, std::uint64_t allowance) {
  Answer answer;
  const std::shared_ptr<const Workload> asked = request.workload;
  if (question.search != nullptr) {
    const SearchAxis& axis = *question.search;
    SizedRuns runs(request, axis, allowance);
    answer.largest = find_largest(runs);
    answer.band = band_around(*answer.largest, runs);
    if (axis.of_names && answer.largest->next > 0) {
      Request next = request;
      set_size(next, axis, answer.largest->next);
      answer.next = estimate(next, OomDetail::Untold);
    }
    set_size(request, axis, std::max<std::int64_t>(answer.largest->size, 1));
  }
  answer.estimate = estimate(request);
  show_card(answer.estimate.card, request.budget);
  // Of a search on each card nobody asks what would be set of the size that was not searched for.
  if (question.search == nullptr || !question.every_card) {
    answer.own_choice = asked->own_choice(gpu_of(request.budget), answer.estimate.capacity);
  }
  answer.request = std::move(request);
  return answer;
}

/// Nothing where no card could ever hold it.
std::optional<Verdict> verdict_on(const Request& request) {
  try {
    return estimate(request, OomDetail::Untold).verdict;
  } catch (const BadInput&) {
    return std::nullopt;
  }
}

/// The alternatives that change the verdict.
std::vector<Change> changes(const Question& question, Verdict verdict) {
  std::vector<Change> list;
  for (const Alternative& alternative : question.alternatives) {
    const std::optional<Verdict> other = verdict_on(alternative.request);
    if (other && *other != verdict) list.push_back({alternative.choice, *other});
  }
  return list;
}

/// What is TIGHT is made to fit surely.
Advised advised(const Question& question, const Answer& answer,
                const std::function<void(const Advised&)>& told) {
  const Verdict verdict = answer.estimate.verdict;
  if (verdict == Verdict::Fits) return {};
  return advise(answer.request, question.flags, question.strict || verdict == Verdict::Tight, told);
}

}  // namespace

bool Answer::yes(bool strict) const {
  if (largest) return (strict ? band.surely : band.possibly) > 0;
  return strict ? estimate.verdict == Verdict::Fits : estimate.fits;
}

std::vector<Answer> answer(const Question& question, const Told& told) {
  const std::size_t count = question.requests.size();
  std::vector<Answer> answers(count);
  in_parallel(count, [&](std::size_t i) {
    Request request = question.requests[i];
    const bool table_of_searches = question.every_card && question.search != nullptr;
    if (table_of_searches) request.samples = std::min(request.samples, kTableSamples);
    answers[i] = answer_one(std::move(request), question,
                            table_of_searches ? kTableAllowance : kSearchAllowance);
    if (question.formulas) answers[i].formulas = formula_answers(answers[i].request);
  });
  Answer& first = answers.front();
  first.changes = changes(question, first.estimate.verdict);
  if (!question.advise) return answers;
  std::function<void(const Advised&)> so_far;
  if (told) {
    so_far = [&](const Advised& advised) {
      first.advised = advised;
      told(answers);
    };
  }
  first.advised = advised(question, first, so_far);
  return answers;
}

}  // namespace vramfit
