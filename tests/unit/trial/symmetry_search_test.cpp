// Which symmetries `stap solver symmetries` finds, with solvers whose symmetries are known.
#include "stap/trial/symmetry_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "stap/core/error.h"
#include "stap/core/symmetry.h"
#include "support/contains.h"
#include "support/scripted_solver.h"

namespace stap::test {
namespace {

using Texts = std::vector<std::string>;
using Found = SymmetryTried::Verdict;

SymmetrySearch search(const ScriptedBench& bench, std::size_t most = 0) {
  Observer nobody;
  return find_symmetries(bench.asked, most, nobody);
}

std::optional<Found> verdict_of(const SymmetrySearch& found, const std::string& text) {
  for (const SymmetryTried& row : found.rows)
    if (row.text == text) return row.verdict;
  return std::nullopt;
}

std::size_t candidates_of(const SymmetrySearch& found) {
  return found.rows.size() + found.decided + found.too_many + found.left;
}

/// The value by so many points further on, on a line.
double beside(const State& state, std::size_t i, std::size_t further) {
  return state[(i + further) % state.size()];
}

/// u -> u moved on by one point: what a mirror turns round, time turns back.
std::optional<Answer> moves(const Call& call) {
  State next = call.query.state;
  for (std::size_t i = 0; i < next.size(); ++i)
    next[i] = beside(call.query.state, i, next.size() - 1);
  return answered(next);
}

/// Has no mirror, and shows it with no state that is the same everywhere.
std::optional<Answer> drifts(const Call& call) {
  State next = call.query.state;
  for (std::size_t i = 0; i < next.size(); ++i)
    next[i] = 0.5 * next[i] + 0.3 * beside(call.query.state, i, 1);
  return answered(next);
}

/// Values without any pattern.
State uneven(std::size_t count, double seed) {
  State state(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = static_cast<double>(i);
    state[i] = std::sin(seed + 2.3 * at + 0.7 * at * at);
  }
  return state;
}

TEST(SymmetrySearchCandidates, OfALineWithOneChannel) {
  const Texts all = symmetry_candidates(make_grid(1, {8}, {1.0}), {"u"});

  EXPECT_EQ(all, (Texts{"u -> -u", "x -> -x", "x -> -x, u -> -u", "t -> -t", "u -> -u, t -> -t",
                        "x -> -x, t -> -t", "x -> -x, u -> -u, t -> -t"}));
}

// 2 axes: signs, three mirrors with signs, the swap with and without that of channels, time with
// and without both mirrors. Breaks if one is there twice or cannot be read.
TEST(SymmetrySearchCandidates, OfPlanesAndOfManyChannels) {
  struct Case {
    Grid grid;
    Texts channels;
    std::size_t count;
  };
  for (const Case& one : {Case{make_grid(2, {8, 8}, {1, 1}), {"vx", "vy"}, 3 + 3 * 4 + 2 * 2 + 8},
                          Case{make_grid(2, {8, 6}, {1, 1}), {"vx", "vy"}, 3 + 3 * 4 + 8},
                          Case{make_grid(2, {8, 8}, {1, 2}), {"vx", "vy"}, 3 + 3 * 4 + 8},
                          Case{make_grid(4, {8}, {1}), {"a", "b", "c", "d"}, 5 + 16 + 2 * 6},
                          Case{make_grid(5, {8}, {1}), {"a", "b", "c", "d", "e"}, 1 + 7 + 4}}) {
    const Texts all = symmetry_candidates(one.grid, one.channels);

    EXPECT_EQ(all.size(), one.count) << one.grid.shape_text();
    std::vector<Symmetry> parsed;
    for (const std::string& text : all) {
      parsed.push_back(parse_symmetry(text, one.grid, one.channels));
      EXPECT_EQ(std::ranges::count(parsed, parsed.back()), 1) << text;
    }
  }
}

// Breaks if a channel called x is given a sign, which is read as a mirror.
TEST(SymmetrySearchCandidates, ChannelsThatAreCalledLikeAxesOrTimeStay) {
  const Grid line = make_grid(2, {8}, {1.0}), plane = make_grid(2, {8, 8}, {1.0, 1.0});
  const Texts alone = symmetry_candidates(make_grid(1, {8}, {1.0}), {"u"});

  EXPECT_EQ(symmetry_candidates(line, {"x", "u"}), alone);
  EXPECT_EQ(symmetry_candidates(line, {"u", "t"}), alone);
  EXPECT_EQ(std::ranges::count(symmetry_candidates(line, {"y", "u"}), "y -> -y"), 1);
  for (const std::string& text : symmetry_candidates(plane, {"y", "u"})) {
    const Symmetry read = parse_symmetry(text, plane, {"y", "u"});
    EXPECT_EQ(read.channels[0], Symmetry::Channel{0}) << text;
  }
}

// Calls: two first steps; u and x with time twice, as they hold; x and t once. Breaks if a state
// and its answer are mixed up where time goes backwards.
TEST(SymmetrySearch, WhatMovesHasItsMirrorOnlyWithTime) {
  ScriptedBench bench(moves);

  const SymmetrySearch found = search(bench);

  EXPECT_EQ(found.found, (Texts{"u -> -u", "x -> -x, t -> -t"}));
  EXPECT_EQ(verdict_of(found, "x -> -x"), Found::broken);
  EXPECT_EQ(verdict_of(found, "t -> -t"), Found::broken);
  EXPECT_EQ(verdict_of(found, "x -> -x, u -> -u"), std::nullopt) << "x -> -x would follow from it";
  EXPECT_EQ(found.calls, 8u);
  EXPECT_EQ(bench.calls, found.calls);
  EXPECT_EQ(candidates_of(found), 7u);
  EXPECT_EQ(found.unmirrored, "");
}

TEST(SymmetrySearch, WhatDecaysHasAllButTime) {
  ScriptedBench bench(decays);

  const SymmetrySearch found = search(bench);

  EXPECT_EQ(found.found, (Texts{"u -> -u", "x -> -x"}));
  EXPECT_EQ(verdict_of(found, "t -> -t"), Found::broken);
  EXPECT_EQ(found.rows.size(), 3u) << "the others follow";
}

// Advection of velocities by themselves, and decay, which no way leads back. Breaks if a mirror
// along y is listed beside the swap and the mirror along x, or channels are swapped without axes.
TEST(SymmetrySearch, VelocitiesTurnWithTheirAxes) {
  constexpr std::size_t kPoints = 5;
  ScriptedBench bench([](const Call& call) {
    const State& v = call.query.state;
    const auto at = [&](std::size_t c, std::size_t i, std::size_t k) {
      return v[(c * kPoints + i % kPoints) * kPoints + k % kPoints];
    };
    State next;
    for (std::size_t c = 0; c < 2; ++c)
      for (std::size_t i = kPoints; i < 2 * kPoints; ++i)
        for (std::size_t k = kPoints; k < 2 * kPoints; ++k)
          next.push_back(0.5 * at(c, i, k) -
                         0.2 * at(0, i, k) * (at(c, i + 1, k) - at(c, i - 1, k)) -
                         0.2 * at(1, i, k) * (at(c, i, k + 1) - at(c, i, k - 1)));
    return answered(next);
  });
  bench.grid = make_grid(2, {kPoints, kPoints}, {1.0, 1.0});
  bench.channels = {"vx", "vy"};
  bench.asked.states = {uneven(50, 1.0), uneven(50, 2.0)};

  const SymmetrySearch found = search(bench);

  EXPECT_EQ(found.found, (Texts{"x -> -x, vx -> -vx", "x -> y, y -> x, vx -> vy, vy -> vx"}));
  EXPECT_EQ(verdict_of(found, "y -> -y, vy -> -vy"), Found::holds);
  const std::size_t all = symmetry_candidates(bench.grid, bench.channels).size();
  EXPECT_EQ(candidates_of(found), all);
  EXPECT_EQ(planned_search_calls(bench.asked, 0), all + 2);
  EXPECT_EQ(planned_search_calls(bench.asked, 7), 7u);
  EXPECT_LT(found.calls, all) << "what is found decides about others";
}

TEST(SymmetrySearch, AStateThatTheSolverCannotTakeIsNoSymmetry) {
  ScriptedBench bench([](const Call& call) {
    return std::ranges::min(call.query.state) < 0 ? std::optional(broken("below 0")) : decays(call);
  });
  for (State& state : bench.asked.states)
    for (double& v : state) v = std::abs(v);

  const SymmetrySearch found = search(bench);

  EXPECT_EQ(found.found, Texts{"x -> -x"});
  EXPECT_EQ(found.rows.front().text, "u -> -u");
  EXPECT_EQ(found.rows.front().verdict, Found::failed);
  EXPECT_EQ(found.rows.front().trouble, "fails: below 0");
  EXPECT_TRUE(contains(symmetry_search_text(found), "failed  fails: below 0\n"));
}

// Breaks if what could not be confirmed any more is believed.
TEST(SymmetrySearch, NeverMakesMoreCallsThanItMay) {
  for (std::size_t most = 1; most <= 12; ++most) {
    ScriptedBench bench(decays);

    const SymmetrySearch found = search(bench, most);

    EXPECT_LE(bench.calls, most);
    EXPECT_EQ(bench.calls, found.calls);
    EXPECT_EQ(candidates_of(found), 7u);
    // A step, u -> -u, the other step, u -> -u; then twice x -> -x, and t -> -t.
    EXPECT_EQ(found.found.size(), most < 4 ? 0u : most < 6 ? 1u : 2u) << most;
    EXPECT_EQ(found.left > 0, most < 7) << most;
  }
}

// Breaks if a state that is its own image, or almost, is believed to tell something.
TEST(SymmetrySearch, ASymmetricStateTellsNothing) {
  const State even(6, 2.0);
  State nearly = even;
  nearly[1] += 1e-3;
  ScriptedBench bench(drifts), blind(drifts);
  bench.asked.states = {even, uneven(6, 1.0)};
  blind.asked.states = {even, nearly};

  const SymmetrySearch found = search(bench), unseen = search(blind);

  EXPECT_EQ(found.found, Texts{"u -> -u"});
  EXPECT_EQ(verdict_of(found, "x -> -x"), Found::broken);
  EXPECT_EQ(unseen.found, Texts{"u -> -u"});
  EXPECT_EQ(verdict_of(unseen, "x -> -x"), Found::untold);
  EXPECT_TRUE(contains(symmetry_search_text(unseen), "cannot be told with these initial"));
}

// Breaks if w -> -w is called a symmetry of a solver that never saw a w.
TEST(SymmetrySearch, AChannelThatIsNothingTellsNothing) {
  ScriptedBench bench(decays);
  bench.grid = make_grid(2, {6}, {1.0});
  bench.channels = {"u", "w"};
  for (State& state : bench.asked.states) state.resize(12, 0.0);

  const SymmetrySearch found = search(bench);

  EXPECT_EQ(found.found, (Texts{"u -> -u", "x -> -x"}));
  EXPECT_EQ(verdict_of(found, "w -> -w"), Found::untold);
  EXPECT_EQ(verdict_of(found, "x -> -x, w -> -w"), Found::untold);
}

// Large values are cut off, and only the second state has some. Breaks if one state is enough.
TEST(SymmetrySearch, WhatHoldsIsTriedOnASecondState) {
  ScriptedBench bench([](const Call& call) {
    State next = call.query.state;
    for (double& v : next) v = std::min(0.5 * v, 3.0);
    return answered(next);
  });
  bench.asked.states = {uneven(6, 1.0), {1, 20, -3, 4, 2, 0}};

  const SymmetrySearch found = search(bench);

  EXPECT_EQ(found.found, Texts{"x -> -x"});
  EXPECT_EQ(verdict_of(found, "u -> -u"), Found::broken);
}

// The velocity follows the gradient of a pressure that is larger by far. Breaks if all channels are
// compared in one sum.
TEST(SymmetrySearch, AVelocityIsSeenBesideAPressure) {
  ScriptedBench bench([](const Call& call) {
    State next = call.query.state;
    const State p(next.begin(), next.begin() + 6);
    for (std::size_t i = 0; i < 6; ++i) {
      next[i] *= 0.5;
      next[6 + i] = 0.5 * next[6 + i] - 1e-5 * (beside(p, i, 1) - beside(p, i, 5));
    }
    return answered(next);
  });
  bench.grid = make_grid(2, {6}, {1.0});
  bench.channels = {"p", "v"};
  bench.asked.states = {uneven(12, 1.0), uneven(12, 2.0)};
  for (State& state : bench.asked.states)
    for (std::size_t i = 0; i < 6; ++i) state[i] *= 1e5;
  bench.asked.symmetries = {"x -> -x"};
  Observer nobody;

  const SymmetrySearch found = search(bench);
  const SolverCheck check = check_solver(bench.asked, kSolverCheckCalls, nobody);

  EXPECT_EQ(found.found, (Texts{"p -> -p, v -> -v", "x -> -x, p -> -p"}));
  EXPECT_EQ(verdict_of(found, "x -> -x"), Found::broken);
  EXPECT_TRUE(check.any_failed()) << "the check compares as the search does";
}

// Four channels that decay, on a square: far more maps than training takes.
TEST(SymmetrySearch, NoMoreIsFoundThanTrainingTakes) {
  ScriptedBench bench(decays);
  bench.grid = make_grid(4, {5, 5}, {1.0, 1.0});
  bench.channels = {"a", "b", "c", "d"};
  bench.asked.states = {uneven(100, 1.0), uneven(100, 2.0)};

  const SymmetrySearch found = search(bench);

  EXPECT_EQ(make_state_maps(found.found, bench.grid, bench.channels).size(), kMostSymmetries);
  EXPECT_GT(found.too_many, 0u);
  EXPECT_TRUE(contains(symmetry_search_text(found), "more than 64 maps"));
}

TEST(SymmetrySearch, NeedsStepsThatChangeSomething) {
  const auto message = [](const Behaviour& behaviour, std::size_t calls) {
    ScriptedBench bench(behaviour);
    try {
      search(bench);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::solver);
      EXPECT_EQ(bench.calls, calls);
      return std::string(error.what());
    }
    return std::string("found something");
  };

