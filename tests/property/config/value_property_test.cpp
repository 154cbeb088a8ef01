#include "stap/config/value.h"

#include <gtest/gtest.h>

#include <bit>
#include <utility>

#include "stap/config/complaints.h"
#include "stap/core/error.h"

#ifdef STAP_HAS_RAPIDCHECK
#include <rapidcheck.h>
#endif

namespace stap::config {
namespace {

#ifdef STAP_HAS_RAPIDCHECK

/// One of the words, or any number of them in a row.
rc::Gen<std::string> joined(const std::vector<std::string>& words) {
  const auto word = rc::gen::elementOf(words);
  const auto row = rc::gen::map(rc::gen::container<std::vector<std::string>>(word),
                                [](const std::vector<std::string>& parts) {
                                  std::string text;
                                  for (const std::string& part : parts) text += part;
                                  return text;
                                });
  return rc::gen::oneOf(word, row);
}

/// Text in UTF-8 made of what is awkward in YAML.
rc::Gen<std::string> any_text() {
  return joined({"\n",
                 "\t",
                 "\r",
                 " ",
                 ":",
                 ": ",
                 " #",
                 "-",
                 "- ",
                 "?",
                 "\"",
                 "'",
                 "\\",
                 "{",
                 "]",
                 ",",
                 "&",
                 "*",
                 "!",
                 "|",
                 ">",
                 "%",
                 "@",
                 "`",
                 "~",
                 "null",
                 "true",
                 "1",
                 "1e3",
                 ".inf",
                 "0x1",
                 "---",
                 "\x01",
                 "\x7f",
                 "\u0085",
                 "\u00e9",
                 "\u2028",
                 "\ufeff",
                 "\U0001f600",
                 "a",
                 "Z",
                 "_",
                 std::string(1, '\0')});
}

/// Bytes that get far into a YAML parser.
rc::Gen<std::string> yaml_like() {
  return joined({"a",      "b",           "1",          ": ",   ":",      "\n",     "\n  ",
                 "\n ",    "- ",          "-",          "[",    "]",      "{",      "}",
                 ", ",     "? ",          "\"",         "'",    "\\",     "|",      ">",
                 "|2-\n",  "#",           " # ",        "&a ",  "*a",     "!t ",    "!<x> ",
                 "!!str ", "%YAML 1.2\n", "%TAG ! x\n", "---",  "--- ",   "...",    "\n...\n",
                 "\t",     "~",           "<<",         "\r\n", "\u00e9", "\ufeff", "\u0085"});
}

rc::Gen<Value> any_value(int depth) {
  const auto scalar = rc::gen::oneOf(
      rc::gen::just(Value()),
      rc::gen::map(rc::gen::arbitrary<bool>(), [](bool x) { return Value(x); }),
      rc::gen::map(rc::gen::arbitrary<std::int64_t>(), [](std::int64_t x) { return Value(x); }),
      rc::gen::map(rc::gen::arbitrary<std::uint64_t>(), [](std::uint64_t x) { return Value(x); }),
      // Any bit pattern: denormals, infinities and NaN too.
      rc::gen::map(rc::gen::arbitrary<std::uint64_t>(),
                   [](std::uint64_t x) { return Value(std::bit_cast<double>(x)); }),
      rc::gen::map(rc::gen::inRange(-1000, 1000), [](int x) { return Value(x / 8.0); }),
      rc::gen::map(any_text(), [](std::string x) { return Value(std::move(x)); }));
  if (depth == 0) return scalar;
  const auto item = any_value(depth - 1);
  const auto list = rc::gen::map(rc::gen::scale(0.1, rc::gen::container<std::vector<Value>>(item)),
                                 [](std::vector<Value> items) { return Value(std::move(items)); });
  const auto map = rc::gen::map(
      rc::gen::scale(0.1, rc::gen::container<std::vector<std::pair<std::string, Value>>>(
                              rc::gen::pair(any_text(), item))),
      [](const std::vector<std::pair<std::string, Value>>& members) {
        Value result{Value::Map{}};
        for (const auto& [key, value] : members) result.set(key, value);
        return result;
      });
  return rc::gen::oneOf(scalar, list, map);
}

// Broken by: a text that is printed without quotes though it reads as a number, a real printed
// without point, an escape left out, a nested list printed at its parent's depth.
TEST(ValueProperty, PrintedYamlReadsBackEqual) {
  EXPECT_TRUE(rc::check([] {
    const Value value(*rc::gen::container<Value::List>(20, any_value(2)));

    const Value back = parse_yaml(yaml_text(value), "printed");

    RC_ASSERT(back == value);
  }));
}

// Broken by: an exception of yaml-cpp or of our own conversions that is let through, or a crash.
TEST(ValueProperty, AnyBytesParseOrThrowError) {
  EXPECT_TRUE(rc::check([] {
    const auto bytes = *rc::gen::oneOf(rc::gen::arbitrary<std::string>(), any_text(), yaml_like());

    try {
      // What parses can be printed and read again.
      const Value value = parse_yaml(bytes, "bytes");
      RC_ASSERT(parse_yaml(yaml_text(value), "printed") == value);
    } catch (const Error& error) {
      RC_ASSERT(error.kind() == ErrorKind::config);
    }
  }));
}

// Broken by: splitting at the wrong '=' or '.', or setting another key than the one named.
TEST(ValueProperty, AnOverrideSetsItsKeyAndNothingElse) {
  EXPECT_TRUE(rc::check([] {
    const Value value = *any_value(2);
    Value document = parse_yaml("{a: {b: 1, c: 2}, d: 3}", "base");
    std::string text = yaml_text(value);

    apply_override(document,
                   "a.b=" + std::string(value.is_map() || value.is_list() ? "\n" : "") + text);

    RC_ASSERT(*document.find("a")->find("b") == value);
    RC_ASSERT(*document.find("a")->find("c") == Value(2));
    RC_ASSERT(*document.find("d") == Value(3));
  }));
}

// Broken by: counting a swap of neighbours as two edits, or a bound that forgets short words.
TEST(SuggestProperty, OneEditIsAlwaysFound) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<std::string> known{"learning_rate", "points", "viscosity", "batch"};
    const std::string word = *rc::gen::elementOf(known);
    std::string typed = word;
    const auto at = *rc::gen::inRange<std::size_t>(0, word.size() - 1);
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        typed.erase(at, 1);
        break;
      case 1:
        typed.insert(at, "x");
        break;
      case 2:
        typed[at] = 'x';
        break;
      default:
        std::swap(typed[at], typed[at + 1]);
    }

    RC_ASSERT(suggest(typed, known) == word);
  }));
}

#else

TEST(ValueProperty, NeedsRapidCheck) {
  GTEST_SKIP() << "RapidCheck is not installed";
}

#endif

}  // namespace
}  // namespace stap::config
