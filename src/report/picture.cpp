#include "stap/report/picture.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <zlib.h>

#include "report/base64.h"
#include "stap/core/error.h"

namespace stap {
namespace {

// PNG's numbers have their highest byte first.
void add_number(std::string& out, std::size_t number) {
  for (const unsigned shift : {24U, 16U, 8U, 0U})
    out += static_cast<char>(static_cast<unsigned char>(number >> shift & 0xffU));
}

void add_chunk(std::string& png, std::string_view type, std::string_view content) {
  const std::string body = std::string(type) + std::string(content);
  add_number(png, content.size());
  png += body;
  add_number(png,
             crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size())));
}

std::string deflated(const std::string& bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string out(size, '\0');
  const int result = compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                               reinterpret_cast<const Bytef*>(bytes.data()),
                               static_cast<uLong>(bytes.size()), Z_BEST_COMPRESSION);
  if (result != Z_OK)
    throw Error(ErrorKind::internal, fmt::format("zlib refuses {} bytes", bytes.size()));
  out.resize(size);
  return out;
}

// How a row of a PNG is written: as it is, or as differences to the left or to the row above.
enum Filter : char { kAsIs = 0, kLeft = 1, kAbove = 2 };

std::string filtered(const Picture& picture, Filter filter) {
  std::string rows;
  rows.reserve(picture.values.size() + picture.height);
  for (std::size_t y = 0; y < picture.height; ++y) {
    rows += static_cast<char>(filter);
    for (std::size_t x = 0; x < picture.width; ++x) {
      const std::uint8_t* at = picture.values.data() + y * picture.width + x;
      const unsigned before = filter == kLeft && x > 0    ? at[-1]
                              : filter == kAbove && y > 0 ? *(at - picture.width)
                                                          : 0U;
      rows += static_cast<char>(static_cast<unsigned char>(*at - before));
    }
  }
  return rows;
}

}  // namespace

double Picture::value(std::size_t x, std::size_t y) const {
  const std::uint8_t v = values[y * width + x];
  return v == kNoNumber ? std::numeric_limits<double>::quiet_NaN()
                        : low + (high - low) * v / kTopLevel;
}

Picture make_picture(std::size_t width, std::size_t height, std::span<const float> values,
                     double low, double high, Palette palette) {
  Picture picture{.width = width, .height = height, .low = low, .high = high, .palette = palette};
  picture.values.reserve(values.size());
  for (const double v : values) {
    const double part = high > low ? std::clamp((v - low) / (high - low), 0.0, 1.0) : 0.5;
    picture.values.push_back(
        std::isfinite(v) ? static_cast<std::uint8_t>(std::lround(part * kTopLevel)) : kNoNumber);
  }
  return picture;
}

Picture enlarged(const Picture& picture, std::size_t least) {
  if (picture.values.empty()) return picture;
  const std::size_t across = (least + picture.width - 1) / picture.width;
  const std::size_t down = (least + picture.height - 1) / picture.height;
  Picture large = picture;
  large.width *= across;
  large.height *= down;
  large.values.clear();
  for (std::size_t y = 0; y < large.height; ++y)
    for (std::size_t x = 0; x < large.width; ++x)
      large.values.push_back(picture.values[y / down * picture.width + x / across]);
  return large;
}

std::string png_bytes(const Picture& picture) {
  if (picture.values.size() != picture.width * picture.height || picture.values.empty())
    throw Error(ErrorKind::internal,
                fmt::format("a picture of {} x {} pixels has {} values", picture.width,
                            picture.height, picture.values.size()));
  std::string header;
  add_number(header, picture.width);
  add_number(header, picture.height);
  header += std::string("\x08\x03\x00\x00\x00", 5);  // 8 bits a pixel, of a palette; not interlaced
  std::string colours;
  for (const Colour& c : palette_colours(picture.palette)) colours.append(c.begin(), c.end());
  std::optional<std::string> smallest;
  for (const Filter filter : {kAsIs, kLeft, kAbove}) {
    std::string bytes = deflated(filtered(picture, filter));
    if (!smallest || bytes.size() < smallest->size()) smallest = std::move(bytes);
  }
  std::string png = "\x89PNG\r\n\x1a\n";
  add_chunk(png, "IHDR", header);
  add_chunk(png, "PLTE", colours);
  add_chunk(png, "IDAT", *smallest);
  add_chunk(png, "IEND", "");
  return png;
}

std::string data_uri(const Picture& picture) {
  return "data:image/png;base64," + base64(png_bytes(picture));
}

}  // namespace stap
