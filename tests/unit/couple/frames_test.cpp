#include "couple/frames.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "couple/frame_reader.h"
#include "reference/crc32c.h"
#include "stap/core/rng.h"
#include "support/contains.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using Bytes = std::vector<std::byte>;

// The protocol once more, from its description (docs/internals/worker-protocol.md), number by
// number.
class Builder {
 public:
  Builder& number(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
    return *this;
  }
  Builder& real(double value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return number(bits, 8);
  }
  Builder& letters(const std::string& text) {
    for (char c : text) bytes_.push_back(static_cast<std::byte>(c));
    return *this;
  }
  Builder& text(const std::string& text) { return number(text.size(), 4).letters(text); }
  Builder& append(const Bytes& bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
};

Bytes framed(FrameType type, std::uint64_t id, const Bytes& payload) {
  return Builder()
      .letters("STAP")
      .number(1, 2)
      .number(static_cast<std::uint64_t>(type), 2)
      .number(id, 8)
      .number(payload.size(), 8)
      .number(test::crc32c_slow(payload), 4)
      .number(0, 4)
      .append(payload)
      .bytes();
}

Outline small_outline() {
  Outline outline;
  outline.name = "heat";
  outline.grid = make_grid(2, {3}, {6.0});
  outline.channels = {"u", "velocity"};
  outline.dt = 0.25;
  outline.parameters = {{"D", 0.5}, {"k", -1.0}};
  return outline;
}

Bytes hello_payload() {
  return Builder().number(1, 4).number(4, 4).real(2.5).text("secret").text("my solver").bytes();
}

Bytes states_payload(std::uint64_t made, std::uint64_t values, double first = 1.0) {
  Builder builder;
  builder.number(made, 8).number(values, 8);
  for (std::uint64_t i = 0; i < made * values; ++i) builder.real(first + static_cast<double>(i));
  return builder.bytes();
}

Bytes failed_payload(std::uint64_t made, std::uint64_t values, bool retry,
                     const std::string& text) {
  Builder builder;
  builder.number(made, 8).number(values, 8).number(retry, 8);
  for (std::uint64_t i = 0; i < made * values; ++i) builder.real(0.5);
  return builder.text(text).bytes();
}

// Gives the reader so much of the bytes as it wants; how much that was.
std::size_t feed(FrameReader& reader, std::span<const std::byte> bytes,
                 std::size_t at_once = std::numeric_limits<std::size_t>::max()) {
  std::size_t done = 0;
  while (done < bytes.size() && !reader.room().empty()) {
    const auto room = reader.room();
    const std::size_t n = std::min({room.size(), bytes.size() - done, at_once});
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(done), n, room.begin());
    reader.put(n);
    done += n;
  }
  return done;
}

std::string flaw_of(const Bytes& bytes, std::vector<Expected> expected) {
  FrameReader reader;
  reader.expect(std::move(expected));
  feed(reader, bytes);
  EXPECT_FALSE(reader.take());
  EXPECT_TRUE(reader.flaw().empty() || reader.room().empty());
  return reader.flaw();
}

const std::vector<Expected> kHello{{FrameType::hello, 100, {}}};

TEST(Frames, SetupIsAsDescribed) {
  const Bytes payload = Builder()
                            .number(1, 4)
                            .number(2, 4)
                            .number(2, 4)
                            .number(7, 4)
                            .real(0.25)
                            .number(3, 8)
                            .real(6.0)
                            .real(0.5)
                            .real(-1.0)
                            .text("heat")
                            .text("u")
                            .text("velocity")
                            .text("D")
                            .text("k")
                            .bytes();

  EXPECT_EQ(setup_frame(small_outline(), 7), framed(FrameType::setup, 0, payload));
}

TEST(Frames, QueryIsAsDescribed) {
  Query query;
  query.state = {1, 2, 3, 4, 5, -0.0};
  query.time = 1.5;
  query.steps = 3;
  Builder builder;
  builder.real(1.5).real(0.25).number(3, 8).number(2, 8).number(6, 8).real(0.5).real(-1.0);
  for (double value : query.state) builder.real(value);

  EXPECT_EQ(query_frame(41, query, small_outline()), framed(FrameType::query, 41, builder.bytes()));
}

TEST(Frames, ThatVaryAreTheQuerysOwnParameters) {
  Query query;
  query.state.assign(6, 0.0);
  query.params = {9.0};
  Outline outline = small_outline();
  outline.parameters[1].varies = true;

  const Bytes bytes = query_frame(1, query, outline);

  const Bytes wanted = Builder().real(0.5).real(9.0).bytes();
  EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), bytes.begin() + kFrameHeader + 40));
}

