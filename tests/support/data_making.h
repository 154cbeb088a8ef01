// What tests of pools and test sets share: initial conditions that name their row, an observer that
// keeps everything, and processes that can be killed.
#pragma once

#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "stap/core/observer.h"
#include "stap/ic/sampler.h"
#include "stap/pde/burgers.h"
#include "support/fake_solver.h"
#include "support/waiting.h"

namespace stap::test {

/// 16 points; one thread: some tests fork, and a pool of threads does not survive that.
inline std::shared_ptr<const Solver> small_burgers(double dt) {
  BurgersOptions options;
  options.points = 16;
  options.dt = dt;
  return make_burgers(options, 1);
}

inline std::vector<double> advanced(const Solver& by, std::span<const double> state) {
  return ask(by, {.state = {state.begin(), state.end()}}).states;
}

/// Value 0 is a random whole number, which the fake solvers hand on; the others are uniform.
class NamingSampler final : public Sampler {
 public:
  NamingSampler(Grid grid, double warm_up) : Sampler("naming", std::move(grid), warm_up) {}

  /// The name of row i of a stream.
  std::size_t name_of(const Rng& stream, std::uint64_t i) const {
    std::vector<double> state(grid().values());
    draw(stream, i, state);
    return static_cast<std::size_t>(state[0]);
  }
  bool expensive() const override { return is_expensive; }

  bool is_expensive = false;
  mutable std::size_t drawn = 0;

 private:
  void fill(const Rng& rng, std::span<double> state) const override {
    ++drawn;
    state[0] = static_cast<double>(rng.below(0, 1'000'000'000));
    for (std::size_t v = 1; v < state.size(); ++v) state[v] = rng.uniform(v);
  }
};

/// Keeps what was reported.
struct Recorder : Observer {
  struct Event {
    std::string phase, unit;
    std::size_t done, total;
  };
  void progress(const Progress& p) override {
    events.push_back({std::string(p.phase), std::string(p.unit), p.done, p.total});
    if (on_progress) on_progress();
  }
  void warning(std::string_view text) override { warnings.emplace_back(text); }
  void note(std::string_view text) override { notes.emplace_back(text); }
  /// Whether anything moved on.
  bool computed() const {
    for (std::size_t e = 1; e < events.size(); ++e)
      if (events[e].phase == events[e - 1].phase && events[e].done > events[e - 1].done)
        return true;
    return false;
  }

  std::vector<Event> events;
  std::vector<std::string> warnings, notes;
  std::function<void()> on_progress;
};

/// Runs `act` in a process of its own, which must have one thread only.
inline pid_t in_process(const std::function<void()>& act) {
  const pid_t child = fork();
  if (child == 0) {
    act();
    _exit(0);
  }
  return child;
}

}  // namespace stap::test
