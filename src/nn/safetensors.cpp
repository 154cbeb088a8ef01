#include "nn/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/crc32c.h"
#include "core/pending_file.h"
#include "stap/core/error.h"

// Layout: 8 bytes with the header's length (little endian), the header (JSON: name -> dtype, shape,
// data_offsets; "__metadata__" -> text by text), then the data without holes. Our own have a seal
// in the metadata: the CRC-32C of the whole file, with zeros for its own digits.
namespace stap {
namespace {

using nlohmann::json;
static_assert(std::endian::native == std::endian::little, "safetensors data are little endian");

constexpr std::uint64_t kMaxHeader = 100'000'000;  // the format's own limit

constexpr std::string_view kSealStart = "\"seal\":\"crc32c:", kNoSeal = "crc32c:00000000";
constexpr std::size_t kSealDigits = 8;

// Of bytes as they come.
class Checksum {
 public:
  void add(const void* bytes, std::size_t n) {
    value_ = crc32c({static_cast<const std::byte*>(bytes), n}, value_);
  }
  std::string text() const { return fmt::format("{:08x}", value_); }

 private:
  std::uint32_t value_ = 0;
};

// The checksum of a whole file is put into its header, or taken out of it. Its digits are zeros
// meanwhile. Empty: it has none.
std::string swap_seal(std::string& header, std::string_view digits) {
  const std::size_t at = header.find(kSealStart);
  if (at == std::string::npos || header.size() < at + kSealStart.size() + kSealDigits) return {};
  const std::string there = header.substr(at + kSealStart.size(), kSealDigits);
  header.replace(at + kSealStart.size(), kSealDigits, digits);
  return there;
}

[[noreturn]] void damaged(const std::filesystem::path& path, const std::string& why) {
  throw Error(ErrorKind::data,
              fmt::format("{} is not a usable model file: {}", path.string(), why));
}

// Offsets and sizes come from a file: every product and sum is checked.
std::uint64_t bytes_of(const std::vector<std::size_t>& shape) {
  std::uint64_t bytes = sizeof(float);
  for (std::size_t n : shape)
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(n), &bytes)) return UINT64_MAX;
  return bytes;
}

// The library would make 1 of 1.5.
std::vector<std::size_t> read_sizes(const json& list) {
  for (const json& size : list)
    if (!size.is_number_unsigned())
      throw std::runtime_error(fmt::format("{} is not a list of whole numbers", list.dump()));
  return list.get<std::vector<std::size_t>>();
}

struct Entry {
  Tensor tensor;
  std::uint64_t begin, end;
};

Entry read_entry(const std::string& name, const json& info) {
  if (info.at("dtype").get<std::string>() != "F32")
    throw std::runtime_error(fmt::format("tensor {} has type {}, expected F32", name,
                                         info.at("dtype").get<std::string>()));
  Entry entry;
  entry.tensor.name = name;
  entry.tensor.shape = read_sizes(info.at("shape"));
  const std::vector<std::size_t> offsets = read_sizes(info.at("data_offsets"));
  if (offsets.size() != 2 || offsets[0] > offsets[1] ||
      offsets[1] - offsets[0] != bytes_of(entry.tensor.shape))
    throw std::runtime_error(fmt::format("tensor {} has offsets that do not fit its shape", name));
  entry.begin = offsets[0];
  entry.end = offsets[1];
  return entry;
}

}  // namespace

void write_tensors(const std::filesystem::path& path, const TensorFile& file) {
  json header = json::object();
  header["__metadata__"] = file.metadata;
  header["__metadata__"]["seal"] = kNoSeal;
  std::uint64_t offset = 0;
  for (const Tensor& t : file.tensors) {
    const std::uint64_t end = offset + t.values.size() * sizeof(float);
    header[t.name] = {{"dtype", "F32"}, {"shape", t.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // data on an 8-byte boundary
  const std::uint64_t length = text.size();

  Checksum sum;
  sum.add(&length, sizeof length);
  sum.add(text.data(), text.size());
  for (const Tensor& t : file.tensors) sum.add(t.values.data(), t.values.size() * sizeof(float));
  swap_seal(text, sum.text());

  PendingFile pending(path);
  const auto write = [&](const void* bytes, std::size_t n) {
    pending.write({static_cast<const char*>(bytes), n});
  };
  write(&length, sizeof length);
  write(text.data(), text.size());
  for (const Tensor& t : file.tensors) write(t.values.data(), t.values.size() * sizeof(float));
  pending.commit();
}

TensorFile read_tensors(const std::filesystem::path& path) {
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(path, error);
  std::ifstream in;
  if (!error) in.open(path, std::ios::binary);  // of a pipe there is no size, and no end of waiting
  if (error || !in)
    throw Error(ErrorKind::data, fmt::format("cannot read {}: {}", path.string(),
                                             error ? error.message() : "it cannot be opened"));
  std::uint64_t length = 0;
  if (size < sizeof length || !in.read(reinterpret_cast<char*>(&length), sizeof length))
    damaged(path, "it is shorter than its header's length");
  if (length > kMaxHeader || length > size - sizeof length)
    damaged(path,
            fmt::format("its header should have {} bytes, but the file has {}", length, size));
  std::string text(length, '\0');
  if (!in.read(text.data(), static_cast<std::streamsize>(length)))
    damaged(path, "its header cannot be read");
  const std::uint64_t data = size - sizeof length - length;
  const std::string seal = swap_seal(text, "00000000");
  Checksum sum;
  sum.add(&length, sizeof length);
  sum.add(text.data(), text.size());

  TensorFile file;
  std::vector<Entry> entries;
  try {
    const json header = json::parse(text);
    if (!header.is_object()) damaged(path, "its header is not a JSON object");
    for (const auto& [name, info] : header.items()) {
      if (name == "__metadata__") {
        file.metadata = info.get<std::map<std::string, std::string>>();
        file.sealed = file.metadata.erase("seal") > 0;
      } else {
        entries.push_back(read_entry(name, info));
      }
    }
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    damaged(path, e.what());
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.begin < b.begin; });
  std::uint64_t next = 0;
  for (Entry& entry : entries) {
    if (entry.begin != next || entry.end > data)
      damaged(path, fmt::format("the data of tensor {} overlap, leave a hole or go beyond the end",
                                entry.tensor.name));
    next = entry.end;
    entry.tensor.values.resize((entry.end - entry.begin) / sizeof(float));
    if (!in.read(reinterpret_cast<char*>(entry.tensor.values.data()),
                 static_cast<std::streamsize>(entry.end - entry.begin)))
      damaged(path, "its data cannot be read");
    sum.add(entry.tensor.values.data(), entry.end - entry.begin);
    file.tensors.push_back(std::move(entry.tensor));
  }
  if (next != data) damaged(path, fmt::format("{} bytes follow the last tensor", data - next));
  if (file.sealed && seal != sum.text()) damaged(path, "it is damaged: its checksum does not fit");
  return file;
}

}  // namespace stap
