#include "model/ops/workspaces.h"
#include "tests/kernels/cuda/support/lab.h"
#include "tests/kernels/support/workbench.h"

namespace vramfit {
namespace {

struct Sizes {
  std::int64_t batch;
  std::int64_t seq;
  std::int64_t hidden;
  std::int64_t vocab;
  std::int64_t stored;

  std::string text() const {
    return std::to_string(batch) + " x " + std::to_string(seq) + " of " + std::to_string(vocab) +
           " x " + std::to_string(hidden);
  }
};

/// Vocabularies of few tokens that occur often, and of many that hardly occur.
constexpr Sizes kSizes[] = {{1, 1, 1, 1, 128},     {2, 3, 12, 29, 128},    {3, 33, 64, 5, 5},
                            {1, 700, 24, 2, 128},  {4, 25, 129, 500, 512}, {2, 64, 768, 90, 128},
                            {1, 17, 2052, 40, 128}};

class EmbeddingTest : public OpTest {};

TEST_P(EmbeddingTest, Forward) {
  for (const Sizes& s : kSizes) {
    Lab lab(GetParam());
    Twin tokens = lab.tokens({s.batch, s.seq}, s.vocab);
    Twin table = lab.random({s.vocab, s.hidden}, {s.stored, s.hidden});
    Twin positions = lab.random({s.seq + 3, s.hidden});
    Twin x = lab.empty({s.batch * s.seq, s.hidden});
    Twin starts = lab.integers(s.batch, 3);
    for (const bool learned : {false, true}) {
      lab.run([&](Device& device, Side side) {
        device.run(EmbeddingForward{side(tokens), side(table), learned ? side(&positions) : nullptr,
                                    side(&starts), side(x)});
      });
      lab.expect_equal(x, "embedding " + s.text());
    }
  }
}

TEST_P(EmbeddingTest, Backward) {
  for (const Sizes& s : kSizes) {
    for (const bool accumulate : {false, true}) {
      Lab lab(GetParam());
      Twin tokens = lab.tokens({s.batch, s.seq}, s.vocab);
      Twin dx = lab.random({s.batch * s.seq, s.hidden});
      Twin dtable = lab.target({s.vocab, s.hidden}, {s.stored, s.hidden}, accumulate);
      Twin dpositions = lab.target({s.seq + 3, s.hidden}, !accumulate);
      Twin workspace = lab.bytes(embedding_backward_workspace_bytes(s.batch * s.seq, s.vocab));
      lab.run([&](Device& device, Side side) {
        device.run(EmbeddingBackward{side(tokens), side(dx), side(dtable), accumulate,
                                     side(&dpositions), !accumulate, side(workspace)});
      });
      const std::string what = s.text() + (accumulate ? ", added" : ", written");
      lab.expect_close(dtable, Bound::once, "dtable of " + what);
      lab.expect_close(dpositions, Bound::once, "dpositions of dtable " + what);
    }
  }
}

TEST_P(EmbeddingTest, BackwardIsTheSameEveryTime) {
  Lab lab(GetParam());
  Twin tokens = lab.tokens({4, 200}, 17);
  Twin dx = lab.random({800, 40});
  Twin workspace = lab.bytes(embedding_backward_workspace_bytes(800, 17));
  std::vector<double> first;
  for (int time = 0; time < 5; ++time) {
    Twin dtable = lab.empty({17, 40}, {128, 40});
    gpu().run(
        EmbeddingBackward{tokens.gpu, dx.gpu, dtable.gpu, false, nullptr, false, workspace.gpu});
    const std::vector<double> values = downloaded_values(gpu(), dtable.gpu);
    if (time == 0) first = values;
    EXPECT_EQ(values, first);
  }
}

VRAMFIT_FOR_EACH_DTYPE(EmbeddingTest);

}  // namespace
}  // namespace vramfit
