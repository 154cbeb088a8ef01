/* A solver that tells how often it was called: spool_step INPUT OUTPUT SECONDS LOG [MORE]
   gives the array of a .npy file with MORE (1) added to every value after SECONDS, and adds a line
   with the first value of its input to LOG when it begins. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char bytes[1 << 20];

int main(int argc, char** argv) {
  if (argc != 5 && argc != 6)
    return fprintf(stderr, "usage: spool_step INPUT OUTPUT SECONDS LOG [MORE]\n"), 2;
  const double more = argc == 6 ? atof(argv[5]) : 1;
  FILE* in = fopen(argv[1], "rb");
  if (!in) return perror(argv[1]), 1;
  const size_t size = fread(bytes, 1, sizeof bytes, in);
  fclose(in);
  const size_t head = 10 + (unsigned char)bytes[8] + 256u * (unsigned char)bytes[9];
  double first = 0;
  for (size_t at = head; at + sizeof(double) <= size; at += sizeof(double)) {
    double value;
    memcpy(&value, bytes + at, sizeof value);
    if (at == head) first = value;
    value += more;
    memcpy(bytes + at, &value, sizeof value);
  }
  char line[64];
  const int length = snprintf(line, sizeof line, "%.17g\n", first);
  const int log = open(argv[4], O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (log < 0 || write(log, line, (size_t)length) != length) return perror(argv[4]), 1;
  close(log);
  const double seconds = atof(argv[3]);
  struct timespec rest = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  while (nanosleep(&rest, &rest) != 0) {
  }
  FILE* out = fopen(argv[2], "wb");
  if (!out) return perror(argv[2]), 1;
  fwrite(bytes, 1, size, out);
  return fclose(out) ? 1 : 0;
}
