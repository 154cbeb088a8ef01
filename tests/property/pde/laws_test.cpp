// The laws of the family, for every equation there is: a row's answer depends on nothing but its
// state, its time and the options. What an equation conserves or converges to is tested beside it.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <ostream>

#include "stap/core/error.h"
#include "stap/ic/ic.h"
#include "stap/pde/pde.h"
#include "support/changed_options.h"
#include "support/ins_flows.h"
#include "support/solving.h"

namespace stap {
namespace {

using test::solve_rows;
using Row = std::vector<double>;

// Options that make an equation quick, and a sampler for states that it can advance. Where an
// option chooses between schemes, each has a line of its own.
struct Small {
  std::string label, name, pde, initial;  // YAML; `initial` has a name

  friend void PrintTo(const Small& small, std::ostream* out) { *out << small.label; }
};
const char kSines[] = "{name: sines, terms: 3, max_wave_number: 2, amplitude_high: 0.5}";
const char kEddies[] = "{name: gaussian-field, amplitude: 4.3, shift: 49, exponent: 1.25}";
const char kGas[] = "{name: gas-waves, max_wave_number: 2, window_probability: 0.5}";
const std::vector<Small>& small() {
  static const std::vector<Small> rows{
      {"burgers", "burgers", "{points: 12, dt: 0.05}", "{name: burgers-as-coded}"},
      {"kdv_dopri5", "kdv", "{points: 16, length: 32, dt: 0.5}", kSines},
      {"kdv_etdrk4", "kdv", "{points: 16, length: 32, dt: 0.5, scheme: etdrk4}", kSines},
      {"ks", "ks", "{points: 16, dt: 0.5}",
       "{name: gaussian-field, amplitude: 5, shift: 25, exponent: 0.5}"},
      {"ins_crank_nicolson", "ins",
       "{points: [8, 10], lengths: [1.0, 1.5], dt: 0.01, forcing_rate: 0.2}", kEddies},
      {"ins_ifrk4", "ins",
       "{points: [8, 10], lengths: [1.0, 1.5], dt: 0.2, forcing_rate: 0.2, scheme: ifrk4}",
       kEddies},
      {"cns_dynamic", "cns", "{points: [8, 6], lengths: [1.0, 1.5], dt: 0.01}", kGas},
      {"cns_kinematic", "cns",
       "{points: [8, 6], lengths: [1.0, 1.5], dt: 0.01, viscosity: kinematic}", kGas},
      {"fhn", "fhn", "{points: [8, 6], lengths: [2.0, 1.5], dt: 0.1}", "{name: white-noise}"},
      {"fhn_hole", "fhn", "{points: [8, 6], lengths: [2.0, 1.5], dt: 0.1, hole: [1, 0.5, 0.4]}",
       "{name: white-noise}"},
  };
  return rows;
}

// The entry made small, and states for it.
struct Case {
  Case(const PdeRow& row, const Small& given) : entry(row) {
    options = config::read(*row.fields, config::parse_yaml(given.pde, "test"), "pde");
    const auto initial = sampler_table().choose(config::parse_yaml(given.initial, "test"));
    const Grid grid = make(1)->grid();
    sampler = initial.row->make(initial.options, {.grid = &grid});
  }
  std::unique_ptr<Solver> make(int threads) const {
    return entry.make(options, {.threads = threads});
  }
  std::vector<Row> rows(std::size_t n, std::uint64_t seed = 5) const {
    std::vector<Row> states(n, Row(sampler->grid().values()));
    for (std::size_t i = 0; i < n; ++i) sampler->draw(Rng(seed), i, states[i]);
    return states;
  }

