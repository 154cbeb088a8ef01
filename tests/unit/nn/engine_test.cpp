// What the engine promises beyond the right numbers: bit-equal results however the work is cut,
// exact resume. What it refuses is in calls_test.cpp.
#include "stap/nn/engine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <numeric>

#include "nn/gradients.h"
#include "stap/core/error.h"
#include "stap/nn/fno.h"
#include "support/contains.h"
#include "support/families.h"
#include "support/refusals.h"

// Counts what the program allocates, for NoAllocationInsideTheStepLoop. Not inlined: the compiler
// would otherwise see malloc and free on their own and warn of a mismatch.
static std::atomic<std::size_t> allocations{0};
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size);
}
[[gnu::noinline]] void operator delete(void* p) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}

namespace stap {
namespace {

using test::small_shape;
using test::Transitions;

FitOptions short_training() {
  FitOptions options;
  options.epochs = 4;
  options.batch = 8;
  return options;
}

struct Trainee {
  int member;
  const Transitions* data;
  FitOptions options = short_training();
  std::span<const StateMap> symmetries{};
};

// The mirror of the first axis, in which the last channel changes its sign, and time turned round.
std::vector<StateMap> some_symmetries(const Grid& grid) {
  const std::vector<std::string> names =
      grid.channels == 1 ? std::vector<std::string>{"v"} : std::vector<std::string>{"u", "v"};
  return make_state_maps({"x -> -x, v -> -v", "t -> -t"}, grid, names);
}

// Trains fresh members (weights and order by `seed of member`) and returns their states.
std::vector<MemberState> train(const NetworkSpec& shape, const std::vector<Trainee>& trainees,
                               int members, int threads) {
  const auto engine = test::make_engine_under_test(shape, members, threads);
  std::vector<FitJob> jobs;
  for (const Trainee& t : trainees) {
    const auto id = static_cast<std::uint64_t>(t.data->inputs.count());
    engine->load(t.member, fresh_member(shape, test::some_scaling(shape.grid.channels),
                                        Rng(1).split("weights", id)));
    jobs.push_back({t.member, t.data->view(), t.options, Rng(1).split("order", id)});
    jobs.back().symmetries = t.symmetries;
  }
  Observer observer;
  engine->fit(jobs, observer);
  std::vector<MemberState> states;
  for (const Trainee& t : trainees) states.push_back(engine->save(t.member));
  return states;
}

struct Recorder : Observer {
  void epoch_done(const EpochDone& e) override { epochs.push_back(e); }
  std::vector<EpochDone> epochs;
};

// Laws of engines, for every family.
class EngineOf : public testing::TestWithParam<test::NetworkCase> {
 protected:
  NetworkSpec shape = GetParam().network;
  std::vector<StateMap> symmetries = some_symmetries(shape.grid);
};
INSTANTIATE_TEST_SUITE_P(Families, EngineOf,
                         testing::ValuesIn(test::networks_of_families(24, 2, {6, 10})),
                         [](const auto& test) { return test.param.name; });

// The slope of the loss along some direction is that of the gradient. Sums of floats: one part in a
// thousand of the largest slopes. Mutation: a body that gives the output's error for its gradient.
TEST_P(EngineOf, GradientIsTheSlopeOfTheLoss) {
  const Transitions data(shape, 7, Rng(3));
  const auto engine = test::make_engine_under_test(shape, 1, 2);
  const MemberState member = fresh_member(shape, test::some_scaling(shape.grid.channels), Rng(5));
  Parameters gradient, ignored;
  engine->load(0, member);
  batch_gradient(*engine, 0, data.view(), gradient);
  for (std::size_t t = 0; t < gradient.size(); ++t) {
    double size2 = 0.0;
    for (const float g : gradient[t].values) size2 += double(g) * double(g);
    ASSERT_GT(size2, 0.0) << gradient[t].name;
    const double length = 2e-3 / std::sqrt(size2);  // of the step along the gradient
    const auto loss_at = [&](double sign) {
      MemberState moved = member;
      for (std::size_t i = 0; i < gradient[t].values.size(); ++i)
        moved.weights[t].values[i] += float(sign * length * double(gradient[t].values[i]));
      engine->load(0, moved);
      return batch_gradient(*engine, 0, data.view(), ignored);
    };
    const double slope = (loss_at(1) - loss_at(-1)) / (2 * length);

    EXPECT_NEAR(slope, size2, 0.01 * size2 + 1e-3 * std::sqrt(size2)) << gradient[t].name;
  }
}

// Mutation: summing dense gradients per thread instead of per block.
TEST_P(EngineOf, TrainingDoesNotDependOnThreads) {
  const Transitions data(shape, 21, Rng(3));
  FitOptions options = short_training();
  options.noise = 0.1;

  const auto one = train(shape, {{0, &data, options, symmetries}}, 1, 1);

  EXPECT_EQ(one, train(shape, {{0, &data, options, symmetries}}, 1, 2));
  EXPECT_EQ(one, train(shape, {{0, &data, options, symmetries}}, 1, 3));
}

// Six threads and ten members: six train on a thread of their own, two times two share all threads.
// Mutation: a batch that takes its row count, rate, average, noise or symmetries from the first job
// of its group.
TEST_P(EngineOf, MemberAloneAndBesideNineOthers) {
  std::vector<Transitions> data;
  for (std::size_t n = 0; n < 10; ++n) data.emplace_back(shape, 5 + 3 * n, Rng(n));
  std::vector<Trainee> all;
  for (int m = 0; m < 10; ++m) {
    all.push_back({m, &data[static_cast<std::size_t>(m)]});
    all.back().options.epochs = 2 + m % 3;
    all.back().options.steps = m % 4 == 3 ? 5 : 0;
    all.back().options.average = m % 2 == 0 ? 0.9 : 0.0;
    all.back().options.noise = m % 4 == 0 ? 0.0 : 0.1;
    if (m % 3 > 0) all.back().symmetries = symmetries;
    all.back().options.learning_rate = 1e-3 * (1 + m);
  }

  const auto together = train(shape, all, 10, 6);

  for (int m : {0, 4, 6, 7, 9}) {
    Trainee single = all[static_cast<std::size_t>(m)];
    single.member = 0;
    EXPECT_EQ(train(shape, {single}, 1, 1)[0], together[static_cast<std::size_t>(m)]) << m;
  }
}

// Mutation: forgetting Adam's moments, its step count or the average in save() or load().
TEST_P(EngineOf, StopSaveLoadAndGoOn) {
  const Transitions data(shape, 19, Rng(4));
  FitOptions options = short_training();
  options.average = 0.8;
  options.noise = 0.1;
  const MemberState start = fresh_member(shape, test::some_scaling(shape.grid.channels), Rng(8));
  Observer observer;
  FitJob whole{0, data.view(), options, Rng(9)};
  const auto uninterrupted = test::make_engine_under_test(shape, 1, 2);
  uninterrupted->load(0, start);
  uninterrupted->fit({&whole, 1}, observer);

  FitJob job{0, data.view(), options, Rng(9), 0, 1};
  const auto first = test::make_engine_under_test(shape, 1, 1);
  first->load(0, start);
  first->fit({&job, 1}, observer);
  const auto second = test::make_engine_under_test(shape, 3, 2);
  second->load(2, first->save(0));
  job.member = 2;
  job.epochs_stop = options.epochs;
  second->fit({&job, 1}, observer);

  EXPECT_EQ(job.epochs_done, options.epochs);
  EXPECT_EQ(second->save(2), uninterrupted->save(0));
  EXPECT_NE(second->save(2).weights, start.weights);
}

// Members of 2, 4 and 5 epochs, the second of 7 steps and so with a cut one at its end, stopped
// after each of the first four, and sent on with other threads. Mutation: stopping in the middle of
// an epoch, or before all members have made it; a rate, noise or images that start anew.
TEST_P(EngineOf, StopsAfterAnEpochAndGoesOnToTheSameBits) {
  std::vector<Transitions> data;
  for (std::size_t m = 0; m < 3; ++m) data.emplace_back(shape, 11 + 5 * m, Rng(m));
  const auto make_jobs = [&] {
    std::vector<FitJob> jobs;
    for (int m = 0; m < 3; ++m) {
      const auto id = static_cast<std::size_t>(m);
      jobs.push_back({m, data[id].view(), short_training(), Rng(9).split("m", id)});
      jobs.back().options.epochs = m == 0 ? 2 : 3 + m;
      if (m == 1) jobs.back().options.steps = 7;
      if (m > 0) jobs.back().options.noise = 0.1;
      if (m < 2) jobs.back().symmetries = symmetries;
    }
    return jobs;
  };
  const auto make_engine = [&](int threads) {
    auto engine = test::make_engine_under_test(shape, 3, threads);
    for (int m = 0; m < 3; ++m)
      engine->load(m, fresh_member(shape, test::some_scaling(shape.grid.channels), Rng(8)));
    return engine;
  };
  Observer observer;
  const auto through = make_engine(1);
  std::vector<FitJob> whole = make_jobs();
  through->fit(whole, observer);

  for (int threads : {1, 2, 3})
    for (int epochs : {1, 2, 3, 4}) {
      SCOPED_TRACE(std::to_string(epochs) + " epochs on " + std::to_string(threads) + " threads");
      std::vector<FitJob> jobs = make_jobs();
      int asked = 0;
      const auto first = make_engine(threads);
      first->fit(jobs, observer, [&] { return ++asked >= epochs; });
      for (const FitJob& job : jobs)
        EXPECT_EQ(job.epochs_done, std::min(job.length().epochs, epochs));

      const auto second = make_engine(1 + threads % 3);
      for (int m = 0; m < 3; ++m) second->load(m, first->save(m));
      std::erase_if(jobs, [](const FitJob& job) { return job.epochs_done == job.length().epochs; });
      second->fit(jobs, observer);

      for (int m = 0; m < 3; ++m) EXPECT_EQ(second->save(m), through->save(m)) << "member " << m;
    }
}

// A stop that was asked for before is heard after the first epoch: who always stops still gets on.
TEST(Engine, TrainsAnEpochBeforeItStops) {
  const NetworkSpec shape = small_shape({16}, {6});
  const Transitions data(shape, 4, Rng(3));
  const auto engine = test::make_engine_under_test(shape, 1, 1);
  Observer observer;
  FitJob job{0, data.view(), short_training()};

  for (int epoch = 1; epoch <= 4; ++epoch) {
    engine->fit({&job, 1}, observer, [] { return true; });
    EXPECT_EQ(job.epochs_done, epoch);
  }
}

// Mutation: letting a row's place in its block reach the arithmetic.
TEST_P(EngineOf, AdvanceDoesNotDependOnTheCut) {
  const std::size_t n = 37;
  const auto states = test::random_states(shape.grid, n, Rng(6));
  const MemberState member = fresh_member(shape, test::some_scaling(shape.grid.channels), Rng(2));
  auto advanced = [&](std::size_t cut, int threads) {
    const auto engine = test::make_engine_under_test(shape, 1, threads);
    engine->load(0, member);
    const auto committee = engine->committee({0});
    const RowsId in = committee->rows(n), out = committee->rows(n);
    committee->put(in, 0, states.view());
    for (std::size_t first = 0; first < n; first += cut) {
      std::vector<std::size_t> index;
      for (std::size_t r = first; r < std::min(n, first + cut); ++r) index.push_back(r);
      const std::vector<int> which(index.size(), 0);
      committee->advance(in, index, which, out, index);
    }
    States<float> result(shape.grid, n);
    committee->get(out, 0, result.view());
    return std::vector<float>(result.values().begin(), result.values().end());
  };

  const auto whole = advanced(n, 1);

  for (std::size_t cut : {std::size_t{1}, std::size_t{3}, std::size_t{16}, std::size_t{17}, n})
    for (int threads : {1, 2, 3}) EXPECT_EQ(advanced(cut, threads), whole) << cut << " " << threads;
}

TEST(Engine, TrainingLowersTheLossAndReportsEveryEpoch) {
  Recorder recorder;
  const NetworkSpec shape = small_shape({16}, {6});
  Transitions data(shape, 10, Rng(3));
  // Something to learn: the next state is half the present one.
  for (std::size_t i = 0; i < data.targets.values().size(); ++i)
    data.targets.values()[i] = 0.5f * data.inputs.values()[i];
  FitOptions options;
  options.epochs = 120;
  options.learning_rate = 1e-2;
  const auto engine = test::make_engine_under_test(shape, 1, 1);
  engine->load(0, fresh_member(shape, unit_scaling(1), Rng(1)));
  FitJob job{0, data.view(), options, Rng(1)};

  engine->fit({&job, 1}, recorder);

  ASSERT_EQ(recorder.epochs.size(), 120u);
  EXPECT_EQ(recorder.epochs[7].epoch, 7);
  EXPECT_LT(recorder.epochs.back().loss, 0.5 * recorder.epochs.front().loss);
  EXPECT_DOUBLE_EQ(recorder.epochs[0].learning_rate, 1e-2);
  EXPECT_NEAR(recorder.epochs[60].learning_rate, 0.5e-2, 1e-12);
}

// Mutation: a schedule that is read a step or an epoch off, or another one than was asked for.
TEST(Engine, TheRateFollowsItsSchedule) {
  using Schedule = FitOptions::Schedule;
  const NetworkSpec shape = small_shape({16}, {6});
  const Transitions data(shape, 10, Rng(3));
  for (const auto& [schedule, half] :
       {std::pair(Schedule::linear, 0.75), std::pair(Schedule::constant, 1.0),
        std::pair(Schedule::cosine, 0.5 * (1.0 + std::sqrt(0.5)))}) {
    FitOptions options = short_training();
    options.epochs = 4;
    options.schedule = schedule;
    Recorder recorder;
    const auto engine = test::make_engine_under_test(shape, 1, 1);
    engine->load(0, fresh_member(shape, unit_scaling(1), Rng(1)));
    FitJob job{0, data.view(), options, Rng(1)};
    engine->fit({&job, 1}, recorder);
    EXPECT_NEAR(recorder.epochs.at(1).learning_rate, 1e-3 * half, 1e-15);
  }
}

// Where every epoch is one step, steps and epochs are the same training. Mutation: a rate that is
// taken an epoch too early or too late.
TEST(Engine, StepsAreEpochsOfOneStep) {
  const NetworkSpec shape = small_shape({16}, {6});
  const Transitions data(shape, 8, Rng(3));
  FitOptions epochs = short_training(), steps = short_training();
  epochs.epochs = 7;
  steps.steps = 7;

  EXPECT_EQ(train(shape, {{0, &data, epochs}}, 1, 1), train(shape, {{0, &data, steps}}, 1, 1));
}

// 19 rows in batches of 8: 7 steps are two epochs of 3 and one of 1, which sees the first 8 rows of
// its order. Mutation: a whole last epoch, a loss that is divided by all rows, a rate per epoch.
TEST(Engine, TheLastEpochEndsWithTheLastStep) {
  const NetworkSpec shape = small_shape({16}, {6});
  const Transitions data(shape, 19, Rng(4));
  FitOptions options = short_training();
  options.steps = 7;
  const auto engine = test::make_engine_under_test(shape, 1, 1);
  engine->load(0, fresh_member(shape, unit_scaling(1), Rng(1)));
  FitJob job{0, data.view(), options, Rng(9), 0, 2};
  Recorder recorder;
  engine->fit({&job, 1}, recorder);
  EXPECT_EQ(engine->save(0).steps, 6);
  std::vector<std::uint32_t> order;
  shuffle(Rng(9).split("epoch", 2), 19, order);
  States<float> inputs(shape.grid, 8), targets(shape.grid, 8);
  for (std::size_t r = 0; r < 8; ++r) {
    std::ranges::copy(data.inputs.row(order[r]), inputs.row(r).begin());
    std::ranges::copy(data.targets.row(order[r]), targets.row(r).begin());
  }
  Parameters gradient;
  const double loss = batch_gradient(
      *engine, 0, {std::as_const(inputs).view(), std::as_const(targets).view(), {}}, gradient);

  job.epochs_stop.reset();
  engine->fit({&job, 1}, recorder);

  EXPECT_EQ(engine->save(0).steps, 7);
  ASSERT_EQ(recorder.epochs.size(), 3u);
  EXPECT_EQ(recorder.epochs[2].epochs, 3);
  EXPECT_NEAR(recorder.epochs[2].loss, loss, 1e-6 * loss);  // sums of floats in another order
  for (int e : {0, 1, 2})
    EXPECT_NEAR(recorder.epochs[static_cast<std::size_t>(e)].learning_rate,
                1e-3 * std::pow(std::cos(std::acos(-1.0) * 3 * e / 14), 2), 1e-12);
}

// The running average of the weights after every step, in double. Single precision makes an error
// of half a unit in the last place of the weights at every step. Mutation: an average that lags a
// step, starts at zero or has the full decay from the beginning; weights that come to depend on it.
TEST_P(EngineOf, AverageIsThatOfTheWeightsAfterEveryStep) {
  constexpr int kEpochs = 12;
  const Transitions data(shape, 8, Rng(4));
  FitOptions options = short_training();
  options.epochs = kEpochs;
  options.average = 0.6;  // reached at step 12.5
  const auto engine = test::make_engine_under_test(shape, 2, 1);
  MemberState now = fresh_member(shape, test::some_scaling(shape.grid.channels), Rng(8));
  engine->load(0, now);
  engine->load(1, now);
  FitJob job{0, data.view(), options, Rng(9)}, plain{1, data.view(), options, Rng(9)};
  plain.options.average = 0;
  std::vector<std::vector<double>> average;
  for (const Tensor& t : now.weights) average.emplace_back(t.values.begin(), t.values.end());
  Observer observer;

  for (int step = 1; step <= kEpochs; ++step) {
    engine->fit({&job, 1}, observer, [] { return true; });
    now = engine->save(0);
    const double decay = std::min(0.6, (1.0 + step) / (10.0 + step));
    for (std::size_t t = 0; t < average.size(); ++t)
      for (std::size_t i = 0; i < average[t].size(); ++i)
        average[t][i] += (1 - decay) * (double(now.weights[t].values[i]) - average[t][i]);
  }
  engine->fit({&plain, 1}, observer);

  ASSERT_EQ(now.average.size(), average.size());
  for (std::size_t t = 0; t < average.size(); ++t)
    for (std::size_t i = 0; i < average[t].size(); ++i)
      ASSERT_NEAR(now.average[t].values[i], average[t][i], 1e-6) << now.weights[t].name << " " << i;
  EXPECT_EQ(engine->save(1).weights, now.weights);
  EXPECT_TRUE(engine->save(1).average.empty());
  const MemberState used = engine->save_trained(0), without = engine->save_trained(1);
  EXPECT_EQ(used.weights, now.average);
  EXPECT_EQ(without.weights, now.weights);
  for (const MemberState& member : {used, without}) {
    EXPECT_TRUE(member.average.empty() && member.moment1.empty() && member.moment2.empty());
    EXPECT_EQ(member.steps, now.steps);
    EXPECT_EQ(member.scaling, now.scaling);
  }
}

// A network of zeros gives its input back: against the inputs, moved by a shift, its loss is the
// mean of (noise - shift)^2. Two channels of 400 rows of 24 values in 4 epochs; five standard
// errors. Mutation: noise of another size in one channel, not about 0, the same in every epoch or
// for every member; noise that stays when a training without it follows.
TEST(Engine, NoiseHasItsMomentsAndNoTrainingElseDoes) {
  constexpr int kMembers = 4, kEpochs = 4;
  const NetworkSpec shape = small_shape({24}, {8}, 2);
  const std::vector<std::vector<float>> deviations = {{2, 1e-6f}, {1e-6f, 3}, {2, 2}, {2, 2}};
  const std::vector<float> shifts = {0, 0, 1, -1};
  const std::vector<std::uint64_t> streams = {0, 1, 2, 2};
  std::vector<Transitions> data(kMembers, Transitions(shape, 400, Rng(3)));
  const auto engine = test::make_engine_under_test(shape, kMembers, 2);
  for (std::size_t m = 0; m < kMembers; ++m) {
    for (std::size_t i = 0; i < data[m].inputs.values().size(); ++i)
      data[m].targets.values()[i] = data[m].inputs.values()[i] + shifts[m];
    MemberState zeros = fresh_member(shape, unit_scaling(2), Rng(1));
    zeros.weights = zero_parameters(shape);
    zeros.scaling.deviation = deviations[m];
    engine->load(static_cast<int>(m), zeros);
  }
  const auto losses = [&](double noise) {
    std::vector<FitJob> jobs;
    for (int m = 0; m < kMembers; ++m) {
      const auto id = static_cast<std::size_t>(m);
      jobs.push_back({m, data[id].view(), short_training(), Rng(9).split("m", streams[id])});
      jobs.back().options.epochs = kEpochs;
      jobs.back().options.learning_rate = 1e-300;  // 0 as a float: weights stay
      jobs.back().options.noise = noise;
    }
    Recorder recorder;
    engine->fit(jobs, recorder);
    std::vector<std::vector<double>> of_member(kMembers);
    for (const EpochDone& e : recorder.epochs)
      of_member[static_cast<std::size_t>(e.member)].push_back(e.loss);
    return of_member;
  };
  const auto mean = [](const std::vector<double>& x) {
    return std::accumulate(x.begin(), x.end(), 0.0) / double(x.size());
  };

  const auto before = losses(0), noisy = losses(0.1), after = losses(0);

  for (std::size_t m : {std::size_t{0}, std::size_t{1}}) {
    EXPECT_EQ(before[m], std::vector<double>(kEpochs, 0.0));
    EXPECT_EQ(after[m], before[m]);
    const double expected = 0.5 * std::pow(0.1 * double(deviations[m][m]), 2);
    const double count = 400 * 24 * kEpochs;
    EXPECT_NEAR(mean(noisy[m]), expected, 5 * std::sqrt(2 / count) * expected) << m;
    for (std::size_t e = 1; e < kEpochs; ++e)
      EXPECT_GT(std::abs(noisy[m][e] - noisy[m][0]), 1e-6 * expected) << m;
  }
  // Squares differ by -4 times the mean.
  EXPECT_NEAR((mean(noisy[3]) - mean(noisy[2])) / 4, 0.0,
              5 * 0.2 / std::sqrt(2.0 * 400 * 24 * kEpochs));
  // Members of other streams, in units of their deviations.
  EXPECT_GT(std::abs(noisy[0][0] / 4 - noisy[1][0] / 9), 1e-6 * noisy[0][0]);
}

// Training on images, against training without any on data that were replaced by their images
// before each epoch: the same bits. Mutation: an image drawn for a row and not for its place in an
// epoch, for one epoch like for another or for the input alone; time turned round without input and
// target changing places; noise in front of the map.
void expect_trained_on_images(const NetworkSpec& shape, std::span<const StateMap> symmetries) {
  const Transitions data(shape, 19, Rng(4));
  FitOptions options = short_training();
  options.noise = 0.1;
  options.steps = 11;  // of 3 an epoch: the last one is cut
  const MemberState start = fresh_member(shape, test::some_scaling(shape.grid.channels), Rng(8));
  const Rng rng(9);
  Observer observer;
  FitJob job{0, data.view(), options, rng};
  job.symmetries = symmetries;
  const auto engine = test::make_engine_under_test(shape, 1, 2);
  engine->load(0, start);
  engine->fit({&job, 1}, observer);

  const auto twin = test::make_engine_under_test(shape, 1, 1);
  twin->load(0, start);
  std::vector<std::size_t> seen(symmetries.size());
  for (int epoch = 0; epoch < job.length().epochs; ++epoch) {
    const auto e = static_cast<std::uint64_t>(epoch);
    Transitions images = data;
    std::vector<std::uint32_t> order;
    shuffle(rng.split("epoch", e), data.inputs.count(), order);
    for (std::size_t place = 0; place < order.size(); ++place) {
      const std::size_t which = rng.split("symmetry", e).below(place, seen.size());
      const StateMap& map = symmetries[which];
      ++seen[which];
      const auto put = [&](const States<float>& from, States<float>& to) {
        map_state(map, from.row(order[place]).data(), to.row(order[place]).data());
      };
      put(map.reversed ? data.targets : data.inputs, images.inputs);
      put(map.reversed ? data.inputs : data.targets, images.targets);
      const std::span<const float> told = data.told_row(order[place]);
      const std::size_t before = told.size() - map.parameters.size();
      for (std::size_t p = 0; p < map.parameters.size(); ++p) {
        const std::int32_t from = map.parameters[p];
        const float value = told[before + static_cast<std::size_t>(from < 0 ? -1 - from : from)];
        images.told[order[place] * told.size() + before + p] = from < 0 ? -value : value;
      }
    }
    FitJob plain{0, images.view(), options, rng, epoch, epoch + 1};
    twin->fit({&plain, 1}, observer);
  }

  EXPECT_EQ(engine->save(0), twin->save(0));
  for (const std::size_t times : seen) EXPECT_GT(times, 5u);  // of 76 draws among four
}

TEST_P(EngineOf, SymmetriesTrainOnImages) {
  expect_trained_on_images(shape, symmetries);
}

// Mutation: parameters that stay, or change places without their sign.
TEST_P(EngineOf, SymmetriesActOnParameters) {
  const std::vector<std::string> names =
      shape.grid.channels == 1 ? std::vector<std::string>{"v"} : std::vector<std::string>{"u", "v"};
  const std::vector<StateMap> turns =
      make_state_maps({"v -> -v, p0 -> p1, p1 -> -p0"}, shape.grid, names, 1, {"p0", "p1"});
  ASSERT_EQ(turns.size(), 4u);

  expect_trained_on_images(test::with_parameters(shape, 2), turns);
}

// What happens between two reports of the observer must not allocate.
TEST(Engine, NoAllocationInsideTheStepLoop) {
  if (test::testing_cuda()) GTEST_SKIP() << "an epoch on the GPU uploads its order";
  struct Counter : Observer {
    void epoch_done(const EpochDone&) override { at[n++ % 8] = allocations.load(); }
    std::size_t at[8] = {};
    std::size_t n = 0;
  } counter;
  const NetworkSpec shape = small_shape({24}, {8});
  const Transitions data(shape, 50, Rng(3));
  FitOptions options = short_training();
  options.noise = 0.1;
  const auto engine = test::make_engine_under_test(shape, 1, 2);
  engine->load(0, fresh_member(shape, unit_scaling(1), Rng(1)));
  FitJob job{0, data.view(), options, Rng(1)};
  const std::vector<StateMap> symmetries = some_symmetries(shape.grid);
  job.symmetries = symmetries;

  engine->fit({&job, 1}, counter);

  ASSERT_EQ(counter.n, 4u);
  EXPECT_GT(counter.at[0], 0u);
  EXPECT_EQ(counter.at[3], counter.at[0]);
}

TEST(NetworkSpec, RefusesImpossibleNetworks) {
  const Grid line = make_grid(1, {16}, {1.0});
  auto with = [](std::vector<std::size_t> modes, std::size_t width) {
    return NetworkOptions{.family = fno({.modes = std::move(modes), .width = width})};
  };

  EXPECT_NO_THROW(make_network(line, with({16}, 4)));
  EXPECT_THROW(make_network(line, with({18}, 4)), Error);    // beyond the grid
  EXPECT_THROW(make_network(line, with({5}, 4)), Error);     // odd
  EXPECT_THROW(make_network(line, with({0}, 4)), Error);     // none
  EXPECT_THROW(make_network(line, with({4, 4}, 4)), Error);  // another number of axes
  EXPECT_THROW(make_network(line, with({4}, 0)), Error);     // zero width
}

// A cluster has each channel once for every state; a name that is stated twice counts once.
TEST(NetworkSpec, PadsWallsAlone) {
  const Grid plane = make_grid(1, {32, 7}, {1.0, 2.0});
  const Grid pipe = with_walls(plane, {"centres", "periodic"});
  const auto with = [](std::vector<double> share, std::vector<std::string> kind = {}) {
    return NetworkOptions{.padding = {std::move(share), std::move(kind)}};
  };

  EXPECT_EQ(make_network(plane, {}).body_grid(), plane);
  EXPECT_EQ(make_network(pipe, {}).body_grid(), make_grid(1, {40, 7}, {1.25, 2.0}));
  EXPECT_EQ(make_network(pipe, with({1.0})).body_grid().points, (std::vector<std::size_t>{64, 7}));
  EXPECT_EQ(make_network(pipe, with({0.0})).body_grid().points, plane.points);
  EXPECT_EQ(make_network(with_walls(plane, {"periodic", "points"}), with({0, 0.5}, {"odd"}))
                .body_grid()
                .points,
            (std::vector<std::size_t>{32, 11}));

  const auto why = [](const Grid& grid, const NetworkOptions& options) {
    return test::error_text(ErrorKind::config, [&] { make_network(grid, options); });
  };
  EXPECT_TRUE(test::contains(why(plane, with({0.25})),
                             "network.padding.share is given, but all axes are periodic"));
  EXPECT_TRUE(test::contains(why(plane, with({}, {"odd"})), "network.padding.kind is given"));
  EXPECT_TRUE(test::contains(why(pipe, with({0.25, 0.25})), "for axis 2, which is periodic"));
  EXPECT_TRUE(test::contains(why(pipe, with({1.5})), "share is 1.5, expected 0 to 1"));
  EXPECT_TRUE(test::contains(why(pipe, with({0.1, 0, 0})), "has 3 values"));
  EXPECT_TRUE(test::contains(why(pipe, with({}, {"mirror"})), "padding.kind has 'mirror'"));
}

TEST(NetworkSpec, FindsWhatItConservesByName) {
  const std::vector<std::string> channels = {"density", "vx", "pressure"};
  const Grid cluster = make_grid(6, {16}, {1.0});
  NetworkOptions options{.conserve = {"pressure", "density", "density"}};

  const NetworkSpec shape = make_network(cluster, options, channels);

  EXPECT_EQ(shape.conserved, (std::vector<std::size_t>{0, 2, 3, 5}));
  options.conserve = {"density", "vy"};
  EXPECT_THROW(make_network(cluster, options, channels), Error);
  EXPECT_THROW(make_network(cluster, options), Error);
}

// Deviations of the spec, at five standard errors of the sample (4,096 and more values each).
TEST(InitialParameters, HaveTheStatedSpread) {
  const NetworkSpec shape =
      make_network(make_grid(1, {16}, {1.0}), {.family = fno({.modes = {8}})});

  const Parameters parameters = initial_parameters(shape, Rng(1));

  for (const Tensor& t : parameters) {
    if (t.values.size() < 4096) continue;
    double square = 0, largest = 0;
    for (float v : t.values) {
      square += double(v) * double(v) / double(t.values.size());
      largest = std::max(largest, std::abs(double(v)));
    }
    const double se = 5.0 / std::sqrt(2.0 * double(t.values.size()));
    if (t.name.find("convs.weight") != std::string::npos) {
      EXPECT_NEAR(std::sqrt(square), 0.0883883, 0.0883883 * se) << t.name;
    } else {
      const double bound = 1.0 / std::sqrt(double(t.shape[1]));
      EXPECT_NEAR(std::sqrt(square), bound / std::sqrt(3.0), bound * se) << t.name;
      EXPECT_LE(largest, bound) << t.name;
    }
  }
  EXPECT_NE(parameters, initial_parameters(shape, Rng(2)));
}

// Images of 32 rows at most, inputs and targets, for each member that is trained at the same time,
// and an index of 4 bytes for every value and map. On a GPU how many are depends on it.
TEST(TrainingBytes, CountMapsAndImages) {
  const NetworkSpec shape = small_shape({15, 9}, {4, 4}, 2);
  const std::size_t values = 2 * 15 * 9, member_rows = 2 * 32 * values * 4;
  ComputeOptions cpu;
  cpu.device = ComputeOptions::Device::cpu;

  const std::size_t plain = training_bytes(cpu, shape, 3, {}, 2);

  EXPECT_EQ(training_bytes(cpu, shape, 3, {.maps = 5}, 2) - plain,
            5 * values * 4 + 2 * member_rows);
  EXPECT_EQ(training_bytes(cpu, shape, 3, {.noise = true}, 2) - plain, 2 * member_rows);
  EXPECT_EQ(training_bytes(cpu, shape, 3, {.maps = 5, .noise = true}, 9) -
                training_bytes(cpu, shape, 3, {}, 9),
            5 * values * 4 + 3 * member_rows);
}

}  // namespace
}  // namespace stap
