#include "stap/data/npy.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

#include "stap/core/error.h"
#include "support/contains.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using test::contains;
using test::content;
using test::error_text;
using test::TemporaryFolder;
using Sizes = std::vector<std::size_t>;
using Values = std::vector<double>;

std::string golden(const std::string& name) {
  return std::string(STAP_TEST_GOLDEN_DIR "/npy/") + name;
}

// A file by the format's description: magic, version, length of the header, header, bytes.
std::string npy(const std::string& header, const std::string& bytes, char major = 1) {
  std::string file = "\x93NUMPY";
  file += major;
  file += '\0';
  std::size_t length = header.size();
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i, length /= 256)
    file += static_cast<char>(length % 256);
  return file + header + bytes;
}

template <class T>
std::string bytes_of(std::initializer_list<T> values) {
  std::string bytes;
  for (T value : values) bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  return bytes;
}

std::string plain(const std::string& type, const std::string& shape) {
  return "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
}

class Npy : public ::testing::Test {
 protected:
  Array<double> read(const std::string& bytes, std::size_t most = 0) const {
    return read_npy(folder_.file("a.npy", bytes), most);
  }
  std::string refusal(const std::string& bytes, std::size_t most = 0) const {
    std::string text = error_text(ErrorKind::data, [&] { read(bytes, most); });
    EXPECT_TRUE(contains(text, "a.npy"));
    return text;
  }
  TemporaryFolder folder_;
};

// Expected values are those given to numpy.save in tests/golden/data/npy/make.py.
TEST_F(Npy, ReadsWhatNumPyWrote) {
  const double infinity = std::numeric_limits<double>::infinity();

  const Array<double> doubles = read_npy(golden("f8_2x3.npy"));
  EXPECT_EQ(doubles.shape, (Sizes{2, 3}));
  EXPECT_EQ(doubles.values, (Values{0.1, -2.5, 1e300, 5e-324, 0.0, 1.0 / 3.0}));
  const Array<double> single = read_npy(golden("f4_1x2x1x2.npy"));
  EXPECT_EQ(single.shape, (Sizes{1, 2, 1, 2}));
  EXPECT_EQ(single.values, (Values{double{0.1f}, -1.5, 16777216.0, infinity}));
  const Array<double> halves = read_npy(golden("f2_6.npy"));
  EXPECT_EQ(halves.values,
            (Values{1.0, -2.0, 65504.0, std::ldexp(1.0, -24), -infinity, std::ldexp(1.0, -14)}));
  EXPECT_EQ(read_npy(golden("i8_3.npy")).values, (Values{-9007199254740992.0, 0.0, 7.0}));
  EXPECT_EQ(read_npy(golden("i2_2x2.npy")).values, (Values{-32768.0, 1.0, 2.0, 32767.0}));
  EXPECT_EQ(read_npy(golden("u1_4.npy")).values, (Values{0.0, 1.0, 128.0, 255.0}));
  EXPECT_EQ(read_npy(golden("b1_3.npy")).values, (Values{1.0, 0.0, 1.0}));
  const Array<double> scalar = read_npy(golden("f8_scalar.npy"));
  EXPECT_EQ(scalar.shape, Sizes{});
  EXPECT_EQ(scalar.values, Values{42.0});
  const Array<double> none = read_npy(golden("f8_0x4.npy"));
  EXPECT_EQ(none.shape, (Sizes{0, 4}));
  EXPECT_EQ(none.values, Values{});
  EXPECT_EQ(read_npy(golden("f8_version2_2.npy")).values, (Values{1.0, 2.0}));
  EXPECT_EQ(read_npy(golden("f8_version3_2.npy")).values, (Values{1.0, 2.0}));
}

TEST_F(Npy, RefusesWhatNumPyWroteInOtherWays) {
  const auto refused = [](const char* name) {
    return error_text(ErrorKind::data, [&] { read_npy(golden(name)); });
  };

  EXPECT_TRUE(contains(refused("fortran_2x3.npy"), "Fortran order"));
  EXPECT_TRUE(contains(refused("big_endian_2.npy"), "big-endian"));
  EXPECT_TRUE(contains(refused("complex_2.npy"), "'<c16', expected real numbers"));
  EXPECT_TRUE(contains(refused("structured_2.npy"), "structured array"));
  EXPECT_TRUE(contains(refused("object_1.npy"), "Python objects"));
  EXPECT_TRUE(contains(refused("text_2.npy"), "'<U2'"));
}

