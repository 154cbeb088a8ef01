#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stap/config/value.h"

namespace stap::config {

/// One thing wrong with a configuration.
struct Complaint {
  std::string path;    ///< "pde.points"; empty for the document as a whole
  std::string text;    ///< "is 4, expected an integer >= 8"
  std::string origin;  ///< "run.yaml:3:7" or empty

  /// "run.yaml:3:7: pde.points: is 4, expected an integer >= 8"
  std::string line() const;
};

/// Collects complaints, so that a user sees all of them at once.
class Complaints {
 public:
  /// From now on a complaint that is added without an origin gets that of its path in `document`.
  void about(Value document) { document_ = std::move(document); }
  void add(std::string path, std::string text, const Origin& origin = {});
  void add(Complaint complaint) { list_.push_back(std::move(complaint)); }
  bool empty() const { return list_.empty(); }
  const std::vector<Complaint>& list() const { return list_; }
  /// Throws Error(config) with one line per complaint, if there is any.
  void throw_if_any() const;

 private:
  Value document_;
  std::vector<Complaint> list_;
};

/// The known word nearest to a misspelt one (edit distance, letter case ignored); empty if none is
/// near enough to be meant.
std::string suggest(std::string_view word, std::span<const std::string> known);
/// "; did you mean 'points'?" or "", then " (known <what>: a, b, c)".
std::string hint(std::string_view word, std::span<const std::string> known, std::string_view what);

}  // namespace stap::config
