#include <algorithm>
#include <iterator>

#include "standin/calls/answers.h"

// What math libraries say they need, by the arguments that headers of CUDA 13.0 and cuDNN 9 have
// for it. NVIDIA documents none of these sizes. '?' is the element's type: S, D, C, Z.
namespace vramfit::standin {
namespace {

constexpr Gives kGiven[] = {
    // cuSOLVER: bytes of the device and of the host,
    {"cusolverDnXgeev_bufferSize", 17, 8, 2},
    {"cusolverDnXgeqrf_bufferSize", 10, 8, 2},
    {"cusolverDnXgesvd_bufferSize", 18, 8, 2},
    {"cusolverDnXgesvdp_bufferSize", 18, 8, 2},
    {"cusolverDnXgesvdr_bufferSize", 21, 8, 2},
    {"cusolverDnXgetrf_bufferSize", 8, 8, 2},
    {"cusolverDnXpotrf_bufferSize", 8, 8, 2},
    {"cusolverDnXsyevBatched_bufferSize", 11, 8, 2},
    {"cusolverDnXsyevd_bufferSize", 11, 8, 2},
    {"cusolverDnXsytrs_bufferSize", 11, 8, 2},
    {"cusolverDnXtrtri_bufferSize", 7, 8, 2},
    // or elements.
    {"cusolverDn?geqrf_bufferSize", 5, 4},
    {"cusolverDn?gesvd_bufferSize", 3, 4},
    {"cusolverDn?gesvdaStridedBatched_bufferSize", 16, 4},
    {"cusolverDn?gesvdj_bufferSize", 12, 4},
    {"cusolverDn?gesvdjBatched_bufferSize", 11, 4},
    {"cusolverDn?getrf_bufferSize", 5, 4},
    {"cusolverDn?heevd_bufferSize", 7, 4},
    {"cusolverDn?heevj_bufferSize", 7, 4},
    {"cusolverDn?heevjBatched_bufferSize", 7, 4},
    {"cusolverDn?orgqr_bufferSize", 7, 4},
    {"cusolverDn?ormqr_bufferSize", 11, 4},
    {"cusolverDn?potrf_bufferSize", 5, 4},
    {"cusolverDn?potri_bufferSize", 5, 4},
    {"cusolverDn?syevd_bufferSize", 7, 4},
    {"cusolverDn?syevj_bufferSize", 7, 4},
    {"cusolverDn?syevjBatched_bufferSize", 7, 4},
    {"cusolverDn?sytrf_bufferSize", 4, 4},
    {"cusolverDn?ungqr_bufferSize", 7, 4},
    {"cusolverDn?unmqr_bufferSize", 11, 4},

    {"cusparse?bsrsm2_bufferSize", 13, 4},
    {"cusparse?bsrsv2_bufferSize", 11, 4},
    {"cusparse?csrgeam2_bufferSizeExt", 19, 8},
    {"cusparseSDDMM_bufferSize", 10, 8},
    {"cusparseSpGEMM_compute", 11, 8},
    {"cusparseSpGEMM_workEstimation", 11, 8},
    {"cusparseSpMM_bufferSize", 10, 8},
    {"cusparseSpMV_bufferSize", 9, 8},
    {"cusparseSpMatGetSize", 1, 8, 3},  // rows, columns, elements of a product
    {"cusparseSpSM_bufferSize", 10, 8},
    {"cusparseSpSV_bufferSize", 9, 8},
    {"cusparseXcoosort_bufferSizeExt", 6, 8},
    {"cusparseXcsrgeam2Nnz", 13, 4},  // elements of a sum
    {"cusparseXcsrsort_bufferSizeExt", 6, 8},

    {"cufftEstimate1d", 3, 8},
    {"cufftEstimate2d", 3, 8},
    {"cufftEstimate3d", 4, 8},
    {"cufftEstimateMany", 10, 8},
    {"cufftGetSize", 1, 8},
    {"cufftGetSize1d", 4, 8},
    {"cufftGetSize2d", 4, 8},
    {"cufftGetSize3d", 5, 8},
    {"cufftGetSizeMany", 11, 8},
    {"cufftGetSizeMany64", 11, 8},
    {"cufftMakePlan1d", 4, 8},
    {"cufftMakePlan2d", 4, 8},
    {"cufftMakePlan3d", 5, 8},
    {"cufftMakePlanMany", 11, 8},
    {"cufftMakePlanMany64", 11, 8},
    {"cufftXtGetSizeMany", 12, 8},
    {"cufftXtMakePlanMany", 12, 8},

    {"cudnnDropoutGetReserveSpaceSize", 1, 8},
    {"cudnnDropoutGetStatesSize", 1, 8},
    {"cudnnGetBatchNormalizationBackwardExWorkspaceSize", 10, 8},
    {"cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize", 8, 8},
    {"cudnnGetBatchNormalizationTrainingExReserveSpaceSize", 5, 8},
    {"cudnnGetCTCLossWorkspaceSize", 8, 8},
    {"cudnnGetCTCLossWorkspaceSize_v8", 5, 8},
    {"cudnnGetConvolutionBackwardDataWorkspaceSize", 6, 8},
    {"cudnnGetConvolutionBackwardFilterWorkspaceSize", 6, 8},
    {"cudnnGetConvolutionForwardWorkspaceSize", 6, 8},
    {"cudnnGetReductionWorkspaceSize", 4, 8},
};

bool matches(std::string_view pattern, std::string_view name) {
  return std::equal(pattern.begin(), pattern.end(), name.begin(), name.end(),
                    [](char p, char n) { return p == n || p == '?'; });
}

}  // namespace

const Gives* given_by(std::string_view function) {
  const auto* found = std::find_if(std::begin(kGiven), std::end(kGiven),
                                   [=](const Gives& g) { return matches(g.name, function); });
  return found == std::end(kGiven) ? nullptr : found;
}

}  // namespace vramfit::standin