TEST_F(Npy, WritesTheBytesNumPyWrites) {
  const Sizes shape{2, 3};
  const Values values{0.1, -2.5, 1e300, 5e-324, 0.0, 1.0 / 3.0};
  for (bool aside : {true, false}) {
    write_npy(folder_.path("b.npy"), shape, values, aside);
    EXPECT_EQ(content(folder_.path("b.npy")), content(golden("f8_2x3.npy")));
  }
  write_npy(folder_.path("b.npy"), Sizes{}, Values{42.0});
  EXPECT_EQ(content(folder_.path("b.npy")), content(golden("f8_scalar.npy")));
  write_npy(folder_.path("b.npy"), Sizes{3},
            std::vector<std::int64_t>{-(std::int64_t{1} << 53), 0, 7});
  EXPECT_EQ(content(folder_.path("b.npy")), content(golden("i8_3.npy")));
  write_npy_booleans(folder_.path("b.npy"), Sizes{3}, std::vector<std::uint8_t>{1, 0, 1});
  EXPECT_EQ(content(folder_.path("b.npy")), content(golden("b1_3.npy")));
  EXPECT_EQ(folder_.entries(), 1u);
}

TEST_F(Npy, ComesBackBitByBit) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Values values{nan, -0.0, std::numeric_limits<double>::denorm_min(), -nan};
  const std::vector<Sizes> shapes{{4}, {2, 2}, {1, 4, 1, 1, 1}, Sizes(32, 1)};
  for (const Sizes& shape : shapes) {
    const std::size_t count = shape.size() == 32 ? 1 : 4;

    write_npy(folder_.path("b.npy"), shape, std::span(values).first(count));

    const Array<double> back = read_npy(folder_.path("b.npy"));
    EXPECT_EQ(back.shape, shape);
    EXPECT_EQ(std::memcmp(back.values.data(), values.data(), count * sizeof(double)), 0);
    const std::string bytes = content(folder_.path("b.npy"));
    EXPECT_EQ((bytes.size() - count * sizeof(double)) % 64, 0u) << "values are not aligned";
  }
}

// More values than are converted at a time, and one more.
TEST_F(Npy, ReadsArraysOfManyPieces) {
  const std::size_t n = (std::size_t{1} << 17) + 1;
  std::string bytes(n * sizeof(float), '\0');
  for (std::size_t i = 0; i < n; ++i) {
    const auto value = static_cast<float>(i);
    std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
  }

  const Array<double> array = read(npy(plain("<f4", "(131073,)"), bytes));

  Values expected(n);
  std::iota(expected.begin(), expected.end(), 0.0);
  EXPECT_EQ(array.values, expected);
}

TEST_F(Npy, TakesTheHeaderInAnyOrderAndSpacing) {
  const std::string bytes = bytes_of({1.0, 2.0});
  for (const char* header :
       {"{\"shape\":(2,),\"descr\":\"<f8\",\"fortran_order\":False}",
        "{ 'fortran_order' : False ,\n 'shape' : ( 2 , 1 ) , 'descr' : '<f8' , }  \n"})
    EXPECT_EQ(read(npy(header, bytes)).values, (Values{1.0, 2.0})) << header;
  EXPECT_EQ(read(npy(plain("<u8", "(2,)"), bytes_of<std::uint64_t>({1, 1ull << 63}))).values,
            (Values{1.0, 9223372036854775808.0}));
}

TEST_F(Npy, RefusesHeadersThatAreNotPlain) {
  const std::string bytes = bytes_of({1.0, 2.0});
  for (const char* header :
       {"",
        "{",
        "{}",
        "{'descr': '<f8', 'fortran_order': False}",
        "('descr', '<f8')",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': [2]}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2.0,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (0x2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': (2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'more': 1}",
        "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)} x",
        "{'descr': '<f8' 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f8, 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '\\x3cf8', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': __import__('os').name, 'fortran_order': False, 'shape': (2,)}"})
    EXPECT_TRUE(contains(refusal(npy(header, bytes)), "damaged header")) << header;
  for (const char* type : {"<f16", "f8", "=f8", "", "<", "|f8", "<i3", "<m8[s]", "|S8", "|V8"})
    EXPECT_TRUE(contains(refusal(npy(plain(type, "(2,)"), bytes)), "expected real numbers"))
        << type;
  EXPECT_TRUE(
      contains(refusal(npy(plain("|b1", "(3,)"), std::string("\0\1\2", 3))), "2 as a boolean"));
}

