#include "stap/config/complaints.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap::config {
namespace {

constexpr std::size_t kMostListed = 24;  // more names than that help nobody

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Insertions, deletions, replacements and swaps of neighbours that turn a into b.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::move(above);
    above = std::move(row);
    row.assign(b.size() + 1, i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const auto same = [&](std::size_t p, std::size_t q) {
        return lower(a[p - 1]) == lower(b[q - 1]);
      };
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same(i, j) ? 0 : 1)});
      if (i > 1 && j > 1 && same(i, j - 1) && same(i - 1, j))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string Complaint::line() const {
  return fmt::format("{}{}{}{}{}", origin, origin.empty() ? "" : ": ", path,
                     path.empty() ? "" : " ", text);
}

void Complaints::add(std::string path, std::string text, const Origin& origin) {
  std::string where;
  if (!full()) where = origin.source ? origin.text() : origin_of(document_, path).text();
  add({std::move(path), std::move(text), std::move(where)});
}

void Complaints::add(Complaint complaint) {
  ++count_;
  if (!full()) list_.push_back(std::move(complaint));
}

void Complaints::throw_if_any() const {
  if (list_.empty()) return;
  if (list_.size() == 1) throw Error(ErrorKind::config, list_.front().line());
  std::string message = fmt::format("{} problems in the configuration", count_);
  if (count_ > list_.size()) message += fmt::format(", the first {} of them", list_.size());
  for (const Complaint& complaint : list_) message += "\n  " + complaint.line();
  throw Error(ErrorKind::config, message);
}

std::string suggest(std::string_view word, std::span<const std::string> known) {
  // Long words are no slips of the pen, and the distance costs their product.
  if (word.size() > 64) return "";
  std::string nearest;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string hint(std::string_view word, std::span<const std::string> known, std::string_view what) {
  const std::string nearest = suggest(word, known);
  if (!nearest.empty()) return fmt::format("; did you mean '{}'?", nearest);
  if (known.empty()) return fmt::format(" (there are no {})", what);
  if (known.size() > kMostListed)
    return fmt::format(" (there are {} {}: 'stap list' shows them)", known.size(), what);
  return fmt::format(" (known {}: {})", what, fmt::join(known, ", "));
}

}  // namespace stap::config
