#pragma once

#include <cstddef>
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

/// Complaints that are kept of one document: a file with more mistakes has one of another kind.
inline constexpr std::size_t kMaxComplaints = 100;

/// Collects complaints, so that a user sees all of them at once; beyond kMaxComplaints they are
/// only counted.
class Complaints {
 public:
  /// From now on a complaint that is added without an origin gets that of its path in `document`.
  void about(Value document) { document_ = std::move(document); }
  void add(std::string path, std::string text, const Origin& origin = {});
  void add(Complaint complaint);
  bool empty() const { return list_.empty(); }
  /// From here on texts are not kept: there is no need to make them.
  bool full() const { return list_.size() == kMaxComplaints; }
  const std::vector<Complaint>& list() const { return list_; }
  /// Throws Error(config) with one line per complaint, if there is any.
  void throw_if_any() const;

 private:
  Value document_;
  std::vector<Complaint> list_;
  std::size_t count_ = 0;
};

/// The known word nearest to a misspelt one (edit distance, letter case ignored); empty if none is
/// near enough to be meant.
std::string suggest(std::string_view word, std::span<const std::string> known);
/// "; did you mean 'points'?" or, where no word is near, " (known <what>: a, b, c)".
std::string hint(std::string_view word, std::span<const std::string> known, std::string_view what);

}  // namespace stap::config
