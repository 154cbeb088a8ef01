#include "stap/journal/answer_log.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <future>

#include <fmt/format.h>

#include "journal/reserve.h"
#include "stap/config/files.h"
#include "stap/core/error.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;

constexpr std::string_view kType = "answer", kRevoked = "breaker";

// Of numbers of 64 bits, which are text: other programs read JSON's as doubles.
template <class T>
T hex_field(const Value& map, const char* key, const std::string& where) {
  const auto text = field<std::string>(map, key, where);
  T number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (failure != std::errc() || end != text.data() + text.size()) throw_bad_field(key, where);
  return number;
}

Value to_value(std::size_t acquisition, const AnswerRecord& answer, std::uint64_t group) {
  Value body;
  body.set("acquisition", acquisition);
  body.set("candidate", answer.candidate);
  body.set("step", answer.step);
  body.set("status", to_string(answer.status));
  body.set("reason", answer.reason);
  body.set("attempts", answer.attempts);
  body.set("seconds", std::isfinite(answer.seconds) ? answer.seconds : 0.0);
  body.set("input_hash", fmt::format("{:016x}", answer.input_hash));
  body.set("commit", group);
  return body;
}

Value to_value(const StatePlace& place) {
  Value value;
  value.set("offset", place.offset);
  value.set("bytes", place.bytes);
  value.set("crc", fmt::format("{:08x}", place.crc));
  return value;
}

Answer::Status status_of(std::string_view text, const std::string& where) {
  for (const auto status : {Answer::Status::ok, Answer::Status::refused, Answer::Status::failed})
    if (text == to_string(status)) return status;
  throw_bad_field("status", where);
}

AnswerRecord read_answer(const Value& body, const std::string& where) {
  AnswerRecord answer;
  answer.candidate = field<std::uint64_t>(body, "candidate", where);
  answer.step = field<std::uint64_t>(body, "step", where);
  answer.status = status_of(field<std::string>(body, "status", where), where);
  answer.reason = field<std::string>(body, "reason", where);
  answer.attempts = field<int>(body, "attempts", where);
  answer.seconds = field<double>(body, "seconds", where);
  if (body.find("input_hash") != nullptr)
    answer.input_hash = hex_field<std::uint64_t>(body, "input_hash", where);
  return answer;
}

StatePlace read_place(const Value& body, const std::string& where) {
  const Value* state = body.find("state");
  if (state == nullptr || !state->is_map()) throw_bad_field("state", where);
  return {field<std::uint64_t>(*state, "offset", where),
          field<std::uint64_t>(*state, "bytes", where),
          hex_field<std::uint32_t>(*state, "crc", where)};
}

// States follow each other, but for holes where lines were dropped.
void check_order(const StatePlace& place, std::uint64_t end, const std::string& where) {
  if (place.offset < end || place.end() < place.offset)
    throw Error(ErrorKind::data,
                fmt::format("{} names a state at byte {}, expected byte {} or later", where,
                            place.offset, end));
}

std::size_t acquisition_of(const Value& body, const std::string& where) {
  return field<std::uint64_t>(body, "acquisition", where);
}

// Of a line that revokes some.
std::vector<AnswerKey> read_keys(const Value& body, const std::string& where) {
  const Value* answers = body.find("answers");
  if (answers == nullptr || !answers->is_list()) throw_bad_field("answers", where);
  std::vector<AnswerKey> keys;
  for (const Value& answer : *answers->list())
    keys.push_back({field<std::uint64_t>(answer, "candidate", where),
                    field<std::uint64_t>(answer, "step", where)});
  return keys;
}

}  // namespace

// What is learned from the lines on the way; the newest commit may have to go.
struct AnswerLog::Opening {
  struct Line {
    std::uint64_t sequence, offset;  // in the journal
    std::size_t acquisition;
    std::optional<StatePlace> place;
    std::uint64_t store_end;  // before it
  };
  std::uint64_t store_end = AnswerStore::kFirst;
  std::uint64_t tail_group = 0;
  std::uint64_t tail_begin = AnswerStore::kFirst;  // of its states
  std::vector<Line> tail;                          // lines of the newest commit
};