TEST(Frames, EndIsAsDescribed) {
  EXPECT_EQ(frame_bytes({FrameType::end, 0, {}}), framed(FrameType::end, 0, {}));
}

TEST(Frames, ComeWholeFromPiecesOfAnySize) {
  const Bytes hello = framed(FrameType::hello, 0, hello_payload());
  const Bytes stream = Builder().append(hello).append(framed(FrameType::heartbeat, 9, {})).bytes();
  for (std::size_t at_once : {1, 2, 3, 5, 31, 32, 33, 1000}) {
    FrameReader reader;
    reader.expect({{FrameType::hello, 100, {}}, {FrameType::heartbeat, 0, {}}});

    std::size_t done = feed(reader, stream, at_once);
    const auto first = reader.take();
    done += feed(reader, std::span(stream).subspan(done), at_once);
    const auto second = reader.take();

    ASSERT_TRUE(first && second) << at_once << ": " << reader.flaw();
    EXPECT_EQ(done, stream.size());
    EXPECT_EQ(first->type, FrameType::hello);
    EXPECT_EQ(first->payload, hello_payload());
    EXPECT_EQ(second->type, FrameType::heartbeat);
    EXPECT_EQ(second->id, 9U);
    EXPECT_FALSE(reader.within_frame());
  }
}

TEST(Frames, StreamMayEndBetweenFramesOnly) {
  const Bytes hello = framed(FrameType::hello, 0, hello_payload());
  for (std::size_t cut = 1; cut < hello.size(); ++cut) {
    FrameReader reader;
    reader.expect(kHello);

    feed(reader, std::span(hello).first(cut));

    EXPECT_TRUE(reader.within_frame()) << cut;
    EXPECT_FALSE(reader.take()) << cut;
    EXPECT_EQ(reader.flaw(), "") << cut;
  }
}

TEST(Frames, PrintedWordsAreShown) {
  const std::string flaw = flaw_of(Builder().letters("Step 1 of\t10\n").bytes(), kHello);

  EXPECT_TRUE(test::contains(flaw, "sent 'Step 1 of 10' where a frame should begin")) << flaw;
  EXPECT_TRUE(test::contains(flaw, "print to stdout")) << flaw;
}

TEST(Frames, OneWrongLetterIsEnough) {
  // A program that prints 'S' and waits is not caught, one that goes on differently is.
  EXPECT_EQ(flaw_of(Builder().letters("ST").bytes(), kHello), "");
  EXPECT_TRUE(test::contains(flaw_of(Builder().letters("STa").bytes(), kHello), "'STa'"));
}

TEST(Frames, FlawsOfHeadersAreNamed) {
  const Bytes good = framed(FrameType::hello, 0, hello_payload());
  const auto with = [&](std::size_t place, int value) {
    Bytes bytes = good;
    bytes[place] = static_cast<std::byte>(value);
    return flaw_of(bytes, kHello);
  };

  EXPECT_TRUE(test::contains(with(4, 2), "speaks version 2 of the worker protocol, expected 1"));
  EXPECT_TRUE(test::contains(with(6, 0), "unknown type 0"));
  EXPECT_TRUE(test::contains(with(6, 9), "unknown type 9"));
  EXPECT_TRUE(test::contains(with(6, 5), "sent an answer out of turn, expected: hello"));
  EXPECT_TRUE(test::contains(with(28, 1), "last bytes are not 0"));
  EXPECT_TRUE(test::contains(with(24, std::to_integer<int>(good[24]) ^ 1), "checksum"));
  EXPECT_TRUE(test::contains(with(40, 77), "checksum"));
}

TEST(Frames, AnswersToAnotherQueryAreNamed) {
  const std::vector<Expected> expected{{FrameType::answer, 1000, 5}};

  EXPECT_EQ(flaw_of(framed(FrameType::answer, 4, states_payload(1, 6)), expected),
            "sent an answer to query 4, but 5 was asked (one answer too many?)");
  EXPECT_EQ(flaw_of(framed(FrameType::answer, 6, states_payload(1, 6)), expected),
            "sent an answer to query 6, but 5 was asked");
}

