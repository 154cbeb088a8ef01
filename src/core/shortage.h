// Errors of system calls that say nothing about what was asked for.
#pragma once

#include <cerrno>
#include <initializer_list>

namespace stap {

/// The system has no process, descriptor or memory left at present, a disk fails, or a program is
/// being written: later, or with fewer things open, the same call may well work.
inline bool is_shortage(int error) {
  for (const int one : {EAGAIN, ENOMEM, EMFILE, ENFILE, ENOBUFS, EIO, EINTR, ETXTBSY})
    if (error == one) return true;
  return false;
}

}  // namespace stap
