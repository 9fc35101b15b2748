#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "tests/kernels/cuda/support/lab.h"
#include "tests/kernels/support/workbench.h"

namespace vramfit {
namespace {

/// A device that tunes, and keeps what it finds.
class Tuned {
 public:
  Tuned() : file_(std::filesystem::temp_directory_path() / unique_name()) {}
  ~Tuned() { std::filesystem::remove(file_); }
  Tuned(const Tuned&) = delete;
  Tuned& operator=(const Tuned&) = delete;

  CudaOptions options(bool tune = true) const {
    CudaOptions options;
    options.tune = tune;
    options.gemm_algorithms = file_.string();
    return options;
  }
  /// Lines, the first of which says what they are for.
  std::size_t lines() const {
    std::ifstream stream(file_);
    std::string line;
    std::size_t count = 0;
    while (std::getline(stream, line)) ++count;
    return count;
  }
  const std::filesystem::path& file() const { return file_; }

 private:
  static std::string unique_name() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    std::string name = std::string("vramfit_") + test->name() + "_" + std::to_string(getpid());
    for (char& letter : name) letter = letter == '/' ? '_' : letter;
    return name;
  }
  std::filesystem::path file_;
};

class TuningTest : public OpTest {};

/// All candidates write to the same place; the result must be as if there had been one.
TEST_P(TuningTest, LeavesNoTrace) {
  Tuned tuned;
  CudaDevice device(tuned.options());
  Lab lab(GetParam());
  Twin x = lab.random({96, 136});
  Twin weight = lab.random({72, 136});
  Twin dy = lab.random({96, 72});
  Twin bias = lab.random({72});
  Twin residual = lab.random({96, 72});
  Twin y = lab.empty({96, 72});
  Twin dweight = lab.random({72, 136});
  Twin workspace = lab.gemm_workspace();
  // The CPU's side once, the GPU's on the device that tunes.
  const auto both = [&](const std::function<void(Device&, Side)>& op) {
    lab.run([&](Device& on, Side side) {
      op(&on == &static_cast<Device&>(gpu()) ? static_cast<Device&>(device) : on, side);
      device.synchronize();
    });
  };
  for (int time = 0; time < 2; ++time) {
    both([&](Device& on, Side side) {
      on.run(LinearForward{side(x), side(weight), side(&bias), side(&residual), side(y),
                           side(workspace)});
    });
    lab.expect_close(y, Bound::once, "tuned forward");
    both([&](Device& on, Side side) {
      on.run(LinearForward{side(x), side(weight), side(&bias), nullptr, side(y), side(workspace)});
    });
    lab.expect_close(y, Bound::once, "tuned forward with a bias alone");
    for (const bool accumulate : {true, false, true}) {
      both([&](Device& on, Side side) {
        on.run(LinearBackwardWeight{side(x), side(dy), side(dweight), accumulate, nullptr, false,
                                    nullptr, side(workspace)});
      });
      lab.expect_close(dweight, Bound::once, "tuned dweight");
    }
  }
}

VRAMFIT_FOR_EACH_DTYPE(TuningTest);

class GemmTest : public testing::Test {
 protected:
  void SetUp() override { VRAMFIT_NEEDS_GPU(); }

  std::vector<double> product(CudaDevice& device, Lab& lab, Twin& x, Twin& weight) {
    Twin y = lab.empty({x.cpu.shape()[0], weight.cpu.shape()[0]});
    Twin workspace = lab.gemm_workspace();
    device.run(LinearForward{x.gpu, weight.gpu, nullptr, nullptr, y.gpu, workspace.gpu});
    return downloaded_values(device, y.gpu);
  }
};

TEST_F(GemmTest, ChoicesOutliveTheProcess) {
  Tuned tuned;
  Lab lab(DType::Bf16);
  Twin x = lab.random({256, 512});
  Twin weight = lab.random({384, 512});
  std::vector<double> first;
  {
    CudaDevice device(tuned.options());
    first = product(device, lab, x, weight);
    EXPECT_EQ(tuned.lines(), 0U);
  }
  EXPECT_EQ(tuned.lines(), 2U);
  {
    CudaDevice device(tuned.options(false));
    EXPECT_EQ(product(device, lab, x, weight), first);
  }
  EXPECT_EQ(tuned.lines(), 2U);
  std::ofstream(tuned.file()) << "vramfit gemm algorithms 1, cuBLAS 1.2.3, another GPU\n1 2 3\n";
  CudaDevice device(tuned.options(false));
  EXPECT_EQ(product(device, lab, x, weight).size(), first.size()) << "another GPU's are ignored";
}

TEST_F(GemmTest, Tf32IsOffUnlessAskedFor) {
  Lab lab(DType::Fp32);
  Twin x = lab.random({128, 256});
  Twin weight = lab.random({128, 256});
  CudaOptions options;
  const auto exact = [&] {
    CudaDevice device(options);
    return product(device, lab, x, weight);
  }();
  options.tf32 = true;
  CudaDevice fast(options);
  const std::vector<double> rounded = product(fast, lab, x, weight);
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    difference += (exact[i] - rounded[i]) * (exact[i] - rounded[i]);
    size += exact[i] * exact[i];
  }
  const double error = std::sqrt(difference / size);
  EXPECT_GT(error, 1e-5);
  EXPECT_LT(error, 2e-3);
}

/// A chunk of a table may start at any row, whatever its alignment.
TEST_F(GemmTest, TakesAnyAlignment) {
  for (const DType dtype : {DType::Fp32, DType::Fp16, DType::Bf16}) {
    for (const std::int64_t width : {std::int64_t{1}, std::int64_t{3}, std::int64_t{24}}) {
      Lab lab(dtype);
      Twin hidden = lab.random({31, width});
      Twin weight = lab.random({29, width}, {37, width});
      Twin targets = lab.tokens({1, 31}, 29);
      Twin loss = lab.values(DType::Fp32, {1}, {0.0F});
      Twin dweight = lab.empty({29, width}, {37, width});
      Twin logits = lab.empty({5, 37});
      Twin sum = lab.floats({37, width});
      Twin workspace = lab.gemm_workspace();
      lab.run([&](Device& device, Side side) {
        device.run(HeadLoss{side(hidden), side(weight), side(targets), 5, 1.0F, nullptr, side(loss),
                            side(&dweight), false, side(logits),
                            is_16_bit(dtype) ? side(&sum) : nullptr, side(workspace)});
      });
      lab.expect_close(hidden, Bound::once.times(4), "odd rows of " + std::to_string(width));
      lab.expect_close(dweight, Bound::once.times(4), "dweight of odd rows");
    }
  }
}

TEST_F(GemmTest, RefusesMatricesThatDoNotFit) {
  Lab lab(DType::Fp32);
  Twin x = lab.random({4, 8});
  Twin weight = lab.random({6, 9});
  Twin y = lab.empty({4, 6});
  Twin workspace = lab.gemm_workspace();
  EXPECT_THROW(gpu().run(LinearForward{x.gpu, weight.gpu, nullptr, nullptr, y.gpu, workspace.gpu}),
               std::logic_error);
}

}  // namespace
}  // namespace vramfit
