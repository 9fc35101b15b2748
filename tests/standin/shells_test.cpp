#include "standin/calls/shells.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "standin/calls/unanswered.h"
#include "standin/libraries/cuda.h"
#include "standin/machine.h"
#include "tests/standin/machine_of_tests.h"

namespace vramfit::standin {
namespace {

namespace fs = std::filesystem;

/// A library that was built for CUDA, loaded after what it wants was stood in for.
class Program {
 public:
  explicit Program(const fs::path& file) {
    start_machine_of_tests();
    const fs::path folder = fs::path(::testing::TempDir()) / "vramfit_shells";
    fs::create_directories(folder);
    stand_in_for({file}, folder);
    handle_ = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle_) throw std::runtime_error(::dlerror());
  }

  int version() const { return function<int()>("program_version")(); }
  void* malloc(unsigned long bytes) const {
    return function<void*(unsigned long)>("program_malloc")(bytes);
  }
  int unknown() const { return function<int(int)>("program_unknown")(5); }

 private:
  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(::dlsym(handle_, name));
  }
  void* handle_ = nullptr;
};

UnknownCall call_of(const std::string& library, const std::string& name) {
  for (const UnknownCall& call : unknown_calls()) {
    if (call.library == library && call.name == name) return call;
  }
  return {};
}
std::uint64_t calls_of(const std::string& library, const std::string& name) {
  return call_of(library, name).calls;
}

TEST(Shells, CudaOf12AndOf13LiveInOneProcess) {
  const Program old(PROGRAM_OF_CUDA_12);
  const Program fresh(PROGRAM_OF_CUDA_13);
  EXPECT_EQ(old.version() / 1000, 12);
  EXPECT_EQ(fresh.version() / 1000, 13);
  void* first = old.malloc(std::size_t{4} << 20);
  void* second = fresh.malloc(std::size_t{4} << 20);
  EXPECT_NE(first, nullptr);
  EXPECT_NE(first, second) << "of one card";
  for (void* pointer : {first, second}) EXPECT_EQ(cuda("cudaFree", pointer), kSuccess);
}

TEST(Shells, NoUnknownCallPassesInSilence) {
  const Program program(PROGRAM_OF_CUDA_13);
  EXPECT_EQ(calls_of("libcudart.so.13", "cudaNobodyKnowsThis"), 0U);
  EXPECT_EQ(program.unknown(), 0) << "it did nothing, and says that it succeeded";
  program.unknown();
  EXPECT_EQ(calls_of("libcudart.so.13", "cudaNobodyKnowsThis"), 2U);
  EXPECT_EQ(calls_of("libcudart.so.13", "cudaMalloc"), 0U);
  EXPECT_EQ(calls_of("libcudart.so.12", "cudaNobodyKnowsThis"), 0U);
}

TEST(Shells, AFunctionThatIsAskedForByNameIsCountedToo) {
  start_machine_of_tests();
  void* function = function_named("libcuda.so.1", "cuNobodyKnowsThis");
  ASSERT_NE(function, nullptr);
  EXPECT_EQ(function_named("libcuda.so.1", "cuNobodyKnowsThis"), function);
  reinterpret_cast<int (*)()>(function)();
  EXPECT_EQ(calls_of("libcuda.so.1", "cuNobodyKnowsThis"), 1U);
  EXPECT_EQ(function_named("libm.so.6", "sin"), nullptr) << "none of NVIDIA's";
}

TEST(Shells, WhoCalledIsKnown) {
  const Program program(PROGRAM_OF_CUDA_12);
  program.unknown();
  EXPECT_EQ(call_of("libcudart.so.12", "cudaNobodyKnowsThis").by, PROGRAM_OF_CUDA_12);
}

TEST(Shells, SizesThatNoRuleTellsAreZeroAndNamed) {
  const Program program(PROGRAM_OF_CUDA_13);
  using InElements = int(void*, int, int, void*, int, int*);
  auto* potrf = reinterpret_cast<InElements*>(
      function_named("libcusolver.so.12", "cusolverDnCpotrf_bufferSize"));
  int elements[] = {5, 5};
  EXPECT_EQ(potrf(nullptr, 0, 8, nullptr, 8, elements), 0);
  EXPECT_EQ(elements[0], 0);
  EXPECT_EQ(elements[1], 5);
  EXPECT_TRUE(call_of("libcusolver.so.12", "cusolverDnCpotrf_bufferSize").as_zero);

  using OnDeviceAndHost = int(void*, void*, int, std::int64_t, int, void*, std::int64_t, int,
                              std::size_t*, std::size_t*);
  auto* any_potrf = reinterpret_cast<OnDeviceAndHost*>(
      function_named("libcusolver.so.12", "cusolverDnXpotrf_bufferSize"));
  std::size_t device = 5;
  std::size_t host = 5;
  any_potrf(nullptr, nullptr, 0, 8, 0, nullptr, 8, 0, &device, &host);
  EXPECT_EQ(device, 0U);
  EXPECT_EQ(host, 0U);

  reinterpret_cast<int (*)()>(function_named("libcusolver.so.12", "cusolverDnCpotrf"))();
  EXPECT_EQ(calls_of("libcusolver.so.12", "cusolverDnCpotrf"), 0U) << "it only computes";
}

TEST(Shells, ACudaRuntimeInsideALibraryIsToldWhereItIs) {
  const Program program(PROGRAM_OF_CUDA_13);
  auto* ask = reinterpret_cast<int (*)(const void**, const void*)>(
      function_named("libcuda.so.1", "cuGetExportTable"));
  const void* table = &table;
  ::testing::internal::CaptureStderr();
  EXPECT_NE(ask(&table, nullptr), 0);
  EXPECT_NE(ask(&table, nullptr), 0);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(table, nullptr);
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_NE(said.find("standin_test has a CUDA runtime of its own inside"), said.npos) << said;
  EXPECT_EQ(calls_of("libcuda.so.1", "cuGetExportTable"), 2U);
}

TEST(ShellsDeathTest, UnderStrictTheFirstUnknownCallEndsTheProcess) {
  const Program program(PROGRAM_OF_CUDA_13);
  EXPECT_EXIT(
      {
        end_at_unknown_calls();
        program.malloc(1);
        program.unknown();
      },
      ::testing::ExitedWithCode(3),
      "the program called cudaNobodyKnowsThis of libcudart.so.13, which is not known");
}

TEST(Shells, FilesThatAreNoLibrariesWantNothing) {
  const fs::path folder = ::testing::TempDir();
  const fs::path text = folder / "vramfit_text.so";
  std::ofstream(text) << "no library\n";
  EXPECT_NO_THROW(stand_in_for({text, folder / "absent.so", folder}, folder));
  fs::remove(text);
}

TEST(Shells, AFolderThatCannotBeWrittenIsSaid) {
  // The driver's functions are wanted by nobody here, so that its shell is none that is there yet.
  EXPECT_THROW(stand_in_for({"libcufft.so.11"}, "/nowhere/at/all"), std::runtime_error);
}

}  // namespace
}  // namespace vramfit::standin
