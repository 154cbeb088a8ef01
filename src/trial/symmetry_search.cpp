#include "stap/trial/symmetry_search.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/solver_asking.h"
#include "stap/core/error.h"
#include "stap/core/symmetry.h"

namespace stap {
namespace {

constexpr std::size_t kStatesJudged = 2;  // initial conditions

// The maps that these make together; empty if they are too many.
std::vector<Symmetry> maps_of(const Grid& grid, const std::vector<Symmetry>& symmetries) {
  try {
    return symmetry_group(grid, symmetries);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::config) throw;
    return {};
  }
}

// Those that are stated first, so that they are not lost. Networks that are told the time cannot be
// trained with time turned round.
std::vector<std::string> to_try(const SolverToCheck& asked, const Solver& solver) {
  std::vector<std::string> all = asked.symmetries;
  std::vector<std::string> signed_ones{""};  // and with the sign of a parameter
  for (const ParameterDraw& draw : asked.draws)
    if (draw.least() == -draw.greatest() && draw.name != "x" && draw.name != "y" &&
        draw.name != "t")
      signed_ones.push_back(fmt::format(", {0} -> -{0}", draw.name));
  for (const std::string& text : symmetry_candidates(solver.grid(), solver.channels()))
    if (!asked.time_input || !parse_symmetry(text, solver.grid(), solver.channels()).reversed)
      for (const std::string& sign : signed_ones) all.push_back(text + sign);
  return all;
}

bool among(const std::vector<Symmetry>& group, const Symmetry& symmetry) {
  return std::ranges::find(group, symmetry) != group.end();
}

class SymmetrySearching {
 public:
  SymmetrySearching(const SolverToCheck& asked, std::size_t calls_most, Observer& observer,
                    const StopAsked& stop)
      : asked_(asked),
        most_(calls_most),
        observer_(observer),
        stop_(stop),
        solver_(asked.make({})),
        queue_(solver_->open()),
        grid_(solver_->grid()),
        group_(symmetry_group(grid_, {})) {}

  SymmetrySearch run() &&;

 private:
  // Empty if no call is left.
  std::optional<SolverTold> ask(const std::vector<double>& state,
                                const std::vector<double>& parameters);
  // From the first or second initial condition that a step changes; null if there is none.
  const SolverStep* step(std::size_t which);
  void first_step();
  // Whether a map that holds leads to this as well, so that a call would tell nothing.
  bool told_already(const SolverStep& step, const SolverStep& image) const;
  // Empty if no call is left.
  std::optional<SymmetryTried> tried(const std::string& text, const Symmetry& symmetry);
  void consider(const std::string& text);
  void leave_out_what_follows();

