#include "model/ops/lora_ops.h"
#include "tests/kernels/cuda/support/lab.h"

namespace vramfit {
namespace {

struct Case {
  std::int64_t rows;
  std::int64_t out;
  std::int64_t rank;
  AdaptersOfLinear adapters;

  std::string text() const {
    return std::to_string(adapters.count()) + " adapters of rank " + std::to_string(rank) + ", " +
           std::to_string(rows) + " x " + std::to_string(out);
  }
};

/// All columns, q's and v's, odd ones; ranks that tensor cores like and ones that they do not.
std::vector<Case> cases() {
  return {{1, 8, 1, {{{0, 8}}, 2.0F}},
          {33, 96, 8, {{{0, 96}}, 0.5F}},
          {128, 768, 16, {{{0, 256}, {512, 256}}, 1.0F}},
          {300, 384, 64, {{{0, 256}, {256, 64}, {320, 64}}, 0.25F}},
          {45, 77, 5, {{{3, 13}, {20, 50}}, 3.0F}}};
}

class LoraTest : public OpTest {};

TEST_P(LoraTest, AddsWhatTheCpuAdds) {
  for (const Case& c : cases()) {
    Lab lab(GetParam());
    Twin u = lab.random({c.rows, c.adapters.count() * c.rank});
    Twin b = lab.random({c.adapters.width(), c.rank});
    Twin y = lab.random({c.rows, c.out});
    Twin workspace = lab.gemm_workspace();
    lab.run([&](Device& device, Side side) {
      device.run(LoraForward{c.adapters, side(u), side(b), side(y), side(workspace)});
    });
    lab.expect_close(y, Bound::once, c.text());
  }
}

TEST_P(LoraTest, HasTheGradientsOfTheCpu) {
  for (const Case& c : cases()) {
    Lab lab(GetParam());
    Twin u = lab.random({c.rows, c.adapters.count() * c.rank});
    Twin b = lab.random({c.adapters.width(), c.rank});
    Twin dy = lab.random({c.rows, c.out});
    Twin du = lab.empty({c.rows, c.adapters.count() * c.rank});
    Twin workspace = lab.gemm_workspace();
    lab.run([&](Device& device, Side side) {
      device.run(LoraBackwardInput{c.adapters, side(dy), side(b), side(du), side(workspace)});
    });
    lab.expect_close(du, Bound::once, "du of " + c.text());
    for (const bool accumulate : {false, true}) {
      Twin db = lab.target({c.adapters.width(), c.rank}, accumulate);
      lab.run([&](Device& device, Side side) {
        device.run(LoraBackwardWeight{c.adapters, side(u), side(dy), side(db), accumulate,
                                      side(workspace)});
      });
      lab.expect_close(db, Bound::once, "db of " + c.text() + (accumulate ? ", added" : ""));
    }
  }
}

VRAMFIT_FOR_EACH_DTYPE(LoraTest);

}  // namespace
}  // namespace vramfit