  const PdeRow& entry;
  config::AnyOptions options;
  std::unique_ptr<Sampler> sampler;
};

class PdeLaws : public ::testing::TestWithParam<Small> {
 protected:
  Case the_case() const {
    for (const PdeRow& row : pde_table())
      if (row.name == GetParam().name) return {row, GetParam()};
    throw std::runtime_error("no such entry");
  }
};
INSTANTIATE_TEST_SUITE_P(EveryEntry, PdeLaws, ::testing::ValuesIn(small()),
                         [](const auto& each) { return each.param.label; });

TEST(PdeTable, LawsCoverEveryEntry) {
  for (const PdeRow& row : pde_table())
    EXPECT_TRUE(row.outline ||
                std::ranges::any_of(small(), [&](const Small& s) { return s.name == row.name; }))
        << "there is no small problem for " << row.name << ": add a line to small()";
}

std::vector<Row> ok_states(const std::vector<Answer>& answers) {
  std::vector<Row> states;
  for (const Answer& answer : answers) {
    EXPECT_EQ(answer.status, Answer::Status::ok) << answer.reason;
    states.push_back(answer.states);
  }
  return states;
}

// Broken by: an answer that is the input, one of another row, or left at zero.
TEST_P(PdeLaws, OneLearnedStepMovesEveryRowToAFiniteState) {
  const Case c = the_case();
  const std::vector<Row> rows = c.rows(9);

  const std::vector<Row> states = ok_states(solve_rows(*c.make(1), rows));

  for (std::size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(states[i].size(), rows[i].size());
    EXPECT_NE(states[i], rows[i]) << i;
    double distance = 0, size = 0;
    for (std::size_t j = 0; j < rows[i].size(); ++j) {
      ASSERT_TRUE(std::isfinite(states[i][j])) << i << " " << j;
      distance += std::pow(states[i][j] - rows[i][j], 2);
      size += std::pow(rows[i][j], 2);
    }
    EXPECT_LT(distance, 4 * size) << i;  // a short step stays in the neighbourhood
  }
}

// Broken by: a step size or a maximum shared by a block, a lane read from its neighbour, scratch
// that an earlier block has left.
TEST_P(PdeLaws, BatchCompositionDoesNotMatter) {
  const Case c = the_case();
  const auto solver = c.make(1);
  const std::vector<Row> rows = c.rows(19);
  std::vector<Row> alone;
  for (const Row& row : rows) alone.push_back(ok_states(solve_rows(*solver, {row}))[0]);
  for (std::size_t size : {2u, 3u, 8u, 9u, 19u})
    for (std::size_t first = 0; first + size <= rows.size(); first += size) {
      const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(first);

      const std::vector<Row> states =
          ok_states(solve_rows(*solver, {begin, begin + static_cast<std::ptrdiff_t>(size)}));

      for (std::size_t i = 0; i < size; ++i)
        EXPECT_EQ(states[i], alone[first + i]) << "row " << first + i << " of " << size;
    }
}

// Broken by: a result that depends on the lane a row stands in.
TEST_P(PdeLaws, OrderDoesNotMatter) {
  const Case c = the_case();
  const auto solver = c.make(1);
  const std::vector<Row> rows = c.rows(13);
  const std::vector<Row> reversed(rows.rbegin(), rows.rend());

  const std::vector<Row> forth = ok_states(solve_rows(*solver, rows));
  std::vector<Row> back = ok_states(solve_rows(*solver, reversed));
  std::ranges::reverse(back);

  EXPECT_EQ(forth, back);
}

// Broken by: a buffer shared between threads.
TEST_P(PdeLaws, ThreadsDoNotMatter) {
  const Case c = the_case();
  const std::vector<Row> rows = c.rows(37);

  const std::vector<Row> one = ok_states(solve_rows(*c.make(1), rows));

  for (int threads : {2, 5}) EXPECT_EQ(ok_states(solve_rows(*c.make(threads), rows)), one);
}

// Broken by: a refused row that still takes part in its block, a NaN that leaks through a maximum
// over lanes.
TEST_P(PdeLaws, RowsThatAreNotFiniteAreRefusedAndLeaveTheOthersAlone) {
  const Case c = the_case();
  const auto solver = c.make(1);
  const std::vector<Row> rows = c.rows(8);
  const std::vector<Row> expected = ok_states(solve_rows(*solver, rows));
  const double bad_values[] = {std::numeric_limits<double>::quiet_NaN(),
                               std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity()};
  for (double bad : bad_values) {
    std::vector<Row> mixed = rows;
    mixed[3][mixed[3].size() / 2] = bad;

    const std::vector<Answer> answers = solve_rows(*solver, mixed);

    EXPECT_EQ(answers[3].status, Answer::Status::refused);
    EXPECT_FALSE(answers[3].reason.empty());
    EXPECT_EQ(answers[3].attempts, 0);
    for (std::size_t i = 0; i < rows.size(); ++i)
      EXPECT_EQ(answers[i].states, i == 3 ? Row() : expected[i]) << i;
  }
}

// Finite and far beyond anything: refused or failed with a reason, and nobody else's business.
// Broken by: an overflow that reaches other lanes, a row that runs for ever.
TEST_P(PdeLaws, RowsThatBlowUpLeaveTheOthersAlone) {
  const Case c = the_case();
  const auto solver = c.make(1);
  const std::vector<Row> rows = c.rows(8);
  const std::vector<Row> expected = ok_states(solve_rows(*solver, rows));
  for (double factor : {1e6, 1e300}) {
    std::vector<Row> mixed = rows;
    for (double& value : mixed[5]) value *= factor;

    const std::vector<Answer> answers = solve_rows(*solver, mixed);

    EXPECT_NE(answers[5].status, Answer::Status::ok) << factor;
    EXPECT_FALSE(answers[5].reason.empty());
    for (std::size_t i = 0; i < rows.size(); ++i)
      EXPECT_EQ(answers[i].states, i == 5 ? Row() : expected[i]) << i;
  }
}

// Broken by: an option that is forgotten, a step that is scaled instead of made anew.
TEST_P(PdeLaws, WithAnotherStepItIsTheEntryWithThatDt) {
  const Case c = the_case();
  const auto solver = c.make(2);
  const std::vector<Row> rows = c.rows(9);
  const auto entry = c.entry.make(test::changed(*c.entry.fields, c.options, "dt", 3 * solver->dt()),
                                  {.threads = 1});

  const auto other = solver->with_step(3 * solver->dt());

  ASSERT_NE(other, nullptr);
  EXPECT_EQ(other->dt(), entry->dt());
  EXPECT_EQ(other->grid(), entry->grid());
  EXPECT_EQ(ok_states(solve_rows(*other, rows)), ok_states(solve_rows(*entry, rows)));
  EXPECT_NE(ok_states(solve_rows(*other, rows)), ok_states(solve_rows(*solver, rows)));
}

// Three steps of one query are three queries, one behind the other. Broken by: a time that stands
// still, a state that is rounded in between.
TEST_P(PdeLaws, StepsOfOneQueryAreThoseOfSeveral) {
  const Case c = the_case();
  const auto solver = c.make(2);
  const std::vector<Row> rows = c.rows(11);
  std::vector<Query> queries;
  for (const Row& row : rows) queries.push_back({.state = row, .time = 0.25, .steps = 3});
  std::vector<Answer> answers(rows.size());

  solver->solve(queries, answers);

  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row state = rows[i], expected;
    for (std::size_t step = 0; step < 3; ++step) {
      state = test::solve_field(*solver, state, 0.25 + static_cast<double>(step) * solver->dt());
      expected.insert(expected.end(), state.begin(), state.end());
    }
    EXPECT_EQ(answers[i].status, Answer::Status::ok) << answers[i].reason;
    EXPECT_EQ(answers[i].states, expected) << i;
  }
}

// --- calls --------------------------------------------------------------------------------------

// Called again it answers the same. Broken by: state kept from call to call.
TEST_P(PdeLaws, CallsDoNotInfluenceEachOther) {
  const Case c = the_case();
  const auto solver = c.make(2);
  const std::vector<Row> rows = c.rows(11);

  const std::vector<Row> first = ok_states(solve_rows(*solver, rows));
  solve_rows(*solver, c.rows(7, 6));

  EXPECT_EQ(ok_states(solve_rows(*solver, rows)), first);
}

}  // namespace
}  // namespace stap
