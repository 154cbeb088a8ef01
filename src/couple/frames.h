// What goes between a worker and us; docs/internals/worker-protocol.md has every byte of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stap/core/outline.h"
#include "stap/core/solver.h"

namespace stap {

inline constexpr std::uint16_t kWorkerProtocol = 1;
inline constexpr std::size_t kFrameHeader = 32;       ///< bytes
inline constexpr std::size_t kWorkerTextMost = 4096;  ///< bytes of a token, a name or a reason

enum class FrameType : std::uint16_t {
  hello = 1,  ///< from the worker: who it is
  setup,      ///< to it: the problem
  ready,      ///< from it: queries may come
  query,      ///< to it
  answer,     ///< from it
  failed,     ///< from it: why there is no answer, or why it cannot be set up
  heartbeat,  ///< from it, at any time
  end,        ///< to it: exit
};
std::string_view to_string(FrameType type);

struct WorkerFrame {
  FrameType type = FrameType::end;
  std::uint64_t id = 0;
  std::vector<std::byte> payload{};
};

// --- to the worker: whole frames -----------------------------------------------------------------
std::vector<std::byte> frame_bytes(const WorkerFrame& frame);
std::vector<std::byte> setup_frame(const Outline& outline, std::size_t slot);
/// Parameters are those of the query, or where it has none those of the outline.
std::vector<std::byte> query_frame(std::uint64_t id, const Query& query, const Outline& outline);

// --- from the worker -----------------------------------------------------------------------------
struct Hello {
  std::uint32_t protocol = 0;
  std::uint32_t steps_most = 0;  ///< of a query; 0: any number
  double heartbeat = 0.0;        ///< seconds between two signs while it computes; 0: it sends none
  std::string token{}, name{};
};
struct WorkerFailure {
  std::vector<double> states{};  ///< [made, C, X...]
  bool retry = false;            ///< might help
  std::string text{};
};

std::uint64_t hello_most();
std::uint64_t answer_most(const Grid& grid, std::size_t steps);
std::uint64_t failed_most(const Grid& grid, std::size_t steps);  ///< steps 0: not a query's

// Each gives what is wrong with the payload, or nothing and the content.
std::string read_hello(std::span<const std::byte> payload, Hello& hello);
std::string read_ready(std::span<const std::byte> payload, const Grid& grid);
std::string read_answer(std::span<const std::byte> payload, const Grid& grid, std::size_t steps,
                        std::vector<double>& states);
std::string read_failed(std::span<const std::byte> payload, const Grid& grid, std::size_t steps,
                        WorkerFailure& failure);

/// Bytes of a foreign program as text for a message: one line of valid UTF-8, white space is a
/// blank, what cannot be shown a '?'.
std::string plain_text(std::span<const std::byte> bytes);

}  // namespace stap
