#include "stap/journal/answer_store.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/crc32c.h"
#include "journal/append_file.h"
#include "stap/core/error.h"

namespace stap {
namespace {

static_assert(std::endian::native == std::endian::little, "states are little-endian doubles");

}  // namespace

AnswerStore::AnswerStore(std::filesystem::path path, Open how)
    : file_(std::make_unique<AppendFile>(std::move(path), how == Open::read)) {
  char start[kHeader.size()];
  const std::size_t there = file_->read(0, start);
  if (std::string_view(start, there) != kHeader.substr(0, there))
    throw Error(ErrorKind::data, fmt::format("{} is not of format answers/1: it begins differently",
                                             file_->path().string()));
  if (how == Open::append)
    file_->write(kHeader.substr(there));  // nothing, unless it is new or was cut off just then
}

AnswerStore::~AnswerStore() = default;

StatePlace AnswerStore::append(std::span<const double> state) {
  const auto bytes = std::as_bytes(state);
  const StatePlace place{file_->size() + pending_.size(), bytes.size(), crc32c(bytes)};
  pending_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return place;
}

void AnswerStore::when_full(std::function<bool()> make_room) {
  file_->when_full(std::move(make_room));
}

void AnswerStore::write() {
  file_->write(std::exchange(pending_, {}));
}

void AnswerStore::sync() {
  file_->sync();
}

void AnswerStore::commit() {
  write();
  sync();
}

bool AnswerStore::holds(const StatePlace& place) const {
  try {
    read(place);
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    return false;
  }
}

std::vector<double> AnswerStore::read(const StatePlace& place) const {
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorKind::data,
                fmt::format("{}: the state at bytes {} to {} {}", file_->path().string(),
                            place.offset, place.end(), why));
  };
  // Sizes first: nothing is allocated for bytes that cannot be there.
  if (place.end() < place.offset || place.offset < kFirst || place.bytes % sizeof(double) != 0)
    fail("cannot be one");
  if (place.end() > file_->size())
    fail(fmt::format("is cut off: the file has {} bytes", file_->size()));
  std::vector<double> state(place.bytes / sizeof(double));
  const std::span<char> bytes(reinterpret_cast<char*>(state.data()), place.bytes);
  if (file_->read(place.offset, bytes) != bytes.size()) fail("is cut off");
  if (crc32c(std::as_bytes(bytes)) != place.crc) fail("is damaged: its checksum does not fit");
  return state;
}

const std::filesystem::path& AnswerStore::path() const {
  return file_->path();
}

std::uint64_t AnswerStore::size() const {
  return file_->size();
}

void AnswerStore::cut(std::uint64_t end) {
  pending_.clear();
  file_->cut(std::min(file_->size(), std::max(end, kFirst)));
}

}  // namespace stap
