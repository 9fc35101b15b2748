#include "bench/report/report.h"

#include <iostream>
#include <stdexcept>
#include <thread>

namespace vramfit::bench {

Report::Report(const GoogleFlags& flags, const std::map<std::string, std::string>& facts)
    : to_screen_(make_reporter(flags.format, facts)),
      display_(*to_screen_, flags.format, std::cout, mutex_) {
  if (flags.out.empty()) return;
  target_.emplace("benchmark_out", flags.out);
  to_text_ = make_reporter(flags.out_format, facts);
  file_.emplace(*to_text_, flags.out_format, text_, mutex_);
}

void Report::write() {
  const std::lock_guard lock(mutex_);
  std::cout.flush();  // before a file that goes there too
  write_file();
  flush_standard_output();
}

int Report::cut_short() {
  mutex_.lock();
  while (file_ && file_->rows() < display_.rows()) {  // a row on the screen is in the file at once
    mutex_.unlock();
    std::this_thread::yield();
    mutex_.lock();
  }
  const int rows = file_ ? file_->rows() : display_.rows();
  if (rows == 0) {
    target_.reset();
    return 0;
  }
  display_.finish();
  std::cout.flush();
  if (file_) file_->finish();
  write_file();
  flush_standard_output();
  return rows;
}

void Report::write_file() {
  if (target_) target_->replace(text_.str());
  target_.reset();
}

void flush_standard_output() {
  if (!std::cout.flush()) throw std::runtime_error("cannot write standard output");
}

}  // namespace vramfit::bench
