// Damaged `.npy` files: whatever a file holds, reading it ends in Error(data) or in the array that
// a second, slower reader of the format's description finds there.
#include "stap/data/npy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <regex>
#include <span>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/core/rng.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using test::content;
using test::TemporaryFolder;

// The words of a header: a text is Q, a number N, True T, False F, others stand for themselves.
struct Tokens {
  std::string kinds;
  std::vector<std::string> texts;
};

std::optional<Tokens> tokens(const std::string& text) {
  static const std::regex token(
      R"re([ \t\r\n]*(?:'([^'\\]*)'|"([^"\\]*)"|([0-9]+)|(True)|(False)|([{}(),:])))re");
  Tokens found;
  auto at = text.begin();
  for (std::smatch match;
       std::regex_search(at, text.end(), match, token, std::regex_constants::match_continuous);
       at = match[0].second) {
    std::size_t which = 1;
    while (!match[which].matched) ++which;
    found.kinds += which <= 2 ? 'Q' : which <= 5 ? "NTF"[which - 3] : *match[6].first;
    found.texts.push_back(match.str(which));
  }
  if (std::string(at, text.end()).find_first_not_of(" \t\r\n") != std::string::npos) return {};
  return found;
}

// The array of a file, by its words and one value at a time; nothing if it is not one that may be
// read.
std::optional<Array<double>> reference(const std::string& file) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(file[at]); };
  if (file.size() < 10 || file.substr(0, 6) != "\x93NUMPY" || byte(7) != 0) return {};
  const std::size_t digits = byte(6) == 1 ? 2 : 4, start = 8 + digits;
  if (byte(6) < 1 || byte(6) > 3 || file.size() < start) return {};
  std::size_t length = 0;
  for (std::size_t i = digits; i-- > 0;) length = 256 * length + byte(8 + i);
  if (file.size() - start < length) return {};

  const std::optional<Tokens> header = tokens(file.substr(start, length));
  static const std::regex whole(R"(\{(Q:(Q|T|F|\((N,)*N?\)),)*(Q:(Q|T|F|\((N,)*N?\)))?\})");
  if (!header || !std::regex_match(header->kinds, whole)) return {};
  if (header->kinds.find("(N)") != std::string::npos) return {};  // a number, not a shape
  std::map<std::string, std::size_t> values_at;  // place of a member's value among the tokens
  for (std::size_t i = 0; i + 1 < header->texts.size(); ++i)
    if (header->kinds[i + 1] == ':' && !values_at.emplace(header->texts[i], i + 2).second)
      return {};
  if (values_at.size() != 3 || !values_at.contains("descr") ||
      !values_at.contains("fortran_order") || !values_at.contains("shape"))
    return {};
  const std::size_t type = values_at["descr"], shape = values_at["shape"];
  if (header->kinds[values_at["fortran_order"]] != 'F' || header->kinds[shape] != '(' ||
      header->kinds[type] != 'Q' || header->texts[type] != "<f8")
    return {};  // other types are not looked at here

  Array<double> array;
  long double values = 1;  // exact as far as it matters
  for (std::size_t i = shape; header->kinds[i] != ')'; ++i) {
    if (header->kinds[i] != 'N') continue;
    const long double size = std::stold(header->texts[i]);
    if (size >= 18446744073709551616.0L || values * size >= 18446744073709551616.0L) return {};
    values *= size;
    array.shape.push_back(std::stoull(header->texts[i]));
  }
  if (array.shape.size() > 32 ||
      values * 8 != static_cast<long double>(file.size() - start - length))
    return {};
  for (std::size_t at = start + length; at < file.size(); at += 8) {
    double next;
    std::memcpy(&next, file.data() + at, 8);
    array.values.push_back(next);
  }
  return array;
}

bool same(const Array<double>& a, const Array<double>& b) {
  return a.shape == b.shape &&
         std::ranges::equal(std::as_bytes(std::span(a.values)), std::as_bytes(std::span(b.values)));
}

