#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>

#include "estimator/fit/answer_json.h"
#include "estimator/fit/answer_timeline.h"
#include "estimator/fit/card_table.h"
#include "estimator/fit/colour.h"
#include "estimator/fit/listing.h"
#include "estimator/fit/picture.h"
#include "estimator/fit/spellings.h"
#include "estimator/fit/this_gpu.h"
#include "estimator/fit/verify.h"
#include "estimator/timeline/timeline_files.h"
#include "model/errors.h"
#include "model/printable.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace vramfit::fit {
namespace {

constexpr int kFits = 0;
constexpr int kDoesNotFit = 1;
constexpr int kAgrees = 0;
constexpr int kParts = 1;
constexpr int kBadInput = 2;
constexpr int kFailed = 3;

std::string text_of(const Question& question, const std::vector<Answer>& answers, bool verbose) {
  const Style style{verbose, shows_colours()};
  if (question.every_card) return card_table(question, answers, style);
  return picture(question, answers.front(), style);
}

int verify_with(const Options& options, const Question& question) {
  const Verification verification = verified(*options.verify, question);
  std::cout << (options.json ? verification_json(verification, question)
                             : verification_text(verification, question));
  return verification.agree() ? kAgrees : kParts;
}

int answer_to(const Options& options) {
  const Question question = understand(options, this_gpu);
  if (options.verify) return verify_with(options, question);
  const TimelineFiles timeline(options.snapshot, options.trace);
  const std::vector<Answer> answers = answer(question);
  if (timeline.wanted()) timeline.write(timeline_of(answers.front()));
  std::cout << (options.json ? json_text(question, answers)
                             : text_of(question, answers, options.verbose));
  const bool yes = std::any_of(answers.begin(), answers.end(),
                               [&](const Answer& answer) { return answer.yes(options.strict); });
  return yes ? kFits : kDoesNotFit;
}

int run(int argc, const char* const* argv) {
  const std::optional<Options> options = parse_options(argc, argv);
  if (!options) return kFits;
  if (options->list) {
    std::cout << listing();
    return kFits;
  }
  try {
    return answer_to(*options);
  } catch (const BadInput& error) {
    throw BadInput(as_typed(error.what(), options->typed));
  }
}

/// A search makes and drops the same few megabytes thousands of times, which glibc would give back
/// to the kernel each time.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kKept = 1 << 25;  // bytes; the most that its own thresholds grow to
  mallopt(M_MMAP_THRESHOLD, kKept);
  mallopt(M_TRIM_THRESHOLD, kKept);
#endif
}

void complain(const char* message) {
  std::fprintf(stderr, "fit: error: %s\n", one_line(message, kLongestMessage).c_str());
}

}  // namespace
}  // namespace vramfit::fit

int main(int argc, char** argv) {
  namespace fit = vramfit::fit;
  fit::keep_freed_memory();
  try {
    const int status = fit::run(argc, argv);
    if (std::cout.flush()) return status;
    fit::complain("cannot write the answer");
  } catch (const vramfit::BadInput& error) {
    fit::complain(error.what());
    return fit::kBadInput;
  } catch (const std::exception& error) {
    fit::complain(error.what());
  }
  return fit::kFailed;
}
