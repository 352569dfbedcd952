// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// usage: node onnxruntime.mjs [--level all|disabled] [--allow-signed] MODEL INPUT.npy... OUTPUT.npy
//
// Runs a model of one output on ONNX Runtime's CPU execution provider. INPUT.npy is named after the model's input.
// --level: graph optimisations, all (what sessions have by default) or disabled; --allow-signed: session.qdqisint8allowed.
import fs from 'node:fs';
import path from 'node:path';
import ort from 'onnxruntime-node';

const types = {
  int8: ['|i1', Int8Array],
  uint8: ['|u1', Uint8Array],
  int16: ['<i2', Int16Array],
  uint16: ['<u2', Uint16Array],
  int32: ['<i4', Int32Array],
  int64: ['<i8', BigInt64Array],
  float32: ['<f4', Float32Array],
};

function readNpy(file) {
  const bytes = fs.readFileSync(file);
  const [length, start] = bytes[6] === 1 ? [bytes.readUInt16LE(8), 10] : [bytes.readUInt32LE(8), 12];
  const header = bytes.toString('latin1', start, start + length);
  const descr = /'descr': '([^']*)'/.exec(header)[1];
  const shape = /'shape': \(([^)]*)\)/.exec(header)[1].split(',').map((size) => size.trim()).filter(Boolean).map(Number);
  const found = Object.entries(types).find(([, [code]]) => code === descr);
  if (!found) throw new Error(`${file}: type ${descr}`);
  const [name, [, array]] = found;
  return new ort.Tensor(name, new array(new Uint8Array(bytes.subarray(start + length)).buffer), shape);
}

function writeNpy(file, tensor) {
  const shape = tensor.dims.join(', ') + (tensor.dims.length === 1 ? ',' : '');
  let header = `{'descr': '${types[tensor.type][0]}', 'fortran_order': False, 'shape': (${shape}), }`;
  header = header.padEnd(Math.ceil((header.length + 11) / 64) * 64 - 11) + '\n';
  const head = Buffer.alloc(10);
  head.write('\x93NUMPY\x01\x00', 'latin1');
  head.writeUInt16LE(header.length, 8);
  const values = Buffer.from(tensor.data.buffer, tensor.data.byteOffset, tensor.data.byteLength);
  fs.writeFileSync(file, Buffer.concat([head, Buffer.from(header, 'latin1'), values]));
}

const words = process.argv.slice(2);
const options = { intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 3, graphOptimizationLevel: 'all' };
while (words[0]?.startsWith('--')) {
  const word = words.shift();
  if (word === '--level') options.graphOptimizationLevel = words.shift();
  else if (word === '--allow-signed') options.extra = { session: { qdqisint8allowed: '1' } };
  else throw new Error(`unknown option ${word}`);
}
const [model, ...files] = words;
const output = files.pop();
try {
  const session = await ort.InferenceSession.create(model, options);
  const feeds = {};
  for (const file of files) feeds[path.basename(file, '.npy')] = readNpy(file);
  const results = await session.run(feeds);
  writeNpy(output, results[session.outputNames[0]]);
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
