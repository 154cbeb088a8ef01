#pragma once

#include <functional>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "stap/core/error.h"

namespace stap::test {

/// The Error that `call` throws, if it throws one.
inline std::optional<Error> error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

/// The message of the Error of this kind that `call` must throw.
inline std::string error_text(ErrorKind kind, const std::function<void()>& call) {
  const std::optional<Error> error = error_of(call);
  if (!error) {
    ADD_FAILURE() << "nothing was thrown";
    return {};
  }
  EXPECT_EQ(error->kind(), kind) << error->what();
  return error->what();
}

/// The kind of the Error that `call` must throw.
inline ErrorKind error_kind(const std::function<void()>& call) {
  const std::optional<Error> error = error_of(call);
  if (!error) ADD_FAILURE() << "nothing was thrown";
  return error ? error->kind() : ErrorKind::internal;
}

/// Expects an Error of this kind whose message says `part`.
inline void expect_error(ErrorKind kind, const std::string& part,
                         const std::function<void()>& call) {
  const std::string text = error_text(kind, call);
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in:\n" << text;
}

/// The message of the Error(config) that `call` throws; empty if it has nothing to complain about.
inline std::string config_complaint(const std::function<void()>& call) {
  const std::optional<Error> error = error_of(call);
  if (!error) return {};
  EXPECT_EQ(error->kind(), ErrorKind::config) << error->what();
  return error->what();
}

}  // namespace stap::test
