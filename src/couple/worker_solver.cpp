#include <memory>
#include <utility>

#include <fmt/format.h>

#include "couple/coupled_solver.h"
#include "couple/placeholders.h"
#include "couple/scratch.h"
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
    if (wanted_ && answer.status == Answer::Status::failed) keep(answer);
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

class WorkerSolver final : public CoupledSolver {
 public:
  WorkerSolver(const WorkerOptions& options, Outline outline, CoupleContext context)
      : CoupledSolver(options, std::move(outline), std::move(context)), options_(options) {}

 private:
  std::unique_ptr<SolverQueue> open_slots() const override {
    return make_slot_queue(rules(),
                           [this, scratch = std::make_shared<Scratch>(options_.scratch)](
                               std::size_t number) -> std::unique_ptr<Slot> {
                             WorkerSlotOptions slot;
                             slot.argv = words_of(options_, outline());
                             slot.env = options_.env;
                             slot.folder = scratch->make(fmt::format("{}", number));
                             slot.connect = options_.connect == WorkerOptions::Connect::socket
                                                ? WorkerSlotOptions::Connect::socket
                                                : WorkerSlotOptions::Connect::pipe;
                             slot.grace = options_.grace;
                             slot.limits = options_.limits;
                             slot.steps_at_once = options_.steps_at_once;
                             slot.slot = number;
                             const fs::path folder = slot.folder;
                             return std::make_unique<KeepingSlot>(
                                 std::make_unique<WorkerSlot>(outline(), std::move(slot)), options_,
                                 outline(), context(), scratch, folder);
                           });
  }

 public:
  // What a worker can be told when it starts.
  static std::vector<std::string> words_of(const WorkerOptions& options, const Outline& outline) {
    std::map<std::string, std::string> known{{"dt", fmt::format("{}", outline.dt)}};
    for (const Parameter& p : outline.parameters) known[p.name] = fmt::format("{}", p.value);
    return filled_in(options.argv.words, known);
  }

 private:
  WorkerOptions options_;
};

}  // namespace

const config::Fields<WorkerOptions>& worker_fields() {
  using O = WorkerOptions;
  static const config::Fields<O> fields = fields_with<O>(
      {{"connect", &O::connect,
        "how it is reached: its standard streams, or a socket that it connects back to (behind a "
        "launcher)",
        config::choices<O::Connect>(
            {{"pipe", O::Connect::pipe}, {"socket", O::Connect::socket}})}});
  return fields;
}

std::unique_ptr<Solver> make_worker_solver(const WorkerOptions& options, const Outline& outline,
                                           const CoupleContext& context) {
  check_program(options);
  WorkerSolver::words_of(options, outline);  // throws what is wrong in it
  return std::make_unique<WorkerSolver>(options, outline, context);
}

}  // namespace stap
