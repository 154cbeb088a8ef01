// Plans of rounds/NN, and ledgers of what became of them.
#include "folder/plan_file.h"

#include <charconv>

#include <unordered_set>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/folder/run_folder.h"
#include "stap/folder/run_id.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;

constexpr std::string_view kPlanFormat = "plan/2";

std::string name_of_pass(std::size_t pass) {
  return pass == 1 ? "plan.json" : fmt::format("plan-{}.json", pass);
}

Pattern read_pattern(const Value& row, const std::string& where) {
  try {
    return Pattern::parse(field<std::string>(row, "pattern", where));
  } catch (const Error& failure) {
    throw Error(ErrorKind::data, fmt::format("{}: {}", where, failure.what()));
  }
}

}  // namespace

std::size_t pass_of(const std::string& name) {
  constexpr std::string_view start = "plan-", end = ".json";
  std::size_t pass = name == "plan.json" ? 1 : 0;
  if (name.starts_with(start) && name.ends_with(end))
    std::from_chars(name.data() + start.size(), name.data() + name.size() - end.size(), pass);
  return pass > 0 && name == name_of_pass(pass) ? pass : 0;
}

fs::path RunFolder::plan_file(std::size_t round, std::size_t pass) const {
  return round_folder(round) / name_of_pass(pass);
}

std::size_t RunFolder::passes(std::size_t round) const {
  std::size_t passes = 0;
  std::error_code missing;
  while (fs::exists(plan_file(round, passes + 1), missing)) ++passes;
  return passes;
}

void RunFolder::write_plan(std::size_t round, std::size_t pass, const Plan& plan) const {
  Value::List purchases;
  for (const Purchase& p : plan.purchases) {
    Value row;
    row.set("candidate", p.candidate);
    row.set("pattern", p.pattern.text());
    purchases.push_back(std::move(row));
  }
  Value value;
  value.set("format", kPlanFormat);
  value.set("run", run());
  value.set("round", round);
  value.set("pass", pass);
  value.set("cost", plan.cost());
  value.set("unspent", plan.unspent);
  if (plan.warm_up > 0) value.set("warm_up", plan.warm_up);
  value.set("not_finite", plan.not_finite);
  value.set("purchases", Value(std::move(purchases)));
  make_folder(round_folder(round));
  write_sealed_json(plan_file(round, pass), config::json_text(value, 1) + "\n");
}

Plan RunFolder::read_plan(std::size_t round, std::size_t pass, std::size_t pool,
                          std::size_t steps) const {
  const fs::path path = plan_file(round, pass);
  const Value value = read_sealed_json(path, kPlanFormat);
  const auto number = [&](const char* key) { return field<std::uint64_t>(value, key, path); };
  check_run(field<std::string>(value, "run", path), path.string());
  if (number("round") != round || number("pass") != pass)
    throw Error(ErrorKind::data, fmt::format("{} is the plan of round {}, pass {}", path.string(),
                                             number("round"), number("pass")));
  Plan plan;
  plan.unspent = number("unspent");
  if (value.find("warm_up") != nullptr) plan.warm_up = number("warm_up");
  plan.not_finite = number("not_finite");
  const Value* purchases = value.find("purchases");
  if (purchases == nullptr || !purchases->is_list()) throw_bad_field("purchases", path);
  std::unordered_set<std::size_t> chosen;
  for (const Value& row : *purchases->list()) {
    const std::string where =
        fmt::format("{}, purchase {}", path.string(), plan.purchases.size() + 1);
    Purchase p{field<std::uint64_t>(row, "candidate", where), read_pattern(row, where)};
    if (p.candidate >= pool || p.pattern.steps() != steps || p.pattern.cost() == 0)
      throw Error(ErrorKind::data,
                  fmt::format("{}: candidate {} with pattern {} does not fit the study", where,
                              p.candidate, p.pattern.text()));
    if (!chosen.insert(p.candidate).second)
      throw Error(ErrorKind::data,
                  fmt::format("{}: candidate {} is chosen twice", where, p.candidate));
    plan.purchases.push_back(std::move(p));
  }
  if (const auto cost = number("cost"); cost != plan.cost())
    throw Error(ErrorKind::data, fmt::format("{}: what it chose costs {}, but it says {}",
                                             path.string(), plan.cost(), cost));
  return plan;
}

void RunFolder::remove_plans(std::size_t round, std::size_t pass) const {
  std::error_code ignored;
  while (fs::remove(plan_file(round, pass), ignored)) ++pass;
}

Value to_value(std::size_t acquisition, const Ledger& l) {
  Value value;
  value.set("acquisition", acquisition);
  value.set("budget", l.budget);
  value.set("bought", l.bought);
  value.set("refused", l.refused);
  value.set("refused_by_trust", l.refused_by_trust);
  value.set("failed", l.failed);
  value.set("charged_failures", l.charged_failures);
  value.set("unspent", l.unspent);
  if (l.warm_up > 0) value.set("warm_up", l.warm_up);
  value.set("passes", l.passes);
  value.set("pool_exhausted", l.pool_exhausted);
  Value::List reasons;
  for (const std::string& reason : l.reasons) reasons.emplace_back(reason);
  value.set("reasons", Value(std::move(reasons)));
  return value;
}

Ledger read_ledger(const Value& body, const std::string& where) {
  const auto number = [&](const char* key) { return field<std::uint64_t>(body, key, where); };
  Ledger l;
  l.budget = number("budget");
  l.bought = number("bought");
  l.refused = number("refused");
  l.refused_by_trust = number("refused_by_trust");
  l.failed = number("failed");
  l.charged_failures = number("charged_failures");
  l.unspent = number("unspent");
  if (body.find("warm_up") != nullptr) l.warm_up = number("warm_up");
  l.passes = number("passes");
  const Value* exhausted = body.find("pool_exhausted");
  if (exhausted == nullptr || !exhausted->boolean()) throw_bad_field("pool_exhausted", where);
  l.pool_exhausted = *exhausted->boolean();
  const Value* reasons = body.find("reasons");
  if (reasons == nullptr || !reasons->is_list()) throw_bad_field("reasons", where);
  for (const Value& reason : *reasons->list()) {
    if (reason.text() == nullptr) throw_bad_field("reasons", where);
    l.reasons.push_back(*reason.text());
  }
  return l;
}

std::vector<Ledger> RunFolder::read_ledgers() const {
  std::vector<Ledger> ledgers;
  std::string run;
  read_journal(journal_file(), [&](JournalLine&& line, const std::string& where) {
    if (line.type == kRunLine) run = field<std::string>(line.body, "run", where);
    if (line.type != "ledger") return;
    const auto acquisition = field<std::uint64_t>(line.body, "acquisition", where);
    if (acquisition != ledgers.size())
      throw Error(ErrorKind::data, fmt::format("{} is the ledger of acquisition {}, expected {}",
                                               where, acquisition, ledgers.size()));
    ledgers.push_back(read_ledger(line.body, where));
  });
  check_run(run, journal_file().string());
  return ledgers;
}

void RunFolder::read_answers(
    const std::function<void(std::size_t, const AnswerRecord&)>& visit) const {
  stap::read_answers(journal_file(), visit);
}

}  // namespace stap