  EXPECT_TRUE(contains(message([](const Call&) { return broken("no licence"); }, 3),
                       "initial condition 0 fails: no licence"));
  EXPECT_TRUE(contains(message([](const Call& call) { return answered(call.query.state); }, 3),
                       "a step changes nothing"));
}

TEST(SymmetrySearch, CanBeStopped) {
  ScriptedBench bench([](const Call&) { return std::nullopt; });
  Observer nobody;

  EXPECT_THROW(find_symmetries(bench.asked, 0, nobody, [] { return true; }), Stopped);
}

// Calls may take hours. Four tell that the sign holds: two steps and their images. The fifth is
// never answered, and the stop comes while it is waited for.
TEST(SymmetrySearch, AStopLeavesWhatWasFound) {
  bool waiting = false;
  ScriptedBench bench([&](const Call& call) {
    waiting = call.number == 5;
    return waiting ? std::nullopt : decays(call);
  });
  Observer nobody;

  const SymmetrySearch found = find_symmetries(bench.asked, 0, nobody, [&] { return waiting; });
  ScriptedBench whole(decays);
  const SymmetrySearch all = search(whole);

  EXPECT_TRUE(found.stopped);
  ASSERT_FALSE(found.rows.empty());
  EXPECT_LT(found.rows.size(), all.rows.size());
  EXPECT_EQ(found.found, Texts{found.rows[0].text});
  EXPECT_EQ(candidates_of(found), candidates_of(all));
  const std::string text = symmetry_search_text(found);
  EXPECT_TRUE(contains(text, "more were not tried: interrupted"));
  EXPECT_TRUE(contains(text, "symmetries: [\"" + found.rows[0].text + "\"]"));
  EXPECT_EQ(to_value(found).find("interrupted")->boolean(), true);
  EXPECT_EQ(to_value(all).find("interrupted")->boolean(), false);
}

TEST(SymmetrySearch, TheLastLineCanBePasted) {
  ScriptedBench bench(moves);
  const SymmetrySearch found = search(bench);

  const std::string text = symmetry_search_text(found);

  const std::size_t line = text.rfind('\n', text.size() - 2) + 1;
  const config::Value read =
      config::parse_yaml("train:\n  epochs: 3\n" + text.substr(line), "the last line");
  const config::Value* list = config::find_path(read, "train.symmetries");
  ASSERT_NE(list, nullptr) << text;
  EXPECT_EQ(*list, config::Value(config::Value::List(found.found.begin(), found.found.end())));
  EXPECT_FALSE(contains(text, "1/4 - x"));
}

// Mutation: a failed call taken for proof, so that what would follow is not asked about.
TEST(SymmetrySearch, AFailedCallProvesNothing) {
  ScriptedBench flaky([](const Call& call) {
    return call.number == 2 ? std::optional(broken("no licence")) : decays(call);
  });
  ScriptedBench dead([](const Call& call) {
    return call.number > 1 ? std::optional(broken("no licence")) : decays(call);
  });

  const SymmetrySearch found = search(flaky);
  const SymmetrySearch nothing = search(dead);
  const std::string text = symmetry_search_text(nothing);

  EXPECT_EQ(found.rows[0].verdict, SymmetryTried::Verdict::failed);
  EXPECT_EQ(std::ranges::count(found.found, "x -> -x"), 1);
  EXPECT_FALSE(found.nothing_told());
  EXPECT_TRUE(nothing.nothing_told());
  EXPECT_TRUE(contains(text, "every call failed"));
  EXPECT_TRUE(contains(text, "no licence"));
}

// Decay with a little that has no sign: off by 3 % of what a step changes. Mutation: recommending
// what holds nearly.
TEST(SymmetrySearch, WhatHoldsNearlyIsNotRecommended) {
  ScriptedBench bench([](const Call& call) {
    State next = decayed(call.query.state, call.dt);
    for (std::size_t i = 0; i < next.size(); ++i)
      next[i] += 0.015 * std::abs(next[i] - call.query.state[i]);
    return answered(next);
  });

  const SymmetrySearch found = search(bench);

  EXPECT_EQ(found.rows[0].text, "u -> -u");
  EXPECT_EQ(found.rows[0].verdict, SymmetryTried::Verdict::nearly);
  EXPECT_EQ(std::ranges::count(found.found, "u -> -u"), 0);
  EXPECT_EQ(std::ranges::count(found.found, "x -> -x"), 1);
}

// Mutation: asking at the beginning alone, where the forcing is 0; losing what the study states;
// turning time round for networks that are told it.
TEST(SymmetrySearch, LooksWhereTrajectoriesGoAndKeepsWhatIsStated) {
  ScriptedBench bench([](const Call& call) {
    State next = decayed(call.query.state, call.dt);
    for (std::size_t i = 0; i < next.size(); ++i)  // even about the middle of points 1 and 2
      next[i] +=
          call.query.time * std::cos(2 * std::numbers::pi * (static_cast<double>(i) - 1.5) / 6);
    return answered(next);
  });
  bench.asked.span = 10.0;
  bench.asked.time_input = true;
  bench.asked.symmetries = {"x -> 1/2 - x", "x -> 1/3 - x"};

  const SymmetrySearch found = search(bench);

  // About point 0 the forcing is odd.
  EXPECT_EQ(found.found, (std::vector<std::string>{"x -> 1/2 - x", "x -> -x, u -> -u"}));
  EXPECT_EQ(found.rows[1].verdict, SymmetryTried::Verdict::broken);
  for (const SymmetryTried& row : found.rows) EXPECT_FALSE(contains(row.text, "t -> -t"));
}

TEST(SymmetrySearch, SaysWhatItCouldNotSee) {
  ScriptedBench bench(decays);
  bench.grid = make_grid(2, {3}, {1.0});
  bench.asked.states = {{1.0, 2.0, -1.0, 0.0, 0.0, 0.0}};

  const std::string text = symmetry_search_text(search(bench));

  EXPECT_TRUE(contains(text, "One initial condition alone"));
  EXPECT_TRUE(contains(text, "u1 is 0 in all initial conditions"));
}

// Has a wall at its first point, and no sign.
TEST(SymmetrySearch, WithoutAMirrorItSaysWhatIsNotSearched) {
  ScriptedBench bench([](const Call& call) {
    State next = decayed(call.query.state, call.dt);
    next[1] = 1.0;
    return answered(next);
  });

  const std::string text = symmetry_search_text(search(bench));

  EXPECT_TRUE(contains(text, "x -> 1/4 - x"));
  EXPECT_TRUE(contains(text, "None of those that were tried"));
}

}  // namespace
}  // namespace stap::test
