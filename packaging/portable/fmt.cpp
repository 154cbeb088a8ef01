// libfmt as one object, for builds that bring their libraries along: Debian has no static one.
// Compiled with -fkeep-inline-functions, so what the headers define is there for all other objects.
#define FMT_HEADER_ONLY
#include <fmt/format.h>