AnswerLog::AnswerLog(fs::path journal, fs::path answers, const JournalVisitor& others) {
  Opening opening;
  journal_ = std::make_unique<Journal>(
      std::move(journal), [&](JournalLine&& line, const std::string& where) {
        if (line.type == kType) return take(opening, line, where);
        opening.tail.clear();  // it came with a commit behind theirs
        if (others) others(std::move(line), where);
      });
  store_ = std::make_shared<AnswerStore>(std::move(answers));
  if (opening.tail.empty()) opening.tail_begin = opening.store_end;
  if (store_->size() < opening.tail_begin)
    throw Error(ErrorKind::data,
                fmt::format("{} is cut off: it has {} bytes, and its journal names {}",
                            store_->path().string(), store_->size(), opening.store_end));
  for (std::size_t i = 0; i < opening.tail.size(); ++i) {
    const Opening::Line& line = opening.tail[i];
    if (!line.place || store_->holds(*line.place)) continue;
    journal_->cut(line.sequence, line.offset);
    opening.store_end = line.store_end;
    dropped_ = opening.tail.size() - i;
    for (; i < opening.tail.size(); ++i) --counts_[opening.tail[i].acquisition];
  }
  unnamed_ = dropped_ == 0 ? store_->size() - std::min(store_->size(), opening.store_end) : 0;
  store_->cut(opening.store_end);
}

void AnswerLog::take(Opening& opening, const JournalLine& line, const std::string& where) {
  const std::size_t acquisition = acquisition_of(line.body, where);
  const auto group = field<std::uint64_t>(line.body, "commit", where);
  if (opening.tail.empty() || group != opening.tail_group) {
    opening.tail.clear();
    opening.tail_begin = opening.store_end;
    opening.tail_group = group;
  }
  std::optional<StatePlace> place;
  const std::uint64_t before = opening.store_end;
  if (read_answer(line.body, where).status == Answer::Status::ok) {
    place = read_place(line.body, where);
    check_order(*place, before, where);
    opening.store_end = place->end();
  }
  opening.tail.push_back({line.sequence, line.offset, acquisition, place, before});
  ++counts_[acquisition];
  group_ = group + 1;
}

void AnswerLog::append(std::size_t acquisition, const AnswerRecord& answer) {
  Value body = to_value(acquisition, answer, group_);
  if (answer.status == Answer::Status::ok)
    body.set("state", to_value(store_->append(answer.state)));
  journal_->append(kType, body);
  ++counts_[acquisition];
  ++appended_;
}

void AnswerLog::commit() {
  if (appended_ == 0) return;
  appended_ = 0;
  ++group_;
  store_->write();
  journal_->write();
  // What a sync costs is the device's time to empty its cache: side by side they cost it once.
  std::future<void> states = std::async(std::launch::async, [&] { store_->sync(); });
  journal_->sync();
  states.get();
}

void AnswerLog::hold_reserve(std::size_t values) {
  constexpr double kAnswers = 64, kLine = 512, kLeast = 4096, kMost = 1 << 20;
  const double bytes = kAnswers * (8.0 * static_cast<double>(values) + kLine);
  reserve_ = std::make_shared<Reserve>(
      folder() / kReserve, static_cast<std::uint64_t>(std::clamp(bytes, kLeast, kMost)));
  const auto give = [reserve = reserve_] { return reserve->give(); };
  journal_->when_full(give);
  store_->when_full(give);
}

bool AnswerLog::on_reserve() const {
  return reserve_ && reserve_->given();
}

void AnswerLog::note(std::string_view type, const Value& body) {
  commit();
  journal_->append(type, body);
  journal_->commit();
}

