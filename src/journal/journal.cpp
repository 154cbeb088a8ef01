#include "stap/journal/journal.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/lease.h"
#include "core/whole_file.h"
#include "journal/append_file.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/core/seal.h"

// A line is a sealed JSON object (stap/core/seal.h).
namespace stap {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kChunk = std::size_t{1} << 20;  // bytes that are read at once
constexpr std::size_t kMaxLine = std::size_t{1} << 28;

std::string to_text(std::uint64_t sequence, std::string_view type, const config::Value& body) {
  return seal_json(fmt::format("{{\"seq\":{},\"type\":\"{}\",\"body\":{}}}", sequence, type,
                               config::json_text(body, 0))) +
         "\n";
}

JournalLine parse(std::string_view line, std::uint64_t offset, const std::string& where) {
  config::Value value = config::parse_json(line, where);
  const config::Value* sequence = value.find("seq");
  const config::Value* type = value.find("type");
  config::Value* body = value.find("body");
  if (sequence == nullptr || !sequence->integer<std::uint64_t>() || type == nullptr ||
      type->text() == nullptr || body == nullptr)
    throw Error(ErrorKind::data, where + " is not a line of a journal");
  return {*sequence->integer<std::uint64_t>(), offset, *type->text(), std::move(*body)};
}

// Where the whole lines end.
struct End {
  std::uint64_t sequence = 0, offset = 0;
  bool unbroken = false;  // the last line is whole, but its line break was cut off
};

// Hands on whole lines, one after the other. `read(offset, bytes)` gives how many bytes there were.
template <class Read>
End visit_lines(const Read& read, const fs::path& path, const JournalVisitor& visit) {
  End end;
  std::string held;          // from end.offset on
  std::size_t searched = 0;  // of it: there is no line break
  for (;;) {
    const std::size_t before = held.size();
    held.resize(before + kChunk);
    held.resize(before +
                read(end.offset + before, std::span(held.data() + before, held.size() - before)));
    const bool at_end = held.size() < before + kChunk;
    std::size_t begin = 0;
    const auto take = [&](std::string_view line) {
      const std::string where = fmt::format("{}, line {}", path.string(), end.sequence + 1);
      if (!is_whole_json(line)) throw_damaged(where);
      JournalLine parsed = parse(line, end.offset + begin, where);
      if (parsed.sequence != end.sequence)
        throw Error(ErrorKind::data, fmt::format("{} has number {}, expected {}", where,
                                                 parsed.sequence, end.sequence));
      if (visit) visit(std::move(parsed), where);
      ++end.sequence;
    };
    for (std::size_t stop; (stop = held.find('\n', std::max(begin, searched))) != held.npos;) {
      take(std::string_view(held).substr(begin, stop - begin));
      begin = stop + 1;
    }
    held.erase(0, begin);
    end.offset += begin;
    searched = held.size();
    if (held.size() > kMaxLine)
      throw Error(ErrorKind::data, fmt::format("{}, line {} has more than {} bytes", path.string(),
                                               end.sequence + 1, kMaxLine));
    if (!at_end) continue;
    if (is_whole_json(held)) {
      begin = 0;
      take(held);
      end.offset += held.size();
      end.unbroken = true;
      return end;
    }
    // Something else than a line break behind a line that was complete was not left by a crash.
    if (!held.empty() && is_whole_json(std::string_view(held).substr(0, held.size() - 1)))
      throw_damaged(fmt::format("{}, line {}", path.string(), end.sequence + 1));
    // A line that was cut off begins as ours do (or, after a power cut, may be zeros); the text of
    // somebody else is not ours to cut.
    if (held.substr(0, kJsonSeal.size()) != kJsonSeal.substr(0, held.size()) &&
        held.find_first_not_of('\0') != held.npos)
      throw Error(ErrorKind::data, fmt::format("{}, line {} is not a line of a journal",
                                               path.string(), end.sequence + 1));
    return end;
  }
}

// What may be lines: up to line breaks and, where one is gone, up to the beginning of the next.
std::vector<std::string_view> pieces_of(std::string_view text) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    const std::size_t stop = std::min(text.find('\n'), text.size());
    const std::size_t next = text.substr(0, stop).find(kJsonSeal, 1);
    const bool joined = next != text.npos;
    pieces.push_back(text.substr(0, joined ? next : stop));
    text.remove_prefix(joined ? next : std::min(stop + 1, text.size()));
  }
  return pieces;
}

// Behind a whole line may stand one byte more: a line break that was changed, or an editor's.
std::string_view without_tail(std::string_view piece) {
  const std::string_view shorter =
      piece.substr(0, piece.size() - std::min<std::size_t>(piece.size(), 1));
  return !is_whole_json(piece) && is_whole_json(shorter) ? shorter : piece;
}

