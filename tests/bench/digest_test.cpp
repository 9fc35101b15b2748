// Every event of the default sweep's ledgers, as they were before the code was rearranged: a change
// of structure moves no byte.
#include "tests/support/digest.h"

#include <gtest/gtest.h>

#include "bench/command/selection.h"
#include "bench/rows/sweep.h"
#include "runtimes/vramfit/dry_run.h"

namespace vramfit::bench {
namespace {

char sign_of(Event::Kind kind) {
  switch (kind) {
    case Event::Kind::StageBegin:
      return '[';
    case Event::Kind::StageEnd:
      return ']';
    case Event::Kind::Allocate:
      return '+';
    case Event::Kind::Free:
      return '-';
    case Event::Kind::OutOfMemory:
      return '!';
    case Event::Kind::Relabel:
      return '~';
  }
  return '?';
}

std::string digest_of(const RunReport& report) {
  EventDigest digest;
  for (const Event& e : report.events) {
    digest.add(sign_of(e.kind), e.stage, e.step, e.category, e.bytes, e.offset);
  }
  return digest.text() + ", " + std::to_string(report.reserved) + " reserved";
}

RunReport run_of(const Case& c) {
  if (c.row[Axis::Optimizer].empty()) {
    return dry_run({c.arch()}, *c.config, generation_options(c));
  }
  TrainingOptions options = training_options(c);
  if (c.row[Axis::Batch].empty()) options.batch = 1;  // OomCliff searches for it
  return dry_run({c.arch()}, *c.config, options);
}

TEST(Digest, OfTheDefaultSweepsLedgersIsAsItWas) {
  Target target("virtual:h200", {});
  Models models;
  std::map<std::string, std::string> digests;
  const auto rows = expand(default_sweep());
  for (const Case& c : select(rows, {}, Filter(""), target, models).cases) {
    digests[c.row.name()] = digest_of(run_of(c));
  }
  expect_digests("sweep.txt", digests);
}

}  // namespace
}  // namespace vramfit::bench