  const SolverToCheck& asked_;
  std::size_t most_;
  Observer& observer_;
  const StopAsked& stop_;
  std::unique_ptr<Solver> solver_;
  std::unique_ptr<SolverQueue> queue_;
  const Grid& grid_;
  SymmetrySearch search_;
  std::vector<SolverStep> steps_;
  std::size_t begun_ = 0;  // initial conditions
  std::string trouble_;    // of the first of them
  bool out_of_calls_ = false;
  std::vector<Symmetry> found_, broken_, group_;  // the group of those found
};

std::optional<SolverTold> SymmetrySearching::ask(const std::vector<double>& state,
                                                 const std::vector<double>& parameters) {
  if (most_ > 0 && search_.calls >= most_) {
    out_of_calls_ = true;
    return std::nullopt;
  }
  const double time =
      asked_.told_time ? later_time(asked_.time, asked_.span, solver_->dt()) : asked_.time;
  return ask_solver(*solver_, *queue_, {state}, {time}, parameters, 1, stop_, search_.calls)
      .front();
}

const SolverStep* SymmetrySearching::step(std::size_t which) {
  while (steps_.size() <= which && begun_ < asked_.states.size()) {
    const std::vector<double>& from = asked_.states[begun_];
    const auto row = asked_.parameters.row(begun_);
    const std::vector<double> own(row.begin(), row.end());
    const auto told = ask(from, own);
    if (!told) break;
    if (!told->ok() && trouble_.empty())
      trouble_ = fmt::format("initial condition {} {}", begun_, told->trouble());
    ++begun_;
    if (told->ok() && difference(from, told->answer.states) > kOnlyRounding)
      steps_.push_back({from, told->answer.states, own});
  }
  return which < steps_.size() ? &steps_[which] : nullptr;
}

void SymmetrySearching::first_step() {
  if (step(0) != nullptr) return;
  throw Error(ErrorKind::solver,
              trouble_.empty() ? "a step changes nothing, so that no symmetry can be told: ask "
                                 "stap solver check what is wrong"
                               : fmt::format("no step can be tried: {}; stap solver check tells "
                                             "more",
                                             trouble_));
}

bool SymmetrySearching::told_already(const SolverStep& step, const SolverStep& image) const {
  return std::ranges::any_of(group_, [&](const Symmetry& holds) {
    return is_like(grid_, image, image_of(make_state_map(holds, grid_), step));
  });
}

std::optional<SymmetryTried> SymmetrySearching::tried(const std::string& text,
                                                      const Symmetry& symmetry) {
  using Outcome = SymmetryTried::Verdict;
  SymmetryTried row{.text = text};
  const StateMap map = make_state_map(symmetry, grid_);
  for (std::size_t i = 0; i < kStatesJudged; ++i) {
    const SolverStep* made = step(i);
    if (made == nullptr) break;
    const SolverStep image = image_of(map, *made);
    if (told_already(*made, image)) continue;
    const auto told = ask(image.from, image.parameters);
    if (!told) break;
    if (!told->ok()) {
      row.verdict = Outcome::failed;
      row.off.reset();
      row.trouble = told->trouble();
      return row;
    }
    const double off = share_of_change(grid_, image, told->answer.states, image.to);
    row.off = std::max(row.off.value_or(0.0), off);
    row.verdict = *row.off <= kLeastOfSymmetry  ? Outcome::holds
                  : *row.off <= kNearlySymmetry ? Outcome::nearly
                                                : Outcome::broken;
    if (row.verdict == Outcome::broken) return row;
  }
  if (out_of_calls_) return std::nullopt;
  if (!row.off) row.trouble = "cannot be told with these initial conditions";
  return row;
}

void SymmetrySearching::consider(const std::string& text) {
  const Symmetry symmetry = parse_symmetry(text, grid_, solver_->channels(), solver_->parameters());
  if (among(group_, symmetry)) {
    ++search_.decided;
    return;
  }
  std::vector<Symmetry> with = found_;
  with.push_back(symmetry);
  std::vector<Symmetry> group = maps_of(grid_, with);
  if (group.empty()) {
    ++search_.too_many;
    return;
  }
  if (std::ranges::any_of(broken_, [&](const Symmetry& one) { return among(group, one); })) {
    ++search_.decided;
    return;
  }
  auto row = tried(text, symmetry);
  if (!row) {
    ++search_.left;
    return;
  }
  if (row->verdict == SymmetryTried::Verdict::holds) {
    search_.found.push_back(text);
    found_ = std::move(with);
    group_ = std::move(group);
  } else if (row->verdict == SymmetryTried::Verdict::broken) {
    broken_.push_back(symmetry);
  }
  search_.rows.push_back(*std::move(row));
}

// A mirror along y follows from that along x once the swap of both is found.
void SymmetrySearching::leave_out_what_follows() {
  for (std::size_t i = found_.size(); i-- > 0;) {
    std::vector<Symmetry> others = found_;
    const auto at = static_cast<std::ptrdiff_t>(i);
    others.erase(others.begin() + at);
    if (!among(symmetry_group(grid_, others), found_[i])) continue;
    found_ = std::move(others);
    search_.found.erase(search_.found.begin() + at);
  }
}

SymmetrySearch SymmetrySearching::run() && {
  first_step();
  const std::vector<std::string> all = to_try(asked_, *solver_);
  for (std::size_t i = 0; i < all.size(); ++i) {
    observer_.progress({"solver symmetries", i, all.size(), "symmetries"});
    try {
      consider(all[i]);
    } catch (const Stopped&) {  // calls may have taken hours: what they told is not thrown away
      search_.stopped = true;
      search_.left += all.size() - i;
      break;
    }
  }
  if (!search_.stopped)
    observer_.progress({"solver symmetries", all.size(), all.size(), "symmetries"});
  leave_out_what_follows();
  search_.states = steps_.size();
  const std::vector<std::string> channels = solver_->channels();
  const std::size_t points = grid_.points_total();
  for (std::size_t c = 0; c < channels.size(); ++c) {
    const auto is_zero = [&](const std::vector<double>& state) {
      return std::ranges::all_of(std::span(state).subspan(c * points, points),
                                 [](double v) { return v == 0.0; });
    };
    if (std::ranges::all_of(steps_, [&](const SolverStep& s) { return is_zero(s.from); }))
      search_.unseen.push_back(channels[c]);
  }
  for (std::size_t a = 0; a < grid_.axes(); ++a) {
    const auto mirrors = [&](const Symmetry& one) {
      return one.axes[a].from == a && one.axes[a].minus;
    };
    if (std::ranges::any_of(group_, mirrors)) continue;
    search_.unmirrored += fmt::format("{}{}", search_.unmirrored.empty() ? "" : " and ", "xy"[a]);
  }
  return std::move(search_);
}

}  // namespace

bool SymmetrySearch::nothing_told() const {
  return !rows.empty() && std::ranges::all_of(rows, [](const SymmetryTried& row) {
    return row.verdict == SymmetryTried::Verdict::failed;
  });
}

std::size_t planned_search_calls(const SolverToCheck& solver, std::size_t calls_most) {
  const auto made = solver.make({});
  const std::size_t calls =
      std::min(kStatesJudged, solver.states.size()) + to_try(solver, *made).size();
  return calls_most > 0 ? std::min(calls, calls_most) : calls;
}

SymmetrySearch find_symmetries(const SolverToCheck& solver, std::size_t calls_most,
                               Observer& observer, const StopAsked& stop) {
  return SymmetrySearching(solver, calls_most, observer, stop).run();
}

}  // namespace stap
