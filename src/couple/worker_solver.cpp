#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "couple/address.h"
#include "couple/coupled_solver.h"
#include "couple/launch.h"
#include "couple/placeholders.h"
#include "couple/scratch.h"
#include "couple/solver_fields.h"
#include "couple/worker_slot.h"
#include "stap/core/error.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

// Keeps bundles of what fails in another slot.
class KeepingSlot final : public Slot {
 public:
  KeepingSlot(std::unique_ptr<Slot> slot, const WorkerOptions& options, const Outline& outline,
              const CoupleContext& context, std::shared_ptr<const Scratch> scratch, fs::path folder)
      : options_(options),
        outline_(outline),
        context_(context),
        scratch_(std::move(scratch)),
        folder_(std::move(folder)),
        slot_(std::move(slot)) {}

  void begin(const Query& query, int attempt) override {
    query_ = &query;
    attempt_ = attempt;
    wanted_ = true;
    slot_->begin(query, attempt);
  }
  void watch(std::vector<pollfd>& descriptors) const override { slot_->watch(descriptors); }
  void end(const std::string& why) override {
    wanted_ = why != kNotWanted;
    slot_->end(why);
  }
  std::string where() const override { return slot_->where(); }
  Clock::time_point due() const override { return slot_->due(); }
  bool getting_ready() const override { return slot_->getting_ready(); }
  bool let_go() override { return slot_->let_go(); }

  std::optional<Outcome> look() override {
    std::optional<Outcome> outcome = slot_->look();
    if (!outcome) return outcome;
    Answer& answer = outcome->answer;
    if (answer.status == Answer::Status::ok)
      if (const std::string flaw = cut_at_flaw(answer.states, outline_.grid.values());
          !flaw.empty()) {
        answer.status = Answer::Status::failed;
        answer.reason = "in its answer " + flaw;
      }
    const bool own_fault = !outcome->not_begun && !answer.reason.starts_with(kNodeLost);
    if (wanted_ && own_fault && answer.status == Answer::Status::failed) keep(answer);
    return outcome;
  }

 private:
  void keep(Answer& answer) {
    try {
      const fs::path folder = scratch_->make(fmt::format("failed-{}", folder_.filename().string()));
      std::error_code error;
      fs::copy_file(folder_ / "log.txt", folder / "log.txt", error);
      fs::path bundle;
      if (keep_bundle(folder, context_.failures, options_.failures_kept, context_.recipe,
                      outline_.grid, *query_, attempt_, answer.reason, bundle))
        answer.reason += fmt::format(" (kept in {})", bundle.string());
      else
        fs::remove_all(folder, error);
    } catch (const Error&) {  // it failed anyway
    }
  }

  const WorkerOptions& options_;
  const Outline& outline_;
  const CoupleContext& context_;
  std::shared_ptr<const Scratch> scratch_;  // outlives the slot
  fs::path folder_;
  std::unique_ptr<Slot> slot_;
  const Query* query_ = nullptr;
  int attempt_ = 0;
  bool wanted_ = true;  // by whoever asked
};

Launcher launcher_of(const WorkerOptions& options) {
  std::vector<std::string> variables{"STAP_CONNECT", "STAP_TOKEN", "STAP_TOKEN_FILE"};
  for (const std::string& name : names_in(options.env)) variables.push_back(name);
  return Launcher(options, {.streams = options.by_pipe(), .variables = std::move(variables)});
}

// What a worker can be told when it starts.
std::vector<std::string> words_of(const WorkerOptions& options, const Launcher& launcher,
                                  const Outline& outline, std::size_t slot) {
  std::map<std::string, std::string> known{{"dt", fmt::format("{}", outline.dt)}};
  for (const Parameter& p : outline.parameters)
    if (!p.varies) known[p.name] = fmt::format("{}", p.value);
  std::vector<std::string> words = launcher.words(slot, known);
  known.merge(launcher.placeholders(slot));
  const std::vector<std::string> program = filled_in(options.argv.words, known);
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

class WorkerSolver final : public CoupledSolver {
 public:
  WorkerSolver(const WorkerOptions& options, Outline outline, CoupleContext context)
      : CoupledSolver(options, std::move(outline), std::move(context)),
        options_(options),
        launcher_(launcher_of(options)) {}

 private:
  std::unique_ptr<SolverQueue> open_slots() const override {
    return make_slot_queue(rules(),
                           [this, scratch = std::make_shared<Scratch>(options_.scratch)](
                               std::size_t number) -> std::unique_ptr<Slot> {
                             WorkerSlotOptions slot;
                             slot.argv = words_of(options_, launcher_, outline(), number);
                             slot.env = options_.env;
                             slot.folder = scratch->make(fmt::format("{}", number));
                             slot.connect = options_.by_pipe() ? WorkerSlotOptions::Connect::pipe
                                                               : WorkerSlotOptions::Connect::socket;
                             slot.address = address();
                             slot.launched = static_cast<bool>(launcher_);
                             slot.known_launcher = launcher_.is_known();
                             slot.grace = launcher_ ? std::max(options_.grace, kLauncherGrace)
                                                    : options_.grace;
                             slot.limits = options_.limits;
                             slot.steps_at_once = options_.steps_at_once;
                             slot.slot = number;
                             const fs::path folder = slot.folder;
                             return std::make_unique<KeepingSlot>(
                                 std::make_unique<WorkerSlot>(outline(), std::move(slot)), options_,
                                 outline(), context(), scratch, folder);
                           });
  }

  // Where it finds us; empty: a Unix socket, which is there for programs of this machine alone.
  std::string address() const {
    if (!options_.address.empty()) return options_.address;
    return launcher_ && launcher_.allocation().on_other_nodes() ? reachable_address() : "";
  }

  WorkerOptions options_;
  Launcher launcher_;
};

}  // namespace

const config::Fields<WorkerOptions>& worker_fields() {
  using O = WorkerOptions;
  static const config::Fields<O> fields = fields_with<O>(
      {{"connect", &O::connect,
        "how it is reached: its standard streams, or a socket that it connects back to; auto: a "
        "socket behind a launcher",
        config::choices<O::Connect>({{"auto", O::Connect::automatic},
                                     {"pipe", O::Connect::pipe},
                                     {"socket", O::Connect::socket}})},
       {"address", &O::address,
        "of this machine, where it connects to by TCP; empty: a Unix socket, or in a job of "
        "several hosts what its name stands for"}});
  return fields;
}

std::unique_ptr<Solver> make_worker_solver(const WorkerOptions& options, const Outline& outline,
                                           const CoupleContext& context) {
  check_program(options);
  for (const std::string& name : varied_names(outline))
    if (mentions(options.argv.words, fmt::format("{{{}}}", name)))
      throw Error(ErrorKind::config,
                  fmt::format("argv has {{{}}} in it, but this parameter varies and a worker is "
                              "started once: it is told the value with every query",
                              name));
  words_of(options, launcher_of(options), outline, 0);  // throws what is wrong in it
  return std::make_unique<WorkerSolver>(options, outline, context);
}

}  // namespace stap
