#include "core/answer_times.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace stap {
namespace {

constexpr std::size_t kRecent = 101;

}  // namespace

void AnswerTimes::add(double seconds, std::size_t steps) {
  recent_.push_back(seconds / static_cast<double>(std::max<std::size_t>(steps, 1)));
  if (recent_.size() > kRecent) recent_.pop_front();
  ++known_;
  std::vector<double> sorted(recent_.begin(), recent_.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  median_ = *middle;
}

std::optional<double> AnswerTimes::usual(std::size_t steps) const {
  if (known_ == 0) return std::nullopt;
  return median_ * static_cast<double>(steps);
}

void WindingDown::add(std::optional<double> usual, double so_far) {
  ++running;
  known = known && usual.has_value();
  if (usual) seconds = std::max(seconds, *usual - so_far);
}

std::string WindingDown::text() const {
  const std::string left = !known          ? "and none has ended yet to tell how long"
                           : seconds < 1   ? "and should end any moment"
                           : seconds < 100 ? fmt::format("for about {:.0f} s still", seconds)
                           : seconds < 6000
                               ? fmt::format("for about {:.0f} min still", seconds / 60)
                               : fmt::format("for about {:.1f} h still", seconds / 3600);
  return fmt::format("no new query is started; {} {} running, {}", running,
                     running == 1 ? "is" : "are", left);
}

}  // namespace stap
