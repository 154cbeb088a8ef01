#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "stap/acquire/plan.h"
#include "stap/config/files.h"
#include "stap/data/transitions.h"
#include "stap/eval/error_bars.h"
#include "stap/folder/manifest.h"
#include "stap/folder/run_records.h"
#include "stap/journal/answer_log.h"
#include "stap/nn/model_file.h"

namespace stap {

/// One run's folder: every file in it has its place, its one reader and its one writer here
/// (docs/reference/run-folder.md has the table). Readers take runs that are under way, too, and
/// throw Error(data) with file and line or key for what is missing, damaged, another run's or of
/// another format. Writers throw Error(storage) and are for who has claimed the folder (claim.h).
class RunFolder {
 public:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config_file() const { return path_ / "config.yaml"; }
  std::filesystem::path manifest_file() const { return path_ / "manifest.json"; }
  std::filesystem::path journal_file() const { return path_ / "journal.jsonl"; }
  std::filesystem::path answers_file() const { return path_ / "answers.bin"; }
  std::filesystem::path transitions_file() const { return path_ / "transitions.h5"; }
  std::filesystem::path metrics_file() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path timings_file() const { return path_ / "timings.jsonl"; }
  std::filesystem::path losses_file() const { return path_ / "losses.jsonl"; }
  std::filesystem::path extracts_file() const { return path_ / kOwnExtracts; }
  std::filesystem::path status_file() const { return path_ / "status.json"; }
  std::filesystem::path bars_file() const { return path_ / "bars.json"; }
  std::filesystem::path round_folder(std::size_t round) const;  ///< rounds/NN
  std::filesystem::path committee_file(std::size_t round) const;
  std::filesystem::path training_file(std::size_t round) const;  ///< while it trains
  std::filesystem::path stage_file(std::size_t round) const;     ///< while a further stage does
  /// plan.json, or plan-2.json, ... of further passes (1-based).
  std::filesystem::path plan_file(std::size_t round, std::size_t pass) const;

  /// Of config.yaml and manifest.json (run_id.h), read once; empty while there is no configuration.
  const std::string& run() const;
  config::Value read_config() const;
  Manifest read_manifest() const;
  /// Line r is that of round r; none if there is no such file yet.
  std::vector<JsonLine> read_metrics() const;
  std::vector<Timing> read_timings() const;
  std::vector<Loss> read_losses() const;
  /// The same for who looks at them: lines that are missing, doubled or swapped are Error(data).
  /// Those of rounds that were evaluated must be what the lines of read_metrics() say, if they do.
  std::vector<Loss> read_whole_losses(std::span<const JsonLine> metrics) const;
  /// Of acquisitions 0, 1, ... as far as they are complete.
  std::vector<Ledger> read_ledgers() const;
  /// Hands on every answer of the journal, without its state.
  void read_answers(const std::function<void(std::size_t, const AnswerRecord&)>& visit) const;
  std::size_t passes(std::size_t round) const;  ///< plans of a round
  /// Throws Error(data) also if candidates or patterns do not fit a pool and trajectories of these
  /// sizes.
  Plan read_plan(std::size_t round, std::size_t pass, std::size_t pool, std::size_t steps) const;
  /// Empty: nothing was written yet, or by an earlier version.
  std::optional<RunStatus> read_status() const;
  /// Throws Error(data), too, if there are none.
  RunExtracts read_extracts(const char* name = kOwnExtracts) const;
  TransitionSet read_transitions() const;
  /// Of the networks that were calibrated last; empty: none were.
  std::optional<ErrorBars> read_bars() const;
  /// The networks of a round: finished, half trained or, empty, not begun.
  std::optional<Model> read_networks(std::size_t round) const;
  /// Those that the stage under way goes on from; empty where it is the first, or none.
  std::optional<Model> read_stage(std::size_t round) const;
  /// That of the highest round that has one. Throws Error(data) if there is none, or if it is
  /// damaged or another run's.
  CommitteeFile newest_committee() const;

  /// The text of a configuration's file, without its seal; that of a manifest's is manifest_text().
  static std::string config_text(const config::Value& document);
  void write_config(const config::Value& document) const;
  void write_manifest(const Manifest& manifest) const;
  /// JSON objects without their seals.
  void write_metrics(std::span<const std::string> lines) const;
  /// In the place of those of the round before.
  void write_extracts(const RunExtracts& extracts, const char* name = kOwnExtracts) const;
  void write_bars(const ErrorBars& bars) const;
  /// Not forced to disk; what cannot be written is not.
  void write_status(const RunStatus& status) const;
  void add_timing(const Timing& timing) const;
  void add_losses(std::span<const Loss> losses) const;
  /// Forces them to disk; a hash of those of a round, for its line in metrics.jsonl.
  std::string keep_losses(std::size_t round) const;
  /// Drops the losses of epochs that will be trained again: from this one of this round on.
  void cut_losses(std::size_t round, int epoch) const;
  void write_plan(std::size_t round, std::size_t pass, const Plan& plan) const;
  /// This pass's and those behind it.
  void remove_plans(std::size_t round, std::size_t pass) const;
  void write_transitions(const TransitionSet& set) const;
  void write_training(std::size_t round, const Model& model) const;
  /// The networks of a stage that is over, in the place of what write_training() wrote of it.
  void write_stage(std::size_t round, const Model& model) const;
  /// In the place of what these two wrote.
  void write_committee(std::size_t round, const Model& model) const;
  /// Of rounds before this one, and what is left of trainings that have ended with a committee.
  void remove_old_networks(std::size_t round, bool committees) const;

 private:
  Model read_of_round(const std::filesystem::path& path, std::size_t round) const;
  void check_run(const std::string& there, const std::string& where) const;

  std::filesystem::path path_;
  mutable std::optional<std::string> run_;
};

}  // namespace stap
