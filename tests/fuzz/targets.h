// What is fed with bytes that nobody believes: by a fuzzer (libfuzzer.cpp) and, with all that is in
// corpus/, by tests. A target returns when the bytes were read or refused as they should be; any
// other exception, a crash and a hang are its failures.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/crc32c.h"
#include "couple/frame_reader.h"
#include "data/child_read.h"
#include "nn/model_tensors.h"
#include "nn/safetensors.h"
#include "stap/core/error.h"
#include "stap/data/npy.h"
#include "stap/journal/journal.h"
#include "stap/study/presets.h"
#include "stap/study/study.h"
#include "stap_model.h"

namespace stap::fuzz {

using Bytes = std::span<const std::uint8_t>;

inline std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A file in memory, whose path any reader can open.
class MemoryFile {
 public:
  explicit MemoryFile(Bytes bytes) : file_(memfd_create("fuzz", MFD_CLOEXEC)) {
    if (file_ < 0 || write(file_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
      std::abort();
  }
  ~MemoryFile() { close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

/// Whether it came to its end; false if it threw an Error of one of these kinds.
template <class Act>
bool accepted(std::initializer_list<ErrorKind> kinds, const Act& act) {
  try {
    act();
    return true;
  } catch (const Error& error) {
    if (std::ranges::find(kinds, error.kind()) == kinds.end()) throw;
    return false;
  }
}

inline void must(bool holds) {
  if (!holds) std::abort();
}

/// A document and then, each behind a zero byte, settings of the command line.
inline void fuzz_yaml(Bytes bytes) {
  accepted({ErrorKind::config}, [&] {
    std::string_view rest = text_of(bytes);
    const auto next = [&] {
      const std::string_view part = rest.substr(0, rest.find('\0'));
      rest.remove_prefix(std::min(part.size() + 1, rest.size()));
      return part;
    };
    config::Value document = config::parse_yaml(next(), "fuzz.yaml");
    must(config::parse_yaml(config::yaml_text(document), "again") == document);
    while (!rest.empty()) apply_setting(document, std::string(next()));
    config::Complaints complaints;
    read_study(document, Purpose::check, complaints);
  });
}

/// One JSON value, and the same bytes as a journal.
inline void fuzz_json(Bytes bytes) {
  accepted({ErrorKind::data}, [&] {
    const config::Value value = config::parse_json(text_of(bytes), "fuzz.json");
    config::parse_json(config::json_text(value, 0), "again");
  });
  const MemoryFile file(bytes);
  accepted({ErrorKind::data}, [&] { read_journal(file.path(), [](auto&&, const auto&) {}); });
}

inline void fuzz_safetensors(Bytes bytes) {
  const MemoryFile file(bytes);
  accepted({ErrorKind::data}, [&] { read_tensors(file.path()); });
}

/// The header of a model file, "key value" a line, which no fuzzer finds behind a checksum: of a
/// model without members, or of one whose weights are missing.
inline void fuzz_model(Bytes bytes) {
  TensorFile file;
  file.sealed = true;
  std::string_view rest = text_of(bytes);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::size_t space = std::min(line.find(' '), line.size());
    file.metadata[std::string(line.substr(0, space))] =
        line.substr(std::min(space + 1, line.size()));
  }
  accepted({ErrorKind::data}, [&] { must(model_in(file, "fuzz").members.empty()); });
}

/// The reader in C: the bytes of a model file, whose checksum is put right. One that opens is used.
inline void fuzz_c_model(Bytes bytes) {
  std::string file(text_of(bytes));
  const std::string_view mark = "\"seal\":\"crc32c:";
  if (const std::size_t at = file.find(mark);
      at != std::string::npos && at + mark.size() + 8 <= file.size()) {
    file.replace(at + mark.size(), 8, "00000000");
    const std::uint32_t sum = crc32c(std::as_bytes(std::span(file)));
    file.replace(at + mark.size(), 8, fmt::format("{:08x}", sum));
  }
  char why[STAP_MODEL_MESSAGE] = "";
  stap_model* model = stap_model_read(file.data(), file.size(), why, sizeof why);
  must((model == nullptr) == (why[0] != '\0'));
  if (model == nullptr) return;
  const stap_model_info* about = stap_model_about(model);
  for (std::size_t c = 0; c < about->channels && c < 9; ++c) must(stap_model_channel(model, c));
  if (about->values < 100'000) {
    std::vector<double> state(about->values, 0.5);
    if (stap_work* work = stap_model_work(model)) {
      const std::vector<double> parameters(static_cast<std::size_t>(about->parameters), 0.5);
      must(stap_model_set(model, work, parameters.data()) == 0);
      std::vector<double> made(state.size()), bars(static_cast<std::size_t>(about->cluster));
      must(stap_model_begin(model, work, STAP_START_ANY, 0, state.data()) == 0);
      for (int i = 0; i < 3; ++i)
        must(stap_model_next(model, work, nullptr, bars.data(), nullptr, made.data()) >= 0);
      for (const double bar : bars) must(bar >= 0.0);
      stap_model_step(model, work, STAP_MODEL_MEAN, 0, state.data(), state.data());
      stap_model_adjoint(model, work, 0, 1, state.data(), state.data(), state.data());
      stap_work_free(work);
    }
  }
  stap_model_close(model);
}

inline void fuzz_npy(Bytes bytes) {
  const MemoryFile file(bytes);
  Array<double> all;
  const bool whole = accepted({ErrorKind::data}, [&] { all = read_npy(file.path()); });
  const bool small = accepted({ErrorKind::data}, [&] { read_npy(file.path(), 16); });
  must(small == (whole && all.values.size() <= 16));
}

/// A stream in pieces, and the same bytes as every kind of payload: fuzzers do not find checksums.
inline void fuzz_frames(Bytes bytes) {
  const Grid grid = make_grid(2, {3}, {1.0});
  const auto all = std::as_bytes(bytes);
  FrameReader reader;
  reader.expect({{FrameType::hello, hello_most(), {}},
                 {FrameType::ready, 64, {}},
                 {FrameType::answer, answer_most(grid, 2), 1},
                 {FrameType::failed, failed_most(grid, 2), 1},
                 {FrameType::heartbeat, 0, {}}});
  for (std::size_t at = 0, piece = 1; at < all.size(); piece = piece % 7 + 1) {
    const std::span<std::byte> room = reader.room();
    if (room.empty() && !reader.take()) break;
    const std::size_t n = std::min({room.size(), piece, all.size() - at});
    std::ranges::copy(all.subspan(at, n), room.begin());
    if (n > 0) reader.put(n);
    at += n;
  }
  Hello hello;
  WorkerFailure failure;
  std::vector<double> states;
  read_hello(all, hello);
  read_ready(all, grid);
  if (read_answer(all, grid, 2, states).empty()) must(states.size() == 12);
  if (read_failed(all, grid, 2, failure).empty()) must(failure.states.size() <= 12);
  plain_text(all);
}

/// All that can be asked of a foreign file, in one child process; this one is to stay whole.
inline void fuzz_hdf5(Bytes bytes) {
  const MemoryFile file(bytes);
  const std::filesystem::path path = file.path();
  const auto each = [&](const auto& act) { accepted({ErrorKind::data, ErrorKind::config}, act); };
  each([&] {
    h5::guarded(path, h5::Trust::nobody, [&] {
      std::vector<std::string> names;
      each([&] { names = list_datasets(path); });
      if (names.size() > 8) names.resize(8);
      for (const std::string& name : names) {
        each([&] { read_array(path, name); });
        each([&] { read_integers(path, name); });
        each([&] { read_text(path, name); });
      }
      for (const char* name : {"format", "equation", "channel_names"})
        each([&] { read_text_attribute(path, "/", name); });
      each([&] { read_text_list(path, "/", "field_names"); });
      each([&] { read_state_info(path); });
      each([&] { read_trajectories(path, make_grid(1, {4}, {1.0})); });
      return names;
    });
  });
}

struct Target {
  const char* name;
  void (*run)(Bytes bytes);
};
inline constexpr Target kTargets[] = {
    {"yaml", fuzz_yaml},     {"json", fuzz_json},       {"safetensors", fuzz_safetensors},
    {"model", fuzz_model},   {"c_model", fuzz_c_model}, {"npy", fuzz_npy},
    {"frames", fuzz_frames}, {"hdf5", fuzz_hdf5}};

}  // namespace stap::fuzz
