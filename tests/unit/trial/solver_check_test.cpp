// Every check of `stap solver check`, each with a solver that passes it and one that does not.
#include "stap/trial/solver_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "stap/study/presets.h"
#include "stap/trial/solver_advice.h"
#include "support/contains.h"
#include "support/scripted_solver.h"

namespace stap::test {
namespace {

using Verdict = CheckRow::Verdict;

/// A check of a solver that behaves like this.
struct Bench : ScriptedBench {
  using ScriptedBench::ScriptedBench;

  SolverCheck run(std::size_t most = kSolverCheckCalls) {
    Observer nobody;
    return check_solver(asked, most, nobody);
  }
};

CheckRow row_of(const SolverCheck& check, const std::string& name) {
  for (const CheckRow& row : check.rows)
    if (row.name == name) return row;
  return {name, Verdict::not_checked, "there is no such row"};
}

::testing::AssertionResult found(const SolverCheck& check, const std::string& name, Verdict verdict,
                                 const std::string& part = "") {
  const CheckRow row = row_of(check, name);
  if (row.verdict == verdict && row.text.find(part) != std::string::npos)
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << name << ": " << to_string(row.verdict) << ": " << row.text;
}

TEST(SolverCheck, AGoodSolverPassesAndIsAskedAsOftenAsWasSaid) {
  Bench bench(decays);
  bench.at_once = 4;
  bench.asked.told_dt = true;
  bench.asked.left_behind = [] { return std::vector<std::string>(); };

  const SolverCheck check = bench.run();

  for (const CheckRow& row : check.rows)
    EXPECT_TRUE(row.verdict == Verdict::ok || row.name == "SIGTERM") << row.name << row.text;
  for (const char* name :
       {"runs", "shape and type", "finite", "second step", "same input twice", "hidden state",
        "perturbed", "another time", "another place", "scaled by 2", "steps at once",
        "two at a time", "two half steps", "seconds a step", "not a number", "files left behind"})
    EXPECT_TRUE(found(check, name, Verdict::ok));
  EXPECT_FALSE(check.any_failed());
  EXPECT_EQ(planned_calls(bench.asked, kSolverCheckCalls), 15u);
  EXPECT_EQ(check.calls, 12u);  // a call of 0.01 s need not be ended
  EXPECT_EQ(bench.calls, check.calls);
}

// u -> u exp(-rate dt) with parameters that vary: the rate, and one that nobody reads.
struct Varied : Bench {
  explicit Varied(const Behaviour& chosen) : Bench(chosen) {
    varied = {"rate", "colour"};
    asked.draws = {{"rate", ParameterDraw::Kind::log, {0.5, 2.0}},
                   {"colour", ParameterDraw::Kind::list, {1.0, 2.0, 3.0}}};
    asked.parameters = {varied, {0.5, 1.0, 1.0, 2.0, 2.0, 3.0}};
  }
};

TEST(SolverCheck, TellsWhichParametersMakeADifference) {
  std::vector<std::vector<double>> asked;
  const auto decays_at_its_rate = [&](const Call& call) {
    asked.push_back(call.query.params);
    return answered(decayed(call.query.state, call.dt * call.query.params[0]));
  };
  Varied bench(decays_at_its_rate);

  const SolverCheck check = bench.run(usual_calls(0, 2));

  EXPECT_TRUE(found(check, "parameters", Verdict::warning,
                    "the answer does not depend on colour: does the solver read it?"));
  EXPECT_TRUE(std::ranges::any_of(check.rows, [](const CheckRow& row) {
    return row.verdict == Verdict::ok && row.text.find(
                                             "depends on rate (2 instead of 0.5: relative "
                                             "difference 0.53)") != std::string::npos;
  })) << row_of(check, "parameters").text;  // 1 - exp(-0.75) = 0.528
  EXPECT_FALSE(check.any_failed());
  EXPECT_TRUE(found(check, "not a number", Verdict::ok));
  EXPECT_TRUE(found(check, "two at a time", Verdict::ok));
  // All are about the first initial condition with its own, but for the two that change one.
  const std::vector<double> own{0.5, 1.0}, other_rate{2.0, 1.0}, other_colour{0.5, 3.0};
  EXPECT_EQ(std::ranges::count(asked, other_rate), 1);
  EXPECT_EQ(std::ranges::count(asked, other_colour), 1);
  EXPECT_EQ(std::ranges::count(asked, own), static_cast<std::ptrdiff_t>(asked.size()) - 2);
}

TEST(SolverCheck, WarnsOfParametersThatItCannotDo) {
  Varied bench([](const Call& call) {
    return call.query.params[0] > 1.5 ? std::optional(broken("too fast")) : decays(call);
  });

  EXPECT_TRUE(found(bench.run(usual_calls(0, 2)), "parameters", Verdict::warning,
                    "does not depend on colour"));
  bench.asked.draws.pop_back();
  bench.varied.pop_back();
  bench.asked.parameters = {bench.varied, {0.5, 1.0, 2.0}};
  EXPECT_TRUE(found(bench.run(usual_calls(0, 1)), "parameters", Verdict::warning,
                    "with rate = 2 the same state fails: too fast"));
}

TEST(SolverCheck, AsksOtherInitialConditionsWithTheirOwnParameters) {
  std::vector<std::vector<double>> asked;
  Varied bench([&](const Call& call) {
    asked.push_back(call.query.params);
    return decays(call);
  });

  bench.run(usual_calls(0, 2) + 10);

  for (const std::vector<double>& own : {std::vector{1.0, 2.0}, std::vector{2.0, 3.0}})
    EXPECT_EQ(std::ranges::count(asked, own), 1);
}

TEST(SolverCheck, SaysWhatIsTooSmallForNetworks) {
  Bench bench([](const Call& call) {
    State next = decayed(call.query.state, call.dt);
    for (double& value : next) value *= 1e-40;
    return answered(next, 1.0);
  });

  EXPECT_TRUE(found(bench.run(), "range", Verdict::failed, "needs 1e-30 to 1e+30"));
}

// Breaks if any check forgets to ask whether a call is left.
TEST(SolverCheck, NeverMakesMoreCallsThanItMay) {
  const Behaviour noisy = [](const Call& call) {
    State next = decayed(call.query.state, call.dt);
    next[0] += static_cast<double>(call.number);
    return answered(next, 1.0);
  };
  const Behaviour fails = [](const Call&) { return broken("no"); };
  for (const Behaviour& behaviour : {Behaviour(decays), noisy, fails})
    for (std::size_t most = 1; most <= 20; ++most) {
      Bench bench(behaviour);
      bench.asked.told_dt = true;

      const SolverCheck check = bench.run(most);

      EXPECT_LE(bench.calls, most);
      EXPECT_EQ(bench.calls, check.calls);
    }
}

TEST(SolverCheck, ASolverThatNeverAnswersIsAskedThreeTimes) {
  Bench bench([](const Call&) { return broken("exit code 3 (kept in /x)"); });

  const SolverCheck check = bench.run();

  EXPECT_TRUE(found(check, "runs", Verdict::failed, "exit code 3 (kept in /x) (and 2 more)"));
  EXPECT_EQ(bench.calls, 3u);
  EXPECT_TRUE(check.any_failed());
  EXPECT_FALSE(check.median_seconds().has_value());
}

TEST(SolverCheck, OneInitialConditionThatFailsIsAWarning) {
  Bench bench([](const Call& call) {
    return call.number == 1 ? std::optional(broken("unlucky")) : decays(call);
  });

  const SolverCheck check = bench.run();

  EXPECT_TRUE(found(check, "runs", Verdict::warning, "initial condition 0 fails: unlucky"));
  EXPECT_TRUE(found(check, "same input twice", Verdict::ok));
  EXPECT_FALSE(check.any_failed());
}

TEST(SolverCheck, AnswersThatAreNotNumbersFail) {
  Bench bench([](const Call& call) {
    State next = decayed(call.query.state, call.dt);
    next[3] = std::numeric_limits<double>::quiet_NaN();
    return answered(next);
  });

  EXPECT_TRUE(found(bench.run(), "runs", Verdict::failed, "value 3 is nan"));
}

TEST(SolverCheck, TooFewValuesFail) {
  Bench bench([](const Call&) { return answered({1.0, 2.0}); });

  EXPECT_TRUE(found(bench.run(), "runs", Verdict::failed, "2 values, expected 6"));
}

TEST(SolverCheck, ASecondStepThatCannotBeMadeFails) {
  Bench bench([](const Call& call) {
    return call.query.time > 0 ? std::optional(broken("only from files of its own")) : decays(call);
  });

  EXPECT_TRUE(found(bench.run(), "second step", Verdict::failed, "only from files of its own"));
}

TEST(SolverCheck, ChanceFailsAndRoundingIsAWarning) {
  for (const double size : {1e-3, 1e-14}) {
    Bench bench([size](const Call& call) {
      State next = decayed(call.query.state, call.dt);
      next[0] *= 1.0 + size * static_cast<double>(call.number);
      return answered(next);
    });

    const SolverCheck check = bench.run();

    EXPECT_TRUE(found(check, "same input twice", size < 1e-6 ? Verdict::warning : Verdict::failed));
    EXPECT_TRUE(found(check, "hidden state", Verdict::not_checked, "chance"));
  }
}

TEST(SolverCheck, MemoryOfTheQueryBeforeIsFound) {
  State before(6, 0.0);
  Bench bench([&before](const Call& call) {
    State next = decayed(call.query.state, call.dt);
    // The initial state of a solver that was not asked before is the one it is asked about.
    if (call.number > 1)
      for (std::size_t i = 0; i < next.size(); ++i)
        next[i] += 0.1 * (before[i] - call.query.state[i]);
    before = call.query.state;
    return answered(next);
  });

  const SolverCheck check = bench.run();

  EXPECT_TRUE(found(check, "hidden state", Verdict::failed, "after another query"));
  EXPECT_FALSE(check.rows.empty());
}

TEST(SolverCheck, AnAnswerThatDoesNotMoveFails) {
  Bench deaf([](const Call&) { return answered({1, 2, 3, 4, 5, 6}); });
  Bench coarse([](const Call& call) {
    State next = decayed(call.query.state, call.dt);
    for (double& v : next) v = std::round(v * 1e3) / 1e3;
    return answered(next);
  });

  EXPECT_TRUE(found(deaf.run(), "perturbed", Verdict::failed, "whatever the input"));
  EXPECT_TRUE(found(coarse.run(), "perturbed", Verdict::failed, "few digits"));
}

TEST(SolverCheck, DifferencesThatExplodeAreAWarning) {
  Bench bench([](const Call& call) {
    State next = call.query.state;
    for (double& v : next) v = std::sin(1e5 * v);
    return answered(next);
  });

  EXPECT_TRUE(found(bench.run(), "perturbed", Verdict::warning, "times as large"));
}

TEST(SolverCheck, AnAnswerThatIsItsInputIsAWarning) {
  Bench bench([](const Call& call) { return answered(call.query.state); });

  EXPECT_TRUE(found(bench.run(), "finite", Verdict::warning, "nothing happened"));
}

TEST(SolverCheck, TheTimeMattersAsFarAsNetworksKnowIt) {
  const Behaviour driven = [](const Call& call) {
    State next = decayed(call.query.state, call.dt);
    for (double& v : next) v += call.query.time;
    return answered(next);
  };
  Bench ignorant(driven), knowing(driven), untold(driven);
  knowing.asked.time_input = true;
  untold.asked.told_time = false;

  EXPECT_TRUE(found(ignorant.run(), "another time", Verdict::warning, "network.time_input: true"));
  EXPECT_TRUE(found(knowing.run(), "another time", Verdict::ok));
  EXPECT_TRUE(found(untold.run(), "another time", Verdict::failed, "not told the time"));
}

TEST(SolverCheck, ThePlaceMattersAsFarAsNetworksKnowIt) {
  const Behaviour wall = [](const Call& call) {
    State next = decayed(call.query.state, call.dt);
    next[0] = 0.0;
    return answered(next);
  };
  // Does not take much at its wall.
  const Behaviour strict = [](const Call& call) {
    return call.query.state[4] > 2.5 ? std::optional(broken("no wall")) : decays(call);
  };
  Bench alike(decays), ignorant(wall), knowing(wall), failing(strict);
  knowing.asked.position_input = failing.asked.position_input = true;

  EXPECT_TRUE(found(alike.run(), "another place", Verdict::ok));
  EXPECT_TRUE(
      found(ignorant.run(), "another place", Verdict::warning, "network.position_input: true"));
  EXPECT_TRUE(found(knowing.run(), "another place", Verdict::ok, "another answer"));
  EXPECT_TRUE(found(failing.run(), "another place", Verdict::warning, "no wall"));
  EXPECT_TRUE(found(failing.run(), "another place", Verdict::warning, "let the solver set"));
}

// Mutation: a state that is moved past a wall.
TEST(SolverCheck, SaysWhatNetworksGetOfWalls) {
  Bench ignorant(decays), knowing(decays);
  for (Bench* bench : {&ignorant, &knowing}) bench->grid = with_walls(bench->grid, {"centres"});
  knowing.asked.position_input = true;

  EXPECT_TRUE(found(ignorant.run(), "another place", Verdict::warning,
                    "axes end [centres]: networks get them padded (network.padding), but do not"));
  EXPECT_TRUE(found(knowing.run(), "another place", Verdict::ok, "know where a point is"));
}

// A step of diffusion beside a source, between walls without flux or round a ring. Mutations: the
// planes of the other axis, the response of the changed plane itself, a source taken for a wall.
TEST(SolverCheck, FindsWallsByWhatIsFeltBehindThem) {
  const auto diffuses = [](bool first, bool second) {
    return [=](const Call& call) {
      constexpr std::size_t n = 12;
      const State& u = call.query.state;
      State next = u;
      const auto along = [&](std::size_t at, std::size_t i, std::size_t stride, bool wall) {
        const std::size_t begin = at - i * stride;
        const auto value = [&](std::size_t j) { return u[begin + j * stride]; };
        const double left = i > 0 ? value(i - 1) : wall ? value(0) : value(n - 1);
        const double right = i + 1 < n ? value(i + 1) : wall ? value(n - 1) : value(0);
        next[at] += 0.1 * (left + right - 2 * value(i));
      };
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) {
          along(i * n + j, i, n, first);
          along(i * n + j, j, 1, second);
          next[i * n + j] += i == 3 && j == 5 ? 1.0 : 0.0;
        }
      return answered(next);
    };
  };
  const auto row = [&](bool first, bool second) {
    Bench bench(diffuses(first, second));
    bench.grid = make_grid(1, {12, 12}, {1.0, 1.0});
    State state(144);
    for (std::size_t v = 0; v < 144; ++v) state[v] = std::sin(0.3 * static_cast<double>(v * v));
    bench.asked.states = {state};
    return row_of(bench.run(), "walls");
  };