TEST(Frames, NothingIsAllocatedForWhatIsTooLarge) {
  for (std::uint64_t announced : {std::uint64_t{101}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    const Bytes header = Builder()
                             .letters("STAP")
                             .number(1, 2)
                             .number(1, 2)
                             .number(0, 8)
                             .number(announced, 8)
                             .number(0, 8)
                             .bytes();
    FrameReader reader;
    reader.expect(kHello);

    feed(reader, header);

    EXPECT_EQ(reader.flaw(),
              "announced a hello of " + std::to_string(announced) + " bytes, expected at most 100");
    EXPECT_TRUE(reader.room().empty());
  }
}

TEST(Frames, HelloIsRead) {
  Hello hello;

  EXPECT_EQ(read_hello(hello_payload(), hello), "");
  EXPECT_EQ(hello.protocol, 1U);
  EXPECT_EQ(hello.steps_most, 4U);
  EXPECT_EQ(hello.heartbeat, 2.5);
  EXPECT_EQ(hello.token, "secret");
  EXPECT_EQ(hello.name, "my solver");
}

TEST(Frames, BrokenHelloIsNot) {
  Hello hello;
  const Bytes good = hello_payload();
  for (std::size_t cut = 0; cut < good.size(); ++cut)
    EXPECT_NE(read_hello(std::span(good).first(cut), hello), "") << cut;
  Bytes longer = good;
  longer.push_back({});
  EXPECT_NE(read_hello(longer, hello), "");
  for (double heartbeat : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    const Bytes payload =
        Builder().number(1, 4).number(0, 4).real(heartbeat).text("").text("").bytes();
    EXPECT_NE(read_hello(payload, hello), "") << heartbeat;
  }
  const Bytes newer = Builder().number(2, 4).number(0, 4).real(0).text("").text("").bytes();
  EXPECT_EQ(read_hello(newer, hello), "speaks version 2 of the worker protocol, expected 1");
}

TEST(Frames, ReadySaysForWhichSize) {
  const Grid grid = small_outline().grid;

  EXPECT_EQ(read_ready(Builder().number(6, 8).bytes(), grid), "");
  EXPECT_EQ(read_ready(Builder().number(64, 8).bytes(), grid),
            "is ready for states of 64 values, expected 6 (2 x 3)");
  EXPECT_NE(read_ready(Builder().number(6, 4).bytes(), grid), "");
}

TEST(Frames, AnswerIsReadIfItsSizeIsRight) {
  const Grid grid = small_outline().grid;
  std::vector<double> states;

  EXPECT_EQ(read_answer(states_payload(2, 6), grid, 2, states), "");
  EXPECT_EQ(states, (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(states_payload(2, 6).size(), answer_most(grid, 2));

  EXPECT_EQ(read_answer(states_payload(1, 6), grid, 2, states),
            "answered with 1 state of 6 values, expected 2 states of 2 x 3");
  EXPECT_EQ(read_answer(states_payload(2, 3), grid, 2, states),
            "answered with 2 states of 3 values, expected 2 states of 2 x 3");
  Bytes cut = states_payload(2, 6);
  cut.pop_back();
  EXPECT_NE(read_answer(cut, grid, 2, states), "");
  // Counts whose product wraps around to the right size.
  const Bytes wrapped = Builder().number(1ULL << 63, 8).number(12, 8).bytes();
  EXPECT_NE(read_answer(wrapped, grid, 2, states), "");
}

TEST(Frames, ExampleOfTheDocumentIsRight) {
  const std::string page = test::content(STAP_TEST_SOURCE_DIR "/docs/internals/worker-protocol.md");
  std::istringstream digits(page.substr(page.find("53 54 41 50 01")));
  Bytes bytes;
  for (std::string pair; digits >> pair && pair != "```";)
    bytes.push_back(static_cast<std::byte>(std::stoi(pair, nullptr, 16)));
  FrameReader reader;
  reader.expect({{FrameType::answer, 1000, 3}});
  std::vector<double> states;

  EXPECT_EQ(feed(reader, bytes), 64U);
  const auto frame = reader.take();

  ASSERT_TRUE(frame) << reader.flaw();
  EXPECT_EQ(read_answer(frame->payload, make_grid(1, {2}, {1.0}), 1, states), "");
  EXPECT_EQ(states, (std::vector<double>{1.0, 2.0}));
}

TEST(Frames, FailureKeepsTheStatesBeforeIt) {
  const Grid grid = small_outline().grid;
  WorkerFailure failure;

  EXPECT_EQ(read_failed(failed_payload(1, 6, true, "no licence"), grid, 2, failure), "");
  EXPECT_EQ(failure.states, std::vector<double>(6, 0.5));
  EXPECT_TRUE(failure.retry);
  EXPECT_EQ(failure.text, "no licence");
  EXPECT_EQ(read_failed(failed_payload(0, 0, false, ""), grid, 0, failure), "");
  EXPECT_TRUE(failure.states.empty());
  EXPECT_FALSE(failure.retry);

  EXPECT_NE(read_failed(failed_payload(2, 6, false, "x"), grid, 2, failure), "");  // all were made
  EXPECT_NE(read_failed(failed_payload(1, 5, false, "x"), grid, 2, failure), "");
  const Bytes wrapped = Builder().number(1ULL << 61, 8).number(6, 8).number(0, 8).text("").bytes();
  EXPECT_NE(read_failed(wrapped, grid, 2, failure), "");
  EXPECT_NE(read_failed(failed_payload(0, 6, false, std::string(kWorkerTextMost + 1, 'x')), grid, 2,
                        failure),
            "");
}

TEST(Frames, TextOfOthersIsOneLineOfUtf8) {
  const auto plain = [](const std::string& text) {
    return plain_text(std::as_bytes(std::span(text)));
  };

  EXPECT_EQ(plain("  two\nlines\r\n"), "two lines");
  EXPECT_EQ(plain("\x1b[31mred\x7f"), "?[31mred?");
  EXPECT_EQ(plain("Schrödinger, ∂ₜu, 𝛼"), "Schrödinger, ∂ₜu, 𝛼");
  EXPECT_EQ(plain("\xc3"), "?");                 // cut short
  EXPECT_EQ(plain("\xc0\xaf"), "??");            // '/' in two bytes
  EXPECT_EQ(plain("\xed\xa0\x80"), "???");       // half of a pair of UTF-16
  EXPECT_EQ(plain("\xf4\x90\x80\x80"), "????");  // beyond the last character
  EXPECT_EQ(plain("\xc2\x85"), "??");            // a control character
}

// --- damaged streams -----------------------------------------------------------------------------

// What a slot does with a stream: hello, ready, an answer of two states to query 1 and one to query
// 2, a failure of query 3 behind one state; heartbeats in between.
struct Conversation {
  std::vector<Bytes> content{};  // payloads that were believed
  std::string flaw{};
  bool ended_early = false;
};

Conversation listen(std::span<const std::byte> stream) {
  const Grid grid = small_outline().grid;
  const std::vector<std::vector<Expected>> turns{
      {{FrameType::hello, hello_most(), {}}},
      {{FrameType::ready, 8, 0}, {FrameType::heartbeat, 0, {}}},
      {{FrameType::answer, answer_most(grid, 2), 1}, {FrameType::heartbeat, 0, {}}},
      {{FrameType::answer, answer_most(grid, 2), 2}, {FrameType::heartbeat, 0, {}}},
      {{FrameType::failed, failed_most(grid, 2), 3}, {FrameType::heartbeat, 0, {}}},
      {{FrameType::heartbeat, 0, {}}}};
  Conversation heard;
  FrameReader reader;
  Hello hello;
  std::vector<double> states;
  WorkerFailure failure;
  for (std::size_t turn = 0; turn < turns.size();) {
    reader.expect(turns[turn]);
    while (!stream.empty() && !reader.room().empty()) {
      // Never more room than the largest frame that is expected.
      EXPECT_LE(reader.room().size(), hello_most());
      const std::size_t n = feed(reader, stream, 7);
      stream = stream.subspan(n);
    }
    const auto frame = reader.take();
    if (!frame) {
      heard.flaw = reader.flaw();
      heard.ended_early = heard.flaw.empty() && (turn + 1 < turns.size() || reader.within_frame());
      return heard;
    }
    if (frame->type == FrameType::heartbeat) continue;
    heard.flaw = turn == 0   ? read_hello(frame->payload, hello)
                 : turn == 1 ? read_ready(frame->payload, grid)
                 : turn <= 3 ? read_answer(frame->payload, grid, 2, states)
                             : read_failed(frame->payload, grid, 2, failure);
    if (!heard.flaw.empty()) return heard;
    heard.content.push_back(frame->payload);
    ++turn;
  }
  return heard;
}

std::vector<Bytes> good_frames() {
  return {framed(FrameType::hello, 0, hello_payload()),
          framed(FrameType::ready, 0, Builder().number(6, 8).bytes()),
          framed(FrameType::heartbeat, 0, {}),
          framed(FrameType::answer, 1, states_payload(2, 6)),
          framed(FrameType::answer, 2, states_payload(2, 6, 100.0)),
          framed(FrameType::failed, 3, failed_payload(1, 6, true, "diverged"))};
}

Bytes joined(const std::vector<Bytes>& frames) {
  Builder builder;
  for (const Bytes& frame : frames) builder.append(frame);
  return builder.bytes();
}

// One draw after the other.
class Draws {
 public:
  explicit Draws(Rng rng) : rng_(rng) {}
  std::uint64_t below(std::uint64_t n) { return rng_.below(drawn_++, n); }

 private:
  Rng rng_;
  std::uint64_t drawn_ = 0;
};

// Any number of changes of every kind: bits, bytes, pieces cut out, repeated or put in, whole
// frames lost, repeated or exchanged, and headers with other fields but a right checksum.
Bytes damaged(Draws rng) {
  std::vector<Bytes> frames = good_frames();
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(rng.below(n)); };
  const auto at = [](std::size_t i) { return static_cast<std::ptrdiff_t>(i); };
  const std::size_t changes = 1 + below(3);
  for (std::size_t change = 0; change < changes; ++change) {
    if (frames.empty()) break;
    const std::size_t which = below(frames.size());
    Bytes& frame = frames[which];
    switch (below(9)) {
      case 0:
        if (!frame.empty()) frame[below(frame.size())] ^= static_cast<std::byte>(1U << below(8));
        break;
      case 1:
        if (!frame.empty()) frame[below(frame.size())] = static_cast<std::byte>(below(256));
        break;
      case 2:
        frame.resize(below(frame.size() + 1));
        break;
      case 3: {
        const std::size_t from = below(frame.size() + 1);
        frame.erase(frame.begin() + at(from),
                    frame.begin() + at(from + below(frame.size() + 1 - from)));
        break;
      }
      case 4: {
        Bytes more(1 + below(40));
        for (std::byte& b : more) b = static_cast<std::byte>(below(256));
        frame.insert(frame.begin() + at(below(frame.size() + 1)), more.begin(), more.end());
        break;
      }
      case 5:
        frames.erase(frames.begin() + at(which));
        break;
      case 6: {
        const Bytes copy = frame;
        frames.insert(frames.begin() + at(below(frames.size() + 1)), copy);
        break;
      }
      case 7:
        std::swap(frame, frames[below(frames.size())]);
        break;
      case 8: {  // a header field with every order of magnitude
        if (frame.size() < kFrameHeader) break;
        constexpr std::size_t kFields[] = {0, 4, 6, 8, 16, 24, 28};
        const std::uint64_t value = rng.below(~std::uint64_t{0}) >> below(64);
        constexpr std::size_t kSizes[] = {4, 2, 2, 8, 8, 4, 4};
        const std::size_t field = below(7);
        for (std::size_t i = 0; i < kSizes[field]; ++i)
          frame[kFields[field] + i] = static_cast<std::byte>(value >> (8 * i));
        break;
      }
    }
  }
  return joined(frames);
}

TEST(DamagedFrames, UndamagedOnesAreBelieved) {
  const Conversation heard = listen(joined(good_frames()));

  EXPECT_EQ(heard.flaw, "");
  EXPECT_FALSE(heard.ended_early);
  EXPECT_EQ(heard.content.size(), 5U);
}

// Whatever happens to a stream, a prefix of what was said is believed, unchanged, and then there is
// a flaw with words, or the stream ends too early, or nothing was missing. Broken by leaving out
// the comparison of checksums (changed numbers are believed), that of ids (an answer that was
// repeated is), or of sizes (room for gigabytes).
TEST(DamagedFrames, AreNeverBelieved) {
  const std::vector<Bytes> good = listen(joined(good_frames())).content;
  std::size_t flaws = 0, early = 0, whole = 0;
  for (std::uint64_t trial = 0; trial < 20000; ++trial) {
    const Conversation heard = listen(damaged(Draws(Rng(13).split("damage", trial))));

    ASSERT_LE(heard.content.size(), good.size()) << trial;
    for (std::size_t i = 0; i < heard.content.size(); ++i)
      ASSERT_EQ(heard.content[i], good[i]) << trial;
    ASSERT_TRUE(!heard.flaw.empty() || heard.ended_early || heard.content.size() == good.size())
        << trial;
    flaws += !heard.flaw.empty();
    early += heard.ended_early;
    whole += heard.flaw.empty() && !heard.ended_early;
  }
  // Each of the three happens, so none is believed by mistake to be tested.
  EXPECT_GT(flaws, 5000U);
  EXPECT_GT(early, 300U);
  EXPECT_GT(whole, 100U);
}

// Noise without any frame in it.
TEST(DamagedFrames, NoiseIsAFlawAtOnce) {
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    Draws rng(Rng(14).split("noise", trial));
    Bytes noise(200);
    for (std::byte& b : noise) b = static_cast<std::byte>(rng.below(256));
    if (noise[0] == std::byte{'S'}) continue;

    FrameReader reader;
    reader.expect(kHello);
    const std::size_t taken = feed(reader, noise);

    EXPECT_NE(reader.flaw(), "");
    EXPECT_LE(taken, kFrameHeader);
  }
}

}  // namespace
}  // namespace stap
