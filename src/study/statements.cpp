#include "study/statements.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/solver_asking.h"
#include "stap/core/conserved.h"
#include "stap/core/error.h"
#include "stap/core/symmetry.h"
#include "study/fixed_files.h"

namespace stap {
namespace {

using config::origin_of;

constexpr std::size_t kMostTried = 1 << 20;  // values of a state

// Of solvers of this process it costs next to nothing to try what is stated on one drawn state.
void try_statements(const Study& study, std::span<const std::string> symmetries,
                    const Sampler& sampler, config::Complaints& complaints) {
  const auto solver = make_solver(study, 1);
  const double time =
      later_time(0.0, static_cast<double>(study.options.steps) * study.dt, study.dt);
  const auto solved = [&](const std::vector<double>& state, const std::vector<double>& params) {
    const Query query{.state = state, .time = time, .params = params};
    Answer answer;
    solver->solve({&query, 1}, {&answer, 1});
    return answer.status == Answer::Status::ok ? answer.states : std::vector<double>();
  };
  const Rng stream = Rng(study.options.data_seed).split("pool");
  SolverStep step{std::vector<double>(study.grid.values()),
                  {},
                  draw_parameters(varied_parameters(study.pde), stream, 0)};
  sampler.draw(stream, 0, step.from, step.parameters);
  step.to = solved(step.from, step.parameters);
  if (step.to.empty()) return;
  for (std::size_t c = 0; c < study.channels.size(); ++c) {
    const double by = mean_change(study.grid, step.from, step.to, c).share;
    if (by > kMeanKept && std::ranges::find(study.network.conserve, study.channels[c]) !=
                              study.network.conserve.end())
      complaints.add("network.conserve",
                     fmt::format("names {}, whose mean {} does not keep: a step moves it by {:.2g} "
                                 "% of what it changes",
                                 study.channels[c], study.pde.row->name, 100.0 * by));
  }
  for (const std::string& text : symmetries) {
    const StateMap map = make_state_map(
        parse_symmetry(text, study.grid, study.channels, solver->parameters()), study.grid);
    const SolverStep image = image_of(map, step);
    const std::vector<double> made = solved(image.from, image.parameters);
    if (made.empty()) continue;
    const double off = share_of_change(study.grid, image, made, image.to);
    if (off > kNearlySymmetry)
      complaints.add("train.symmetries",
                     fmt::format("\"{}\" is no symmetry of {} with these options: a step is off by "
                                 "{:.2g} % of what it changes",
                                 text, study.pde.row->name, 100.0 * off));
  }
}

// Networks are told where a value lies in its range, so an image must lie in that of its own.
void check_ranges_stay(const std::vector<Symmetry>& group, std::span<const ParameterDraw> draws) {
  const auto is_log = [](const ParameterDraw& draw) {
    return draw.kind == ParameterDraw::Kind::log;
  };
  for (const Symmetry& symmetry : group)
    for (std::size_t p = 0; p < symmetry.parameters.size(); ++p) {
      const auto [from, minus] = symmetry.parameters[p];
      const ParameterDraw &to = draws[p], &of = draws[from];
      const double least = minus ? -of.greatest() : of.least();
      const double greatest = minus ? -of.least() : of.greatest();
      if (least != to.least() || greatest != to.greatest() || is_log(to) != is_log(of))
        throw Error(
            ErrorKind::config,
            fmt::format("{} replaced by {}{} lies between {:g} and {:g}, expected {:g} to {:g}, "
                        "its own range",
                        to.name, minus ? "-" : "", of.name, least, greatest, to.least(),
                        to.greatest()));
    }
}

}  // namespace

void check_statements(const Study& study, const Sampler* sampler, config::Complaints& complaints) {
  const std::vector<std::string>& conserve = study.network.conserve;
  for (std::size_t i = 0; i < conserve.size(); ++i) {
    const auto before = conserve.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(conserve.begin(), before, conserve[i]) != before)
      complaints.add("network.conserve", fmt::format("names '{}' twice", conserve[i]));
    else if (std::ranges::find(study.channels, conserve[i]) == study.channels.end())
      complaints.add(
          "network.conserve",
          fmt::format("names '{}', which is no channel: there {} {}", conserve[i],
                      study.channels.size() == 1 ? "is" : "are", fmt::join(study.channels, ", ")));
  }
  const std::size_t weights = study.train.channel_weights.size();
  if (weights > 0 && weights != study.channels.size())
    complaints.add("train.channel_weights",
                   fmt::format("has {} values, expected none or one for each channel: {}", weights,
                               fmt::join(study.channels, ", ")));
  // Groups, not maps: those of a large grid take gigabytes.
  std::vector<Symmetry> group;
  try {
    const std::vector<ParameterDraw> draws = varied_parameters(study.pde);
    group = parse_symmetries(study.train.symmetries, study.grid, study.channels, names_of(draws));
    check_ranges_stay(group, draws);
  } catch (const Error& error) {
    complaints.add("train.symmetries", error.what());
    group.clear();
  }
  if (study.fixed)
    for (const std::string& text : study.train.symmetries) {
      if (group.empty()) break;
      const Symmetry stated = parse_symmetry(text, study.grid, study.channels);
      if (const std::string what = broken_by(stated, study.grid, *study.fixed); !what.empty())
        complaints.add(
            "train.symmetries",
            fmt::format("\"{}\" is no symmetry of this problem: it does not keep {}", text, what));
    }
  const bool refused = group.empty() && !study.train.symmetries.empty();  // said already
  const bool stated = !group.empty() || !study.network.conserve.empty();
  if (stated && sampler != nullptr && study.initial && !study.pde.row->outline &&
      study.grid.values() <= kMostTried)
    try_statements(study, refused ? std::span<const std::string>() : study.train.symmetries,
                   *sampler, complaints);
  if (study.network.time_input && std::ranges::any_of(group, &Symmetry::reversed))
    complaints.add("train.symmetries",
                   "turn time round (t -> -t), but networks are told the time, which then goes the "
                   "other way: leave it out, or network.time_input",
                   origin_of(study.given, {"train.symmetries", "network.time_input"}));
  if (!study.options.images) return;
  const auto origin = origin_of(study.given, {"study.images"});
  if (study.options.test == 0 && study.test_file.empty())
    complaints.add("study.images", "is true, but there is no test set to measure on", origin);
  if (!refused && with_images(group, study.network.position_input).empty())
    complaints.add(
        "study.images",
        "is true, but train.symmetries state nothing to average over: no mirror, turn or swap "
        "(what turns time round does not count, nor do shifts where networks are not told places)",
        origin);
}

}  // namespace stap