  EXPECT_EQ(row(false, false).verdict, Verdict::ok);
  EXPECT_EQ(row(true, true).verdict, Verdict::warning);
  EXPECT_NE(row(true, true).text.find("pde.walls: [centres, centres]"), std::string::npos);
  EXPECT_NE(row(true, false).text.find("[centres, periodic]"), std::string::npos);
  EXPECT_NE(row(false, true).text.find("[periodic, centres]"), std::string::npos);
}

// Breaks if a state is moved along one axis only, or is not put together again rightly.
TEST(SolverCheck, MovesStatesAlongEveryAxis) {
  const auto zero_at = [](std::vector<std::size_t> places) {
    return [places](const Call& call) {
      State next = decayed(call.query.state, call.dt);
      for (const std::size_t place : places) next[place] = 0.0;
      return answered(next);
    };
  };
  const auto along = [](const Call& call) {  // by one point of the second axis: no place is special
    State next = call.query.state;
    for (std::size_t i = 0; i < 6; ++i) next[i / 3 * 3 + (i + 1) % 3] = call.query.state[i];
    return answered(next);
  };
  Bench first(zero_at({0, 1, 2})), second(zero_at({0, 3})), none(along);
  for (Bench* bench : {&first, &second, &none}) bench->grid = make_grid(1, {2, 3}, {1.0, 1.0});

  EXPECT_TRUE(found(first.run(), "another place", Verdict::warning, "another answer"));
  EXPECT_TRUE(found(second.run(), "another place", Verdict::warning, "another answer"));
  EXPECT_TRUE(found(none.run(), "another place", Verdict::ok));
}

// u -> u moved on by one point: the mirror turns the direction round, and so does time. Breaks if
// input and answer are mixed up where time goes backwards, or a failure is passed over.
TEST(SolverCheck, StatedSymmetriesAreTried) {
  const auto moves = [](const Call& call) {
    const State& from = call.query.state;
    State next = from;
    for (std::size_t i = 0; i < 6; ++i) next[(i + 1) % 6] = from[i];
    return answered(next);
  };
  const auto positive = [&](const Call& call) {
    return call.query.state[5] < 0 ? std::optional(broken("below 0")) : moves(call);
  };
  const auto stated = [](const Behaviour& behaviour, std::vector<std::string> symmetries) {
    Bench bench(behaviour);
    bench.asked.symmetries = std::move(symmetries);
    return bench.run();
  };

  EXPECT_TRUE(found(stated(moves, {"x -> -x, t -> -t", "u -> -u"}), "symmetries", Verdict::ok,
                    "x -> -x, t -> -t, off by 0 % of what a step changes; u -> -u, off by 0 %"));
  for (const char* wrong : {"x -> -x", "t -> -t", "x -> -x, u -> -u"})
    EXPECT_TRUE(found(stated(moves, {"u -> -u", wrong}), "symmetries", Verdict::failed, wrong));
  EXPECT_TRUE(found(stated(positive, {"u -> -u"}), "symmetries", Verdict::failed, "below 0"));
  EXPECT_TRUE(found(stated(decays, {"x -> -x"}), "symmetries", Verdict::ok));
  EXPECT_EQ(std::ranges::count(stated(moves, {}).rows, "symmetries", &CheckRow::name), 0);
  const auto pushed = [](const Call& call) {  // has the sign at time 0 alone
    State next = decayed(call.query.state, call.dt);
    for (double& v : next) v += call.query.time;
    return answered(next);
  };
  EXPECT_TRUE(found(stated(pushed, {"u -> -u"}), "symmetries", Verdict::failed, "u -> -u, off by"));
  Bench even(decays);
  even.asked.states = {{1.0, 2.0, 3.0, 4.0, 3.0, 2.0}};
  even.asked.symmetries = {"x -> -x"};
  EXPECT_TRUE(found(even.run(), "symmetries", Verdict::warning, "its own image: x -> -x"));

  Bench more(decays);
  more.asked.told_dt = true;
  const std::size_t without = more.run().calls;
  more.asked.symmetries = {"x -> -x", "u -> -u"};
  EXPECT_EQ(usual_calls(2, 0), kSolverCheckCalls + 2);
  EXPECT_EQ(more.run(usual_calls(2, 0)).calls, without + 2);
}

// The first channel is moved on, which keeps its mean, and the second decays by a tenth. Breaks if
// channels are mixed up, a share of the state is taken for one of its change, or only some of the
// steps that were made are looked at.
TEST(SolverCheck, TellsWhichMeansAreKept) {
  const auto first_moves = [](const Call& call) {
    const State& from = call.query.state;
    State next = from;
    for (std::size_t i = 0; i < 3; ++i) next[(i + 1) % 3] = from[i];
    for (std::size_t i = 3; i < 6; ++i) next[i] = 0.9 * from[i];
    return answered(next);
  };
  const auto leaks = [&](double by) {
    return [=](const Call& call) {
      auto answer = first_moves(call);
      for (std::size_t i = 0; i < 3; ++i) answer.states[i] += by;
      return answer;
    };
  };
  const auto stated = [](const Behaviour& behaviour, std::vector<std::string> conserve,
                         std::vector<State> states = {{1.0, 2.0, 6.0, 1.0, 2.0, 3.0}},
                         std::size_t calls = kSolverCheckCalls) {
    Bench bench(behaviour);
    bench.grid = make_grid(2, {3}, {1.0});
    bench.asked.states = std::move(states);
    bench.asked.conserve = std::move(conserve);
    return bench.run(calls);
  };
  // A step changes the first channel by 1, 4, -5: 3.7 in the root of the mean square. The second
  // step of leaks() is of a state that is larger.

  EXPECT_TRUE(found(stated(first_moves, {}), "means", Verdict::ok, "network.conserve: [u0]"));
  EXPECT_TRUE(found(stated(first_moves, {"u0"}), "means", Verdict::ok, "keeps the mean of u0"));
  EXPECT_TRUE(
      found(stated(first_moves, {"u0", "u1"}), "means", Verdict::failed, "the mean of u1, by 9"));
  EXPECT_TRUE(found(stated(leaks(0.02), {"u0"}), "means", Verdict::warning, "u0, by 0.5"));
  EXPECT_TRUE(found(stated(leaks(0.8), {"u0"}), "means", Verdict::failed, "u0, by 2"));
  EXPECT_TRUE(found(stated(leaks(0.02), {}), "means", Verdict::ok, "the mean of every channel"));
  const auto later = [&](const Call& call) {  // from the second step on
    return call.query.state[0] == 1.0 ? first_moves(call) : leaks(0.8)(call);
  };
  EXPECT_TRUE(found(stated(later, {"u0"}), "means", Verdict::failed, "u0, by 2"));
  // A state without a mean tells nothing of a decay; one that is shifted does, and another one.
  const State none = {1.0, 2.0, -3.0, 1.0, -3.0, 2.0}, has = {1.0, 2.0, -3.0, 1.0, 2.0, 3.0};
  EXPECT_TRUE(found(stated(first_moves, {}, {none}), "means", Verdict::ok, "conserve: [u0]"));
  EXPECT_TRUE(found(stated(first_moves, {"u1"}, {none}), "means", Verdict::failed, "u1, by"));
  const auto not_shifted = [&](const Call& call) {
    const State& u = call.query.state;
    const bool shifted = std::abs(u[3] + u[4] + u[5]) > 1e-3 && u[0] + u[1] + u[2] > 1e-3;
    return shifted ? broken("shifted") : first_moves(call);
  };
  EXPECT_TRUE(found(stated(not_shifted, {}, {none}), "means", Verdict::not_checked, "u0, u1"));
  EXPECT_TRUE(found(stated(not_shifted, {"u1"}, {none}), "means", Verdict::warning, "u0, u1"));
  EXPECT_TRUE(found(stated(not_shifted, {"u1"}, {none, has}, 20), "means", Verdict::failed, "u1"));
  const State zero(6, 0.0);
  EXPECT_TRUE(found(stated(first_moves, {}, {zero}), "means", Verdict::not_checked, "u0, u1"));
}

// Breaks if states are moved by a third of an axis, or by the same part of both.
TEST(SolverCheck, ForcingsThatRepeatThemselvesHaveAPlace) {
  const auto forced = [](std::size_t waves, std::size_t down, std::size_t n) {
    return [=](const Call& call) {
      State next = decayed(call.query.state, call.dt);
      for (std::size_t i = 0; i < next.size(); ++i)
        next[i] += std::cos(2.0 * std::numbers::pi *
                            static_cast<double>(waves * (i % n) + down * (i / n)) /
                            static_cast<double>(n));
      return answered(next);
    };
  };
  for (const std::size_t waves : {1, 2, 3, 4, 6}) {
    Bench line(forced(waves, 0, 48));
    line.grid = make_grid(1, {48}, {1.0});
    line.asked.states = {State(48, 1.0)};
    EXPECT_TRUE(found(line.run(), "another place", Verdict::warning, "another answer")) << waves;
  }
  for (const std::size_t down : {1, 23}) {  // 23 of 24: along the other diagonal
    Bench plane(forced(1, down, 24));
    plane.grid = make_grid(1, {24, 24}, {1.0, 1.0});
    plane.asked.states = {State(24 * 24, 1.0)};
    EXPECT_TRUE(found(plane.run(), "another place", Verdict::warning, "another answer")) << down;
  }
}

TEST(SolverCheck, MatesThatShareSomethingFail) {
  Bench other([](const Call& call) {
    State next = decayed(call.query.state, call.dt);
    if (call.slots == 2) next[1] += 1.0;
    return answered(next);
  });
  Bench failing([](const Call& call) {
    return call.slots == 2 ? std::optional(broken("locked")) : decays(call);
  });

  EXPECT_TRUE(found(other.run(), "two at a time", Verdict::failed, "the answer is another"));
  EXPECT_TRUE(found(failing.run(), "two at a time", Verdict::failed, "locked"));
}

TEST(SolverCheck, LargeStatesMayFailOrBeRefusedForFree) {
  Bench fails([](const Call& call) {
    return call.query.state[5] > 4.0 ? std::optional(broken("blew up")) : decays(call);
  });
  Bench refuses(decays);
  refuses.largest = 4.0;
  Bench takes(decays);

  const SolverCheck failed = fails.run(), refused = refuses.run(), taken = takes.run();

  EXPECT_TRUE(found(failed, "scaled by 2", Verdict::warning, "blew up"));
  EXPECT_FALSE(failed.any_failed());
  EXPECT_TRUE(found(refused, "scaled by 2", Verdict::ok, "costs nothing"));
  EXPECT_EQ(refused.calls + 1, taken.calls);
}

TEST(SolverCheck, HalfStepsAreThoseOfAWholeOne) {
  Bench euler([](const Call& call) {
    State next = call.query.state;
    for (double& v : next) v *= 1.0 - call.dt;
    return answered(next);
  });
  Bench deaf([](const Call& call) { return answered(decayed(call.query.state, 0.5)); });
  for (Bench* bench : {&euler, &deaf}) bench->asked.told_dt = true;
  Bench untold(decays);

  // One Euler step of 0.5 gives 0.5 u, two halves 0.5625 u: 12.5 % of the change.
  EXPECT_TRUE(found(euler.run(), "two half steps", Verdict::warning, "12 %"));
  EXPECT_TRUE(found(deaf.run(), "two half steps", Verdict::not_checked, "no notice of dt"));
  EXPECT_TRUE(found(untold.run(), "two half steps", Verdict::not_checked, "not told dt"));
}

TEST(SolverCheck, SeveralStepsMustBeThoseOfSingleCalls) {
  Bench good(decays), bad([](const Call&call) {
    Answer answer = *decays(call);
    if (call.query.steps > 1) answer.states.back() += 1.0;
    return answer;
  });
  good.at_once = bad.at_once = 3;

  EXPECT_TRUE(found(good.run(), "steps at once", Verdict::ok, "to the bit"));
  EXPECT_TRUE(found(bad.run(), "steps at once", Verdict::failed, "not those of 2 calls"));
}

TEST(SolverCheck, StartUpIsWhatTwoStepsSave) {
  Bench bench([](const Call& call) {
    Answer answer = *decays(call);
    answer.seconds = 0.06 + 0.04 * static_cast<double>(call.query.steps);
    return answer;
  });
  bench.at_once = 2;

  const SolverCheck check = bench.run();

  ASSERT_TRUE(check.start_share.has_value());
  EXPECT_NEAR(*check.start_share, 0.6, 1e-9);  // rounding
  EXPECT_NEAR(*check.median_seconds(), 0.1, 1e-12);
}

TEST(SolverCheck, ACallUnderWayIsEnded) {
  const Behaviour slow = [](const Call& call) -> std::optional<Answer> {
    if (call.number == 8) return std::nullopt;  // behind all that are answered
    Answer answer = *decays(call);
    answer.seconds = 0.25;
    return answer;
  };
  Bench tidy(slow), stubborn(slow);
  stubborn.asked.grace = 0.0;

  EXPECT_TRUE(found(tidy.run(), "SIGTERM", Verdict::ok, "ended after"));
  EXPECT_TRUE(found(stubborn.run(), "SIGTERM", Verdict::warning, "was killed"));
}

TEST(SolverCheck, FilesLeftBehindAreAWarning) {
  Bench bench(decays);
  bench.asked.left_behind = [] { return std::vector<std::string>{"2 in TMPDIR: a, b"}; };

  EXPECT_TRUE(found(bench.run(), "files left behind", Verdict::warning, "2 in TMPDIR: a, b"));
}

TEST(SolverCheck, MoreCallsTryFurtherInitialConditions) {
  Bench bench([](const Call& call) {
    return call.query.state[0] == 2.0 ? std::optional(broken("too steep")) : decays(call);
  });

  const SolverCheck check = bench.run(20);

  EXPECT_TRUE(found(check, "more initial conditions", Verdict::warning,
                    "1 of 2 failed: initial condition 2 fails: too steep"));
}

TEST(SolverCheck, CanBeStopped) {
  Bench bench([](const Call&) { return std::optional<Answer>(); });
  Observer nobody;

  EXPECT_THROW(check_solver(bench.asked, 12, nobody, [] { return true; }), Stopped);
}

TEST(SolverCheck, TextAndValueSayTheSame) {
  Bench bench([](const Call&) { return broken("no"); });
  const SolverCheck check = bench.run();

  const std::string text = solver_check_text(check, {"do this"});
  const config::Value value = to_value(check, {"do this"});

  EXPECT_TRUE(contains(text, "FAILED"));
  EXPECT_TRUE(contains(text, "3 calls were made"));
  EXPECT_TRUE(contains(text, "- do this"));
  EXPECT_EQ(value.find("failed")->boolean(), true);
  EXPECT_EQ(value.find("calls")->integer<int>(), 3);
  EXPECT_EQ(*value.find("rows")->list()->front().find("verdict")->text(), "failed");
  EXPECT_TRUE(value.find("seconds_a_step")->is_null());
}

// --- advice --------------------------------------------------------------------------------------

SolverCheck measured(double seconds) {
  SolverCheck check;
  check.seconds = {seconds};
  return check;
}

std::string advice_text(const SolverCheck& check, const AdviceFacts& facts) {
  std::string all;
  for (const std::string& sentence : solver_advice(check, facts)) all += sentence + "\n";
  return all;
}

TEST(SolverAdvice, CommandOrWorkerDependsOnWhatACallTakes) {
  EXPECT_TRUE(contains(advice_text(measured(0.1), {.kind = "command"}), "worker instead"));
  EXPECT_TRUE(contains(advice_text(measured(60.0), {.kind = "command"}), "command is right"));
  EXPECT_TRUE(contains(advice_text(measured(3.0), {.kind = "command"}), "good enough"));
  SolverCheck slow_start = measured(60.0);
  slow_start.start_share = 0.5;
  EXPECT_TRUE(contains(advice_text(slow_start, {.kind = "command"}), "worker instead"));
  EXPECT_TRUE(
      contains(advice_text(measured(0.1), {.kind = "worker"}), "worker: it is started once"));
  EXPECT_EQ(advice_text({}, {.kind = "command"}), "");
}

TEST(SolverAdvice, SlotsAreCoresOverWhatACallUses) {
  SolverCheck check = measured(5.0);
  check.cores = 3.8;
  check.together = 1.9;

  const std::string text = advice_text(check, {.kind = "command", .slots = 2, .cores = 16});

  EXPECT_TRUE(contains(text, "slots: 4 (now 2): one call keeps 3.8 of 16 cores busy"));
  EXPECT_TRUE(contains(text, "two at a time took 1.9 times as long"));
}

TEST(SolverAdvice, NamesSymmetriesUnlessTheyAreStated) {
  AdviceFacts facts{.kind = "command", .rounds = 2};
  config::Value document = load_config("demo", {"symmetries/burgers"});

  EXPECT_TRUE(contains(advice_text(measured(1.0), facts), "stap solver symmetries"));
  facts.symmetries = true;
  EXPECT_FALSE(contains(advice_text(measured(1.0), facts), "symmetries"));
  EXPECT_TRUE(advice_facts(make_study(document)).symmetries);
  EXPECT_FALSE(advice_facts(make_study(load_config("demo"))).symmetries);
}

// D = 10, B = 20, R = 2, E = 2: one round. Without: 40 Ta + 50 Tt; with: 20 Ta + (10 + 30) Tt. At
// Ta = 1 and Tt = 3 that is 190 against 140; at Ta = 0.25 and 12 slots' worth of training the sums
// tell the other way round.
TEST(SolverAdvice, SaysTheSumsOfActiveLearning) {
  AdviceFacts facts{.kind = "command", .initial_steps = 10, .budget = 20, .rounds = 2};
  facts.training = 3.0;

  const std::string pays = advice_text(measured(1.0), facts);

  EXPECT_TRUE(contains(pays, "active learning pays if it needs half the steps"));
  EXPECT_TRUE(contains(pays, "the 40 steps of all rounds, 1 s each in 1 slot, are 40 s"));
  EXPECT_TRUE(contains(pays, "training once is 190 s; half of them, chosen in 1 round, is 140 s"));
  EXPECT_FALSE(contains(pays, "stages"));
  // Two stages take three times what the first takes. Mutation: what the first takes alone.
  facts.training = 1.0;
  facts.stages = 2;
  const std::string staged = advice_text(measured(1.0), facts);
  EXPECT_TRUE(contains(staged,
                       "training takes 3 s per step in the training set if every round needs "
                       "all 2 stages. Buying them all and training once is 190 s"));
  config::Value document = load_config("demo");
  for (const char* setting : {"study.validation=0.1", "study.stages=3"})
    apply_setting(document, setting);
  EXPECT_EQ(advice_facts(make_study(document)).stages, 3u);
  facts.training.reset();
  EXPECT_TRUE(contains(advice_text(measured(1.0), facts), "could not be measured"));
  facts.rounds = 0;
  EXPECT_EQ(advice_text(measured(1.0), facts).find("active"), std::string::npos);
}

// Two rounds instead of four train on 10, 30 and 50 rows, which is more than one training on 90
// does not make up for: 80 Ta + 90 Tt against 40 Ta + 90 Tt. So with E = 2 it never loses there;
// with eight rounds and expensive training it does.
TEST(SolverAdvice, DearTrainingMakesItNotPay) {
  AdviceFacts facts{.kind = "command", .slots = 2, .initial_steps = 10, .budget = 20, .rounds = 8};
  facts.training = 10.0;

  // Ta = 0.01: 160 Ta + 170 Tt = 1701.6 against 80 Ta + (10 + 30 + 50 + 70 + 90) Tt = 2500.8.
  const std::string text = advice_text(measured(0.02), facts);

  EXPECT_TRUE(contains(text, "active learning does not pay"));
  EXPECT_TRUE(contains(text, "28.4 min"));
  EXPECT_TRUE(contains(text, "41.7 min"));
  // Even at 80 Ta = 800: 10 s a step in one slot, 20 s in two.
  EXPECT_TRUE(contains(text, "break-even: 20 s per step"));
}

}  // namespace
}  // namespace stap::test
