#include "journal/reserve.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace stap {

Reserve::Reserve(std::filesystem::path file, std::uint64_t bytes) : file_(std::move(file)) {
  // Of a process that was killed it may be there, of another size.
  const int descriptor =
      open(file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor < 0) return;
  held_ = posix_fallocate(descriptor, 0, static_cast<off_t>(bytes)) == 0;
  close(descriptor);
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
