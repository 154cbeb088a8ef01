#include "run/lost_answers.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/crc32c.h"
#include "stap/config/files.h"
#include "stap/folder/fsck.h"
#include "stap/folder/run_id.h"

namespace stap {
namespace {

using config::Value;

// What a damaged line says it is, as far as it can be read.
std::string type_in(std::string_view text) {
  for (const std::string_view type : {kRunLine, std::string_view("answer"),
                                      std::string_view("ledger"), std::string_view("breaker")})
    if (text.find(fmt::format("\"type\":\"{}\"", type)) != text.npos) return std::string(type);
  return {};
}

std::string step_text(std::size_t candidate, std::size_t step) {
  return fmt::format("candidate {}, step {}", candidate, step + 1);
}

std::string words_of(const DroppedLine& line, std::size_t complete) {
  const std::string name = fmt::format("line {}", line.sequence + 1);
  if (line.type == kRunLine || line.sequence == 0)
    return name + " is written anew from config.yaml and manifest.json";
  if (line.type == "ledger") return name + ", a ledger, is dropped and follows from the answers";
  if (line.type == "breaker") return name + " is dropped: failures before it are asked about again";
  if (!line.acquisition || !line.candidate || !line.step)
    return name +
           " is dropped: if it was an answer of the purchase under way, the solver is asked again";
  return fmt::format(
      "{}, the answer about {}, is dropped: {}", name, step_text(*line.candidate, *line.step),
      *line.acquisition < complete ? "its purchase is complete, nothing is asked again"
                                   : "the solver is asked again");
}

// A damaged line as far as it can be read.
DroppedLine read_loosely(const SalvagedLine& line) {
  DroppedLine read{line.sequence, line.whole ? line.whole->type : type_in(line.text)};
  const std::optional<Value> body = if_readable([&] {
    const Value value = line.whole ? Value() : config::parse_json(line.text, "");
    const Value* there = line.whole ? &line.whole->body : value.find("body");
    return there != nullptr ? *there : Value();
  });
  const auto number = [&](const char* key) -> std::optional<std::size_t> {
    const Value* value = body && body->is_map() ? body->find(key) : nullptr;
    return value != nullptr ? value->integer<std::size_t>() : std::nullopt;
  };
  if (read.type != "answer") return read;
  read.acquisition = number("acquisition");
  read.candidate = number("candidate");
  read.step = number("step");
  return read;
}

// Which steps of which candidates a purchase was to buy; nothing where that cannot be told.
std::function<bool(const AnswerKey&)> planned(const RunFolder& folder, std::size_t purchase) {
  const std::optional<Value> config = if_readable([&] { return folder.read_config(); });
  if (!config || purchase == 0) return [=](const AnswerKey&) { return config.has_value(); };
  const std::size_t steps =
      study_size(*config, "steps") / std::max<std::size_t>(study_size(*config, "cluster"), 1);
  std::map<std::size_t, Pattern> patterns;
  if_readable([&] {
    for (std::size_t pass = 1; pass <= folder.passes(purchase - 1); ++pass)
      for (const Purchase& one : folder.read_plan(purchase - 1, pass, SIZE_MAX, steps).purchases)
        patterns.emplace(one.candidate, one.pattern);
    return true;
  });
  return [patterns](const AnswerKey& key) {
    const auto found = patterns.find(key.candidate);
    return found != patterns.end() && found->second[key.step];
  };
}

}  // namespace

RebuiltAnswers rebuilt_answers(const RunFolder& folder, const TransitionSet& set,
                               std::size_t complete) {
  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, std::span<const double>> known;
  const std::size_t values = set.count() > 0 ? set.grid.values() : 0;
  for (std::size_t i = 0; i < set.count(); ++i)
    known[{set.origins[i].acquisition, set.origins[i].candidate, set.origins[i].step}] =
        std::span(set.outputs).subspan(i * values, values);

  RebuiltAnswers rebuilt;
  std::error_code none;
  if (std::filesystem::is_regular_file(folder.answers_file(), none))
    rebuilt.bytes = read_text_file(folder.answers_file());
  std::string& bytes = rebuilt.bytes;
  bytes.replace(0, std::min<std::size_t>(bytes.size(), AnswerStore::kFirst), AnswerStore::kHeader);
  visit_states(folder.journal_file(), [&](std::size_t acquisition, const AnswerRecord& answer,
                                          const StatePlace& place) {
    const auto is_it = [&](std::span<const std::byte> state) { return crc32c(state) == place.crc; };
    if (place.end() <= bytes.size() &&
        is_it(std::as_bytes(std::span(bytes).subspan(place.offset, place.bytes))))
      return;
    const auto found = known.find({acquisition, answer.candidate, answer.step});
    if (found != known.end() && found->second.size_bytes() == place.bytes &&
        is_it(std::as_bytes(found->second))) {
      bytes.resize(std::max<std::size_t>(bytes.size(), place.end()));
      std::memcpy(bytes.data() + place.offset, found->second.data(), place.bytes);
    } else {
      rebuilt.lost.insert(place.offset);
      rebuilt.of_complete |= acquisition < complete;
    }
  });
  return rebuilt;
}

std::vector<DroppedLine> drop_lines(const RunFolder& folder,
                                    const std::set<std::uint64_t>& lost_states) {
  const std::optional<Value> head =
      if_readable([&] { return run_line(folder.read_manifest(), folder.read_config()); });
  std::vector<DroppedLine> dropped;
  std::size_t ledgers = 0;
  const auto drop = [](std::string_view why) {
    NewLine line{std::string(kDroppedLine), {}};
    line.body.set("why", why);
    return line;
  };
  const auto instead = [&](const SalvagedLine& line) -> std::optional<NewLine> {
    const std::string where = fmt::format("line {}", line.sequence + 1);
    if (line.whole && line.whole->type == "ledger") {
      if (field<std::uint64_t>(line.whole->body, "acquisition", where) != ledgers)
        return drop("a ledger before it was damaged");
      ++ledgers;
      return std::nullopt;
    }
    if (line.whole) {
      const Value* state = line.whole->type == "answer" ? line.whole->body.find("state") : nullptr;
      if (state == nullptr || !lost_states.contains(field<std::uint64_t>(*state, "offset", where)))
        return std::nullopt;
    }
    dropped.push_back(read_loosely(line));
    const std::string& type = dropped.back().type;
    const bool says_whose = line.sequence == 0 || type.empty() || type == kRunLine;
    if (says_whose && head) return NewLine{std::string(kRunLine), *head};
    if (line.sequence == 0) return std::nullopt;
    return drop(line.whole ? "its state was damaged" : "it was damaged");
  };
  if (!rewrite_journal(folder.journal_file(), instead)) dropped.clear();
  return dropped;
}

std::string revoke_followers(const RunFolder& folder, const std::vector<DroppedLine>& dropped) {
  const std::size_t purchase = purchases_of(folder).known;
  AnswerLog log(folder.journal_file(), folder.answers_file());
  const LoggedAnswers answers = log.recorded(purchase);
  const auto is_planned = planned(folder, purchase);
  const bool no_failures = std::ranges::any_of(dropped, &DroppedLine::perhaps_breaker);
  std::vector<AnswerKey> revoked;
  std::vector<std::string> words;
  for (const DroppedLine& line : dropped) words.push_back(words_of(line, purchase));
  for (const AnswerKey& key : answers.keys()) {
    bool goes = no_failures && std::ranges::find(answers.in_vain(), key) != answers.in_vain().end();
    for (std::size_t step = 0; step < key.step; ++step)
      goes |= is_planned({key.candidate, step}) && !answers.contains(key.candidate, step);
    if (!goes) continue;
    revoked.push_back(key);
    words.push_back(fmt::format("so is it about {}", step_text(key.candidate, key.step)));
  }
  log.revoke(purchase, revoked, "what they followed from was lost");
  return fmt::format("{}", fmt::join(words, "; "));
}

}  // namespace stap
