#include "core/turn.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <sstream>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/owner.h"
#include "core/whole_file.h"
#include "stap/core/error.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "maker";
constexpr std::string_view kAside = "maker.old-";
constexpr int kSilentPulses = 10;
constexpr std::size_t kMostOfMaker = std::size_t{1} << 16;

std::string text_of(const fs::path& file) {
  try {
    return read_whole_file(file, kMostOfMaker, ErrorKind::data);
  } catch (const Error&) {
    return {};
  }
}

// What an owner says about itself, before the number that changes.
std::string owner_text(const Owner& owner) {
  return fmt::format("{} {} {} {}", owner.host, owner.place, owner.process, owner.start);
}

Owner read_owner(const std::string& content) {
  Owner owner;
  std::istringstream(content) >> owner.host >> owner.place >> owner.process >> owner.start;
  return owner;
}

}  // namespace

// The open file and the thread that writes into it.
class Turn::Pulse {
 public:
  Pulse(fs::path path, int file, std::chrono::milliseconds pulse)
      : path_(std::move(path)), file_(file), about_(owner_text(Owner::here())) {
    write();
    thread_ = std::thread([this, pulse] {
      std::unique_lock lock(mutex_);
      while (!wake_.wait_for(lock, pulse, [this] { return over_; })) {
        write();
        lost_ = !is_ours();
      }
    });
  }
  ~Pulse() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    wake_.notify_one();
    thread_.join();
    if (is_ours()) unlink(path_.c_str());
    close(file_);
  }

  bool lost() const { return lost_; }

 private:
  bool is_ours() const {
    struct stat own {
    }, there{};
    return fstat(file_, &own) == 0 && stat(path_.c_str(), &there) == 0 &&
           own.st_ino == there.st_ino && own.st_dev == there.st_dev;
  }

  // What cannot be written is a sign of life less.
  void write() {
    const std::string text = fmt::format("{} {:012}\n", about_, ++beats_);
    if (pwrite(file_, text.data(), text.size(), 0) > 0) fsync(file_);
  }

  fs::path path_;
  int file_;
  std::string about_;
  std::uint64_t beats_ = 0;
  std::atomic<bool> lost_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool over_ = false;
  std::thread thread_;
};

Turn::Turn(std::unique_ptr<Pulse> pulse) : pulse_(std::move(pulse)) {}
Turn::~Turn() = default;

bool Turn::lost() const {
  return pulse_->lost();
}

TurnTaker::TurnTaker(fs::path folder, std::chrono::milliseconds pulse)
    : folder_(std::move(folder)), file_(folder_ / kName), pulse_(pulse) {}

std::unique_ptr<Turn> TurnTaker::take() {
  std::error_code error;
  fs::create_directories(folder_, error);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const int file = open(file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0)
      return std::unique_ptr<Turn>(new Turn(std::make_unique<Turn::Pulse>(file_, file, pulse_)));
    if (errno != EEXIST)
      throw Error(ErrorKind::storage,
                  fmt::format("cannot write {}: {}", file_.string(), std::strerror(errno)));
    const std::string content = text_of(file_);
    if (!is_stale(content)) return nullptr;
    remove(content);
  }
  return nullptr;
}

bool TurnTaker::is_stale(const std::string& content) {
  const Owner owner = read_owner(content);
  owner_ = owner.text();
  if (owner.gone()) return true;
  const auto now = Clock::now();
  if (content != seen_ || since_ == Clock::time_point{}) {
    seen_ = content;
    since_ = now;
  }
  return now - since_ > kSilentPulses * pulse_;
}

// Only the file with this content: one that another has made in the meantime is put back.
void TurnTaker::remove(const std::string& content) const {
  const fs::path aside = folder_ / fmt::format("{}{}-{}", kAside, Owner::here().host, getpid());
  if (std::rename(file_.c_str(), aside.c_str()) != 0) return;
  if (text_of(aside) != content && link(aside.c_str(), file_.c_str()) != 0) {
    // Its owner finds out, and waits as we do.
  }
  unlink(aside.c_str());
}

bool TurnTaker::is_its_file(const std::string& name) {
  return name == kName || name.starts_with(kAside);
}

}  // namespace stap
