// How a worker comes up: it is started, connects, says hello, is told the problem, and is ready.
#include <fcntl.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "couple/warden_start.h"
#include "couple/worker_slot.h"
#include "stap/core/error.h"

namespace stap {
namespace {

constexpr std::size_t kCallersMost = 16;  // that have connected and not said who they are

}  // namespace

void WorkerSlot::start() {
  state_ = State::starting;
  started_ = Clock::now();
  connection_.reset();
  listener_.reset();
  callers_.clear();
  turned_away_.clear();
  greeted_ = false;
  waits_since_.reset();
  try {
    Launch launch;
    launch.argv = options_.argv;
    launch.env = options_.env;
    launch.folder = options_.folder;
    launch.grace = options_.grace;
    launch.file_bytes_most = static_cast<std::uint64_t>(options_.limits.output);
    const std::filesystem::path log = options_.folder / "log.txt";
    const Descriptor err(
        open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
    if (err.number() < 0)
      throw Error(ErrorKind::storage, fmt::format("'{}' cannot be written: {}", log.string(),
                                                  std::generic_category().message(errno)));
    launch.err = err.number();
    std::string connect = "pipe", token_file;
    Descriptor theirs;
    if (options_.connect == WorkerSlotOptions::Connect::pipe) {
      auto [ours, other] = make_socket_pair();
      connection_ = std::make_unique<Connection>(std::move(ours));
      connection_->reader().expect({{FrameType::hello, hello_most(), {}}});
      theirs = std::move(other);
      launch.in = launch.out = theirs.number();
      token_.clear();
    } else {
      listener_ = std::make_unique<Listener>(options_.folder, options_.address);
      connect = listener_->where();
      token_ = make_token();
      if (options_.token_file) token_file = listener_->write_secret(token_).string();
      launch.out = launch.err;
    }
    // All of them, so that none is taken from our own environment.
    launch.env.push_back("STAP_CONNECT=" + connect);
    launch.env.push_back("STAP_TOKEN=" + (token_file.empty() ? token_ : ""));
    launch.env.push_back("STAP_TOKEN_FILE=" + token_file);
    process_.emplace(launch);
  } catch (...) {  // no fault of the worker's
    connection_.reset();
    listener_.reset();
    query_ = nullptr;
    state_ = State::down;
    throw;
  }
}

void WorkerSlot::take_callers() {
  for (;;) {
    Descriptor socket = listener_->accept();
    if (socket.number() < 0) break;
    // The oldest makes room: nobody can fill the places by connecting and saying nothing.
    if (callers_.size() == kCallersMost) callers_.erase(callers_.begin());
    callers_.push_back(std::make_unique<Connection>(std::move(socket)));
    callers_.back()->reader().expect({{FrameType::hello, hello_most(), {}}});
  }
  std::optional<Hello> found;
  int failing = 0;
  std::erase_if(callers_, [&](std::unique_ptr<Connection>& caller) {
    if (found) return true;
    caller->go_on();
    failing = caller->error() != 0 ? caller->error() : failing;
    const auto frame = caller->take();
    Hello hello;
    std::string flaw = frame ? read_hello(frame->payload, hello) : caller->reader().flaw();
    if (frame && flaw.empty() && !same_token(hello.token, token_)) flaw = "gave a wrong token";
    if (flaw.empty() && !frame) return caller->closed();
    if (flaw.empty()) {
      found = hello;
      connection_ = std::move(caller);
    } else {
      turned_away_ = flaw;
    }
    return true;
  });
  if (!found && failing != 0)
    throw Error(ErrorKind::storage, lack_text("nothing can be received from a worker", failing));
  if (!found) return;
  listener_.reset();  // the token was for one
  welcome(*found);
}

void WorkerSlot::welcome(const Hello& hello) {
  hello_ = hello;
  greeted_ = true;
  if (hello.steps_most > 0 && hello.steps_most < options_.steps_at_once) {
    breach(fmt::format("takes at most {} steps a call, but steps_at_once is {}: give it {}",
                       hello.steps_most, options_.steps_at_once, hello.steps_most));
    return;
  }
  connection_->send(setup_frame(outline_, options_.slot));
  connection_->reader().expect({{FrameType::ready, 8, 0},
                                {FrameType::failed, failed_most(outline_.grid, 0), {}},
                                {FrameType::heartbeat, 0, {}}});
}

void WorkerSlot::go_on_starting() {
  // Asked before reading: what it said before it ended is read then.
  const bool ended = dead();
  if (options_.launched && !greeted_) {
    look_for_room();
    if (state_ != State::starting) return;
  }
  if (listener_) try {
      take_callers();
    } catch (const Error& error) {
      return lack(error.what());
    }
  for (int i = 0; connection_ && state_ == State::starting && i < kFramesAtOnce; ++i) {
    connection_->go_on();
    const auto frame = connection_->take();
    if (!frame) break;
    if (frame->type == FrameType::hello) {
      Hello hello;
      if (const std::string flaw = read_hello(frame->payload, hello); !flaw.empty())
        breach(flaw);
      else
        welcome(hello);
    } else if (frame->type == FrameType::failed) {
      WorkerFailure failure;
      const std::string flaw = read_failed(frame->payload, outline_.grid, 0, failure);
      breach(flaw.empty() ? fmt::format("says: {}", failure.text) : flaw);
    } else if (frame->type == FrameType::ready) {
      if (const std::string flaw = read_ready(frame->payload, outline_.grid); !flaw.empty())
        breach(flaw);
      else
        ask();
      return;
    }
  }
  if (state_ != State::starting) return;
  const double limit = options_.limits.start;
  if (connection_ && !connection_->reader().flaw().empty())
    breach(connection_->reader().flaw());
  else if (connection_ && connection_->error() != 0)
    lack(lack_text("nothing can be sent to a worker or received", connection_->error()));
  else if (ended || (connection_ && connection_->closed()))
    gone("it ended before it was ready");
  else if (limit > 0 && Clock::now() >= later(started_, limit))
    fail(fmt::format("it was not ready within {} s{}{}", limit,
                     greeted_ ? ", although it was connected" : " and did not say hello",
                     turned_away_.empty() ? "" : fmt::format("; one who tried {}", turned_away_)),
         false);
}

}  // namespace stap
