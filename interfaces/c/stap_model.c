/*
 * stap_model.c: see stap_model.h. Three parts: the reader of a file, which believes nothing; the
 * arithmetic, of rows times columns in single precision; and the steps made of both.
 *
 * Fields are [points][channels], so that channels lie side by side in vector registers; channels
 * are padded to panels of 16, whose pad stays zero. A Fourier transform is a product with a table
 * of sines and cosines: few modes are kept, and the adjoint is a product, too. A convolution is a
 * product for each of its taps. Both take axes for rings: between walls the grid of the network is
 * longer than that of states, and what is there is made of states.
 */
#include "stap_model.h"

#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PANEL 16     /* channels of a panel */
#define CHUNK 48     /* points whose hidden layer is held at a time: it stays in the cache */
#define NAME_MOST 64 /* bytes of a tensor's name without its member */
#define AXES 2
#define MOST_PARAMETERS 8

#if FLT_RADIX != 2 || FLT_MANT_DIG != 24
#error "stap_model.c needs IEEE single precision"
#endif

/* What a file may need of its reader, as its list `requires` names it: a bit for each name. */
enum { FNO = 1, DILATED = 2, TIME_INPUT = 4, POSITION_INPUT = 8, CONSERVED = 16, PARAMETERS = 32 };
enum { SHIFTS = 64, WALLS = 128, PADDING = 256, FIXED_FIELDS = 512, CLUSTER = 1024 };
static const char* const known[] = {"fno",       "dilated",      "time_input", "position_input",
                                    "conserved", "parameters",   "shifts",     "walls",
                                    "padding",   "fixed_fields", "cluster",    NULL};
static const char* const wall_words[] = {"periodic", "centres", "points", NULL};
static const char* const draw_words[] = {"uniform", "log", "list", NULL};
static const char* const target_words[] = {"state", "delta", NULL};
static const char* const padding_words[] = {"blended", "zero", "odd", "even", NULL};
enum { BLENDED, ZERO, ODD };

/* Weights [in][out] are in panels of 16 outputs, [out / 16][in][16], those of a convolution tap by
 * tap; `back` are the same for the way back. */
struct layer {
  size_t in, out;
  float *weights, *back, *bias;
  float* spectral; /* of an FNO: [mode][panels of [real, imaginary][in]] */
};

/* One network. Layers of an FNO are those between lifting and projection, with their skips. */
struct member {
  float *mean, *deviation; /* of the channels */
  float* shifts;           /* [layers][width][parameters] */
  struct layer lift1, lift2, project1, project2, *layers;
};

struct parameter {
  stap_parameter_info about;
  int draw;     /* of draw_words */
  size_t place; /* among those that networks are told: by name */
};

/* What a point of one of the network's axes is made of: points of the state's axis. */
struct source {
  size_t from[2];
  double weight[2];
  int count;
};

struct stap_model {
  stap_model_info info;
  char* text;           /* all strings of the file */
  const char* channels; /* names, one after the other, each with its 0 */
  size_t channel_names;
  unsigned needs;
  int delta;                /* the network says what is added to a state, not the state */
  unsigned char* conserved; /* per channel of what a step gives: its mean stays */
  unsigned char* mask;      /* per point of a state; NULL: there is one everywhere */
  struct parameter parameters[MOST_PARAMETERS];
  struct source* sources[AXES];
  /* Error bars: [kind][step] factors of what members differ by, for each start. Kinds are all
   * channels, each channel, each channel's band. */
  double *floor, *widest, *factors[2];
  double share[AXES]; /* of the points of an axis that its padding has, and how it is made */
  int padding[AXES];
  /* Channels of a state; of the network's input, of these constant in space, and fixed. */
  size_t out, in, told, fixed;
  size_t points, counted, size, axis[AXES]; /* of a state, not masked; of the network, per axis */
  size_t kept[AXES], modes, width, lifting, projection, layers;
  size_t taps, dilations[64], dilation_count;
  size_t field_ld, hidden_ld, wide; /* strides of a field and a hidden layer; the padded width */
  /* Of the last axis: cosines and sines of waves 0 and up at half of its points (see fold()),
   * [wave] [point], and for the way back [point][wave]. Of the first of two: what makes of real and
   * imaginary parts [part][point] those of waves of both signs, [wave][part], and back. */
  float *cosine, *sine, *cosine_t, *sine_t, *across, *across_t;
  float* position[AXES]; /* per axis: [sine, cosine][points] */
  float* fields;         /* [fixed][size]: mask and fixed fields */
  struct member* members;
  struct layer* all_layers;
  void* raw; /* where all of these numbers lie */
};

struct stap_work {
  float *field, *next, *third, *spectrum, *product;
  float *half, *fold; /* transformed along one axis of two; one line of a transform */
  float *hidden, *slope, *input, *output, *rows, *bias;
  float* slopes; /* per layer with a GELU: of it there, for the adjoint */
  float told[1 + MOST_PARAMETERS];
  double by_told[1 + MOST_PARAMETERS], by_value[MOST_PARAMETERS]; /* gradient; d told / d value */
  double *means, *made, *sum, *first, *square;                    /* per channel; states */
  double* ways;         /* of a forecast: states of the averaged model and of each member */
  int set, start, lost; /* parameters were; of a forecast */
  long begun, ahead;    /* the number of its first step; steps made since */
  void* raw;            /* where all of the above lie */
};

/* --- sizes and memory ---------------------------------------------------------------------- */

/* Sizes come from a file: what is too large stays SIZE_MAX. */
static size_t times(size_t a, size_t b) {
  return b != 0 && a > SIZE_MAX / b ? SIZE_MAX : a * b;
}
static size_t plus(size_t a, size_t b) {
  return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}
static size_t padded(size_t n) {
  return n > SIZE_MAX - PANEL ? SIZE_MAX : (n + PANEL - 1) / PANEL * PANEL;
}

/* An odd number of cache lines, so that a column of a field does not fall into a few of them. */
static size_t stride(size_t channels) {
  const size_t lines = padded(channels) / PANEL;
  return (lines + 1 - lines % 2) * PANEL;
}

/* One block of memory that is given out in pieces; without it the pieces are counted. */
struct pieces {
  float* block;
  size_t used;
};
static float* take(struct pieces* p, size_t n) {
  float* piece = p->block == NULL ? NULL : p->block + p->used;
  p->used = plus(p->used, padded(n));
  return piece;
}
static float* take2(struct pieces* p, size_t n, size_t m) {
  return take(p, times(n, m));
}

/* A block of zeros on a cache line's boundary; `raw` is what to free. */
static float* zeros(size_t floats, void** raw) {
  const size_t bytes = plus(times(floats, sizeof(float)), 64);
  char* block = bytes == SIZE_MAX ? NULL : calloc(bytes, 1);
  *raw = block;
  return block == NULL ? NULL : (float*)(void*)(block + (64 - (uintptr_t)block % 64) % 64);
}

/* --- JSON ---------------------------------------------------------------------------------- */

/* A place in a text. Once something is wrong it is at its end, and stays bad. */
struct json {
  const char *at, *end;
  int bad;
};

static int json_fail(struct json* j) {
  j->bad = 1;
  j->at = j->end;
  return 0;
}
static char json_peek(struct json* j) {
  while (j->at < j->end && (*j->at == ' ' || *j->at == '\t' || *j->at == '\n' || *j->at == '\r'))
    ++j->at;
  return j->at < j->end ? *j->at : '\0';
}
static int json_take(struct json* j, char c) {
  if (json_peek(j) != c || j->at == j->end) return 0;
  ++j->at;
  return 1;
}

/* The letter behind \u; beyond ASCII "?": our files have such letters as they are. 0: it is none.
 */
static char json_unicode(struct json* j) {
  static const char digits[] = "0123456789abcdef0123456789ABCDEF";
  unsigned code = 0;
  int i;
  for (i = 0; i < 4; ++i) {
    const char* digit = j->at < j->end && *j->at != '\0' ? strchr(digits, *j->at++) : NULL;
    if (digit == NULL) return '\0';
    code = code * 16 + (unsigned)(digit - digits) % 16;
  }
  return code < 0x80 ? (char)code : '?';
}

/* A string without its escapes and with a 0 at its end, into `size` bytes; one that is longer is
 * cut where `to` is NULL or `cut` is set, else it is bad. Its length without the 0. */
static size_t json_string(struct json* j, char* to, size_t size, int cut) {
  static const char codes[] = "\"\\/bfnrt", plain[] = "\"\\/\b\f\n\r\t";
  size_t n = 0;
  if (!json_take(j, '"')) return json_fail(j), 0;
  while (j->at < j->end && *j->at != '"') {
    char c = *j->at++;
    if ((unsigned char)c < 0x20) return json_fail(j), 0;
    if (c == '\\') {
      const char* code = j->at < j->end && *j->at != '\0' ? strchr(codes, *j->at) : NULL;
      const char letter = j->at < j->end ? *j->at++ : '\0';
      c = code != NULL ? plain[code - codes] : letter == 'u' ? json_unicode(j) : '\0';
      if (c == '\0') return json_fail(j), 0;
    }
    if (to != NULL && n + 1 < size)
      to[n++] = c;
    else if (to != NULL && !cut)
      return json_fail(j), 0;
  }
  if (!json_take(j, '"')) return json_fail(j), 0;
  if (to != NULL && size > 0) to[n] = '\0';
  return n;
}

/* Elements of a list or members of a map:
 *   for (first = 1; json_next(j, '[', ']', &first);) ... */
static int json_next(struct json* j, char open, char close, int* first) {
  if (*first) {
    *first = 0;
    if (!json_take(j, open)) return json_fail(j);
    return !json_take(j, close) && (j->at < j->end || json_fail(j));
  }
  if (json_take(j, close)) return 0;
  return json_take(j, ',') || json_fail(j);
}
static int json_key(struct json* j, int* first, char* key, size_t size) {
  if (!json_next(j, '{', '}', first)) return 0;
  json_string(j, key, size, 1);
  return json_take(j, ':') || json_fail(j);
}

/* A number that is whole and not negative, written so: 1.0 and 1e3 are none. */
static size_t json_count(struct json* j) {
  size_t n = 0;
  const char* start;
  json_peek(j);
  for (start = j->at; j->at < j->end && *j->at >= '0' && *j->at <= '9'; ++j->at)
    n = plus(times(n, 10), (size_t)(*j->at - '0'));
  if (j->at == start || n == SIZE_MAX || (*start == '0' && j->at - start > 1))
    return json_fail(j), 0;
  if (j->at < j->end && strchr(".eE", *j->at) != NULL && *j->at != '\0') return json_fail(j), 0;
  return n;
}

/* Any number, by the rules of JSON whatever the program's locale: strtod would go by that. */
static double json_real(struct json* j) {
  long double value = 0.0L, power = 10.0L;
  int negative, digits = 0, behind = 0, shift = 0, exponent = 0, minus;
  json_peek(j);
  negative = json_take(j, '-');
  for (; j->at < j->end && ((*j->at >= '0' && *j->at <= '9') || (*j->at == '.' && !behind));
       ++j->at) {
    if (*j->at == '.')
      behind = digits > 0 ? 1 : 2, digits = 0;
    else if (++digits, shift > -40)
      value = value * 10.0L + (long double)(*j->at - '0'), shift -= behind;
  }
  if (digits == 0 || behind == 2) return json_fail(j), 0.0;
  if (j->at < j->end && (*j->at == 'e' || *j->at == 'E')) {
    ++j->at;
    minus = j->at < j->end && *j->at == '-';
    if (j->at < j->end && (*j->at == '-' || *j->at == '+')) ++j->at;
    for (digits = 0; j->at < j->end && *j->at >= '0' && *j->at <= '9'; ++j->at, ++digits)
      if (exponent < 10000) exponent = exponent * 10 + (*j->at - '0');
    if (digits == 0) return json_fail(j), 0.0;
    shift += minus ? -exponent : exponent;
  }
  if (value == 0.0L) shift = 0;
  minus = shift < 0;
  for (shift = minus ? -shift : shift; shift > 0; shift /= 2, power *= power)
    if (shift % 2 != 0) value = minus ? value / power : value * power;
  return (double)(negative ? -value : value);
}
static int json_word(struct json* j, const char* word) {
  const size_t n = strlen(word);
  json_peek(j);
  if ((size_t)(j->end - j->at) < n || memcmp(j->at, word, n) != 0) return 0;
  j->at += n;
  return 1;
}
static void json_skip(struct json* j, int depth) {
  int first = 1;
  const char c = json_peek(j);
  if (depth > 32)
    json_fail(j);
  else if (c == '{')
    while (json_key(j, &first, NULL, 0)) json_skip(j, depth + 1);
  else if (c == '[')
    while (json_next(j, '[', ']', &first)) json_skip(j, depth + 1);
  else if (c == '"')
    json_string(j, NULL, 0, 1);
  else if (!json_word(j, "true") && !json_word(j, "false") && !json_word(j, "null"))
    json_real(j);
}
static struct json json_of(const char* text) {
  struct json j;
  j.at = text, j.end = text + strlen(text), j.bad = 0;
  return j;
}
static int json_ended(struct json* j) {
  return !j->bad && json_peek(j) == '\0' && j->at == j->end;
}

