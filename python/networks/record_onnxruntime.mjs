// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Runs an .onnx file of one input in ONNX Runtime and writes every output: for each sample, in the order of the model, the bytes. It has to
// lie where npm installed onnxruntime-node.
//
//   node record_onnxruntime.mjs MODEL TYPE SHAPE INPUT SAMPLES LEVEL OUTPUT
//
// SHAPE: 1,3,9,8. INPUT: the samples' bytes. LEVEL: of graph optimisation, all or disabled; all+int8: with session.qdqisint8allowed.
import fs from 'fs';
import ort from 'onnxruntime-node';

const [model, type, shape, input, samples, level, output] = process.argv.slice(2);
const [graphOptimizationLevel, int8] = level.split('+');
const options = {intraOpNumThreads: 1, interOpNumThreads: 1, graphOptimizationLevel};
if (int8) options.extra = {session: {qdqisint8allowed: '1'}};
const session = await ort.InferenceSession.create(model, options);
const codes = {uint8: Uint8Array, int8: Int8Array}[type];
const dims = shape.split(',').map(Number), size = dims.reduce((a, b) => a * b);
const bytes = new Uint8Array(fs.readFileSync(input)).buffer;
const recorded = [];
for (let i = 0; i < Number(samples); ++i) {
  const results = await session.run({[session.inputNames[0]]: new ort.Tensor(type, new codes(bytes.slice(i * size, (i + 1) * size)), dims)});
  for (const {data} of session.outputNames.map(name => results[name])) recorded.push(Buffer.from(data.buffer, data.byteOffset, data.byteLength));
}
fs.writeFileSync(output, Buffer.concat(recorded));
