// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// .npy files of the types that models have.
import fs from 'node:fs';

/// By the type's name: how a .npy file calls it, and the array of its values.
export const types = {
  int8: ['|i1', Int8Array],
  uint8: ['|u1', Uint8Array],
  int16: ['<i2', Int16Array],
  uint16: ['<u2', Uint16Array],
  int32: ['<i4', Int32Array],
  int64: ['<i8', BigInt64Array],
  float32: ['<f4', Float32Array],
};

/// {type, shape, data}: the type's name, the sizes, a typed array.
export function readNpy(file) {
  const bytes = fs.readFileSync(file);
  const [length, start] = bytes[6] === 1 ? [bytes.readUInt16LE(8), 10] : [bytes.readUInt32LE(8), 12];
  const header = bytes.toString('latin1', start, start + length);
  const descr = /'descr': '([^']*)'/.exec(header)[1];
  const shape = /'shape': \(([^)]*)\)/.exec(header)[1].split(',').map((size) => size.trim()).filter(Boolean).map(Number);
  const found = Object.entries(types).find(([, [code]]) => code === descr);
  if (!found) throw new Error(`${file}: type ${descr}`);
  const [type, [, array]] = found;
  return { type, shape, data: new array(new Uint8Array(bytes.subarray(start + length)).buffer) };
}

export function writeNpy(file, { type, shape, data }) {
  const sizes = shape.join(', ') + (shape.length === 1 ? ',' : '');
  let header = `{'descr': '${types[type][0]}', 'fortran_order': False, 'shape': (${sizes}), }`;
  header = header.padEnd(Math.ceil((header.length + 11) / 64) * 64 - 11) + '\n';
  const head = Buffer.alloc(10);
  head.write('\x93NUMPY\x01\x00', 'latin1');
  head.writeUInt16LE(header.length, 8);
  fs.writeFileSync(file, Buffer.concat([head, Buffer.from(header, 'latin1'), Buffer.from(data.buffer, data.byteOffset, data.byteLength)]));
}
