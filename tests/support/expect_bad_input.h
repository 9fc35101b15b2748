#pragma once

#include <gtest/gtest.h>

#include <string>

#include "model/errors.h"

namespace vramfit {

/// Runs `body`, which must throw a BadInput of one line that holds each of `parts`.
template <typename Body>
void expect_bad_input(const Body& body, std::initializer_list<const char*> parts) {
  try {
    body();
    ADD_FAILURE() << "nothing thrown where '" << *parts.begin() << "' was expected";
  } catch (const BadInput& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    for (const char* part : parts) {
      EXPECT_NE(message.find(part), std::string::npos) << "no '" << part << "' in: " << message;
    }
  }
}

}  // namespace vramfit
