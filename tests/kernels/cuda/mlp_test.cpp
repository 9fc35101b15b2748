#include "tests/kernels/cuda/support/lab.h"
#include "tests/kernels/support/workbench.h"

namespace vramfit {
namespace {

struct Sizes {
  std::int64_t rows;
  std::int64_t hidden;
  std::int64_t ffn;

  std::string text(ActivationKind kind) const {
    return std::string(kind == ActivationKind::Gelu ? "gelu " : "swiglu ") + std::to_string(rows) +
           " x " + std::to_string(hidden) + " to " + std::to_string(ffn);
  }
};

constexpr Sizes kSizes[] = {{1, 1, 1}, {5, 12, 10}, {33, 64, 129}, {64, 128, 256}, {300, 7, 24}};
constexpr ActivationKind kKinds[] = {ActivationKind::SwiGlu, ActivationKind::Gelu};

std::int64_t up_width(ActivationKind kind, std::int64_t ffn) {
  return kind == ActivationKind::SwiGlu ? 2 * ffn : ffn;
}

class MlpTest : public OpTest {};

TEST_P(MlpTest, UpForward) {
  for (const ActivationKind kind : kKinds) {
    for (const Sizes& s : kSizes) {
      for (const bool with_bias : {false, true}) {
        Lab lab(GetParam());
        const std::int64_t width = up_width(kind, s.ffn);
        Twin x = lab.random({s.rows, s.hidden});
        Twin weight = lab.random({width, s.hidden}, 0.3F);
        Twin bias = lab.random({width});
        Twin pre = lab.empty({s.rows, width});
        Twin act = lab.empty({s.rows, s.ffn});
        Twin workspace = lab.gemm_workspace();
        lab.run([&](Device& device, Side side) {
          device.run(MlpUpForward{kind, side(x), side(weight), with_bias ? side(&bias) : nullptr,
                                  side(pre), side(act), side(workspace)});
        });
        lab.expect_close(pre, Bound::once, "pre of " + s.text(kind));
        lab.expect_close(act, Bound::once.times(2), "act of " + s.text(kind));
      }
    }
  }
}

TEST_P(MlpTest, ActivationBackward) {
  for (const ActivationKind kind : kKinds) {
    for (const Sizes& s : kSizes) {
      Lab lab(GetParam());
      Twin pre = lab.random({s.rows, up_width(kind, s.ffn)}, 2.0F);
      Twin act = lab.random({s.rows, s.ffn});
      lab.run([&](Device& device, Side side) {
        device.run(ActivateBackward{kind, side(pre), side(act)});
      });
      lab.expect_close(act, Bound::once, "act again of " + s.text(kind));
      lab.expect_close(pre, Bound::once, "dpre of " + s.text(kind));
    }
  }
}

/// What backward computes again is what forward computed, to the bit.
TEST_P(MlpTest, ActivationAgainIsTheSame) {
  for (const ActivationKind kind : kKinds) {
    Lab lab(GetParam());
    const std::int64_t width = up_width(kind, 72);
    Twin x = lab.random({40, 24});
    Twin weight = lab.random({width, 24});
    Twin pre = lab.empty({40, width});
    Twin act = lab.empty({40, 72});
    Twin again = lab.random({40, 72});
    Twin workspace = lab.gemm_workspace();
    gpu().run(MlpUpForward{kind, x.gpu, weight.gpu, nullptr, pre.gpu, act.gpu, workspace.gpu});
    Twin apart = lab.empty({40, 72});
    gpu().run(Activate{kind, pre.gpu, apart.gpu});
    EXPECT_EQ(downloaded_values(gpu(), act.gpu), downloaded_values(gpu(), apart.gpu));
    gpu().run(ActivateBackward{kind, pre.gpu, again.gpu});
    EXPECT_EQ(downloaded_values(gpu(), act.gpu), downloaded_values(gpu(), again.gpu));
  }
}

VRAMFIT_FOR_EACH_DTYPE(MlpTest);

}  // namespace
}  // namespace vramfit
