#include "estimator/fit/program.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>

#include "estimator/ask/answer_json.h"
#include "estimator/ask/answer_timeline.h"
#include "estimator/ask/spellings.h"
#include "estimator/ask/verify.h"
#include "estimator/fit/card_table.h"
#include "estimator/fit/completion.h"
#include "estimator/fit/listing.h"
#include "estimator/fit/man_page.h"
#include "estimator/fit/model_files.h"
#include "estimator/fit/sample_lengths.h"
#include "estimator/fit/terminal.h"
#include "estimator/fit/this_gpu.h"
#include "estimator/fit/verify_text.h"
#include "estimator/timeline/recording.h"
#include "estimator/timeline/timeline_files.h"
#include "estimator/version.h"
#include "model/errors.h"
#include "model/printable.h"

namespace vramfit::fit {
namespace {

constexpr int kFits = 0;
constexpr int kDoesNotFit = 1;
constexpr int kAgrees = 0;
constexpr int kParts = 1;
constexpr int kBadInput = 2;
constexpr int kFailed = 3;

int verify_with(const FitOptions& options, const Question& question) {
  const Verification verification =
      verified(read_recording(*options.verify), *options.verify, question);
  std::cout << (options.json ? verification_json(verification, question)
                             : verification_text(verification, question));
  return verification.agree() ? kAgrees : kParts;
}

int answer_to(const FitOptions& options) {
  const Question question = resolve_question(options, this_machine());
  if (options.verify) return verify_with(options, question);
  const TimelineFiles timeline(options.snapshot, options.trace);
  const std::vector<Answer> answers = answer(question);
  if (timeline.wanted()) timeline.write(timeline_of(answers.front()));
  std::cout << (options.json ? json_text(question, answers)
                             : answer_text(question, answers, {options.verbose, shows_colours()}));
  const bool yes = std::any_of(answers.begin(), answers.end(),
                               [&](const Answer& answer) { return answer.yes(options.strict); });
  return yes ? kFits : kDoesNotFit;
}

/// What --help, --version and --list print; nothing where the question is another.
std::string told(const FitOptions& options) {
  if (options.version) return std::string(kVersionLine) + "\n";
  if (options.list) return listing();
  if (options.completion) return completion(*options.completion, flag_helps());
  if (options.man) return man_page(flag_helps());
  return options.help;
}

int run_or_throw(const std::vector<std::string>& arguments) {
  const FitOptions options = parse_options(arguments);
  if (const std::string text = told(options); !text.empty()) {
    std::cout << text;
    return kFits;
  }
  return in_typed_names(options.typed, [&] { return answer_to(options); });
}

void complain(const char* message, const std::string& hint = "") {
  std::fprintf(stderr, "vramfit: error: %s%s\n", one_line(message, kLongestMessage).c_str(),
               hint.c_str());
}

}  // namespace
Environment this_machine() {
  return {this_gpu,     model_on_disk, config_on_disk,
          gguf_on_disk, tape_on_disk,  sample_lengths_on_disk};
}

std::string answer_text(const Question& question, const std::vector<Answer>& answers,
                        const Style& style) {
  if (question.every_card) return card_table(question, answers, style);
  return picture(question, answers.front(), style);
}

int run(const std::vector<std::string>& arguments, const std::string& otherwise) {
  try {
    const int status = run_or_throw(arguments);
    if (std::cout.flush()) return status;
    complain("cannot write the answer");
  } catch (const UnknownModel& error) {
    complain(error.what(), otherwise);
    return kBadInput;
  } catch (const BadInput& error) {
    complain(error.what());
    return kBadInput;
  } catch (const std::exception& error) {
    complain(error.what());
  }
  return kFailed;
}

}  // namespace vramfit::fit