/* The value of this key in a map; bad where there is none. */
static struct json json_at(struct json map, const char* key) {
  char found[24];
  int first = 1;
  while (json_key(&map, &first, found, sizeof found)) {
    if (strcmp(found, key) == 0) return map;
    json_skip(&map, 0);
  }
  json_fail(&map);
  return map;
}

/* --- a file -------------------------------------------------------------------------------- */

struct tensor {
  const char* name;
  size_t shape[5];
  int rank;
  size_t begin, end; /* bytes of the data */
  int used;
};

struct file {
  FILE* in;                   /* what the data are read from, once the header is known; or NULL */
  const unsigned char* bytes; /* 8 with the header's length, then the header */
  const unsigned char* data;  /* what follows; NULL: not read yet */
  size_t size, header_size, data_size;
  struct tensor* tensors;
  char* text; /* strings of the header, one after the other */
  size_t tensor_count, text_used, text_size;
  const char *format, *required, *spec, *steps, *cluster, *run, *round, *problem,
      *bars;            /* or NULL */
  struct pieces pieces; /* of the model's numbers: first they are counted */
  const char* name;
  char* why;
  size_t why_size;
  int sealed, bad;
};

/* Says what is wrong; the first one stays. */
static int fail(struct file* f, const char* format, ...) {
  va_list list;
  char text[256], *c;
  if (f->bad) return 0;
  f->bad = 1;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  if (f->why == NULL || f->why_size == 0) return 0;
  snprintf(f->why, f->why_size, "%.120s is not a usable model file: %s", f->name, text);
  for (c = f->why; *c != '\0'; ++c)
    if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?'; /* names come from a file */
  return 0;
}
static uint32_t bits_at(const unsigned char* p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* CRC-32C of bytes that follow others. */
static uint32_t checksum(const uint32_t* table, uint32_t before, const void* bytes, size_t n) {
  const unsigned char* p = bytes;
  uint32_t c = ~before;
  for (; n > 0; --n) c = table[(c ^ *p++) & 255] ^ c >> 8;
  return ~c;
}

/* The seal: the checksum of the whole file with zeros for its own digits. */
static int check_seal(struct file* f) {
  static const char mark[] = "\"seal\":\"crc32c:", hex[] = "0123456789abcdef";
  const size_t length = sizeof mark - 1, header_end = 8 + f->header_size;
  const unsigned char* digits = NULL;
  uint32_t table[256], found = 0, sum;
  size_t i;
  int bit;
  for (i = 8; digits == NULL && i + length + 8 <= header_end; ++i)
    if (memcmp(f->bytes + i, mark, length) == 0) digits = f->bytes + i + length;
  if (!f->sealed || digits == NULL) return fail(f, "it is damaged: it has no checksum");
  for (i = 0; i < 8; ++i) {
    const char* digit = strchr(hex, digits[i]);
    if (digit == NULL || *digit == '\0') return fail(f, "it is damaged: its checksum is none");
    found = found * 16 + (uint32_t)(digit - hex);
  }
  for (i = 0; i < 256; ++i)
    for (table[i] = (uint32_t)i, bit = 0; bit < 8; ++bit)
      table[i] = table[i] & 1 ? table[i] >> 1 ^ 0x82F63B78u : table[i] >> 1;
  sum = checksum(table, 0, f->bytes, (size_t)(digits - f->bytes));
  sum = checksum(table, sum, "00000000", 8);
  sum = checksum(table, sum, digits + 8, header_end - (size_t)(digits - f->bytes) - 8);
  sum = checksum(table, sum, f->data, f->data_size);
  return sum == found || fail(f, "it is damaged: its checksum does not fit");
}
static const char* keep_string(struct file* f, struct json* j) {
  char* text = f->text + f->text_used;
  if (f->text_used >= f->text_size) return json_fail(j), "";
  f->text_used += json_string(j, text, f->text_size - f->text_used, 0) + 1;
  return text;
}

/* A text of the metadata; NULL: it is not there. */
static const char* text_at(struct file* f, struct json map, const char* key) {
  struct json j = json_at(map, key);
  const char* text = j.bad ? NULL : keep_string(f, &j);
  if (text != NULL && j.bad) fail(f, "'%s' in its metadata is no text", key);
  return text;
}
static void read_metadata(struct file* f, struct json map) {
  static const char* const keys[] = {"format", "requires", "spec",    "steps", "cluster",
                                     "run",    "round",    "problem", "bars"};
  const char** to[] = {&f->format, &f->required, &f->spec,    &f->steps, &f->cluster,
                       &f->run,    &f->round,    &f->problem, &f->bars};
  size_t i;
  for (i = 0; i < sizeof keys / sizeof *keys; ++i) *to[i] = text_at(f, map, keys[i]);
  f->sealed = !json_at(map, "seal").bad;
}

/* A list of counts; those beyond `room` are not kept. How many there are. */
static size_t read_counts(struct json* j, size_t* to, size_t room) {
  size_t n = 0;
  int first = 1;
  for (; json_next(j, '[', ']', &first); ++n) {
    const size_t count = json_count(j);
    if (n < room) to[n] = count;
  }
  return n;
}
static void read_tensor(struct file* f, struct json entry, struct tensor* t) {
  struct json type = json_at(entry, "dtype"), shape = json_at(entry, "shape"),
              offsets = json_at(entry, "data_offsets");
  size_t ends[2] = {1, 0}, values = 1, rank, r;
  char name[8] = "";
  json_string(&type, name, sizeof name, 1);
  if (strcmp(name, "F32") != 0) fail(f, "tensor %.60s has type '%s', expected F32", t->name, name);
  rank = read_counts(&shape, t->shape, 5);
  for (r = 0; r < rank && r < 5; ++r) values = times(values, t->shape[r]);
  t->rank = (int)rank;
  if (read_counts(&offsets, ends, 2) != 2 || shape.bad || offsets.bad || rank > 5 ||
      ends[0] > ends[1] || ends[1] - ends[0] != times(values, 4))
    fail(f, "tensor %.60s has offsets that do not fit its shape", t->name);
  t->begin = ends[0], t->end = ends[1];
}
static int by_place(const void* a, const void* b) {
  const struct tensor *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return x->end < y->end ? -1 : x->end > y->end;
}
static int by_name(const void* a, const void* b) {
  return strcmp(((const struct tensor*)a)->name, ((const struct tensor*)b)->name);
}

/* Layout: 8 bytes with the header's length (little endian), the header (JSON), then the tensors'
 * data without holes. */
static int read_length(struct file* f, const unsigned char* bytes) {
  uint64_t length = 0;
  if (f->size >= 8) length = bits_at(bytes) | (uint64_t)bits_at(bytes + 4) << 32;
  if (length < 2 || length > 100000000u || length > f->size - 8)
    return fail(f, "it is no model file, or cut off");
  f->header_size = (size_t)length;
  f->data_size = f->size - 8 - f->header_size;
  return 1;
}
static int read_header(struct file* f) {
  struct json j;
  size_t i, room, next = 0;
  int first = 1;
  room = f->header_size / 40 + 1; /* an entry is longer than that */
  /* No string is longer than in the header; those within `problem` and `spec` are kept, too. */
  f->text_size = 2 * f->header_size + 2;
  f->text = malloc(f->text_size);
  f->tensors = malloc(times(room, sizeof *f->tensors));
  if (f->text == NULL || f->tensors == NULL)
    return fail(f, "there is not enough memory to read it");
  j.at = (const char*)f->bytes + 8, j.end = j.at + f->header_size, j.bad = 0;
  while (!f->bad && json_next(&j, '{', '}', &first)) {
    const char* name = keep_string(f, &j);
    struct tensor* t = f->tensors + f->tensor_count;
    if (!json_take(&j, ':'))
      json_fail(&j);
    else if (strcmp(name, "__metadata__") == 0)
      read_metadata(f, j), json_skip(&j, 0);
    else if (f->tensor_count == room)
      json_fail(&j);
    else {
      memset(t, 0, sizeof *t);
      t->name = name;
      read_tensor(f, j, t), json_skip(&j, 0);
      ++f->tensor_count;
    }
  }
  if (f->bad) return 0;
  if (!json_ended(&j)) return fail(f, "its header is not JSON as a model file has it");
  qsort(f->tensors, f->tensor_count, sizeof *f->tensors, by_place);
  for (i = 0; i < f->tensor_count; next = f->tensors[i++].end)
    if (f->tensors[i].begin != next || f->tensors[i].end > f->data_size)
      return fail(f, "the data of tensor %.60s overlap, leave a hole or go beyond the end",
                  f->tensors[i].name);
  if (next != f->data_size) return fail(f, "%zu bytes follow the last tensor", f->data_size - next);
  qsort(f->tensors, f->tensor_count, sizeof *f->tensors, by_name);
  for (i = 1; i < f->tensor_count && !f->bad; ++i)
    if (by_name(f->tensors + i - 1, f->tensors + i) == 0)
      fail(f, "there are two tensors %.60s", f->tensors[i].name);
  return !f->bad;
}

/* --- what a network is --------------------------------------------------------------------- */

static size_t checked(struct file* f, const struct json* j, const char* key, size_t n,
                      size_t most) {
  if (j->bad) return fail(f, "'%s' is missing, or not as a model file has it", key), 0;
  if (n == 0 || n > most) fail(f, "%s is %zu, expected 1 to %zu", key, n, most);
  return n;
}

/* A count between 1 and `most`; a list of up to `room` of them; their number. */
static size_t size_at(struct file* f, struct json map, const char* key, size_t most) {
  struct json j = json_at(map, key);
  const size_t n = json_count(&j);
  return checked(f, &j, key, n, most);
}
static size_t sizes_at(struct file* f, struct json map, const char* key, size_t most, size_t* to,
                       size_t room) {
  struct json j = json_at(map, key);
  const size_t n = read_counts(&j, to, room);
  size_t i;
  for (i = 0; i < n && i < room && !j.bad; ++i) checked(f, &j, key, to[i], most);
  return checked(f, &j, key, n, room);
}

/* Which of these words comes next; -1: none of them. */
static int word_of(struct json* j, const char* const* words) {
  char word[64];
  int i;
  json_string(j, word, sizeof word, 1);
  for (i = 0; words[i] != NULL; ++i)
    if (strcmp(words[i], word) == 0) return i;
  return -1;
}
static int word_at(struct file* f, struct json map, const char* key, const char* const* words) {
  struct json j = json_at(map, key);
  const int i = word_of(&j, words);
  return j.bad || i < 0 ? fail(f, "'%s' says nothing that this reader knows", key) : i;
}
static int flag_at(struct file* f, struct json map, const char* key) {
  struct json j = json_at(map, key);
  json_peek(&j);
  return json_word(&j, "true") ||
         (!json_word(&j, "false") && fail(f, "'%s' is neither true nor false", key));
}

/* Numbers, or words by their numbers, of each axis, if there are any. */
static int per_axis(struct file* f, const struct stap_model* m, struct json j,
                    const char* const* words, double* numbers, int* to) {
  int n = 0, first = 1;
  if (j.bad) return 0;
  for (; json_next(&j, '[', ']', &first); ++n) {
    const int word = words == NULL ? 0 : word_of(&j, words);
    const double number = words == NULL ? json_real(&j) : 0.0;
    if (word < 0 || n >= m->info.axes) json_fail(&j);
    if (!j.bad && words == NULL) numbers[n] = number;
    if (!j.bad && words != NULL) to[n] = word;
  }
  if (j.bad || (n != 0 && n != m->info.axes))
    fail(f, "lengths, walls and padding are not those of %d axes", m->info.axes);
  return n;
}
static int read_requires(struct file* f, struct stap_model* m) {
  struct json j = json_of(f->required), at;
  char name[64];
  int first = 1;
  while (json_next(&j, '[', ']', &first)) {
    const int bit = (at = j, word_of(&j, known));
    json_string(&at, name, sizeof name, 1);
    if (bit >= 0) m->needs |= 1u << bit;
    if (!j.bad && bit < 0)
      return fail(f,
                  "it requires '%s', which this reader does not know: use the stap_model.c of the "
                  "version of stap that wrote it",
                  name);
  }
  if (!json_ended(&j) || !(m->needs & FNO) == !(m->needs & DILATED))
    return fail(f, "'requires' is no list of names with one family of networks");
  m->info.family = known[m->needs & FNO ? 0 : 1];
  return 1;
}
/* Parameters go into networks by their names, after the time. */
static int read_parameters(struct file* f, struct stap_model* m, struct json j) {
  int first = 1, count = 0, a, b;
  if (j.bad) return 1;
  for (; json_next(&j, '[', ']', &first); ++count, json_skip(&j, 0)) {
    struct parameter* p = m->parameters + count;
    struct json name = json_at(j, "name"), values = json_at(j, "values");
    int n = 0, inner = 1, good = 1;
    if (count == MOST_PARAMETERS) return fail(f, "it has more than %d parameters", MOST_PARAMETERS);
    p->about.name = keep_string(f, &name);
    p->draw = word_at(f, j, "draw", draw_words);
    for (; json_next(&values, '[', ']', &inner); ++n) {
      const double value = json_real(&values);
      good = good && fabs(value) <= DBL_MAX && (value > 0.0 || p->draw != 1) &&
             (n == 0 || p->draw == 2 || value >= p->about.least);
      if (n == 0 || value < p->about.least) p->about.least = value;
      if (n == 0 || value > p->about.greatest) p->about.greatest = value;
    }
    if (name.bad || values.bad || !good || (p->draw == 2 ? n == 0 : n != 2))
      return fail(f, "parameter %d has no range", count + 1);
  }
  m->info.parameters = count;
  for (a = 0; a < count; ++a)
    for (b = 0; b < count; ++b) {
      const int order = strcmp(m->parameters[b].about.name, m->parameters[a].about.name);
      m->parameters[a].place += order < 0 || (order == 0 && b < a);
    }
  return !j.bad || fail(f, "its parameters are no list");
}
static struct tensor* tensor_called(const struct file* f, const char* name) {
  struct tensor wanted;
  wanted.name = name;
  return bsearch(&wanted, f->tensors, f->tensor_count, sizeof wanted, by_name);
}

/* The grids of states and of the network; what of its needs that says. */
static unsigned lay_out(struct file* f, struct stap_model* m, struct json spec) {
  const struct json padding = json_at(json_at(spec, "network"), "padding");
  unsigned said = 0;
  int a;
  m->info.axes = (int)sizes_at(f, spec, "points", (size_t)1 << 26, m->info.points, AXES);
  if (f->bad) return 0;
  if (per_axis(f, m, json_at(spec, "lengths"), NULL, m->info.lengths, NULL) == 0)
    return (unsigned)fail(f, "'lengths' is missing, or not as a model file has it");
  per_axis(f, m, json_at(spec, "walls"), wall_words, NULL, m->info.walls);
  per_axis(f, m, json_at(padding, "share"), NULL, m->share, NULL);
  per_axis(f, m, json_at(padding, "kind"), padding_words, NULL, m->padding);
  m->points = m->size = 1;
  for (a = 0; a < AXES && !f->bad; ++a) {
    const size_t n = m->info.points[a] = a < m->info.axes ? m->info.points[a] : 1;
    if (!(m->share[a] >= 0.0 && m->share[a] <= 1.0) ||
        (m->info.walls[a] == 0 ? m->share[a] > 0.0 : n < 2))
      return (unsigned)fail(f, "axis %d has no such walls or padding", a + 1);
    m->axis[a] = n + (size_t)lround(m->share[a] * (double)n);
    said |= (m->axis[a] > n ? PADDING : 0u) | (m->info.walls[a] != 0 ? WALLS : 0u);
    m->points = times(m->points, n);
    m->size = times(m->size, m->axis[a]);
  }
  if (m->size > (size_t)1 << 26)
    fail(f, "its grid has %zu points, expected at most %zu", m->size, (size_t)1 << 26);
  return said;
}
static int lay_out_fno(struct file* f, struct stap_model* m, struct json network) {
  size_t modes[AXES] = {0, 0};
  const size_t axes = sizes_at(f, network, "modes", 65536, modes, AXES);
  int a;
  m->lifting = size_at(f, network, "lifting", 65536);
  m->projection = size_at(f, network, "projection", 65536);
  m->layers = size_at(f, network, "layers", 256);
  if (f->bad || axes != (size_t)m->info.axes) return fail(f, "its modes are not of its axes");
  for (a = 0; a < m->info.axes; ++a)
    if (modes[a] % 2 != 0 || modes[a] > m->axis[a])
      return fail(f, "it keeps %zu modes of %zu points, expected an even number of at most those",
                  modes[a], m->axis[a]);
  m->kept[0] = m->info.axes == 1 ? 1 : modes[0];
  m->kept[1] = modes[m->info.axes - 1] / 2 + 1;
  m->modes = times(m->kept[0], m->kept[1]);
  return 1;
}
static int lay_out_dilated(struct file* f, struct stap_model* m, struct json network) {
  size_t i, reach = 1, least = m->axis[0];
  m->taps = size_at(f, network, "taps", 15);
  m->dilation_count = sizes_at(f, network, "dilations", 65536, m->dilations, 64);
  m->layers = size_at(f, network, "blocks", 256) * m->dilation_count + 2;
  if (f->bad || m->taps % 2 == 0) return fail(f, "taps is %zu, expected an odd number", m->taps);
  if (m->info.axes == 2 && m->axis[1] < least) least = m->axis[1];
  for (i = 0; i < m->dilation_count; ++i)
    if (m->dilations[i] > reach) reach = m->dilations[i];
  return reach * (m->taps / 2) < least ||
         fail(f, "its taps reach %zu points far, but an axis has %zu", reach * (m->taps / 2),
              least);
}
static int read_spec(struct file* f, struct stap_model* m) {
  const struct json spec = json_of(f->spec), network = json_at(spec, "network");
  const struct tensor *mask = tensor_called(f, "mask"), *fixed = tensor_called(f, "fixed");
  struct json j = spec;
  size_t c, before = 0;
  unsigned said;
  int first = 1;
  json_skip(&j, 0);
  if (!json_ended(&j) || network.bad) return fail(f, "its spec is not JSON as a model file has it");
  m->out = size_at(f, spec, "channels", 4096), m->width = size_at(f, network, "width", 4096);
  m->delta = word_at(f, network, "target", target_words);
  m->conserved = f->bad ? NULL : calloc(m->out, 1);
  said = lay_out(f, m, spec);
  if (f->bad || !read_parameters(f, m, json_at(spec, "parameters"))) return 0;
  if (m->conserved == NULL) return fail(f, "there is not enough memory for it");
  if (m->info.parameters > 0) said |= PARAMETERS;
  j = json_at(network, "parameter_input");
  json_peek(&j);
  if (m->info.parameters > 0 && json_word(&j, "\"shifts\"")) said |= SHIFTS;
  if (flag_at(f, network, "time_input")) said |= TIME_INPUT;
  if (flag_at(f, network, "position_input")) said |= POSITION_INPUT;
  if (mask != NULL || fixed != NULL) said |= FIXED_FIELDS;
  if (m->info.cluster > 1) said |= CLUSTER;
  if (word_at(f, network, "name", known) == (m->needs & FNO ? 0 : 1)) said |= m->needs & 3u;
  for (j = json_at(spec, "conserved"); json_next(&j, '[', ']', &first); before = c + 1) {
    c = json_count(&j);
    if (j.bad || c < before || c >= m->out)
      return fail(f, "its conserved channels are not some of its channels, rising");
    m->conserved[c] = 1;
    said |= CONSERVED;
  }
  if (j.bad || said != m->needs) return fail(f, "what it needs of a reader is not what it says");
  if ((said & SHIFTS && !(said & FNO)) || m->out % (size_t)m->info.cluster != 0)
    return fail(f, "its networks cannot have such shifts or clusters");
  if (!(said & FNO ? lay_out_fno : lay_out_dilated)(f, m, network)) return 0;
  if (!json_at(spec, "horizon").bad)
    m->info.horizon = (long)size_at(f, spec, "horizon", LONG_MAX / 2);
  else if (said & TIME_INPUT)
    return fail(f, "its time input has no horizon: write it with 'stap export-model'");
  m->told = (said & TIME_INPUT ? 1 : 0) + (said & SHIFTS ? 0 : (size_t)m->info.parameters);
  m->fixed = (mask != NULL) + (fixed != NULL && fixed->rank > 0 ? fixed->shape[0] : 0);
  m->in = m->out + m->told + (said & POSITION_INPUT ? 2 * (size_t)m->info.axes : 0) + m->fixed;
  if (m->fixed > 4096) return fail(f, "it has %zu fixed fields, expected at most 4096", m->fixed);
  m->info.channels = m->out / (size_t)m->info.cluster;
  m->info.values = times(m->out, m->points);
  m->wide = padded(m->width), m->field_ld = stride(m->width);
  m->hidden_ld = stride(m->lifting > m->projection ? m->lifting : m->projection);
  return !f->bad;
}

/* So many numbers that are not negative; null: infinite. */
static void read_bar_list(struct json* j, size_t count, double* to) {
  size_t n = 0;
  int first = 1;
  for (; json_next(j, '[', ']', &first); ++n) {
    const double value = json_word(j, "null") ? HUGE_VAL : json_real(j);
    if (n >= count || !(value >= 0.0))
      json_fail(j);
    else
      to[n] = value;
  }
  if (n != count) json_fail(j);
}
/* So many lists of so many. */
static int bar_lists(struct json map, const char* key, size_t lists, size_t count, double* to) {
  struct json j = json_at(map, key);
  size_t n = 0;
  int first = 1;
  for (; json_next(&j, '[', ']', &first); ++n)
    n < lists ? read_bar_list(&j, count, to + n * count) : (void)json_fail(&j);
  return !j.bad && n == lists;
}
static int read_bars(struct file* f, struct stap_model* m) {
  const struct json bars = json_of(f->bars == NULL ? "" : f->bars);
  struct json j = bars, level = json_at(bars, "level"), format = json_at(bars, "format");
  const size_t channels = m->info.channels, kinds = 1 + 2 * channels;
  size_t steps, numbers;
  int i, good;
  if (f->bars == NULL || f->bars[0] == '\0') return 1;
  json_skip(&j, 0);
  if (!json_ended(&j) || !json_word(&format, "\"bars/1\""))
    return fail(f, "its error bars are not JSON of the format bars/1");
  steps = size_at(f, bars, "steps", LONG_MAX);
  m->info.bar_trajectories = (long)size_at(f, bars, "trajectories", LONG_MAX);
  m->info.level = json_real(&level);
  good = !level.bad && m->info.level > 0.0 && m->info.level < 1.0 &&
         size_at(f, bars, "channels", 4096) == channels &&
         size_at(f, bars, "cluster", 4096) == (size_t)m->info.cluster &&
         steps % (size_t)m->info.cluster == 0;
  /* Each number takes two bytes at least: no other memory is taken. */
  numbers = plus(times(2 * kinds + 1, steps), channels);
  if (f->bad || !good || numbers > strlen(f->bars) / 2 ||
      (m->floor = malloc(numbers * sizeof *m->floor)) == NULL)
    return fail(f, "its error bars do not fit together");
  m->info.bar_steps = (long)steps;
  m->widest = m->floor + channels, m->factors[0] = m->widest + steps;
  m->factors[1] = m->factors[0] + kinds * steps;
  read_bar_list((j = json_at(bars, "floor"), &j), channels, m->floor);
  good = !j.bad;
  read_bar_list((j = json_at(bars, "widest"), &j), steps, m->widest);
  for (i = 0; i < 2; ++i) {
    const struct json map = json_at(bars, i == 0 ? "first" : "any");
    good = good && !j.bad && bar_lists(map, "channels", channels, steps, m->factors[i] + steps) &&
           bar_lists(map, "bands", channels, steps, m->factors[i] + (1 + channels) * steps);
    read_bar_list((j = json_at(map, "all"), &j), steps, m->factors[i]);
  }
  return (good && !j.bad) || fail(f, "its error bars do not fit together");
}

/* What the file says of itself: nothing that steps depend on, but the cluster and the members. */
static int read_info(struct file* f, struct stap_model* m) {
  struct json j, name, channels;
  int first = 1;
  m->info.problem = m->info.run = "";
  m->info.round = -1, m->info.cluster = 1;
  if (f->cluster != NULL) {
    const size_t states = (j = json_of(f->cluster), json_count(&j));
    if (!json_ended(&j) || states < 1 || states > 4096) return fail(f, "its cluster is none");
    m->info.cluster = (int)states;
  }
  for (j = json_of(f->steps); json_next(&j, '[', ']', &first); ++m->info.members) json_count(&j);
  if (!json_ended(&j) || m->info.members < 1 || m->info.members > 4096)
    return fail(f, "its members' steps are no list of 1 to 4096 numbers");
  if (f->run != NULL) m->info.run = f->run;
  if (f->round != NULL) {
    j = json_of(f->round);
    m->info.round = (long)(json_count(&j) & LONG_MAX);
    if (!json_ended(&j)) return fail(f, "its round is no number");
  }
  if (f->problem == NULL) return 1;
  json_skip((j = json_of(f->problem), &j), 0);
  if (!json_ended(&j)) return fail(f, "its problem is not JSON as a model file has it");
  j = json_of(f->problem);
  name = json_at(j, "name");
  m->info.problem = keep_string(f, &name);
  channels = json_at(j, "channels");
  m->channels = f->text + f->text_used;
  for (first = 1; json_next(&channels, '[', ']', &first); ++m->channel_names)
    keep_string(f, &channels);
  j = json_at(j, "dt");
  m->info.dt = json_real(&j);
  return (!j.bad && !name.bad && !channels.bad && m->info.dt >= 0.0 && m->info.dt <= DBL_MAX) ||
         fail(f, "its problem is not JSON as a model file has it");
}

/* --- weights ------------------------------------------------------------------------------- */

/* Taps of a convolution. */
static size_t taps_of(const struct stap_model* m) {
  return m->info.axes == 2 ? m->taps * m->taps : m->taps;
}
/* Tables, and what all members share; from the same block as weights. */
static void place_tables(struct stap_model* m, struct pieces* p) {
  const size_t n = m->axis[m->info.axes - 1], waves = m->kept[1];
  const size_t first = m->info.axes == 2 ? times(4 * m->kept[0], m->axis[0]) : 0;
  int a;
  m->cosine = take2(p, waves, n / 2 + 1), m->cosine_t = take2(p, waves, n / 2 + 1);
  m->sine = take2(p, waves, (n - 1) / 2), m->sine_t = take2(p, waves, (n - 1) / 2);
  m->across = take(p, first), m->across_t = take(p, first);
  for (a = 0; a < m->info.axes; ++a)
    m->position[a] = take2(p, m->needs & POSITION_INPUT ? 2 : 0, m->axis[a]);
  m->fields = take2(p, m->fixed, m->size);
}

/* The data of member `i`'s tensor of this shape (i below 0: of all members); NULL: there is none,
 * and that is said, or there is nothing to write it to yet: sizes are checked before memory is
 * taken. */
static const unsigned char* find(struct file* f, const void* to, int i, const char* name, int rank,
                                 const size_t* shape) {
  char whole[NAME_MOST + 16];
  struct tensor* t;
  size_t at, values = 1;
  int r;
  if (i < 0)
    snprintf(whole, sizeof whole, "%s", name);
  else
    snprintf(whole, sizeof whole, "%d/%s", i, name);
  t = tensor_called(f, whole);
  if (t == NULL) return fail(f, "tensor %s is missing", whole), NULL;
  for (r = 0; r < rank && t->rank == rank; ++r)
    values = t->shape[r] == shape[r] ? times(values, shape[r]) : SIZE_MAX;
  if (t->rank != rank || values == SIZE_MAX)
    return fail(f, "tensor %s has a shape that does not fit", whole), NULL;
  t->used = 1;
  if (to == NULL) return NULL;
  for (at = t->begin; at < t->end; at += 4)
    if ((bits_at(f->data + at) & 0x7F800000u) == 0x7F800000u)
      return fail(f, "tensor %s has a value that is not finite", whole), NULL;
  return f->data + t->begin;
}
static float value_at(const unsigned char* data, size_t i) {
  const uint32_t bits = bits_at(data + 4 * i);
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static float* fill_vector(struct file* f, int i, const char* name, size_t n) {
  float* to = take(&f->pieces, n);
  const unsigned char* data = find(f, to, i, name, 1, &n);
  size_t at;
  for (at = 0; data != NULL && at < n; ++at) to[at] = value_at(data, at);
  return to;
}

/* A convolution [out][in][taps...], or a pointwise layer of one tap, and the way back. */
static void fill_layer(struct file* f, const struct stap_model* m, int i, const char* name,
                       size_t out, size_t in, size_t taps, int with_bias, struct layer* l) {
  const size_t forth_size = in * padded(out), back_size = out * padded(in);
  const size_t all = m->info.axes == 2 ? taps * taps : taps;
  const size_t shape[4] = {out, in, taps, taps};
  char whole[NAME_MOST];
  size_t o, k, t;
  const unsigned char* data;
  l->out = out, l->in = in;
  l->weights = take2(&f->pieces, all, forth_size);
  l->back = take2(&f->pieces, all, back_size);
  snprintf(whole, sizeof whole, "%s.weight", name);
  data = find(f, l->weights, i, whole, 2 + m->info.axes, shape);
  for (o = 0; data != NULL && o < out; ++o)
    for (k = 0; k < in; ++k)
      for (t = 0; t < all; ++t) {
        const float value = value_at(data, (o * in + k) * all + t);
        l->weights[t * forth_size + o / PANEL * in * PANEL + k * PANEL + o % PANEL] = value;
        l->back[t * back_size + k / PANEL * out * PANEL + o * PANEL + k % PANEL] = value;
      }
  snprintf(whole, sizeof whole, "%s.bias", name);
  if (with_bias) l->bias = fill_vector(f, i, whole, out);
}

/* [in][out][modes...][2] -> [mode][out / 16][real, imaginary][in][16]; of two axes, modes of the
 * last one come first here. */
static void fill_spectral(struct file* f, const struct stap_model* m, int i, size_t layer,
                          struct layer* l) {
  const size_t w = m->width, kx = m->kept[0], ky = m->kept[1], mode_size = 2 * w * m->wide;
  float* to = l->spectral = take2(&f->pieces, m->modes, mode_size);
  const int two = m->info.axes == 2;
  const size_t shape[5] = {w, w, two ? kx : ky, two ? ky : 2, 2};
  size_t in, out, a, b, part;
  char name[NAME_MOST];
  const unsigned char* data;
  snprintf(name, sizeof name, "fno_blocks.convs.weight.%zu.tensor", layer);
  data = find(f, to, i, name, 3 + m->info.axes, shape);
  if (data == NULL) return;
  for (in = 0; in < w; ++in)
    for (out = 0; out < w; ++out)
      for (a = 0; a < kx; ++a)
        for (b = 0; b < ky; ++b)
          for (part = 0; part < 2; ++part)
            to[(b * kx + a) * mode_size + (out / PANEL * 2 * w + part * w + in) * PANEL +
               out % PANEL] = value_at(data, (((in * w + out) * kx + a) * ky + b) * 2 + part);
}
static void fill_fno(struct file* f, const struct stap_model* m, int i, struct member* k) {
  const size_t parameters = (size_t)m->info.parameters;
  char name[NAME_MOST];
  size_t shape[4] = {m->layers, m->width, 1, 1}, l, c;
  const unsigned char* data;
  fill_layer(f, m, i, "lifting.fcs.0", m->lifting, m->in, 1, 1, &k->lift1);
  fill_layer(f, m, i, "lifting.fcs.1", m->width, m->lifting, 1, 1, &k->lift2);
  fill_layer(f, m, i, "projection.fcs.0", m->projection, m->width, 1, 1, &k->project1);
  fill_layer(f, m, i, "projection.fcs.1", m->out, m->projection, 1, 1, &k->project2);
  for (l = 0; l < m->layers; ++l) {
    struct layer* to = k->layers + l;
    snprintf(name, sizeof name, "fno_blocks.fno_skips.%zu", l);
    fill_layer(f, m, i, name, m->width, m->width, 1, 0, to);
    fill_spectral(f, m, i, l, to);
    to->bias = take(&f->pieces, m->width);
    data = find(f, to->bias, i, "fno_blocks.convs.bias", 2 + m->info.axes, shape);
    for (c = 0; data != NULL && c < m->width; ++c) to->bias[c] = value_at(data, l * m->width + c);
  }
  if (!(m->needs & SHIFTS)) return;
  shape[2] = parameters;
  k->shifts = take2(&f->pieces, m->layers * m->width, parameters);
  data = find(f, k->shifts, i, "fno_blocks.shifts", 3, shape);
  for (c = 0; data != NULL && c < m->layers * m->width * parameters; ++c)
    k->shifts[c] = value_at(data, c);
}
static void fill_dilated(struct file* f, const struct stap_model* m, int i, struct member* k) {
  char name[NAME_MOST];
  size_t l;
  fill_layer(f, m, i, "lifting", m->width, m->in, m->taps, 1, k->layers);
  for (l = 1; l + 1 < m->layers; ++l) {
    snprintf(name, sizeof name, "blocks.%zu.%zu", (l - 1) / m->dilation_count,
             (l - 1) % m->dilation_count);
    fill_layer(f, m, i, name, m->width, m->width, m->taps, 1, k->layers + l);
  }
  fill_layer(f, m, i, "projection", m->out, m->width, m->taps, 1, k->layers + l);
}
static void fill_members(struct file* f, const struct stap_model* m) {
  size_t c;
  int i;
  for (i = 0; i < m->info.members && !f->bad; ++i) {
    struct member* k = m->members + i;
    k->mean = fill_vector(f, i, "mean", m->out);
    k->deviation = fill_vector(f, i, "deviation", m->out);
    for (c = 0; k->deviation != NULL && !f->bad && c < m->out; ++c)
      if (!(k->deviation[c] > 0.0f)) fail(f, "tensor %d/deviation is not above 0", i);
    (m->needs & FNO ? fill_fno : fill_dilated)(f, m, i, k);
  }
}

/* Sine and cosine of a whole circle's part/whole, exact where they are 0 and 1. */
static double turn(size_t part, size_t whole, int sine) {
  const double angle = 8.0 * atan(1.0) * (double)(part % whole) / (double)whole;
  if (4 * (part % whole) % whole == 0) { /* a quarter */
    static const double quarters[] = {1.0, 0.0, -1.0, 0.0};
    return quarters[(4 * (part % whole) / whole + (sine ? 3 : 0)) % 4];
  }
  return sine ? sin(angle) : cos(angle);
}

/* Where a point of the network's axis lies on its ring: half of that is between the walls. */
static double place_on_ring(const struct stap_model* m, int axis, size_t i, int sine) {
  const size_t n = m->info.points[axis], padding = m->axis[axis] - n;
  const size_t centres = m->info.walls[axis] == 1, cells = centres ? n : n - 1;
  if (m->info.walls[axis] == 0) return turn(i, n, sine);
  if (i < n) return turn(2 * i + centres, 4 * cells, sine);
  i = 2 * (i - cells) + centres;
  return -turn(i, 4 * (centres ? padding : padding + 1), sine);
}
static void fill_tables(struct stap_model* m) {
  const size_t n = m->axis[m->info.axes - 1], waves = m->kept[1], odd = (n - 1) / 2;
  const size_t nx = m->axis[0], kx = m->info.axes == 2 ? m->kept[0] : 0;
  size_t k, i;
  int a;
  for (k = 0; k < waves; ++k) {
    /* Real fields: zero and middle mode count once on the way back, others twice; and the sine has
     * the sign of e^(-i angle). */
    const double counts = (k == 0 || 2 * k == n ? 1.0 : 2.0) / (double)m->size;
    for (i = 0; i <= n / 2; ++i) {
      m->cosine[k * (n / 2 + 1) + i] = (float)turn(k * i, n, 0);
      m->cosine_t[i * waves + k] = (float)(turn(k * i, n, 0) * counts);
    }
    for (i = 1; i <= odd; ++i) {
      m->sine[k * odd + i - 1] = (float)-turn(k * i, n, 1);
      m->sine_t[(i - 1) * waves + k] = (float)(-turn(k * i, n, 1) * counts);
    }
  }
  for (k = 0; k < kx; ++k) /* wave k - kx / 2 */
    for (i = 0; i < nx; ++i) {
      const size_t turns = (k + nx - kx / 2) % nx * i;
      const float c = (float)turn(turns, nx, 0), s = (float)turn(turns, nx, 1);
      float *row = m->across + 4 * k * nx + i, *back = m->across_t + 2 * (i * kx + k);
      row[0] = row[3 * nx] = back[0] = back[2 * nx * kx + 1] = c;
      row[nx] = back[2 * nx * kx] = s;
      row[2 * nx] = back[1] = -s;
    }
  for (a = 0; a < m->info.axes && m->needs & POSITION_INPUT; ++a)
    for (i = 0; i < m->axis[a]; ++i) {
      m->position[a][i] = (float)place_on_ring(m, a, i, 1);
      m->position[a][m->axis[a] + i] = (float)place_on_ring(m, a, i, 0);
    }
}

/* Padding is what both ends ask for, one blended into the other along half a cosine. */
static struct source source_of(const struct stap_model* m, int axis, size_t i) {
  const size_t n = m->info.points[axis], wall = m->info.walls[axis] == 2;
  const size_t before = m->axis[axis] - 1 - i, behind = i - n;
  const double part = (double)(behind + 1) / (double)(m->axis[axis] - n + 1);
  const double last = 0.5 * (1.0 + cos(4.0 * atan(1.0) * part));
  struct source s = {{i, 0}, {1.0, 0.0}, 1};
  if (i < n) return s;
  s.count = 0;
  if (m->padding[axis] != ZERO) {
    const int mirror = m->padding[axis] != BLENDED;
    const double sign = m->padding[axis] == ODD ? -1.0 : 1.0;
    s.count = 2;
    s.from[0] = n - 1 - (!mirror ? 0 : behind + wall < n ? behind + wall : n - 1);
    s.from[1] = !mirror ? 0 : before + wall < n ? before + wall : n - 1;
    s.weight[0] = sign * last;
    s.weight[1] = sign * (1.0 - last);
  }
  return s;
}

/* A point of the network: its points of a state, none of them masked, and where it is itself. */
struct spot {
  size_t from[4], at[AXES];
  double weight[4];
  int count;
  size_t place; /* SIZE_MAX: it is padding, or masked */
};

static struct spot spot_of(const struct stap_model* m, size_t p) {
  static const struct source alone = {{0, 0}, {1.0, 0.0}, 1};
  const int last = m->info.axes - 1;
  const size_t n = m->axis[last], columns = m->info.points[last];
  const struct source *y = m->sources[last] + p % n, *x = last > 0 ? m->sources[0] + p / n : &alone;
  struct spot s = {{0}, {0}, {0}, 0, SIZE_MAX};
  int i, k;
  s.at[0] = p / n, s.at[last] = p % n;
  for (i = 0; i < x->count; ++i)
    for (k = 0; k < y->count; ++k) {
      const size_t from = x->from[i] * columns + y->from[k];
      if (m->mask != NULL && m->mask[from] == 0) continue;
      s.from[s.count] = from;
      s.weight[s.count++] = x->weight[i] * y->weight[k];
    }
  if (p % n < columns && (last == 0 || p / n < m->info.points[0]) && s.count == 1)
    s.place = s.from[0];
  return s;
}

/* Mask and fixed fields, on the network's grid as states are, but never with another sign. */
static void fill_fixed(struct file* f, struct stap_model* m) {
  size_t shape[3], c, p, masked = 0;
  int i;
  const unsigned char* data;
  memcpy(shape + 1, m->info.points, sizeof m->info.points);
  m->counted = m->points;
  if (tensor_called(f, "mask") != NULL) {
    data = find(f, m->raw, -1, "mask", m->info.axes, shape + 1);
    masked = 1;
    for (m->counted = 0, p = 0; m->mask != NULL && data != NULL && p < m->points; ++p)
      m->counted += m->mask[p] = value_at(data, p) != 0.0f;
    if (m->mask != NULL && m->counted == 0) fail(f, "its mask hides all points");
  }
  shape[0] = m->fixed - masked;
  data = shape[0] == 0 ? NULL : find(f, m->raw, -1, "fixed", 1 + m->info.axes, shape);
  for (p = 0; m->fields != NULL && m->fixed > 0 && !f->bad && p < m->size; ++p) {
    const struct spot s = spot_of(m, p);
    for (c = 0; c < m->fixed; ++c)
      for (i = 0; i < s.count; ++i)
        m->fields[c * m->size + p] +=
            (float)fabs(s.weight[i]) *
            (c < masked ? 1.0f : value_at(data, (c - masked) * m->points + s.from[i]));
  }
}

/* Whether all weights are there, before memory is taken for them, or the data are read. */
static int check_members(struct file* f, struct stap_model* m) {
  const size_t ny = m->axis[m->info.axes - 1], members = (size_t)m->info.members;
  const size_t tables = plus(times(2 * m->kept[1], ny), times(m->kept[0], m->size / ny));
  size_t i;
  if (tables > (size_t)1 << 25) return fail(f, "its modes and points are too many for this reader");
  if (times(m->layers, members) > f->tensor_count)
    return fail(f, "tensors of its %zu layers are missing", m->layers);
  m->members = calloc(members, sizeof *m->members);
  m->all_layers = calloc(members * m->layers, sizeof *m->all_layers);
  if (m->members == NULL || m->all_layers == NULL)
    return fail(f, "there is not enough memory for it");
  for (i = 0; i < members; ++i) m->members[i].layers = m->all_layers + i * m->layers;
  place_tables(m, &f->pieces);
  fill_fixed(f, m);
  fill_members(f, m);
  for (i = 0; i < f->tensor_count && !f->bad; ++i)
    if (!f->tensors[i].used) fail(f, "tensor %.60s belongs to no member", f->tensors[i].name);
  return !f->bad;
}
static int fill(struct file* f, struct stap_model* m) {
  const int masked = tensor_called(f, "mask") != NULL;
  size_t i;
  int a, good = 1;
  f->pieces.block = zeros(f->pieces.used, &m->raw);
  f->pieces.used = 0;
  for (a = 0; a < m->info.axes; ++a) {
    m->sources[a] = malloc(m->axis[a] * sizeof *m->sources[a]);
    for (i = 0; m->sources[a] != NULL && i < m->axis[a]; ++i) m->sources[a][i] = source_of(m, a, i);
    good = good && m->sources[a] != NULL;
  }
  if (masked) m->info.mask = m->mask = calloc(m->points, 1);
  if (!good || m->raw == NULL || (masked && m->mask == NULL))
    return fail(f, "there is not enough memory for it");
  place_tables(m, &f->pieces);
  fill_fixed(f, m);
  fill_members(f, m);
  fill_tables(m);
  return !f->bad;
}

/* --- opening and closing ------------------------------------------------------------------- */

static stap_model* read_model(struct file* f) {
  stap_model* m = calloc(1, sizeof *m);
  unsigned char* data = NULL;
  int good = 0;
  if (m == NULL) {
    fail(f, "there is not enough memory for it");
  } else if (read_header(f)) {
    if (f->format == NULL || strcmp(f->format, "model/4") != 0)
      fail(f, "its format is '%.40s', expected model/4: write it with 'stap export-model'",
           f->format ? f->format : "");
    else if (f->required == NULL || f->spec == NULL || f->steps == NULL)
      fail(f, "its metadata have no 'requires', 'spec' or 'steps'");
    else if (read_requires(f, m) && read_info(f, m) && read_spec(f, m) && read_bars(f, m) &&
             check_members(f, m)) {
      if (f->data == NULL) f->data = data = malloc(f->data_size + 1);
      if (f->data == NULL)
        fail(f, "there is not enough memory for its %zu bytes", f->data_size);
      else if (data != NULL && fread(data, 1, f->data_size, f->in) != f->data_size)
        fail(f, "it cannot be read");
      good = !f->bad && check_seal(f) && fill(f, m);
    }
  }
  free(data);
  free(f->tensors);
  if (m != NULL) m->text = f->text;
  if (good) return m;
  if (m == NULL) free(f->text);
  return stap_model_close(m), NULL;
}
stap_model* stap_model_read(const void* bytes, size_t size, char* why, size_t why_size) {
  struct file f = {0};
  f.name = "this", f.why = why, f.why_size = why_size;
  f.bytes = bytes, f.size = size;
  if (!read_length(&f, f.bytes)) return NULL;
  f.data = f.bytes + 8 + f.header_size;
  return read_model(&f);
}
stap_model* stap_model_open(const char* path, char* why, size_t why_size) {
  struct file f = {0};
  stap_model* model = NULL;
  unsigned char length[8] = {0}, *header = NULL;
  long size = -1;
  f.name = path, f.why = why, f.why_size = why_size;
  f.in = fopen(path, "rb");
  if (f.in == NULL) return fail(&f, "it cannot be opened: %s", strerror(errno)), NULL;
  if (fseek(f.in, 0, SEEK_END) == 0) size = ftell(f.in);
  if (size >= 0 && size < LONG_MAX && fseek(f.in, 0, SEEK_SET) == 0) f.size = (size_t)size;
  if (f.size > 8 && fread(length, 1, 8, f.in) != 8) f.size = 0;
  if (read_length(&f, length)) {
    f.bytes = header = malloc(8 + f.header_size);
    if (header == NULL)
      fail(&f, "there is not enough memory to read it");
    else if (memcpy(header, length, 8), fread(header + 8, 1, f.header_size, f.in) != f.header_size)
      fail(&f, "it cannot be read");
    else
      model = read_model(&f);
  }
  fclose(f.in);
  free(header);
  return model;
}
void stap_model_close(stap_model* m) {
  if (m == NULL) return;
  free(m->raw);
  free(m->members), free(m->all_layers);
  free(m->conserved), free(m->mask);
  free(m->sources[0]), free(m->sources[1]);
  free(m->floor);
  free(m->text);
  free(m);
}
const stap_model_info* stap_model_about(const stap_model* model) {
  return &model->info;
}
const char* stap_model_channel(const stap_model* model, size_t channel) {
  const char* name = model->channels;
  if (channel >= model->channel_names) return "";
  for (; channel > 0; --channel) name += strlen(name) + 1;
  return name;
}
const stap_parameter_info* stap_model_parameter(const stap_model* model, size_t number) {
  return number < (size_t)model->info.parameters ? &model->parameters[number].about : NULL;
}

/* --- arithmetic ---------------------------------------------------------------------------- */

/* The registers of the machine it is compiled for; LANES 1, plain C, is what
 * STAP_MODEL_PLAIN asks for. */
#if defined(__AVX2__) && defined(__FMA__) && !defined(STAP_MODEL_PLAIN)
#include <immintrin.h>
typedef __m256 lanes;
#define LANES 8
#define LOAD(p) _mm256_loadu_ps(p)
#define STORE(p, x) _mm256_storeu_ps(p, x)
#define SPREAD(x) _mm256_set1_ps(x)
#define ADD(x, y) _mm256_add_ps(x, y)
#define MULTIPLY_ADD(x, y, z) _mm256_fmadd_ps(x, y, z)
#define FUSED(x, y, z) fmaf(x, y, z)
#elif defined(__SSE2__) && !defined(STAP_MODEL_PLAIN)
#include <emmintrin.h>
typedef __m128 lanes;
#define LANES 4
#define LOAD(p) _mm_loadu_ps(p)
#define STORE(p, x) _mm_storeu_ps(p, x)
#define SPREAD(x) _mm_set1_ps(x)
#define ADD(x, y) _mm_add_ps(x, y)
#define MULTIPLY_ADD(x, y, z) _mm_add_ps(_mm_mul_ps(x, y), z)
#define FUSED(x, y, z) ((x) * (y) + (z))
#else
typedef float lanes;
#define LANES 1
#define LOAD(p) (*(p))
#define STORE(p, x) (*(p) = (x))
#define SPREAD(x) (x)
#define ADD(x, y) ((x) + (y))
#define MULTIPLY_ADD(x, y, z) ((x) * (y) + (z))
#define FUSED(x, y, z) ((x) * (y) + (z))
#endif

/* c = a b (+ bias) (+ c): rows of a, [n] each, times b, whose row k stands at b + k ldb; two
 * registers of columns. Sums stay in registers, and run over k in order. */
#define TILE(ROWS)                                                                          \
  static void tile_##ROWS(size_t n, const float* a, size_t lda, const float* b, size_t ldb, \
                          const float* bias, int add, float* c, size_t ldc) {               \
    lanes s[ROWS][2];                                                                       \
    size_t k;                                                                               \
    int r;                                                                                  \
    for (r = 0; r < ROWS; ++r) {                                                            \
      s[r][0] = bias != NULL ? LOAD(bias) : SPREAD(0.0f);                                   \
      s[r][1] = bias != NULL ? LOAD(bias + LANES) : SPREAD(0.0f);                           \
    }                                                                                       \
    for (k = 0; k < n; ++k, b += ldb) {                                                     \
      const lanes b0 = LOAD(b), b1 = LOAD(b + LANES);                                       \
      for (r = 0; r < ROWS; ++r) {                                                          \
        const lanes x = SPREAD(a[(size_t)r * lda + k]);                                     \
        s[r][0] = MULTIPLY_ADD(x, b0, s[r][0]);                                             \
        s[r][1] = MULTIPLY_ADD(x, b1, s[r][1]);                                             \
      }                                                                                     \
    }                                                                                       \
    for (r = 0; r < ROWS; ++r, c += ldc) {                                                  \
      STORE(c, add ? ADD(LOAD(c), s[r][0]) : s[r][0]);                                      \
      STORE(c + LANES, add ? ADD(LOAD(c + LANES), s[r][1]) : s[r][1]);                      \
    }                                                                                       \
  }
TILE(6)
TILE(2)
TILE(1)

/* c[rows][ldc] = a[rows][lda] b for all `panels` of 16 columns, which stand `step` apart in b. */
static void product(size_t rows, size_t n, size_t panels, const float* a, size_t lda,
                    const float* b, size_t ldb, size_t step, const float* bias, int add, float* c,
                    size_t ldc) {
  size_t panel, part, r;
  for (panel = 0; panel < panels; ++panel)
    for (part = 0; part < PANEL; part += 2 * LANES) {
      const size_t column = panel * PANEL + part;
      const float *from = b + panel * step + part, *start = bias == NULL ? NULL : bias + column;
      for (r = 0; r + 6 <= rows; r += 6)
        tile_6(n, a + r * lda, lda, from, ldb, start, add, c + r * ldc + column, ldc);
      for (; r + 2 <= rows; r += 2)
        tile_2(n, a + r * lda, lda, from, ldb, start, add, c + r * ldc + column, ldc);
      for (; r < rows; ++r)
        tile_1(n, a + r * lda, lda, from, ldb, start, add, c + r * ldc + column, ldc);
    }
}

/* A pointwise layer of `rows` points: y = x W (+ bias) (+ y); and back, without a bias. */
static void dense(size_t rows, const struct layer* l, const float* x, size_t ldx, const float* bias,
                  int add, float* y, size_t ldy) {
  product(rows, l->in, padded(l->out) / PANEL, x, ldx, l->weights, PANEL, l->in * PANEL, bias, add,
          y, ldy);
}
static void dense_back(size_t rows, const struct layer* l, const float* d, size_t ldd, int add,
                       float* y, size_t ldy) {
  product(rows, l->out, padded(l->in) / PANEL, d, ldd, l->back, PANEL, l->out * PANEL, NULL, add, y,
          ldy);
}

/* x Phi(x), in its place, and unless NULL its slope Phi(x) + x phi(x).
 *
 * With a = |x|: max(x, 0) - a q(a), q(a) = 1 - Phi(a) = exp(-a^2 / 2) R(a), and R is smooth: a
 * polynomial of degree 10 on [0, 6], beyond which a q(a) is below 6e-9. exp is 2^k 2^r with a
 * polynomial of degree 5. No branch, so compilers make vectors of it, loop by loop. */
static void gelu(size_t n, float* x, float* slope) {
  enum { BLOCK = 64 };
  float in[BLOCK], a[BLOCK], e[BLOCK], q[BLOCK], scale[BLOCK];
  int32_t bits[BLOCK];
  size_t at, left;
  int i;
  for (at = 0; at < n; at += BLOCK) {
    left = n - at < BLOCK ? n - at : BLOCK;
    if (left < BLOCK) memset(in, 0, sizeof in);
    memcpy(in, x + at, left * sizeof *in);
    for (i = 0; i < BLOCK; ++i) a[i] = fabsf(in[i]);
    for (i = 0; i < BLOCK; ++i) a[i] = a[i] < 6.0f ? a[i] : 6.0f; /* also where it is no number */
    for (i = 0; i < BLOCK; ++i) {
      const float y = a[i] * a[i] * -0.72134752044f;
      const int32_t k = (int32_t)(y - 0.5f);
      const float r = y - (float)k;
      float p =
          FUSED(FUSED(0.0013276408426463604f, r, 0.009675540961325169f), r, 0.05550713464617729f);
      p = FUSED(FUSED(p, r, 0.24022120237350464f), r, 0.6931469440460205f);
      e[i] = FUSED(p, r, 1.0000001192092896f);
      bits[i] = (k + 127) * 8388608;
    }
    memcpy(scale, bits, sizeof scale);
    for (i = 0; i < BLOCK; ++i) {
      const float z = a[i];
      float p = FUSED(FUSED(1.2714087915810524e-06f, z, -2.8997110348427668e-05f), z,
                      0.00029518044902943075f);
      p = FUSED(FUSED(p, z, -0.0018014759989455342f), z, 0.007542031351476908f);
      p = FUSED(FUSED(p, z, -0.023763136938214302f), z, 0.06070199981331825f);
      p = FUSED(FUSED(p, z, -0.13230572640895844f), z, 0.24986961483955383f);
      p = FUSED(FUSED(p, z, -0.39893248677253723f), z, 0.49999988079071045f);
      e[i] *= scale[i];
      q[i] = p * e[i];
    }
    if (slope != NULL) {
      for (i = 0; i < BLOCK; ++i)
        scale[i] = FUSED(in[i] * 0.3989422804f, e[i], 0.5f + copysignf(0.5f - q[i], in[i]));
      memcpy(slope + at, scale, left * sizeof *scale);
    }
    for (i = 0; i < BLOCK; ++i) in[i] = FUSED(-a[i], q[i], in[i] < 0.0f ? 0.0f : in[i]);
    memcpy(x + at, in, left * sizeof *in);
  }
}
static void gelu_rows(size_t rows, size_t n, float* x, float* slope, size_t ld) {
  size_t r;
  for (r = 0; r < rows; ++r) gelu(padded(n), x + r * ld, slope == NULL ? NULL : slope + r * ld);
}

/* Cosines are the same on both sides of point 0, sines the opposite, so a transform needs the sums
 * and the differences of points that face each other: n / 2 + 1 and (n - 1) / 2 rows, half the
 * work. */
static void fold(size_t n, size_t wide, const float* line, size_t ld, float* to) {
  const size_t sums = n / 2 + 1;
  size_t p, c;
  memcpy(to, line, wide * sizeof *to);
  if (n % 2 == 0) memcpy(to + n / 2 * wide, line + n / 2 * ld, wide * sizeof *to);
  for (p = 1; p <= (n - 1) / 2; ++p) {
    const float *a = line + p * ld, *b = line + (n - p) * ld;
    float *sum = to + p * wide, *difference = to + (sums - 1 + p) * wide;
    for (c = 0; c < wide; ++c) {
      sum[c] = a[c] + b[c];
      difference[c] = a[c] - b[c];
    }
  }
}
static void unfold(size_t n, size_t wide, const float* from, float* line, size_t ld) {
  const size_t sums = n / 2 + 1;
  size_t p, c;
  memcpy(line, from, wide * sizeof *line);
  if (n % 2 == 0) memcpy(line + n / 2 * ld, from + n / 2 * wide, wide * sizeof *line);
  for (p = 1; p <= (n - 1) / 2; ++p) {
    const float *sum = from + p * wide, *difference = from + (sums - 1 + p) * wide;
    float *a = line + p * ld, *b = line + (n - p) * ld;
    for (c = 0; c < wide; ++c) {
      a[c] = sum[c] + difference[c];
      b[c] = sum[c] - difference[c];
    }
  }
}

/* A field's kept modes, [mode][real, imaginary][wide], and back. Of two axes first the last one,
 * into `half`: [its mode][part][point of the first axis][wide]. */
static void transform(const stap_model* m, const stap_work* w, const float* field, float* modes) {
  const int two = m->info.axes == 2, last = m->info.axes - 1;
  const size_t wide = m->wide, panels = wide / PANEL, waves = m->kept[1], kx = 2 * m->kept[0];
  const size_t n = m->axis[last], nx = m->size / n, sums = n / 2 + 1, odd = (n - 1) / 2;
  float* to = two ? w->half : modes;
  size_t i;
  for (i = 0; i < nx; ++i, to += wide) { /* cosines of the sums, sines of the differences */
    fold(n, wide, field + i * n * m->field_ld, m->field_ld, w->fold);
    product(waves, sums, panels, m->cosine, sums, w->fold, wide, PANEL, NULL, 0, to, 2 * nx * wide);
    product(waves, odd, panels, m->sine, odd, w->fold + sums * wide, wide, PANEL, NULL, 0,
            to + nx * wide, 2 * nx * wide);
  }
  for (i = 0; two && i < waves; ++i)
    product(kx, 2 * nx, panels, m->across, 2 * nx, w->half + i * 2 * nx * wide, wide, PANEL, NULL,
            0, modes + i * kx * wide, wide);
}
static void transform_back(const stap_model* m, const stap_work* w, const float* modes,
                           float* field) {
  const int two = m->info.axes == 2, last = m->info.axes - 1;
  const size_t wide = m->wide, panels = wide / PANEL, waves = m->kept[1], kx = 2 * m->kept[0];
  const size_t n = m->axis[last], nx = m->size / n, sums = n / 2 + 1, odd = (n - 1) / 2;
  const float* from = two ? w->half : modes;
  size_t i;
  for (i = 0; two && i < waves; ++i)
    product(2 * nx, kx, panels, m->across_t, kx, modes + i * kx * wide, wide, PANEL, NULL, 0,
            w->half + i * 2 * nx * wide, wide);
  for (i = 0; i < nx; ++i, from += wide) {
    product(sums, waves, panels, m->cosine_t, waves, from, 2 * nx * wide, PANEL, NULL, 0, w->fold,
            wide);
    product(odd, waves, panels, m->sine_t, waves, from + nx * wide, 2 * nx * wide, PANEL, NULL, 0,
            w->fold + sums * wide, wide);
    unfold(n, wide, w->fold, field + i * n * m->field_ld, m->field_ld);
  }
}

/* Every mode times its complex matrix: two rows, (re, -im) and (im, re), times [real; imaginary].
 */
static void mix_modes(const stap_model* m, const stap_work* w, const float* weights,
                      const float* from, float* to) {
  const size_t n = m->width, wide = m->wide, mode_size = 2 * n * wide;
  size_t mode, i;
  for (mode = 0; mode < m->modes; ++mode, from += 2 * wide, to += 2 * wide) {
    for (i = 0; i < n; ++i) {
      w->rows[i] = w->rows[3 * n + i] = from[i];
      w->rows[n + i] = -from[wide + i];
      w->rows[2 * n + i] = from[wide + i];
    }
    product(2, 2 * n, wide / PANEL, w->rows, 2 * n, weights + mode * mode_size, PANEL,
            2 * n * PANEL, NULL, 0, to, wide);
  }
}

/* Every mode times the conjugate transpose of its matrix. */
static void mix_modes_back(const stap_model* m, const float* weights, const float* from,
                           float* to) {
  const size_t n = m->width, wide = m->wide;
  size_t mode, i, panel;
  int l;
  for (mode = 0; mode < m->modes; ++mode, from += 2 * wide, to += 2 * wide, weights += 2 * n * wide)
    for (i = 0; i < n; ++i) {
      float re[PANEL] = {0}, im[PANEL] = {0}, sum_re = 0.0f, sum_im = 0.0f;
      for (panel = 0; panel < wide / PANEL; ++panel) {
        const float *a = weights + (panel * 2 * n + i) * PANEL, *b = a + n * PANEL;
        const float *x = from + panel * PANEL, *y = x + wide;
        for (l = 0; l < PANEL; ++l) {
          re[l] += a[l] * x[l] + b[l] * y[l];
          im[l] += a[l] * y[l] - b[l] * x[l];
        }
      }
      for (l = 0; l < PANEL; ++l) {
        sum_re += re[l];
        sum_im += im[l];
      }
      to[i] = sum_re;
      to[wide + i] = sum_im;
    }
}

/* Layer l of a dilated network; `back`: from what it makes to what it takes. Point p takes from
 * those some points away, with each tap's weights; a few points of a line at a time. */
static void convolve(const stap_model* m, const struct member* k, size_t l, int back,
                     const float* x, float* y) {
  const struct layer* layer = k->layers + l;
  const int edge = l == 0 || l + 1 == m->layers, last = m->info.axes - 1;
  const size_t dilation = edge ? 1 : m->dilations[(l - 1) % m->dilation_count];
  const size_t ld_in = l > 0 ? m->field_ld : back ? padded(layer->in) : layer->in;
  const size_t ld_out = l + 1 < m->layers ? m->field_ld : padded(layer->out);
  const size_t from = back ? layer->out : layer->in, to = back ? layer->in : layer->out;
  const size_t ldx = back ? ld_out : ld_in, ldy = back ? ld_in : ld_out,
               panels = padded(to) / PANEL;
  const size_t ny = m->axis[last], nx = m->size / ny, half = m->taps / 2, reach = half * dilation;
  size_t line, first, n, t;
  for (line = 0; line < nx; ++line)
    for (first = 0; first < ny; first += n) {
      float* out = y + (line * ny + first) * ldy;
      n = ny - first < CHUNK ? ny - first : CHUNK;
      for (t = 0; t < taps_of(m); ++t) {
        const size_t a = last > 0 ? t / m->taps : half, b = t % m->taps;
        const size_t up = (back ? 2 * half - a : a) * dilation + nx - reach % nx;
        const size_t right = (back ? 2 * half - b : b) * dilation + ny - reach % ny;
        const size_t at = (first + right) % ny, whole = ny - at < n ? ny - at : n;
        const float* in = x + (line + up) % nx * ny * ldx;
        const float* weights = (back ? layer->back : layer->weights) + t * from * padded(to);
        const float* bias = back || t > 0 ? NULL : layer->bias;
        product(whole, from, panels, in + at * ldx, ldx, weights, PANEL, from * PANEL, bias, t > 0,
                out, ldy);
        product(n - whole, from, panels, in, ldx, weights, PANEL, from * PANEL, bias, t > 0,
                out + whole * ldy, ldy);
      }
    }
}

/* --- a step -------------------------------------------------------------------------------- */

/* What the network is given at `n` points from `first`: [n][in]. */
static void fill_input(const stap_model* m, const stap_work* w, const struct member* k,
                       const double* from, size_t first, size_t n, float* input) {
  size_t c, p;
  int i;
  for (p = first; p < first + n; ++p) {
    const struct spot s = spot_of(m, p);
    for (c = 0; c < m->out; ++c) {
      double value = 0.0;
      for (i = 0; i < s.count; ++i) value += s.weight[i] * from[c * m->points + s.from[i]];
      *input++ = (float)((value - (double)k->mean[c]) / (double)k->deviation[c]);
    }
    for (c = 0; c < m->told; ++c) *input++ = w->told[c];
    for (i = 0; i < m->info.axes && m->needs & POSITION_INPUT; ++i) {
      *input++ = m->position[i][s.at[i]];
      *input++ = m->position[i][m->axis[i] + s.at[i]];
    }
    for (c = 0; c < m->fixed; ++c) *input++ = m->fields[c * m->size + p];
  }
}

/* A dilated network takes all points at once, where an FNO has a layer for each. */
static size_t chunk(const stap_model* m, size_t first) {
  return m->size - first < CHUNK || m->needs & DILATED ? m->size - first : CHUNK;
}

/* What layer l adds, shifted by the parameters. */
static const float* bias_of(const stap_model* m, const stap_work* w, const struct member* k,
                            size_t l) {
  const size_t n = m->needs & SHIFTS ? (size_t)m->info.parameters : 0;
  size_t c, s;
  if (n == 0) return k->layers[l].bias;
  for (c = 0; c < m->width; ++c) {
    double sum = (double)k->layers[l].bias[c];
    for (s = 0; s < n; ++s)
      sum += (double)k->shifts[(l * m->width + c) * n + s] * (double)w->told[m->told + s];
    w->bias[c] = (float)sum;
  }
  return w->bias;
}

/* The network up to the field that its last part takes, which is returned; with `slopes` those of
 * the layers are kept for the way back. */
static float* run_fno(const stap_model* m, stap_work* w, const struct member* k, const double* from,
                      int slopes) {
  const size_t ld = m->field_ld;
  float *field = w->field, *next = w->next, *other;
  size_t first, n, l;
  for (first = 0; first < m->size; first += n) {
    n = chunk(m, first);
    fill_input(m, w, k, from, first, n, w->input);
    dense(n, &k->lift1, w->input, m->in, k->lift1.bias, 0, w->hidden, m->hidden_ld);
    gelu_rows(n, m->lifting, w->hidden, NULL, m->hidden_ld);
    dense(n, &k->lift2, w->hidden, m->hidden_ld, k->lift2.bias, 0, field + first * ld, ld);
  }
  for (l = 0; l < m->layers; ++l) {
    const float* bias = bias_of(m, w, k, l);
    transform(m, w, field, w->spectrum);
    mix_modes(m, w, k->layers[l].spectral, w->spectrum, w->product);
    transform_back(m, w, w->product, next);
    for (first = 0; first < m->size; first += n) {
      float* y = next + first * ld;
      n = chunk(m, first);
      dense(n, k->layers + l, field + first * ld, ld, bias, 1, y, ld);
      if (l + 1 < m->layers)
        gelu_rows(n, m->width, y, slopes ? w->slopes + (l * m->size + first) * ld : NULL, ld);
    }
    other = field, field = next, next = other;
  }
  return field;
}

/* One of three fields that is neither of these. */
static float* free_field(const stap_work* w, const float* a, const float* b) {
  if (w->field != a && w->field != b) return w->field;
  return w->next != a && w->next != b ? w->next : w->third;
}
static float* run_dilated(const stap_model* m, stap_work* w, const struct member* k,
                          const double* from, int slopes) {
  const size_t all = m->size * m->field_ld;
  float *block = w->field, *now = w->field, *to; /* a block's input stays until its end */
  size_t l, i;
  fill_input(m, w, k, from, 0, m->size, w->input);
  convolve(m, k, 0, 0, w->input, now);
  for (l = 1; l + 1 < m->layers; ++l, now = to) {
    to = free_field(w, block, now);
    convolve(m, k, l, 0, now, to);
    gelu_rows(m->size, m->width, to, slopes ? w->slopes + (l - 1) * all : NULL, m->field_ld);
    if (l % m->dilation_count != 0) continue;
    for (i = 0; i < all; ++i) to[i] += block[i];
    block = to;
  }
  return now;
}
static float* run(const stap_model* m, stap_work* w, const struct member* k, const double* from,
                  int slopes) {
  return (m->needs & FNO ? run_fno : run_dilated)(m, w, k, from, slopes);
}
static int hidden_by_mask(const stap_model* m, size_t point) {
  return m->mask != NULL && m->mask[point] == 0;
}
static double mean_of(const stap_model* m, const double* values) {
  double sum = 0.0;
  size_t p;
  for (p = 0; p < m->points; ++p)
    if (!hidden_by_mask(m, p)) sum += values[p];
  return sum / (double)m->counted;
}

/* One member's step; `to` is not `from`. */
static void advance(const stap_model* m, stap_work* w, const struct member* k, const double* from,
                    double* to) {
  const size_t ldo = padded(m->out);
  float* field = run(m, w, k, from, 0);
  size_t first, n, c, p;
  for (first = 0; first < m->size; first += n) {
    n = chunk(m, first);
    if (m->needs & FNO) {
      dense(n, &k->project1, field + first * m->field_ld, m->field_ld, k->project1.bias, 0,
            w->hidden, m->hidden_ld);
      gelu_rows(n, m->projection, w->hidden, NULL, m->hidden_ld);
      dense(n, &k->project2, w->hidden, m->hidden_ld, k->project2.bias, 0, w->output, ldo);
    } else {
      convolve(m, k, m->layers - 1, 0, field, w->output);
    }
    for (p = 0; p < n; ++p) {
      const size_t place = spot_of(m, first + p).place;
      for (c = 0; c < m->out && place != SIZE_MAX; ++c) {
        const size_t at = c * m->points + place;
        to[at] = (m->delta ? from[at] : (double)k->mean[c]) +
                 (double)k->deviation[c] * (double)w->output[p * ldo + c];
      }
    }
  }
  for (c = 0; c < m->out; ++c) {
    double *values = to + c * m->points, shift = 0.0;
    if (m->mask != NULL)
      for (p = 0; p < m->points; ++p)
        if (m->mask[p] == 0) values[p] = 0.0;
    if (m->conserved[c]) shift = mean_of(m, from + c * m->points) - mean_of(m, values);
    for (p = 0; m->conserved[c] && p < m->points; ++p)
      if (!hidden_by_mask(m, p)) values[p] += shift;
  }
}

/* From the gradient of the field that the last part takes to that of the first part's: `d`, and a
 * place for the next one. */
static float* back_fno(const stap_model* m, stap_work* w, const struct member* k, float* d,
                       float* field) {
  const size_t ld = m->field_ld, shifts = m->needs & SHIFTS ? (size_t)m->info.parameters : 0;
  size_t l, i, p, c;
  for (l = m->layers; l-- > 0;) { /* d: of what layer l makes, before its GELU */
    float* other = d;
    for (c = 0; shifts > 0 && c < m->width; ++c) {
      double sum = 0.0;
      for (p = 0; p < m->size; ++p) sum += (double)d[p * ld + c];
      for (i = 0; i < shifts; ++i)
        w->by_told[m->told + i] += sum * (double)k->shifts[(l * m->width + c) * shifts + i];
    }
    transform(m, w, d, w->spectrum);
    mix_modes_back(m, k->layers[l].spectral, w->spectrum, w->product);
    transform_back(m, w, w->product, field);
    dense_back(m->size, k->layers + l, d, ld, 1, field, ld);
    for (i = 0; l > 0 && i < m->size * ld; ++i) field[i] *= w->slopes[(l - 1) * m->size * ld + i];
    d = field;
    field = other;
  }
  return d;
}
static float* back_dilated(const stap_model* m, stap_work* w, const struct member* k, float* d) {
  const size_t all = m->size * m->field_ld;
  float *block = d, *before, *to; /* the gradient of what a block makes stays until its begin */
  size_t l, i;
  for (l = m->layers - 2; l > 0; --l, d = to) {
    if (l % m->dilation_count == 0) block = d;
    before = free_field(w, block, d);
    for (i = 0; i < all; ++i) before[i] = d[i] * w->slopes[(l - 1) * all + i];
    to = free_field(w, block, before);
    convolve(m, k, l, 1, before, to);
    for (i = 0; (l - 1) % m->dilation_count == 0 && i < all; ++i) to[i] += block[i];
  }
  return d;
}

/* Adds one member's gradient to `sum`, and by what it is told to by_told. */
static void add_adjoint(const stap_model* m, stap_work* w, const struct member* k,
                        const double* from, const double* weights, double* sum) {
  const size_t ld = m->field_ld, high = m->hidden_ld, ldo = padded(m->out), ldi = padded(m->in);
  float *field = run(m, w, k, from, 1), *d = field == w->field ? w->next : w->field;
  size_t first, n, c, p, i;
  int s;
  /* A mean that is kept takes the place of the network's: its part of the gradient goes past it. */
  for (c = 0; c < m->out; ++c) {
    w->means[c] = m->conserved[c] ? mean_of(m, weights + c * m->points) : 0.0;
    for (p = 0; p < m->points; ++p)
      if (!hidden_by_mask(m, p))
        sum[c * m->points + p] += m->delta ? weights[c * m->points + p] : w->means[c];
  }
  for (first = 0; first < m->size; first += n) {
    n = chunk(m, first);
    for (p = 0; p < n; ++p) {
      const size_t place = spot_of(m, first + p).place;
      for (c = 0; c < m->out; ++c)
        w->output[p * ldo + c] =
            place == SIZE_MAX
                ? 0.0f
                : (float)((double)k->deviation[c] * (weights[c * m->points + place] - w->means[c]));
    }
    if (m->needs & DILATED) {
      convolve(m, k, m->layers - 1, 1, w->output, d);
      continue;
    }
    dense(n, &k->project1, field + first * ld, ld, k->project1.bias, 0, w->hidden, high);
    gelu_rows(n, m->projection, w->hidden, w->slope, high);
    dense_back(n, &k->project2, w->output, ldo, 0, w->hidden, high);
    for (i = 0; i < n * high; ++i) w->hidden[i] *= w->slope[i];
    dense_back(n, &k->project1, w->hidden, high, 0, d + first * ld, ld);
  }
  d = m->needs & FNO ? back_fno(m, w, k, d, field) : back_dilated(m, w, k, d);
  for (first = 0; first < m->size; first += n) {
    n = chunk(m, first);
    if (m->needs & FNO) {
      fill_input(m, w, k, from, first, n, w->input);
      dense(n, &k->lift1, w->input, m->in, k->lift1.bias, 0, w->hidden, high);
      gelu_rows(n, m->lifting, w->hidden, w->slope, high);
      dense_back(n, &k->lift2, d + first * ld, ld, 0, w->hidden, high);
      for (i = 0; i < n * high; ++i) w->hidden[i] *= w->slope[i];
      dense_back(n, &k->lift1, w->hidden, high, 0, w->input, ldi);
    } else {
      convolve(m, k, 0, 1, d, w->input);
    }
    for (p = 0; p < n; ++p) {
      const struct spot at = spot_of(m, first + p);
      for (c = 0; c < m->out; ++c)
        for (s = 0; s < at.count; ++s)
          sum[c * m->points + at.from[s]] +=
              at.weight[s] * (double)w->input[p * ldi + c] / (double)k->deviation[c];
      for (c = 0; c < m->told; ++c) w->by_told[c] += (double)w->input[p * ldi + m->out + c];
    }
  }
}

/* --- what programs call -------------------------------------------------------------------- */

static void place_work(const stap_model* m, stap_work* w, struct pieces* p) {
  const size_t field = times(m->size, m->field_ld), modes = times(2 * m->modes, m->wide);
  const size_t values = times(2, m->info.values); /* doubles, in floats */
  const size_t rows = chunk(m, 0);
  w->field = take(p, field), w->next = take(p, field);
  w->third = take(p, m->needs & DILATED ? field : 0);
  w->slopes = take2(p, field, m->needs & DILATED ? m->layers - 2 : m->layers - 1);
  w->spectrum = take(p, modes), w->product = take(p, modes);
  w->half = take2(p, m->info.axes == 2 ? 2 * m->kept[1] : 0, times(m->axis[0], m->wide));
  w->fold = take2(p, m->needs & FNO ? m->axis[m->info.axes - 1] : 0, m->wide);
  w->hidden = take2(p, CHUNK, m->hidden_ld), w->slope = take2(p, CHUNK, m->hidden_ld);
  w->input = take2(p, rows, padded(m->in));
  w->output = take2(p, rows, padded(m->out));
  w->rows = take(p, 4 * m->width), w->bias = take(p, m->wide);
  w->means = (double*)(void*)take(p, 2 * m->out);
  w->ways = (double*)(void*)take2(p, values, 5 + (size_t)m->info.members);
  if (w->ways == NULL) return; /* so far they are counted */
  w->made = w->ways + (1 + (size_t)m->info.members) * m->info.values;
  w->sum = w->made + m->info.values;
  w->first = w->sum + m->info.values, w->square = w->first + m->info.values;
}
stap_work* stap_model_work(const stap_model* model) {
  stap_work* work = calloc(1, sizeof *work);
  struct pieces p = {NULL, 0};
  if (work == NULL) return NULL;
  place_work(model, work, &p);
  p.block = zeros(p.used, &work->raw);
  p.used = 0;
  if (p.block == NULL) return free(work), NULL;
  place_work(model, work, &p);
  work->set = model->info.parameters == 0, work->start = -1;
  return work;
}
void stap_work_free(stap_work* work) {
  if (work != NULL) free(work->raw);
  free(work);
}
int stap_model_set(const stap_model* m, stap_work* w, const double* parameters) {
  const size_t first = m->needs & TIME_INPUT ? 1 : 0;
  int i;
  for (i = 0; i < m->info.parameters; ++i)
    if (!(fabs(parameters[i]) <= DBL_MAX) || (m->parameters[i].draw == 1 && !(parameters[i] > 0.0)))
      return -1;
  for (i = 0; i < m->info.parameters; ++i) {
    const struct parameter* p = m->parameters + i;
    double least = p->about.least, most = p->about.greatest, value = parameters[i], slope = 2.0;
    if (p->draw == 1) {
      slope /= value;
      least = log(least), most = log(most), value = log(value);
    }
    /* From -1 to 1 over the range; 0 where that is one value. */
    w->told[first + p->place] =
        least < most ? (float)(2.0 * (value - least) / (most - least) - 1.0) : 0.0f;
    w->by_value[i] = least < most ? slope / (most - least) : 0.0;
  }
  w->set = 1;
  return 0;
}

/* The members that `member` means: from *first, so many; 0: there are none, or no such step. */
static int members_of(const stap_model* m, stap_work* w, int member, long step, int* first) {
  if (step < 0 || member < STAP_MODEL_MEAN || member >= m->info.members || !w->set) return 0;
  if (m->needs & TIME_INPUT) w->told[0] = (float)((double)step / (double)m->info.horizon);
  *first = member == STAP_MODEL_MEAN ? 0 : member;
  return member == STAP_MODEL_MEAN ? m->info.members : 1;
}
int stap_model_step(const stap_model* m, stap_work* w, int member, long step, const double* from,
                    double* to) {
  int first, i;
  const int count = members_of(m, w, member, step, &first);
  size_t v;
  if (count == 0) return -1;
  for (i = 0; i < count; ++i) {
    advance(m, w, m->members + first + i, from, i == 0 ? w->sum : w->made);
    for (v = 0; i > 0 && v < m->info.values; ++v) w->sum[v] += w->made[v];
  }
  for (v = 0; v < m->info.values; ++v) to[v] = w->sum[v] / count;
  return 0;
}
int stap_model_rollout(const stap_model* m, stap_work* w, int member, long step, long steps,
                       const double* from, double* states) {
  int first;
  long i;
  if (members_of(m, w, member, step, &first) == 0 || steps < 0 || step > LONG_MAX - steps)
    return -1;
  for (i = 0; i < steps; ++i, from = states, states += m->info.values)
    stap_model_step(m, w, member, step + i, from, states);
  return 0;
}
int stap_model_members(const stap_model* m, stap_work* w, long step, const double* from,
                       double* average, double* each, double* spread) {
  const size_t values = m->info.values;
  size_t v;
  int i, first;
  const int count = members_of(m, w, STAP_MODEL_MEAN, step, &first);
  for (i = 0; i < count; ++i) {
    double* made = i == 0 ? w->first : w->made;
    advance(m, w, m->members + i, from, made);
    if (each != NULL) memcpy(each + (size_t)i * values, made, values * sizeof *each);
    for (v = 0; v < values; ++v) { /* squares of what differs: of whole states they cancel */
      const double d = made[v] - w->first[v];
      w->sum[v] = i == 0 ? made[v] : w->sum[v] + made[v];
      w->square[v] = i == 0 ? 0.0 : w->square[v] + d * d;
    }
  }
  for (v = 0; count > 0 && v < values; ++v) {
    const double shift = w->sum[v] / count - w->first[v];
    const double variance = w->square[v] / count - shift * shift;
    if (average != NULL) average[v] = w->sum[v] / count;
    if (spread != NULL) spread[v] = variance < 0.0 ? 0.0 : sqrt(variance);
  }
  return count > 0 ? 0 : -1;
}
int stap_model_gradients(const stap_model* m, stap_work* w, int member, long step,
                         const double* from, const double* weights, double* gradient,
                         double* by_parameter) {
  int first, i;
  const int count = members_of(m, w, member, step, &first);
  size_t v;
  if (count == 0) return -1;
  memset(w->sum, 0, m->info.values * sizeof *w->sum), memset(w->by_told, 0, sizeof w->by_told);
  for (i = 0; i < count; ++i) add_adjoint(m, w, m->members + first + i, from, weights, w->sum);
  for (v = 0; gradient != NULL && v < m->info.values; ++v) gradient[v] = w->sum[v] / count;
  for (i = 0; by_parameter != NULL && i < m->info.parameters; ++i)
    by_parameter[i] = w->by_value[i] / count *
                      w->by_told[(m->needs & TIME_INPUT ? 1 : 0) + m->parameters[i].place];
  return 0;
}
int stap_model_adjoint(const stap_model* m, stap_work* w, int member, long step, const double* from,
                       const double* weights, double* gradient) {
  return stap_model_gradients(m, w, member, step, from, weights, gradient, NULL);
}
int stap_model_begin(const stap_model* m, stap_work* w, int start, long step, const double* from) {
  int first;
  size_t i;
  if ((start != STAP_START_FIRST && start != STAP_START_ANY) ||
      members_of(m, w, STAP_MODEL_MEAN, step, &first) == 0)
    return -1;
  for (i = 0; i <= (size_t)m->info.members; ++i)
    memcpy(w->ways + i * m->info.values, from, m->info.values * sizeof *from);
  w->start = start, w->begun = step;
  w->ahead = w->lost = 0;
  return 0;
}

/* The members' squared spread at the points of a state; infinite where one is beyond all numbers.
 */
static void square_spread(const stap_model* m, const double* members, double* to) {
  const size_t n = m->info.channels * m->points;
  const int count = m->info.members;
  size_t v;
  int i;
  for (v = 0; v < n; ++v) {
    double mean = 0.0, sum = 0.0;
    for (i = 0; i < count; ++i) mean += members[(size_t)i * m->info.values + v] / count;
    for (i = 0; i < count; ++i) {
      const double d = members[(size_t)i * m->info.values + v] - mean;
      sum += d * d / count;
    }
    to[v] = sum <= DBL_MAX ? sum : HUGE_VAL;
  }
}

/* The half-width of a kind of bar, `h` states after that of the solver. */
static double bar(const stap_model* m, const stap_work* w, size_t kind, size_t h, double scale) {
  const size_t steps = (size_t)m->info.bar_steps;
  const double q = h < steps && !w->lost ? m->factors[w->start][kind * steps + h] : HUGE_VAL;
  return q < HUGE_VAL ? q * scale : HUGE_VAL;
}

/* Bars of a state. 1: members differ over twice as much as on any trajectory of the calibration. */
static int bars_of(const stap_model* m, const stap_work* w, size_t h, const double* spread,
                   double* all, double* channels, double* bands) {
  const size_t count = m->info.channels;
  double sum = 0.0, floors = 0.0, scale;
  size_t c, p;
  for (c = 0; c < count; ++c, spread += m->points) {
    const double least = m->floor == NULL ? 0.0 : m->floor[c];
    double mine = 0.0;
    for (p = 0; p < m->points; ++p) mine += spread[p];
    sum += mine;
    floors += least * least;
    scale = fmax(sqrt(mine / (double)m->points), least);
    if (channels != NULL) channels[c] = bar(m, w, 1 + c, h, scale);
    for (p = 0; bands != NULL && p < m->points; ++p)
      bands[c * m->points + p] = bar(m, w, 1 + count + c, h, sqrt(spread[p] + scale * scale));
  }
  scale = fmax(sqrt(sum / (double)m->points), sqrt(floors));
  if (all != NULL) *all = bar(m, w, 0, h, scale);
  return h < (size_t)m->info.bar_steps && !(scale <= 2.0 * m->widest[h]);
}
int stap_model_next(const stap_model* m, stap_work* w, double* state, double* all, double* channels,
                    double* bands) {
  const size_t values = m->info.values, frame = m->info.channels * m->points;
  const size_t k = (size_t)m->info.cluster;
  double* ways = w->ways;
  size_t i, v;
  int first, unlike = 0;
  if (w->start < 0 || w->begun > LONG_MAX - w->ahead ||
      stap_model_step(m, w, STAP_MODEL_MEAN, w->begun + w->ahead, ways, ways) != 0)
    return -1;
  for (v = 0; v < values; ++v) w->lost |= !(fabs(ways[v]) <= (double)FLT_MAX);
  first = members_of(m, w, STAP_MODEL_MEAN, w->begun + w->ahead, &first);
  for (i = 1; i <= (size_t)m->info.members; ++i) {
    advance(m, w, m->members + i - 1, ways + i * values, w->made);
    memcpy(ways + i * values, w->made, values * sizeof *ways);
  }
  for (i = 0; i < k; ++i) {
    square_spread(m, ways + values + i * frame, w->square);
    for (v = 0; v < frame; ++v) w->lost |= !(w->square[v] < HUGE_VAL);
    unlike |= bars_of(m, w, (size_t)w->ahead * k + i, w->square, all == NULL ? NULL : all + i,
                      channels == NULL ? NULL : channels + i * m->info.channels,
                      bands == NULL ? NULL : bands + i * frame);
  }
  ++w->ahead;
  if (state != NULL) memcpy(state, ways, values * sizeof *state);
  return unlike;
}
