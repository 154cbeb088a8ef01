// What it costs to ask programs that are not ours: a command and a worker per query, the queue
// alone, and how idle many slots are that sleep. One JSON object a line.
//
//   couple_bench           takes seconds
//   couple_bench load      64 commands that sleep 2 s, 1,000 workers that sleep 5 s: minutes
//
// idle_share: of the time of all slots from the first query until the last one begins, what was not
// spent by the program on a query, its start included.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "couple/process.h"
#include "couple/slot_queue.h"
#include "stap/core/solver_queue.h"
#include "stap/couple/solver_table.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using Clock = SolverQueue::Clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string program() {
  return fs::read_symlink("/proc/self/exe").parent_path() / "couple_solver";
}

Outline outline(const Grid& grid) {
  return {.name = "bench",
          .grid = grid,
          .channels = std::vector<std::string>(grid.channels, "u"),
          .dt = 0.1,
          .guard_min = {},
          .guard_max = {},
          .parameters = {}};
}

const Grid kGas{.channels = 4, .points = {32, 32}, .lengths = {1.0, 1.0}};
const Grid kLine{.channels = 1, .points = {64}, .lengths = {1.0}};

std::unique_ptr<Solver> command(double sleep, std::size_t slots, const Grid& grid,
                                CommandOptions::Format format = CommandOptions::Format::npy) {
  CommandOptions options;
  options.argv.words = {program(), "copy", "{input}", "{output}", fmt::format("{}", sleep)};
  options.slots = slots;
  options.format = format;
  return make_command_solver(options, outline(grid));
}

std::unique_ptr<Solver> worker(double sleep, std::size_t slots, const Grid& grid,
                               WorkerOptions::Connect connect = WorkerOptions::Connect::pipe) {
  WorkerOptions options;
  options.argv.words = {program(), "serve", fmt::format("{}", sleep)};
  options.slots = slots;
  options.connect = connect;
  return make_worker_solver(options, outline(grid));
}

Query query(std::uint64_t id, const Grid& grid) {
  return {.id = id, .state = std::vector<double>(grid.values(), 0.5)};
}

// One query at a time, one slot: what a user waits for.
void measure_overhead(const std::string& name, const Solver& solver, std::size_t queries) {
  const auto queue = solver.open();
  queue->submit(query(0, solver.grid()));  // starts a worker
  queue->next(Clock::now() + std::chrono::seconds(60));
  double in_program = 0;
  std::size_t good = 0;
  std::vector<double> taken;
  for (std::uint64_t id = 1; id <= queries; ++id) {
    const auto start = Clock::now();
    queue->submit(query(id, solver.grid()));
    const auto reply = queue->next(Clock::now() + std::chrono::seconds(60));
    taken.push_back(seconds_since(start));
    if (reply && reply->answer.status == Answer::Status::ok) ++good;
    if (reply) in_program += reply->answer.seconds;
  }
  double sum = 0;
  for (double each : taken) sum += each;
  std::ranges::sort(taken);
  fmt::print(R"({{"bench":"couple","name":"{}","queries":{},"good":{},"ms_per_query":{:.3g},)"
             R"("ms_median":{:.3g},"ms_in_program":{:.3g}}})"
             "\n",
             name, queries, good, 1e3 * sum / static_cast<double>(queries),
             1e3 * taken[taken.size() / 2], 1e3 * in_program / static_cast<double>(queries));
  std::fflush(stdout);
}

