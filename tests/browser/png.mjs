// PNG files of 256 colours.
import { deflateSync } from "node:zlib";

const crcTable = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; ++k) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c;
});
function chunk(type, content) {
  const body = Buffer.concat([Buffer.from(type), content]);
  let crc = 0xffffffff;
  for (const byte of body) crc = crcTable[(crc ^ byte) & 255] ^ (crc >>> 8);
  const number = (n) => { const b = Buffer.alloc(4); b.writeUInt32BE(n >>> 0); return b; };
  return Buffer.concat([number(content.length), body, number(crc ^ 0xffffffff)]);
}

/// levels[y * width + x] are places in `colours`, a list of [red, green, blue].
export function pngOf(width, height, levels, colours) {
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; ++y) rows.set(levels.subarray(y * width, (y + 1) * width), y * (width + 1) + 1);
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 3, 0, 0, 0]);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), chunk("IHDR", header),
    chunk("PLTE", Buffer.from(colours.flat())), chunk("IDAT", deflateSync(rows, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}

/// Pictures (PNG files) below each other, with the 256 colours that cover them best: boxes of colours
/// are cut at the median of their longest side. The browser reads the files.
export async function palettePng(page, pictures) {
  await page.goto("about:blank");
  const { width, height, data } = await page.evaluate(async (files) => {
    const images = await Promise.all(files.map(async (file) => {
      const image = new Image();
      image.src = "data:image/png;base64," + file;
      await image.decode();
      return image;
    }));
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(...images.map((i) => i.width));
    canvas.height = images.reduce((sum, i) => sum + i.height, 0);
    const context = canvas.getContext("2d", { willReadFrequently: true });
    let y = 0;
    for (const image of images) {
      context.drawImage(image, 0, y);
      y += image.height;
    }
    const pixels = context.getImageData(0, 0, canvas.width, canvas.height).data;
    let text = "";
    for (let i = 0; i < pixels.length; i += 1 << 15) text += String.fromCharCode(...pixels.subarray(i, i + (1 << 15)));
    return { width: canvas.width, height: canvas.height, data: btoa(text) };
  }, pictures.map((picture) => picture.toString("base64")));
  const pixels = Buffer.from(data, "base64");

  const counts = new Map();
  for (let i = 0; i < pixels.length; i += 4) {
    const key = (pixels[i] << 16) | (pixels[i + 1] << 8) | pixels[i + 2];
    counts.set(key, (counts.get(key) || 0) + 1);
  }
  const parts = (key) => [key >> 16, (key >> 8) & 255, key & 255];
  let boxes = [[...counts.keys()]];
  const side = (box) => [0, 1, 2].map((k) => {
    let low = 255, high = 0;
    for (const key of box) [low, high] = [Math.min(low, parts(key)[k]), Math.max(high, parts(key)[k])];
    return high - low;
  });
  while (boxes.length < 256) {
    // Where most pixels are furthest from each other.
    const weighed = boxes.map((box) => (box.length < 2 ? 0 : Math.max(...side(box)) * Math.sqrt(box.reduce((sum, key) => sum + counts.get(key), 0))));
    const worst = weighed.indexOf(Math.max(...weighed));
    if (weighed[worst] === 0) break;
    const [box] = boxes.splice(worst, 1), sides = side(box), k = sides.indexOf(Math.max(...sides));
    box.sort((a, b) => parts(a)[k] - parts(b)[k]);
    boxes.push(box.slice(0, box.length >> 1), box.slice(box.length >> 1));
  }
  const level = new Map();
  const colours = boxes.map((box, i) => {
    const total = box.reduce((sum, key) => sum + counts.get(key), 0);
    for (const key of box) level.set(key, i);
    return [0, 1, 2].map((k) => Math.round(box.reduce((sum, key) => sum + counts.get(key) * parts(key)[k], 0) / total));
  });
  const levels = new Uint8Array(width * height);
  for (let i = 0; i < levels.length; ++i) levels[i] = level.get((pixels[4 * i] << 16) | (pixels[4 * i + 1] << 8) | pixels[4 * i + 2]);
  return pngOf(width, height, levels, colours);
}
