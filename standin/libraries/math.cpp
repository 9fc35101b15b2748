#include <cstdio>

#include "standin/calls/unanswered.h"
#include "standin/libraries/cuda.h"
#include "standin/libraries/tables.h"

// cuFFT, cuRAND, cuSOLVER, cuSPARSE: handles and descriptors. Their workspaces are in no rule of
// ours: sizes.cpp.
namespace vramfit::standin {
namespace {

Result give_plan(int* plan) {
  *plan = 1;
  return kSuccess;
}
const char* error_text_of(Result) { return "a library stood in for by vramfit"; }

/// What it compresses weights to is no size of a workspace, that could be left out.
Result refuse_sparse_lt(void* /*handle*/) {
  constexpr Result kNotSupportedBySparse = 10;
  const void* caller = __builtin_return_address(0);
  if (count_unknown("libcusparseLt.so.0", "cusparseLtInit", caller)) {
    std::fputs(
        "vramfit: cuSPARSELt is not stood in for: SparseSemiStructuredTensor._FORCE_CUTLASS "
        "= True has PyTorch do without it\n",
        stderr);
  }
  return kNotSupportedBySparse;
}

}  // namespace

std::span<const Answer> math_answers() {
  static const Answer answers[] = {
      answer("cufftCreate", give_plan),
      answer("curandCreateGenerator", give_handle),
      answer("cusolverDnCreate", give_handle),
      answer("cusolverDnCreateGesvdjInfo", give_handle),
      answer("cusolverDnCreateParams", give_handle),
      answer("cusolverDnCreateSyevjInfo", give_handle),
      answer("cusparseCreate", give_handle),
      answer("cusparseCreateBsrsm2Info", give_handle),
      answer("cusparseCreateBsrsv2Info", give_handle),
      answer("cusparseCreateCoo", give_handle),
      answer("cusparseCreateCsr", give_handle),
      answer("cusparseCreateDnMat", give_handle),
      answer("cusparseCreateDnVec", give_handle),
      answer("cusparseCreateMatDescr", give_handle),
      answer("cusparseSpGEMM_createDescr", give_handle),
      answer("cusparseSpSM_createDescr", give_handle),
      answer("cusparseSpSV_createDescr", give_handle),
      answer("cusparseGetErrorString", error_text_of),
      answer("cusparseLtInit", refuse_sparse_lt),
  };
  return answers;
}

}  // namespace vramfit::standin