// Many slots at once, all queries submitted at the beginning.
void measure_idle(const std::string& name, const Solver& solver, std::size_t slots,
                  std::size_t queries) {
  const auto start = Clock::now();
  const auto queue = solver.open();
  for (std::uint64_t id = 0; id < queries; ++id) queue->submit(query(id, solver.grid()));
  double busy = 0, idle_share = 0, first = 0;
  std::size_t good = 0, replies = 0;
  while (queue->open() > 0) {
    const auto reply = queue->next(Clock::now() + std::chrono::seconds(60));
    if (!reply) break;
    if (++replies == 1) first = seconds_since(start);
    good += reply->answer.status == Answer::Status::ok ? 1 : 0;
    busy += reply->answer.seconds;
    if (replies + slots != queries + 1) continue;
    // The last one begins in the slot that has just become free. What runs now has been at it for a
    // while, which counts as well.
    const double until = seconds_since(start);
    double running = 0;
    for (const Running& each : queue->running()) running += each.seconds;
    idle_share = 1 - (busy + running) / (until * static_cast<double>(slots));
  }
  fmt::print(R"({{"bench":"couple","name":"{}","queries":{},"good":{},"seconds":{:.4g},)"
             R"("seconds_to_first":{:.3g},"idle_share":{:.3g}}})"
             "\n",
             name, queries, good, seconds_since(start), first, idle_share);
  std::fflush(stdout);
}

// Answers at once, without a process.
class InstantSlot final : public Slot {
 public:
  void begin(const Query& asked, int) override { query_ = &asked; }
  void watch(std::vector<pollfd>&) const override {}
  std::optional<Outcome> look() override {
    Outcome outcome;
    outcome.answer.status = Answer::Status::ok;
    outcome.answer.states = query_->state;
    return outcome;
  }
  void end(const std::string&) override {}
  std::string where() const override { return "here"; }
  Clock::time_point due() const override { return {}; }

 private:
  const Query* query_ = nullptr;
};

void measure_queue(std::size_t slots, std::size_t queries) {
  SlotRules rules;
  rules.slots = slots;
  const auto queue =
      make_slot_queue(rules, [](std::size_t) { return std::make_unique<InstantSlot>(); });
  const auto start = Clock::now();
  for (std::uint64_t id = 0; id < queries; ++id) queue->submit(query(id, kLine));
  const double submitted = seconds_since(start);
  std::size_t good = 0;
  while (queue->open() > 0)
    if (queue->next(Clock::now() + std::chrono::seconds(60))) ++good;
  fmt::print(R"({{"bench":"couple","name":"queue alone, {} slots, {} values","queries":{},)"
             R"("good":{},"seconds":{:.3g},"us_per_query":{:.3g},"seconds_to_submit":{:.3g}}})"
             "\n",
             slots, kLine.values(), queries, good, seconds_since(start),
             1e6 * seconds_since(start) / static_cast<double>(queries), submitted);
  std::fflush(stdout);
}

}  // namespace
}  // namespace stap

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "load") == 0) {
    stap::measure_idle("64 commands that sleep 2 s", *stap::command(2, 64, stap::kLine), 64, 640);
    stap::measure_idle("1000 workers that sleep 5 s", *stap::worker(5, 1000, stap::kLine), 1000,
                       20000);
    return 0;
  }
  using Format = stap::CommandOptions::Format;
  using Connect = stap::WorkerOptions::Connect;
  stap::measure_overhead("command, npy, 4 x 32 x 32", *stap::command(0, 1, stap::kGas), 300);
  stap::measure_overhead("command, hdf5, 4 x 32 x 32",
                         *stap::command(0, 1, stap::kGas, Format::hdf5), 300);
  stap::measure_overhead("worker, pipe, 4 x 32 x 32", *stap::worker(0, 1, stap::kGas), 3000);
  stap::measure_overhead("worker, socket, 4 x 32 x 32",
                         *stap::worker(0, 1, stap::kGas, Connect::socket), 3000);
  stap::measure_queue(4, 100000);
  stap::measure_queue(1000, 100000);
  stap::measure_idle("64 commands that sleep 0.2 s", *stap::command(0.2, 64, stap::kLine), 64, 640);
  stap::measure_idle("64 workers that sleep 0.2 s", *stap::worker(0.2, 64, stap::kLine), 64, 640);
  return 0;
}
