// How answers that people bring find their questions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stap/core/solver_queue.h"
#include "stap/market/market.h"
#include "stap/run/by_hand.h"
#include "stap/run/run.h"

namespace stap {

/// What tells runs apart: a hash of what the run's folder calls it (run_id.h); where it is older
/// than that, of all that is chosen but where and how it is computed and how far it goes, and of
/// the states it begins with.
std::uint64_t run_key(const Run& run);
/// The id of a question (Question::id) of such a run. `input_hash` is that of its record.
std::uint64_t question_id(std::uint64_t run, std::size_t acquisition, std::size_t candidate,
                          std::size_t step, std::uint64_t input_hash);

/// What people are asked about an order of this run, which is one of `runs`.
Question question_of(const OpenQuestion& order, const Run& run, std::span<const Run> runs);

/// The answers of `by_hand.told`, which is emptied, to questions that are open, by their places in
/// the list. Those that are recorded already are counted. Throws Error(data), and nothing has
/// changed, if one of them is unknown or there twice, has another shape than the question or other
/// bytes than what is recorded, or is not finite and does not say that it failed.
std::vector<Reply> sort_out(ByHand& by_hand, std::span<const Run> runs,
                            std::span<const Question> open);

}  // namespace stap
