#include "journal/reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include <fmt/format.h>

#include "core/descriptor.h"
#include "stap/core/error.h"

namespace stap {

Reserve::Reserve(std::filesystem::path file, std::uint64_t bytes) : file_(std::move(file)) {
  // Of a process that was killed it may be there, of another size. It is made anew, since one that
  // is there may also be a link to something else, and nothing but a file is ours.
  struct stat status {};
  if (lstat(file_.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode))
      throw Error(
          ErrorKind::storage,
          fmt::format("{} is not a file, but room is to be held by one of this name: remove "
                      "it",
                      file_.string()));
    unlink(file_.c_str());
  }
  const Descriptor made(open(file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (made.number() < 0) return;
  held_ = posix_fallocate(made.number(), 0, static_cast<off_t>(bytes)) == 0;
  if (!held_) unlink(file_.c_str());
}

Reserve::~Reserve() {
  if (held_) unlink(file_.c_str());
}

bool Reserve::give() {
  if (!held_ || unlink(file_.c_str()) != 0) return false;
  held_ = false;
  given_ = true;
  return true;
}

}  // namespace stap
