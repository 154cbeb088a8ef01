// A slot that starts a program for every try of a query.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "couple/launch.h"
#include "couple/process.h"
#include "couple/scratch.h"
#include "couple/slot.h"
#include "stap/couple/solver_table.h"

namespace stap {

/// What {input}, {output}, {time}, {dt}, {steps} and {NAME} of every parameter stand for.
std::map<std::string, std::string> placeholders_of(const Outline& outline,
                                                   const std::filesystem::path& input,
                                                   const std::filesystem::path& output,
                                                   const Query& query);

/// Good: exit code 0 and, under its final name, a whole output of the right shape. Everything else
/// is a failure that leaves a bundle.
class CommandSlot final : public Slot {
 public:
  /// All of them must live as long.
  CommandSlot(const CommandOptions& options, const Launcher& launcher, const Outline& outline,
              const CoupleContext& context, const Scratch& scratch, std::size_t number);

  void begin(const Query& query, int attempt) override;
  void watch(std::vector<pollfd>& descriptors) const override;
  std::optional<Outcome> look() override;
  void end(const std::string& why) override;
  std::string where() const override;
  Clock::time_point due() const override;
  bool getting_ready() const override { return waits_; }

 private:
  void start();
  void copy_template() const;
  void look_for_room();
  std::optional<Outcome> judge_launcher(const Ending& ending);
  Outcome judge(const Ending& ending);
  std::vector<double> read_output() const;
  Outcome failed(const std::string& reason, bool worth_a_retry, bool lost = false);

  const CommandOptions& options_;
  const Launcher& launcher_;
  const Outline& outline_;
  const CoupleContext& context_;
  const Scratch& scratch_;
  std::size_t number_, calls_ = 0;
  const Query* query_ = nullptr;
  int attempt_ = 0;
  std::filesystem::path folder_, input_, output_;
  Clock::time_point begun_{};
  bool waits_ = false;   // its launcher, for room
  double waited_ = 0.0;  // seconds that it did
  std::optional<Process> process_;
  std::string ended_because_;  // by end()
};

}  // namespace stap
