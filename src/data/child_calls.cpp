#include "data/child_calls.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace stap::h5 {
namespace {

// Sanitizers make calls of their own.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::uint32_t kMachine = 0;
#elif defined(__x86_64__)
constexpr std::uint32_t kMachine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kMachine = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kMachine = 0;
#endif

// A program for the kernel, which runs at every system call of this process.
class CallFilter {
 public:
  CallFilter() {
    load(offsetof(seccomp_data, arch));
    step(BPF_JMP | BPF_JEQ | BPF_K, kMachine, 1, 0);
    refuse();
    load(offsetof(seccomp_data, nr));
  }

  void allow(long call) {
    step(BPF_JMP | BPF_JEQ | BPF_K, number(call), 0, 1);
    step(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
  }
  // Only if (argument & mask) == value; arguments are 32 bits wide here. For any other call the
  // next five steps are left out.
  void allow_if(long call, unsigned argument, std::uint32_t mask, std::uint32_t value) {
    step(BPF_JMP | BPF_JEQ | BPF_K, number(call), 0, 5);
    load(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t));
    step(BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
    step(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    step(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    refuse();
  }

  void install() {
    refuse();
    sock_fprog program{static_cast<unsigned short>(steps_.size()), steps_.data()};
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
  }

 private:
  static std::uint32_t number(long call) { return static_cast<std::uint32_t>(call); }
  void step(int code, std::uint32_t value, std::uint8_t if_true, std::uint8_t if_false) {
    steps_.push_back({static_cast<std::uint16_t>(code), if_true, if_false, value});
  }
  void load(std::size_t offset) {
    step(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset), 0, 0);
  }
  void refuse() { step(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0); }

  std::vector<sock_filter> steps_;
};

}  // namespace

void allow_reading_only(int out, int file) {
  if (kMachine == 0 || file < 0) return;
  CallFilter filter;
  // Values.
  for (const long call : {SYS_read, SYS_pread64, SYS_lseek, SYS_close, SYS_fstat, SYS_newfstatat,
                          SYS_statx, SYS_readlinkat, SYS_getcwd, SYS_faccessat})
    filter.allow(call);
  filter.allow_if(SYS_write, 0, 0xffffffffu, static_cast<std::uint32_t>(out));
  filter.allow_if(SYS_flock, 0, 0xffffffffu, static_cast<std::uint32_t>(file));
  filter.allow_if(SYS_fcntl, 0, 0xffffffffu, static_cast<std::uint32_t>(file));
  constexpr std::uint32_t writes = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND;
  filter.allow_if(SYS_openat, 2, writes, O_RDONLY);
#ifdef SYS_open
  for (const long call : {SYS_stat, SYS_lstat, SYS_readlink, SYS_access}) filter.allow(call);
  filter.allow_if(SYS_open, 1, writes, O_RDONLY);
#endif
  // Memory, of which none can be run and none is shared with others.
  for (const long call : {SYS_munmap, SYS_mremap, SYS_brk, SYS_madvise, SYS_futex})
    filter.allow(call);
  filter.allow_if(SYS_mmap, 3, MAP_SHARED | MAP_PRIVATE, MAP_PRIVATE);
  filter.allow_if(SYS_mprotect, 2, PROT_EXEC, 0);
  // Its own limits and its end.
  for (const long call :
       {SYS_getpid, SYS_gettid, SYS_exit, SYS_exit_group, SYS_rt_sigprocmask, SYS_rt_sigaction,
        SYS_rt_sigreturn, SYS_sigaltstack, SYS_sched_yield, SYS_getrandom, SYS_clock_gettime})
    filter.allow(call);
  filter.allow_if(SYS_prlimit64, 0, 0xffffffffu, 0);
  filter.allow_if(SYS_tgkill, 0, 0xffffffffu, static_cast<std::uint32_t>(getpid()));
#ifdef SYS_getrlimit
  filter.allow(SYS_getrlimit);
#endif
  filter.install();
}

}  // namespace stap::h5
