#include "couple/query_tries.h"

#include <algorithm>

namespace stap {
namespace {

constexpr int kLostMost = 3;
constexpr double kRestAfterLoss = 0.2;  // seconds, times the number of losses
// Of a slot for which there is no room: doubled every time.
constexpr double kRestWithoutRoom = 0.25, kRestWithoutRoomMost = 60.0;  // seconds

}  // namespace

QueryTries::Next QueryTries::judge(const Outcome& outcome, bool ended, const SlotRules& rules,
                                   double& rest) {
  const auto now = Slot::Clock::now();
  if (!outcome.not_begun) no_room_since_.reset();
  if (outcome.not_begun && !ended) {
    if (!no_room_since_) no_room_since_ = now;
    if (std::chrono::duration<double>(now - *no_room_since_).count() < rules.limits.launch) {
      --tries_;
      rest = std::clamp(2 * rest, kRestWithoutRoom, kRestWithoutRoomMost);
      return Next::front;
    }
  }
  rest = 0.0;
  if (outcome.lost && !ended && ++losses_ < kLostMost) {
    --tries_;
    rest = kRestAfterLoss * losses_;
    return Next::front;
  }
  const bool again = outcome.worth_a_retry || outcome.lost;
  const bool left = tries_ <= static_cast<int>(rules.retries);
  return outcome.answer.status == Answer::Status::failed && again && left && !ended ? Next::behind
                                                                                    : Next::reply;
}

}  // namespace stap
