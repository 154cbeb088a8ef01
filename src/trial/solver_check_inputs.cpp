// What it does with other states than its first.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stap/core/rng.h"
#include "trial/solver_checking.h"

namespace stap {
namespace {

constexpr double kPerturbation = 1e-6;
constexpr double kExplodes = 1e3;  // times the perturbation, after one step
// Of what a step changes: networks that have learnt a step to this are good ones.
constexpr double kLeastOfPlace = 0.01;
// Of walls: how much is changed, of a channel's range; what a neighbour must feel of that to tell
// anything; the share of it that is nothing. A pressure is felt behind walls, too.
constexpr double kBump = 1e-3, kLeastFelt = 0.01, kFeltBehindWalls = 0.2;
constexpr std::size_t kLeastPointsOfWalls = 8;

// By how many of n points a state is moved along an axis: by no common fraction, lest a forcing of
// three waves, say, is moved onto itself by a third, and not by the same one along both, lest one
// that follows a diagonal is.
std::size_t points_moved(std::size_t n, std::size_t axis) {
  std::size_t by = std::max<std::size_t>(n * (axis == 0 ? 382 : 160) / 1000, 1);
  while (std::gcd(by, n) != 1) ++by;
  return by;
}

// The state moved along every axis; what leaves comes in at the other end.
std::vector<double> moved(const Grid& grid, const std::vector<double>& state) {
  Symmetry shift;
  for (std::size_t c = 0; c < grid.channels; ++c) shift.channels.push_back({c});
  for (std::size_t a = 0; a < grid.axes(); ++a)
    shift.axes.push_back({a, false, grid.points[a] - points_moved(grid.points[a], a)});
  std::vector<double> to(state.size());
  map_state(make_state_map(shift, grid), state.data(), to.data());
  return to;
}

}  // namespace

void SolverChecking::another_time() {
  const char* name = "another time";
  if (!can(1, name)) return;
  const double time = later();
  const Told told = ask(input_, time);
  if (!told.ok())
    return row(name, Verdict::warning,
               fmt::format("at time {:g} the same state {}", time, told.trouble()));
  found_.seconds.push_back(told.answer.seconds);
  later_ = told.answer.states;
  if (equal(told.answer.states, answer_))
    return row(name, Verdict::ok, "the time makes no difference");
  const double by = difference(told.answer.states, answer_);
  if (!asked_.told_time)
    return row(name, Verdict::failed,
               fmt::format("another answer (relative difference {:.2g}) though it is not told the "
                           "time: what does it depend on?",
                           by));
  row(name, asked_.time_input ? Verdict::ok : Verdict::warning,
      asked_.time_input
          ? fmt::format("the time makes a relative difference of {:.2g}; networks know it", by)
          : fmt::format("the time makes a relative difference of {:.2g}, and networks do not know "
                        "it: set network.time_input: true",
                        by));
}

void SolverChecking::another_place() {
  const char* name = "another place";
  // Nothing can be moved past a wall.
  if (const Grid& grid = solver_->grid(); grid.walled())
    return row(name, asked_.position_input ? Verdict::ok : Verdict::warning,
               fmt::format("axes end [{}]: networks get them padded (network.padding){}",
                           fmt::join(wall_names(grid), ", "),
                           asked_.position_input
                               ? " and know where a point is"
                               : ", but do not know where a point is: try network.position_input: "
                                 "true"));
  const double change = distance(answer_, input_);
  if (!(change > 0)) return row(name, Verdict::not_checked, "a step changes nothing");
  if (!can(1, name)) return;
  const std::string known =
      asked_.position_input
          ? "networks know where a point is"
          : "networks do not know where a point is: try network.position_input: true, and say in "
            "pde.walls where there are walls";
  const Verdict verdict = asked_.position_input ? Verdict::ok : Verdict::warning;
  const Told told = ask(moved(solver_->grid(), input_), asked_.time);
  if (!told.ok()) {
    row(name, Verdict::warning,
        fmt::format("the same state moved round the grid {}; if there is a wall, let the solver "
                    "set its values: those of networks are never exact; {}",
                    told.trouble(), known));
    return walls();
  }
  found_.seconds.push_back(told.answer.seconds);
  const State expected = moved(solver_->grid(), answer_);
  const double share = distance(told.answer.states, expected) / change;
  if (equal(told.answer.states, expected) || share <= kLeastOfPlace)
    return row(name, Verdict::ok, "shifting the state shifts the answer");
  row(name, verdict,
      fmt::format("the same state moved round the grid has another answer (by {:.2g} of what a "
                  "step changes); {}",
                  share, known));
  walls();
}

// Changes the last plane of an axis and one in the middle: what the planes behind them feel of it
// is alike where the axis is a ring, whatever the problem; behind a wall nothing is felt.
void SolverChecking::walls() {
  const char* name = "walls";
  const Grid& grid = solver_->grid();
  std::vector<std::string> ends(grid.axes(), "periodic"), walled;
  for (std::size_t axis = 0; axis < grid.axes(); ++axis) {
    const std::size_t n = grid.points[axis];
    if (n < kLeastPointsOfWalls) continue;
    if (!can(1, name)) return;
    const auto plane = [&](std::size_t value) {
      const std::size_t point = value % grid.points_total();
      return grid.axes() == 2 && axis == 0 ? point / grid.points[1] : point % n;
    };
    std::vector<double> unit(grid.channels);
    State state = input_;
    const Rng rng = Rng(0).split("walls", axis);
    for (std::size_t v = 0; v < state.size(); ++v) {
      const std::size_t channel = v / grid.points_total();
      if (v % grid.points_total() == 0) {
        const auto [low, high] =
            std::ranges::minmax(std::span(input_).subspan(v, grid.points_total()));
        unit[channel] = high > low ? high - low : 1.0;
      }
      if (plane(v) + 1 == n || plane(v) + 1 == n / 2)
        state[v] += kBump * unit[channel] * rng.uniform(v, -1.0, 1.0);
    }
    const Told told = ask(state, asked_.time);
    if (!told.ok())
      return row(
          name, Verdict::not_checked,
          fmt::format("a state that differs by 0.1 % at the end of an axis {}", told.trouble()));
    found_.seconds.push_back(told.answer.seconds);
    double across = 0.0, inside = 0.0;
    for (std::size_t v = 0; v < state.size(); ++v) {
      const std::size_t from = plane(v);
      const double felt =
          (told.answer.states[v] - answer_[v]) / (kBump * unit[v / grid.points_total()]);
      if (from < n / 8) across += felt * felt;
      if (from >= n / 2 && from < n / 2 + n / 8) inside += felt * felt;
    }
    const double planes = static_cast<double>(state.size() / n);
    if (std::sqrt(inside / planes) < kLeastFelt) continue;  // nothing goes that way
    if (across > kFeltBehindWalls * kFeltBehindWalls * inside) continue;
    ends[axis] = "centres";
    walled.push_back(axis == 0 ? "x" : "y");
  }
  if (walled.empty())
    return row(name, Verdict::ok,
               "none found: what changes at one end of an axis is felt at the other, or nowhere");
  row(name, Verdict::warning,
      fmt::format("what changes at the end of {} is not felt at its beginning: walls, it seems. "
                  "Say pde.walls: [{}] (points instead of centres where the first and the last "
                  "point stand on a wall), and try network.position_input: true",
                  fmt::join(walled, " and that of "), fmt::join(ends, ", ")));
}

void SolverChecking::symmetries() {
  const char* name = "symmetries";
  if (asked_.symmetries.empty()) return;
  const bool told_later = !later_.empty();
  const std::vector<double> own = parameters_;
  const SolverStep step{input_, told_later ? later_ : answer_, own};
  const Grid& grid = solver_->grid();
  if (!(distance(step.from, step.to) > 0))
    return row(name, Verdict::not_checked, "a step changes nothing");
  std::vector<std::string> held, nearly, untold, broken;
  for (const std::string& text : asked_.symmetries) {
    const StateMap map = make_state_map(
        parse_symmetry(text, grid, solver_->channels(), solver_->parameters()), grid);
    const SolverStep image = image_of(map, step);
    if (is_like(grid, image, step)) {
      untold.push_back(text);
      continue;
    }
    if (!can(1, name)) {
      if (broken.empty()) return;
      break;
    }
    parameters_ = image.parameters;
    const Told told = ask(image.from, told_later ? later() : asked_.time);
    parameters_ = own;
    if (!told.ok()) {
      broken.push_back(fmt::format("{}, with which the state {}", text, told.trouble()));
      continue;
    }
    found_.seconds.push_back(told.answer.seconds);
    const double by = share_of_change(grid, image, told.answer.states, image.to);
    std::vector<std::string>& list = by <= kLeastOfSymmetry  ? held
                                     : by <= kNearlySymmetry ? nearly
                                                             : broken;
    list.push_back(fmt::format("{}, off by {:.2g} % of what a step changes", text, 100.0 * by));
  }
  if (!broken.empty())
    return row(name, Verdict::failed,
               fmt::format("the solver does not have {}; the networks would learn something "
                           "false: fix train.symmetries",
                           fmt::join(broken, "; ")));
  if (!nearly.empty())
    return row(name, Verdict::warning,
               fmt::format("the solver has them nearly: {}; networks that become better than that "
                           "would be held back",
                           fmt::join(nearly, "; ")));
  if (!untold.empty())
    return row(name, Verdict::warning,
               fmt::format("cannot be told with this state, which is its own image: {}",
                           fmt::join(untold, "; ")));
  row(name, Verdict::ok, fmt::format("the solver has them: {}", fmt::join(held, "; ")));
}

void SolverChecking::note_means(const State& from, const State& to) {
  const Grid& grid = solver_->grid();
  means_.resize(grid.channels);
  for (std::size_t c = 0; c < grid.channels; ++c) {
    const MeanChange step = mean_change(grid, from, to, c);
    means_[c].share = std::max(means_[c].share, step.share);
    means_[c].told = means_[c].told || step.told;
  }
}

// Drawn states often have no mean, and then most solvers seem to keep it.
void SolverChecking::another_mean() {
  const auto decided = [](const MeanChange& one) {
    return one.told || one.share > kLeastOfSymmetry;
  };
  if (std::ranges::all_of(means_, decided) || found_.calls >= most_ ||
      !(distance(answer_, input_) > 0))
    return;
  State state = input_;
  const std::size_t points = solver_->grid().points_total();
  for (std::size_t first = 0; first < state.size(); first += points) {
    const auto channel = std::span(state).subspan(first, points);
    const auto [low, high] = std::ranges::minmax(channel);
    for (double& value : channel) value += 0.25 * (high - low);
  }
  const Told told = ask(state, asked_.time);
  if (told.ok()) found_.seconds.push_back(told.answer.seconds);
}

void SolverChecking::means() {
  const char* name = "means";
  const std::vector<std::string> channels = solver_->channels();
  const auto is_stated = [&](const std::string& channel) {
    return std::ranges::find(asked_.conserve, channel) != asked_.conserve.end();
  };
  std::vector<std::string> kept, nearly, moved, untold;
  for (std::size_t c = 0; c < channels.size(); ++c) {
    const auto& [share, told] = means_[c];
    const std::string by =
        fmt::format("{}, by {:.2g} % of what a step changes", channels[c], 100.0 * share);
    if (share <= kMeanKept)
      (told ? kept : untold).push_back(channels[c]);
    else if (is_stated(channels[c]))
      (share > kLeastOfSymmetry ? moved : nearly).push_back(by);
  }
  if (!moved.empty())
    return row(name, Verdict::failed,
               fmt::format("the solver moves the mean of {}; networks would not: fix "
                           "network.conserve",
                           fmt::join(moved, "; ")));
  if (!nearly.empty())
    return row(name, Verdict::warning,
               fmt::format("the solver moves the mean of {}: little, but perhaps because of these "
                           "states; without a reason why it stays, fix network.conserve",
                           fmt::join(nearly, "; ")));
  const std::string unknown = fmt::format(
      "whether it keeps that of {} cannot be told: it is 0 in all states, or nothing changes",
      fmt::join(untold, ", "));
  if (std::ranges::any_of(untold, is_stated)) return row(name, Verdict::warning, unknown);
  if (kept.empty())
    return untold.empty() ? row(name, Verdict::ok, "a step moves the mean of every channel")
                          : row(name, Verdict::not_checked, unknown);
  std::string text = fmt::format("a step keeps the mean of {}", fmt::join(kept, ", "));
  if (!std::ranges::all_of(kept, is_stated))
    text += fmt::format("; with network.conserve: [{}] networks do, too", fmt::join(kept, ", "));
  row(name, Verdict::ok, std::move(text));
}

void SolverChecking::perturbed() {
  const char* name = "perturbed";
  if (!can(1, name)) return;
  State state = input_;
  const Rng rng = Rng(0).split("solver check");
  for (std::size_t i = 0; i < state.size(); ++i)
    state[i] *= 1.0 + kPerturbation * (1.0 + 0.5 * rng.uniform(i, -1.0, 1.0));
  const double moved = distance(state, input_);
  if (!(moved > 0)) return row(name, Verdict::not_checked, "the initial condition is 0");
  const Told told = ask(state, asked_.time);
  if (told.refused())
    return row(name, Verdict::not_checked,
               fmt::format("the guard refuses it: {}", told.answer.reason));
  if (!told.ok())
    return row(name, Verdict::failed,
               fmt::format("fails for a state that differs by 1e-6: {}", told.answer.reason));
  found_.seconds.push_back(told.answer.seconds);
  const double growth = distance(told.answer.states, answer_) / moved;
  if (same_bits(told.answer.states, answer_))
    return row(name, Verdict::failed,
               second_.empty() || !same_bits(second_, answer_)
                   ? "the answer does not move with its input (by 1e-6): are numbers read or "
                     "written with few digits?"
                   : "the answer is the same whatever the input: does the solver read it?");
  if (growth > kExplodes)
    return row(name, Verdict::warning,
               fmt::format("a difference of 1e-6 becomes {:.2g} times as large in a step: nobody "
                           "can learn that; a shorter dt may help",
                           growth));
  row(name, Verdict::ok,
      fmt::format("a difference of 1e-6 becomes {:.2g} times as large in a step", growth));
}

void SolverChecking::scaled() {
  const char* name = "scaled by 2";
  if (!can(1, name)) return;
  State state = input_;
  for (double& v : state) v *= 2.0;
  const Told told = ask(state, asked_.time);
  if (told.refused()) return row(name, Verdict::ok, "the guard refuses it, which costs nothing");
  if (!told.ok())
    return row(name, Verdict::warning,
               fmt::format("fails: {}; networks may ask about such states: pde.guard refuses "
                           "them before they cost a call",
                           told.answer.reason));
  row(name, Verdict::ok, fmt::format("answered: {}", range_text(*solver_, told.answer.states)));
}

void SolverChecking::not_a_number() {
  have_parameters_of(0);
  State state = asked_.states.front();
  state[state.size() / 2] = std::numeric_limits<double>::quiet_NaN();
  const std::string reason =
      solver_->refusal({.state = state, .time = asked_.time, .params = parameters_});
  row("not a number", reason.empty() ? Verdict::failed : Verdict::ok,
      reason.empty() ? "a state with NaN would be computed"
                     : "refused before the solver is called");
}

void SolverChecking::more_states() {
  if (most_ <= usual_calls(asked_.symmetries.size(), asked_.draws.size())) return;
  const std::vector<double> own = parameters_;
  const std::size_t reserved = kCallsBehind + (asked_.told_dt ? kCallsOfHalfSteps : 0);
  std::size_t asked = 0, failed = 0;
  std::string trouble;
  for (std::size_t i = tried_; i < asked_.states.size() && found_.calls + reserved < most_;
       ++i, ++asked) {
    have_parameters_of(i);
    const Told told = ask(asked_.states[i], asked_.time);
    if (told.ok()) {
      found_.seconds.push_back(told.answer.seconds);
      continue;
    }
    if (failed++ == 0) trouble = fmt::format("initial condition {} {}", i, told.trouble());
  }
  parameters_ = own;
  if (asked == 0) return;
  row("more initial conditions", failed > 0 ? Verdict::warning : Verdict::ok,
      failed > 0 ? fmt::format("{} of {} failed: {}", failed, asked, trouble)
                 : fmt::format("all {} were advanced", asked));
}

}  // namespace stap
