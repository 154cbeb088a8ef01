#include "stap/folder/run_folder.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stap/core/error.h"
#include "stap/core/seal.h"
#include "stap/core/sha256.h"
#include "stap/data/store.h"
#include "stap/folder/run_id.h"
#include "stap/study/presets.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;

// The round a folder's name stands for; empty if it is not a number.
std::optional<std::size_t> round_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  std::size_t round = 0;
  const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), round);
  if (failure != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return round;
}

std::string loss_text(const Loss& loss) {
  Value value;
  value.set("round", loss.round);
  value.set("epoch", loss.epoch);
  value.set("member", loss.member);
  value.set("loss", loss.loss);
  return seal_json(config::json_text(value, 0)) + "\n";
}

// Of the lines of each round.
std::map<std::size_t, std::string> hashes_of(std::span<const Loss> losses) {
  std::map<std::size_t, Sha256> sums;
  for (const Loss& loss : losses) {
    const std::string line = loss_text(loss);
    sums[loss.round].add(std::as_bytes(std::span(line)));
  }
  std::map<std::size_t, std::string> hashes;
  for (auto& [round, sum] : sums) hashes[round] = sum.hex().substr(0, 16);
  return hashes;
}

}  // namespace

fs::path RunFolder::round_folder(std::size_t round) const {
  return path_ / "rounds" / fmt::format("{:02}", round);
}

fs::path RunFolder::committee_file(std::size_t round) const {
  return round_folder(round) / "committee.safetensors";
}

fs::path RunFolder::training_file(std::size_t round) const {
  return round_folder(round) / "training.safetensors";
}

fs::path RunFolder::stage_file(std::size_t round) const {
  return round_folder(round) / "stage.safetensors";
}

// --- config.yaml ---

Value RunFolder::read_config() const {
  Value document = read_yaml(config_file());
  check_format(field<std::string>(document, "format", config_file()), kRunFormat, config_file());
  check_seal(config_file(), Sealed::always);
  document.erase("format");
  return document;
}

std::string RunFolder::config_text(const Value& document) {
  Value whole;
  whole.set("format", kRunFormat);
  for (const auto& member : *document.map()) whole.set(member.key, member.value);
  return config::yaml_text(whole);
}

void RunFolder::write_config(const Value& document) const {
  write_sealed(config_file(), config_text(document));
  run_.reset();
}

const std::string& RunFolder::run() const {
  std::error_code error;
  if (!run_ && fs::exists(config_file(), error)) {
    const Manifest manifest = read_manifest();
    const std::string run = run_id(read_config(), manifest.identity);
    if (manifest.run != run)
      throw Error(ErrorKind::data,
                  fmt::format("{} is of run {}, but {} of run {}: one of them has replaced "
                              "another",
                              manifest_file().string(), manifest.run, config_file().string(), run));
    run_ = run;
  }
  static const std::string none;
  return run_ ? *run_ : none;
}

void RunFolder::check_run(const std::string& there, const std::string& where) const {
  if (!run().empty() && there != run())
    throw Error(ErrorKind::data,
                fmt::format("{} is of run {}, but its folder's is {}: it has replaced another "
                            "file",
                            where, there, run()));
}

// --- metrics, timings, losses ---

std::vector<JsonLine> RunFolder::read_metrics() const {
  std::vector<JsonLine> lines = read_json_lines(metrics_file(), false, Sealed::always);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (const auto round = field<std::uint64_t>(lines[i].value, "round", lines[i].where);
        round != i)
      throw Error(ErrorKind::data,
                  fmt::format("{} is of round {}, expected {}", lines[i].where, round, i));
    check_run(field<std::string>(lines[i].value, "run", lines[i].where), lines[i].where);
  }
  return lines;
}

void RunFolder::write_metrics(std::span<const std::string> lines) const {
  std::string text;
  for (const std::string& line : lines) text += seal_json(line) + "\n";
  write_text(metrics_file(), text);
}

std::vector<Timing> RunFolder::read_timings() const {
  std::vector<Timing> timings;
  for (const JsonLine& line : read_json_lines(timings_file(), true))
    timings.push_back({field<std::uint64_t>(line.value, "round", line.where),
                       field<std::string>(line.value, "phase", line.where),
                       field<double>(line.value, "seconds", line.where)});
  return timings;
}

void RunFolder::add_timing(const Timing& timing) const {
  Value value;
  value.set("round", timing.round);
  value.set("phase", timing.phase);
  value.set("seconds", timing.seconds);
  append_lines(timings_file(), config::json_text(value, 0) + "\n");
}

std::vector<Loss> RunFolder::read_losses() const {
  std::vector<Loss> losses;
  for (const JsonLine& line : read_json_lines(losses_file(), true, Sealed::always)) {
    Loss loss{field<std::uint64_t>(line.value, "round", line.where),
              field<int>(line.value, "member", line.where),
              field<int>(line.value, "epoch", line.where)};
    const Value* value = line.value.find("loss");
    if (value == nullptr || (!value->real() && !value->is_null()))
      throw_bad_field("loss", line.where);
    loss.loss = value->real().value_or(std::numeric_limits<double>::quiet_NaN());
    losses.push_back(loss);
  }
  return losses;
}

