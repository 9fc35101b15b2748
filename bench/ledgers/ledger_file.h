#pragma once

#include <filesystem>
#include <string>

#include "model/memory/kept_ledger.h"

namespace vramfit::bench {

/// A row's ledger in a file: JSON in columns, compressed (gzip, RFC 1952), a few KB for a step of
/// seven billion parameters. docs/schemas/ledger.schema.json describes what is compressed.
struct LedgerFile {
  std::string row;
  bool measured = false;  ///< of a run on a device, rather than of one on paper
  KeptLedger ledger;
};

std::string packed(const LedgerFile& file);
/// Throws BadInput, which names `source`, where `bytes` are no such file.
LedgerFile unpacked(const std::string& bytes, const std::string& source);

/// Of a row's file in the folder of a run: "Training_llama2-7b_fp16_adamw_batch-1_seq-512.json.gz".
std::filesystem::path ledger_path(const std::filesystem::path& folder, const std::string& row);

/// Throws BadInput where there is none, or it is none.
LedgerFile read_ledger(const std::filesystem::path& path);

}  // namespace vramfit::bench