void AnswerLog::revoke(std::size_t acquisition, std::span<const AnswerKey> answers,
                       std::string_view why) {
  if (answers.empty()) return;
  Value::List list;
  for (const AnswerKey& key : answers) {
    Value& one = list.emplace_back();
    one.set("candidate", key.candidate);
    one.set("step", key.step);
  }
  Value body;
  body.set("acquisition", acquisition);
  body.set("reason", std::string(why));
  body.set("answers", Value(std::move(list)));
  note(kRevoked, body);
}

// States go last: without their lines they are nothing, the other way round it is damage.
void AnswerLog::restart(std::string_view type, const Value& body) {
  commit();
  journal_->cut(0, 0);
  counts_.clear();
  journal_->append(type, body);
  journal_->commit();
  store_->cut(0);
  store_->sync();
}

LoggedAnswers AnswerLog::recorded(std::size_t acquisition) const {
  LoggedAnswers answers;
  answers.store_ = store_;
  if (!counts_.contains(acquisition)) return answers;
  journal_->read([&](JournalLine&& line, const std::string& where) {
    if (line.type != kType && line.type != kRevoked) return;
    if (acquisition_of(line.body, where) != acquisition) return;
    if (line.type == kRevoked) {
      for (const AnswerKey& key : read_keys(line.body, where)) answers.entries_.erase(key);
      return;
    }
    LoggedAnswers::Entry entry{read_answer(line.body, where), {}};
    if (entry.answer.status == Answer::Status::ok) entry.place = read_place(line.body, where);
    answers.entries_.insert_or_assign({entry.answer.candidate, entry.answer.step},
                                      std::move(entry));
  });
  for (const auto& [key, entry] : answers.entries_)
    if (entry.answer.status != Answer::Status::ok) answers.in_vain_.push_back(key);
  return answers;
}

std::optional<AnswerRecord> LoggedAnswers::find(std::size_t candidate, std::size_t step) const {
  const auto found = entries_.find({candidate, step});
  if (found == entries_.end()) return std::nullopt;
  AnswerRecord answer = found->second.answer;
  if (answer.status == Answer::Status::ok) answer.state = store_->read(found->second.place);
  return answer;
}

void read_answers(
    const fs::path& journal,
    const std::function<void(std::size_t acquisition, const AnswerRecord& answer)>& visit) {
  // Up to which line answers do not count.
  std::map<std::pair<std::size_t, AnswerKey>, std::uint64_t> revoked;
  read_journal(journal, [&](JournalLine&& line, const std::string& where) {
    if (line.type != kRevoked) return;
    for (const AnswerKey& key : read_keys(line.body, where))
      revoked[{acquisition_of(line.body, where), key}] = line.sequence;
  });
  read_journal(journal, [&](JournalLine&& line, const std::string& where) {
    if (line.type != kType) return;
    const std::size_t acquisition = acquisition_of(line.body, where);
    const AnswerRecord answer = read_answer(line.body, where);
    const auto until = revoked.find({acquisition, {answer.candidate, answer.step}});
    if (until == revoked.end() || line.sequence > until->second) visit(acquisition, answer);
  });
}

std::uint64_t visit_states(
    const fs::path& journal,
    const std::function<void(std::size_t acquisition, const AnswerRecord& answer,
                             const StatePlace& place)>& visit) {
  std::uint64_t end = AnswerStore::kFirst;
  read_journal(journal, [&](JournalLine&& line, const std::string& where) {
    if (line.type != kType) return;
    const AnswerRecord answer = read_answer(line.body, where);
    if (answer.status != Answer::Status::ok) return;
    const StatePlace place = read_place(line.body, where);
    check_order(place, end, where);
    end = place.end();
    visit(acquisition_of(line.body, where), answer, place);
  });
  return end;
}

std::uint64_t check_answers(const fs::path& journal, const fs::path& answers) {
  const AnswerStore store(answers, AnswerStore::Open::read);
  if (store.size() < AnswerStore::kFirst)
    throw Error(ErrorKind::data, fmt::format("{} is cut off", answers.string()));
  const auto read = [&](std::size_t, const AnswerRecord&, const StatePlace& place) {
    store.read(place);
  };
  return store.size() - visit_states(journal, read);
}

}  // namespace stap
