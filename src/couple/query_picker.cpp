#include "couple/query_picker.h"

#include <algorithm>
#include <utility>

#include "couple/spool_format.h"
#include "stap/core/hash64.h"

namespace stap {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSoon{20}, kLate{2000};  // between two listings
constexpr int kOfCost = 5;  // and never so often that a slow file system has nothing else to do
constexpr std::size_t kMissesMost = 8;   // in a row, before what was listed is too old
constexpr std::size_t kNamesLeast = 16;  // of one listing

}  // namespace

QueryPicker::QueryPicker(const std::string& server)
    : random_(hash64(std::as_bytes(std::span(server)))), pause_(kSoon) {}

std::optional<std::string> QueryPicker::next(const SpoolFolder& folder, std::size_t slots) {
  if (names_.empty() && Clock::now() >= due_) list(folder, slots);
  if (names_.empty()) return std::nullopt;
  std::string name = std::move(names_.back());
  names_.pop_back();
  return name;
}

void QueryPicker::fetched(bool ours) {
  if (ours) pause_ = kSoon;
  misses_ = ours ? 0 : misses_ + 1;
  if (misses_ >= kMissesMost) names_.clear();
}

void QueryPicker::list(const SpoolFolder& folder, std::size_t slots) {
  const auto begun = Clock::now();
  std::vector<std::string> there = names_in(folder.folder("queries"), pause_ >= 5 * kSoon);
  std::erase_if(there, [](const std::string& name) { return !is_spool_key(name); });
  std::vector<std::uint32_t> order;
  shuffle(random_.split("list", ++lists_), there.size(), order);
  order.resize(std::min(order.size(), std::max(kNamesLeast, 2 * slots)));
  for (const std::uint32_t i : order) names_.push_back(std::move(there[i]));
  misses_ = 0;
  waiting_ = there.size();
  const auto now = Clock::now();
  const double spread = random_.split("pause", lists_).uniform(0, 0.75, 1.25);
  due_ = now + std::max(std::chrono::duration_cast<Clock::duration>(pause_ * spread),
                        kOfCost * (now - begun));
  pause_ = std::min<Clock::duration>(pause_ * 3 / 2, kLate);
}

}  // namespace stap
