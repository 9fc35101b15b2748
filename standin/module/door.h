#pragma once

#include <cstdint>

// What Python reaches of the stand-in, by ctypes. Texts are UTF-8; what is returned lives until the
// next call of the same function by the same thread.
#pragma GCC visibility push(default)
extern "C" {

/// Makes the machine of `facts`, JSON as card/facts.h reads it. "" or what is wrong.
const char* vramfit_standin_start(const char* facts);

/// Stands in for what these files want, a path a line; `folder` gets the files of the shells. "" or
/// what is wrong. Nothing of it before vramfit_standin_start().
const char* vramfit_standin_load(const char* files, const char* folder);

/// The soname of what stands in for the library that a file is, or "": see soname_for() in
/// calls/shells.h.
const char* vramfit_standin_soname(const char* file);

/// See libraries/cudnn.h.
void vramfit_standin_tell_cudnn_version(std::uint64_t version);

/// The distance from an address of a GPU's memory to its twin's.
std::uint64_t vramfit_standin_twin_distance();

/// What is known of bytes of a GPU's memory, as Knowledge counts: 0 unknown, 1 assumed, 2 known; as
/// numbers of a Kind: 1 integers, 2 floating-point ones.
void vramfit_standin_know(std::uint64_t address, std::uint64_t bytes, int knowledge, int kind);
int vramfit_standin_known(std::uint64_t address, std::uint64_t bytes, int kind);
void vramfit_standin_forget_floats();

/// See copies.h.
void vramfit_standin_look_at_copies(int look);
void vramfit_standin_next_read(std::int64_t value);
void vramfit_standin_no_more_reads();

/// The kernels that were launched, as JSON: of each its name, demangled, and how often.
const char* vramfit_standin_kernels();

/// Columns with outliers to LLM.int8(), of what enters a linear: an MLP's hidden elements, each of
/// `hidden` of the stream, or the stream itself, where `activation` is null. model/ops/outliers.h.
std::int64_t vramfit_standin_outlier_columns(const char* activation, int gated, std::int64_t hidden,
                                             std::int64_t rows, std::int64_t columns,
                                             double quantile);

/// Starts counting a GPU's most used bytes anew.
void vramfit_standin_reset_peak(int device);

/// What there is to tell, as JSON: of each GPU the bytes used, at most and now, by libraries; of
/// the host the page-locked and managed ones; unknown calls; reads of unknown bytes; doubtful
/// events.
const char* vramfit_standin_report();
}
#pragma GCC visibility pop
