/* What newer C libraries give another version of, mapped to the one that glibc 2.34 has, too: see
   the linker's --wrap in cmake/StapPortable.cmake. tools/check-elf --glibc looks for further ones. */

#if defined(__x86_64__)
/* 2.35 has a faster hypot without the old error handling; results are the same. */
__asm__(".symver old_hypot, hypot@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver old_hypot, hypot@GLIBC_2.17");
#endif
extern double old_hypot(double x, double y);
double __wrap_hypot(double x, double y) { return old_hypot(x, y); }
