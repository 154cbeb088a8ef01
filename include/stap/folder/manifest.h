#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stap/config/value.h"

namespace stap {

/// `manifest.json`: with what a run was begun.
struct Manifest {
  std::string version{}, compiler{}, cpu{}, instruction_set{};
  std::string device{};  ///< where networks are trained; empty: they were not yet
  /// Where the mean model's steps were made, once that was elsewhere; mostly empty.
  std::string walked_on{};
  std::string solver{};
  std::uint64_t seed = 0, data_seed = 0;
  /// The problem, a map: `name` (of the equation or command), `channels` (names), `points`,
  /// `lengths`, `dt`, `steps`, `cluster`, `parameters` (names), `pool_sha256`, `test_sha256`
  /// (absent without a test set), `pool_file` and `test_file` (where named), `data_key`.
  config::Value identity{};
  std::string run{};  ///< its run_id()
};

/// The text of the file, without its seal.
std::string manifest_text(const Manifest& manifest);

/// The body of a line of type kRunLine (run_id.h).
config::Value run_line(const Manifest& manifest, const config::Value& document);

/// This machine's and build's part of it.
Manifest this_machine();

/// A text of the identity; empty if it is not there.
std::string identity_text(const Manifest& manifest, const char* key);
/// The names that the identity has for so many channels, or unnamed_channels().
std::vector<std::string> channel_names(const Manifest& manifest, std::size_t channels);

}  // namespace stap
