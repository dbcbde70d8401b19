// Files that are kept in memory, compressed once where that makes them smaller.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';

const MEDIA = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
};
// The default, 11, takes a second for all of them.
const brotliOptions = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 9 } };

/** The files of a folder by their names. */
export function files(folder) {
  const entry = (name) => {
    const plain = readFileSync(path.join(folder, name));
    const smaller = (packed) => (packed.length < plain.length ? packed : undefined);
    const file = {
      media: MEDIA[path.extname(name)] ?? 'application/octet-stream',
      plain,
      br: smaller(zlib.brotliCompressSync(plain, brotliOptions)),
      gzip: smaller(zlib.gzipSync(plain, { level: 9 })),
    };
    return [name, file];
  };
  return new Map(readdirSync(folder).map(entry));
}
