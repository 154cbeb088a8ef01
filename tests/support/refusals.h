#pragma once

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "stap/core/error.h"

namespace stap::test {

/// Expects an Error of this kind whose message says `part`.
inline void expect_error(ErrorKind kind, const std::string& part,
                         const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown; expected: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

}  // namespace stap::test
