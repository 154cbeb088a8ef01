// The program `stap-warden SOCKET GRACE_MS FILE_BYTES PROGRAM ARGUMENTS...`, started by
// process.cpp: small, so that a thousand of them cost next to nothing.
#include <cstdlib>

#include "couple/warden.h"

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  return stap::keep_watch(std::atoi(argv[1]), argv + 4, std::atol(argv[2]),
                          std::strtoull(argv[3], nullptr, 10));
}
