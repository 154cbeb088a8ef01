#include "run/correspondence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/core/hash64.h"
#include "stap/data/store.h"

namespace stap {
namespace {

constexpr unsigned kIdBits = 53;

// Where an answer is recorded.
struct Place {
  std::size_t run = 0, acquisition = 0, candidate = 0, step = 0;
};

// All that was answered, by the ids of their questions.
std::map<std::uint64_t, Place> recorded_places(std::span<const Run> runs) {
  std::map<std::uint64_t, Place> places;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const std::uint64_t key = run_key(runs[r]);
    runs[r].folder.read_answers([&](std::size_t acquisition, const AnswerRecord& a) {
      places[question_id(key, acquisition, a.candidate, a.step, a.input_hash)] = {
          r, acquisition, a.candidate, a.step};
    });
  }
  return places;
}

[[noreturn]] void refuse(const ToldAnswer& told, const std::string& why) {
  throw Error(ErrorKind::data,
              fmt::format("{} (id {}): {}; nothing was recorded", told.where, told.id, why));
}

// The states it has, NaN behind them not counted. Throws unless its shape is that of states.
std::size_t states_of(const ToldAnswer& told, const Grid& grid) {
  std::vector<std::size_t> single{grid.channels};
  single.insert(single.end(), grid.points.begin(), grid.points.end());
  const bool one = told.shape == single;
  const bool several = told.shape.size() == single.size() + 1 &&
                       std::equal(single.begin(), single.end(), told.shape.begin() + 1);
  if (!one && !several)
    refuse(told, fmt::format("states of {}, expected {} or [steps] x {}", shape_text(told.shape),
                             shape_text(single), shape_text(single)));
  std::size_t count = told.states.size() / grid.values();
  const auto empty = [&](std::size_t state) {
    const auto from = told.states.begin() + static_cast<std::ptrdiff_t>(state * grid.values());
    return std::all_of(from, from + static_cast<std::ptrdiff_t>(grid.values()),
                       [](double value) { return std::isnan(value); });
  };
  while (count > 0 && empty(count - 1)) --count;
  for (std::size_t i = 0; i < count * grid.values(); ++i)
    if (!std::isfinite(told.states[i]))
      refuse(told, fmt::format("value {} of state {} is {}; a row that failed says so in 'failed'",
                               i % grid.values(), i / grid.values(), told.states[i]));
  return count;
}

Answer answer_to(const Question& question, const ToldAnswer& told, const Grid& grid) {
  Answer answer{.attempts = 1};
  if (told.failed) {
    answer.reason = told.reason.empty() ? "somebody said so" : told.reason;
    return answer;
  }
  const std::size_t count = states_of(told, grid), asked = question.query.steps;
  if (count != asked)
    refuse(told, fmt::format("{} states, but {} {} asked for", count, asked,
                             asked == 1 ? "step was" : "steps were"));
  answer.status = Answer::Status::ok;
  answer.states.assign(told.states.begin(),
                       told.states.begin() + static_cast<std::ptrdiff_t>(count * grid.values()));
  return answer;
}

// Throws unless what is told is what was told before.
void check_same(const ToldAnswer& told, const Place& place, const LoggedAnswers& answers,
                const Run& run) {
  const auto differs = [&] {
    refuse(told, fmt::format("candidate {}, step {} was answered before, and differently",
                             place.candidate, place.step + 1));
  };
  const Grid& grid = run.problem->identity.grid;
  const std::size_t frames = run.study.options.cluster;  // of a recorded step
  const std::size_t count = told.failed ? 0 : states_of(told, grid);
  const auto first = answers.find(place.candidate, place.step);
  if (told.failed != (first->status == Answer::Status::failed)) differs();
  for (std::size_t s = 0; s * frames < count; ++s) {
    const auto answer = answers.find(place.candidate, place.step + s);
    // The guard may have ended it there.
    if (answer && answer->status == Answer::Status::refused) return;
    const auto from = told.states.begin() + static_cast<std::ptrdiff_t>(s * frames * grid.values());
    if (!answer || (s + 1) * frames > count ||
        !std::equal(answer->state.begin(), answer->state.end(), from))
      differs();
  }
}

}  // namespace

std::uint64_t run_key(const Run& run) {
  // As its folder calls it from the beginning: to a later version, which knows more options, it is
  // another configuration, but the questions that people have in their hands are the same.
  const std::string id = run.folder.run();
  return hash64(std::as_bytes(std::span(id)));
}

std::uint64_t question_id(std::uint64_t run, std::size_t acquisition, std::size_t candidate,
                          std::size_t step, std::uint64_t input_hash) {
  const std::array<std::uint64_t, 5> words{run, acquisition, candidate, step, input_hash};
  return hash64(std::as_bytes(std::span(words))) >> (64 - kIdBits);
}

Question question_of(const OpenQuestion& order, const Run& run, std::span<const Run> runs) {
  const std::size_t acquisition = run.transitions.acquisitions;
  const auto [candidate, step] = order.first;
  return {question_id(run_key(run), acquisition, candidate, step, order.input_hash),
          static_cast<std::size_t>(&run - runs.data()),
          acquisition,
          candidate,
          step,
          *order.query};
}

std::vector<Reply> sort_out(ByHand& by_hand, std::span<const Run> runs,
                            std::span<const Question> open) {
  if (by_hand.told.empty()) return {};
  std::map<std::uint64_t, std::size_t> questions;
  for (std::size_t q = 0; q < open.size(); ++q) questions.emplace(open[q].id, q);
  const std::map<std::uint64_t, Place> places = recorded_places(runs);
  std::map<std::pair<std::size_t, std::size_t>, LoggedAnswers> logs;
  std::vector<Reply> replies;
  std::set<std::uint64_t> seen;
  std::size_t known = 0;
  for (const ToldAnswer& told : by_hand.told) {
    if (!seen.insert(told.id).second) refuse(told, "this id is there twice");
    if (const auto found = questions.find(told.id); found != questions.end()) {
      const Question& question = open[found->second];
      replies.push_back(
          {found->second, answer_to(question, told, runs[question.run].problem->identity.grid)});
      continue;
    }
    const auto place = places.find(told.id);
    if (place == places.end())
      refuse(told, "no such question was asked by this run; is it an answer to another one?");
    const Place& at = place->second;
    const auto [log, is_new] = logs.try_emplace({at.run, at.acquisition});
    if (is_new) log->second = runs[at.run].answers.recorded(at.acquisition);
    check_same(told, at, log->second, runs[at.run]);
    ++known;
  }
  by_hand.told.clear();
  by_hand.recorded += replies.size();
  by_hand.known += known;
  return replies;
}

}  // namespace stap
