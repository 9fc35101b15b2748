#include "bench/ledgers/ledger_folder.h"

#include <exception>
#include <iostream>
#include <system_error>

#include "bench/ledgers/ledger_file.h"
#include "estimator/files/atomic_file.h"
#include "model/errors.h"

namespace vramfit::bench {

LedgerFolder::LedgerFolder(const std::string& flag, std::filesystem::path folder)
    : folder_(std::move(folder)) {
  if (folder_.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (!error && std::filesystem::is_directory(folder_, error)) return;
  throw BadInput(flag + ": cannot make the folder '" + folder_.string() + "'" +
                 (error ? ": " + error.message() : "") + "; a folder that can be written");
}

void LedgerFolder::keep(const std::string& row, bool measured, const Result& result) {
  if (!keeps()) return;
  const std::filesystem::path path = ledger_path(folder_, row);
  if (!result.ledger) {
    const bool expected = result.counters.values().count("ledger_equal") > 0;
    failed_ = failed_ || (expected && !std::filesystem::exists(path));
    return;
  }
  try {
    AtomicFile("ledgers", path).replace(packed({row, measured, *result.ledger}));
  } catch (const std::exception& error) {
    std::cerr << "bench: error: " << error.what() << "\n";
    failed_ = true;
  }
}

}  // namespace vramfit::bench
