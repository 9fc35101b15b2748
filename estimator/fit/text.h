#pragma once

#include <cstdint>
#include <string>

#include "estimator/ask/question.h"

// Pieces of text that both the picture and the table of cards use.
namespace vramfit::fit {

/// Bytes as GB (1e9), without the unit; what would look like nothing is "<0.01".
std::string gb(std::uint64_t bytes, int decimals = 2);

/// Decimals of GB in a table: small models are a matter of MB.
int table_decimals(const Estimate& estimate);

/// "in backward of step 2"; "in prefill".
std::string moment(Stage stage, int step);

/// "25.76 GB (23.99 GiB)".
std::string both_units(std::uint64_t bytes);

/// `text` in lines of at most columns(), those after the first indented by `indent`.
std::string wrapped(const std::string& text, std::size_t indent);

/// What is asked about: a model and its size, or somebody's script.
std::string model_line(const ModelConfig& model, std::int64_t parameters);

/// What figures rest on, in two lines: the runtime, and whose overhead.
std::string rests_on(const Request& request, const Estimate& estimate);

/// The same at length: which runtime, and how another differs.
std::string runtime_text(const Request& request);

}  // namespace vramfit::fit