TEST_F(Npy, RefusesFilesOfAnotherLengthThanTheySay) {
  const std::string bytes = bytes_of({1.0, 2.0});
  const std::string whole = npy(plain("<f8", "(2,)"), bytes);

  EXPECT_TRUE(contains(refusal(npy(plain("<f8", "(3,)"), bytes)),
                       "is cut short: 3 values of type '<f8' take 24 bytes, but 16 are there"));
  EXPECT_TRUE(contains(refusal(npy(plain("<f8", "(1,)"), bytes)), "has more behind its array"));
  EXPECT_TRUE(contains(refusal(whole + "x"), "has more behind its array"));
  for (std::size_t length = 0; length < whole.size(); ++length) refusal(whole.substr(0, length));
}

// Nothing is allocated for sizes that the file cannot have.
TEST_F(Npy, RefusesImpossibleSizes) {
  for (const char* shape : {"(1152921504606846976, 16)", "(4611686018427387904, 4)",
                            "(18446744073709551615, 2)", "(2305843009213693952,)"})
    EXPECT_TRUE(contains(refusal(npy(plain("<f8", shape), "12345678")), "impossible shape"));
  EXPECT_TRUE(contains(refusal(npy(plain("<f8", "(1099511627776,)"), "12345678")), "cut short"));
  std::string many = "(";
  for (int i = 0; i < 33; ++i) many += "1, ";
  refusal(npy(plain("<f8", many + ")"), "12345678"));
  std::string long_header = npy(plain("<f8", "(1,)") + std::string(100'000, ' '), "12345678", 2);
  EXPECT_TRUE(contains(refusal(long_header), "header of"));
  std::string longest = npy(plain("<f8", "(1,)"), "12345678", 2);
  std::memset(longest.data() + 8, 0xff, 4);
  EXPECT_TRUE(contains(refusal(longest), "within its header"));
}

TEST_F(Npy, RefusesMoreValuesThanAreAllowed) {
  const std::string four = npy(plain("|u1", "(2, 2)"), "abcd");

  EXPECT_EQ(read(four, 4).values.size(), 4u);
  EXPECT_TRUE(contains(refusal(four, 3), "holds 4 values (2 x 2), expected at most 3"));
}

TEST_F(Npy, RefusesOtherVersionsAndOtherFiles) {
  EXPECT_TRUE(contains(refusal(npy(plain("<f8", "(1,)"), "12345678", 4)), "version 4.0"));
  EXPECT_TRUE(contains(refusal("\x89HDF\r\n\x1a\n and more of it"), "not a .npy file"));
  EXPECT_TRUE(contains(refusal(""), "too short"));
  const auto text = [&](const std::string& path) {
    return error_text(ErrorKind::data, [&] { read_npy(path); });
  };
  EXPECT_TRUE(contains(text(folder_.path("nothing.npy")), "no such file"));
  EXPECT_TRUE(contains(text(folder_.path()), "is not a file"));
  ASSERT_EQ(mkfifo(folder_.path("pipe.npy").c_str(), 0600), 0);
  EXPECT_TRUE(contains(text(folder_.path("pipe.npy")), "is not a file"));
}

TEST_F(Npy, SaysWhereItCannotWrite) {
  const Values values{1.0};
  for (bool aside : {true, false})
    EXPECT_TRUE(
        contains(error_text(ErrorKind::storage,
                            [&] { write_npy(folder_.path("no/b.npy"), Sizes{1}, values, aside); }),
                 "no/b.npy"));
  error_text(ErrorKind::internal, [&] { write_npy(folder_.path("b.npy"), Sizes{2}, values); });
  EXPECT_EQ(folder_.entries(), 0u);
}

}  // namespace
}  // namespace stap