// A valid file of random shape and values.
std::string valid_file(const Rng& rng, const TemporaryFolder& folder) {
  std::vector<std::size_t> shape;
  std::size_t values = 1;
  for (std::size_t axis = rng.below(0, 5); axis > 0; --axis) {
    shape.push_back(rng.below(axis, 16) == 0 ? 0 : 1 + rng.below(10 + axis, 4));
    values *= shape.back();
  }
  std::vector<double> numbers;
  for (std::size_t i = 0; i < values; ++i) numbers.push_back(rng.normal(100 + i));
  const std::string path = folder.path(fmt::format("{}.npy", rng.key()));
  write_npy(path, shape, numbers, false);
  return content(path);
}

// Mostly bytes that mean something in a header.
char odd_byte(const Rng& rng) {
  static constexpr std::string_view meaningful = "{}()[],:'\" \n0123456789<>|=fiubFTO\\x-";
  const std::uint64_t i = rng.below(0, meaningful.size() + 16);
  return i < meaningful.size() ? meaningful[i] : static_cast<char>(rng.below(1, 256));
}

// One to three damages: bytes changed, added, taken out, doubled, swapped, the file cut.
std::string damaged(std::string file, const Rng& rng) {
  const std::uint64_t damages = 1 + rng.below(0, 20) / 14 + rng.below(1, 20) / 14;
  for (std::uint64_t d = 0; d < damages && file.size() > 1; ++d) {
    const Rng own = rng.split("damage", d);
    // Half of them in the header's text, where most can go wrong. Bytes of values may be any.
    const std::size_t at = own.below(0, 2) == 0
                               ? own.below(1, std::min<std::size_t>(80, file.size()))
                               : own.below(2, file.size());
    switch (own.below(3, 9)) {
      default:
        file[at] = odd_byte(own.split("byte"));
        break;
      case 1:
        file[at] = static_cast<char>(file[at] ^ (1 << own.below(4, 8)));
        break;
      case 2:
        file.insert(at, 1, odd_byte(own.split("byte")));
        break;
      case 3:
        file.erase(at, 1 + own.below(5, 9));
        break;
      case 4:
        file.insert(at, file.substr(at, 1 + own.below(6, 9)));
        break;
      case 5:
        std::swap(file[at], file[own.below(7, file.size())]);
        break;
      case 6:
        file.resize(at);
        break;
    }
  }
  return file;
}

// Mutations: only files that are too short refused, not those that are too long; the end of the
// header not looked for behind its dictionary; punctuation skipped where it is not there.
TEST(NpyLaws, ADamagedFileIsRefusedOrTheArrayItSaysItIs) {
  const TemporaryFolder folder;
  std::size_t read = 0, refused = 0;
  for (std::uint64_t i = 0; i < 6'000; ++i) {
    const Rng rng = Rng(13).split("file", i);
    const std::string file = damaged(valid_file(rng.split("valid"), folder), rng);
    // A file of its own for each: to write over one again and again is slow on some disks.
    const std::string path = folder.file(fmt::format("{}.npy", i), file);
    std::optional<Array<double>> array;
    try {
      array = read_npy(path);
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::data) << error.what();
    }
    const std::optional<Array<double>> expected = reference(file);
    SCOPED_TRACE(testing::Message() << "case " << i << ": " << file.substr(0, 120));
    if (expected) {
      ASSERT_TRUE(array.has_value());
      ASSERT_TRUE(same(*array, *expected));
    } else if (array) {
      // Values of another type than <f8 are read in other ways; their number still fits.
      std::size_t values = 1;
      for (std::size_t size : array->shape) values *= size;
      ASSERT_EQ(array->values.size(), values);
      ASSERT_EQ(file.find("<f8"), std::string::npos);
    }
    ++(array ? read : refused);
  }
  EXPECT_GT(read, 200u);
  EXPECT_GT(refused, 3'000u);
}

}  // namespace
}  // namespace stap