std::vector<SalvagedLine> salvaged_lines(std::string_view text, const fs::path& path) {
  std::vector<SalvagedLine> lines;
  std::vector<std::string_view> damaged;  // behind the last whole line
  const auto add_damaged = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      lines.push_back({lines.size(), {}, std::string(i < damaged.size() ? damaged[i] : "")});
    damaged.clear();
  };
  for (std::string_view piece : pieces_of(text)) {
    piece = without_tail(piece);
    if (!is_whole_json(piece)) {
      if (!piece.empty()) damaged.push_back(piece);
      continue;
    }
    JournalLine line = parse(piece, 0, path.string());
    if (line.sequence < lines.size() || line.sequence > text.size())
      throw Error(ErrorKind::data, fmt::format("{}: there is a line {}, behind {} others",
                                               path.string(), line.sequence + 1, lines.size()));
    add_damaged(line.sequence - lines.size());
    lines.push_back({line.sequence, std::move(line), std::string(piece)});
  }
  // The last one may have been cut off by a crash: it was never there.
  if (!text.ends_with('\n') && !damaged.empty()) damaged.pop_back();
  const auto begun = std::ranges::count_if(
      damaged, [](std::string_view piece) { return piece.starts_with(kJsonSeal); });
  if (!damaged.empty()) add_damaged(std::max<std::size_t>(1, static_cast<std::size_t>(begun)));
  return lines;
}

constexpr std::chrono::milliseconds kLinger{2000}, kLook{20};

// A process that was forked by one that has just been killed may keep its lock for a moment.
bool lock_behind_the_dead(AppendFile& file, const fs::path& folder) {
  for (auto waited = 0 * kLook; !file.lock(); waited += kLook) {
    const std::optional<LockHolder> holder = lock_holder(folder);
    if (waited >= kLinger || (holder && !holder->gone)) return false;
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

}  // namespace

Journal::Journal(fs::path path, const JournalVisitor& visit)
    : file_(std::make_unique<AppendFile>(std::move(path))) {
  const fs::path& at = file_->path();
  const fs::path folder = at.has_parent_path() ? at.parent_path() : fs::path(".");
  if (!lock_behind_the_dead(*file_, folder)) throw InUse(in_use_text(folder));
  lock_ = lock_folder(folder);
  const auto read = [&](std::uint64_t offset, std::span<char> bytes) {
    return file_->read(offset, bytes);
  };
  const End end = visit_lines(read, file_->path(), visit);
  file_->cut(end.offset);
  if (end.unbroken) pending_.push_back('\n');
  next_ = end.sequence;
}

Journal::~Journal() = default;
Journal::Journal(Journal&& other) noexcept = default;

void Journal::append(std::string_view type, const config::Value& body) {
  pending_ += to_text(next_++, type, body);
}

void Journal::when_full(std::function<bool()> make_room) {
  file_->when_full(std::move(make_room));
}

std::string Journal::left_by() const {
  const std::optional<LockHolder>& before = lock_->before();
  return before && !before->copied ? before->text() : "";
}

void Journal::write() {
  if (lock_->lost())
    throw InUse(
        fmt::format("{}: another process has taken over this folder, so nothing more is "
                    "written",
                    file_->path().string()));
  file_->write(std::exchange(pending_, {}));
}

void Journal::sync() {
  file_->sync();
}

void Journal::commit() {
  write();
  sync();
}

void Journal::read(const JournalVisitor& visit) const {
  visit_lines(
      [&](std::uint64_t offset, std::span<char> bytes) { return file_->read(offset, bytes); },
      file_->path(), visit);
}

void Journal::cut(std::uint64_t sequence, std::uint64_t offset) {
  pending_.clear();
  file_->cut(offset);
  next_ = sequence;
}

void read_journal(const fs::path& path, const JournalVisitor& visit) {
  std::error_code error;
  if (!fs::is_regular_file(path, error))
    throw Error(kind_of_read_error(error.value(), ErrorKind::data),
                fmt::format("cannot read {}: {}", path.string(),
                            error ? error.message() : "it is not a file"));
  const AppendFile file(path, true);
  visit_lines([&](std::uint64_t offset, std::span<char> bytes) { return file.read(offset, bytes); },
              path, visit);
}

bool rewrite_journal(
    const fs::path& path,
    const std::function<std::optional<NewLine>(const SalvagedLine& line)>& instead) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  // Who has it open does not read it again, and would go on with what is not there any more.
  const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  AppendFile file(path);
  if (!file.lock()) throw InUse(in_use_text(folder));
  const std::unique_ptr<Lease> lock = lock_folder(folder);
  const std::string text = read_text_file(path);
  const std::vector<SalvagedLine> lines = salvaged_lines(text, path);
  if (std::ranges::none_of(lines, [](const SalvagedLine& line) { return line.whole.has_value(); }))
    return false;
  std::string now;
  for (const SalvagedLine& line : lines) {
    const std::optional<NewLine> other = instead(line);
    if (!other && !line.whole) return false;
    now += other ? to_text(line.sequence, other->type, other->body) : line.text + "\n";
  }
  if (now == text) return false;
  write_text(path, now);
  return true;
}

}  // namespace stap