std::vector<Loss> RunFolder::read_whole_losses(std::span<const JsonLine> metrics) const {
  std::vector<Loss> losses = read_losses();
  const auto refuse = [&](std::size_t round) {
    throw Error(ErrorKind::data,
                fmt::format("{}: lines of round {} are missing, doubled or in another order",
                            losses_file().string(), round));
  };
  std::map<std::pair<std::size_t, int>, int> epochs;  // by round and member
  std::size_t round = 0;
  for (const Loss& loss : losses) {
    if (loss.round < round || loss.epoch != epochs[{loss.round, loss.member}]++) refuse(loss.round);
    round = loss.round;
  }
  const std::map<std::size_t, std::string> hashes = hashes_of(losses);
  for (const JsonLine& line : metrics) {
    const Value* said = line.value.find("losses");
    if (said == nullptr) continue;
    const auto evaluated = field<std::uint64_t>(line.value, "round", line.where);
    const auto there = hashes.find(evaluated);
    if (said->text() == nullptr || there == hashes.end() || there->second != *said->text())
      refuse(evaluated);
  }
  return losses;
}

std::string RunFolder::keep_losses(std::size_t round) const {
  force_to_disk(losses_file());
  const std::map<std::size_t, std::string> hashes = hashes_of(read_losses());
  const auto found = hashes.find(round);
  return found != hashes.end() ? found->second : "";
}

void RunFolder::add_losses(std::span<const Loss> losses) const {
  std::string text;
  for (const Loss& loss : losses) text += loss_text(loss);
  if (!text.empty()) append_lines(losses_file(), text);
}

void RunFolder::cut_losses(std::size_t round, int epoch) const {
  std::vector<Loss> losses = read_losses();
  const std::size_t dropped = std::erase_if(losses, [&](const Loss& loss) {
    return loss.round > round || (loss.round == round && loss.epoch >= epoch);
  });
  if (dropped == 0) return;
  std::string text;
  for (const Loss& loss : losses) text += loss_text(loss);
  write_text(losses_file(), text);
}

// --- training set, networks ---

TransitionSet RunFolder::read_transitions() const {
  check_seal(transitions_file(), Sealed::always);
  check_run(read_text_attribute(transitions_file(), "/", "run"), transitions_file().string());
  return stap::read_transitions(transitions_file());
}

void RunFolder::write_transitions(const TransitionSet& set) const {
  stap::write_transitions(transitions_file(), set, run());
}

std::optional<Model> RunFolder::read_networks(std::size_t round) const {
  std::error_code missing;
  for (const fs::path& path : {committee_file(round), training_file(round)})
    if (fs::exists(path, missing)) return read_of_round(path, round);
  return std::nullopt;
}

std::optional<Model> RunFolder::read_stage(std::size_t round) const {
  std::error_code missing;
  if (!fs::exists(stage_file(round), missing)) return std::nullopt;
  return read_of_round(stage_file(round), round);
}

Model RunFolder::read_of_round(const fs::path& path, std::size_t round) const {
  Model model = read_model(path);
  if (run().empty()) return model;
  check_run(model.origin.run, path.string());
  if (model.origin.round != round)
    throw Error(ErrorKind::data, fmt::format("{} is of round {}, expected {}", path.string(),
                                             model.origin.round, round));
  return model;
}

CommitteeFile RunFolder::newest_committee() const {
  std::optional<CommitteeFile> newest;
  std::error_code error;
  for (fs::directory_iterator entry(path_ / "rounds", error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code missing;
    const fs::path file = entry->path() / "committee.safetensors";
    const std::optional<std::size_t> round = round_of(entry->path());
    if (!round || !fs::is_regular_file(file, missing)) continue;
    if (!newest || *round > newest->round) newest = {*round, file};
  }
  if (!newest)
    throw Error(
        ErrorKind::data,
        fmt::format("{}: there is no rounds/NN/committee.safetensors in this folder; give a "
                    "run folder that has trained a committee, or a model file",
                    path_.string()));
  if (!run().empty()) read_networks(newest->round);  // throws if another run's
  return *newest;
}

void RunFolder::write_training(std::size_t round, const Model& model) const {
  make_folder(round_folder(round));
  write_model(training_file(round), model);
}

void RunFolder::write_stage(std::size_t round, const Model& model) const {
  make_folder(round_folder(round));
  write_model(stage_file(round), model);
  std::error_code ignored;
  fs::remove(training_file(round), ignored);
}

void RunFolder::write_committee(std::size_t round, const Model& model) const {
  make_folder(round_folder(round));
  write_model(committee_file(round), model);
  std::error_code ignored;
  for (const fs::path& file : {training_file(round), stage_file(round)}) fs::remove(file, ignored);
}

// All that there are: a process may have been killed between one round's end and this.
void RunFolder::remove_old_networks(std::size_t round, bool committees) const {
  std::error_code error, ignored;
  for (fs::directory_iterator entry(path_ / "rounds", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::optional<std::size_t> other = round_of(entry->path());
    if (!other || *other > round) continue;
    if (*other < round || fs::exists(committee_file(round), ignored))
      for (const fs::path& file : {training_file(*other), stage_file(*other)})
        fs::remove(file, ignored);
    if (*other < round && committees) fs::remove(committee_file(*other), ignored);
  }
}

}  // namespace stap
