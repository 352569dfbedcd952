// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Runs a .tflite file of one input in TensorFlow Lite with XNNPACK, as tfjs-tflite has it (WebAssembly with SIMD), and writes every output:
// for each sample, in the order of the model, the bytes. It has to lie where npm installed @tensorflow/tfjs-tflite.
//
//   node record_xnnpack.mjs MODEL INPUT SAMPLES OUTPUT   (INPUT: the samples' bytes)
import fs from 'fs';
import {createRequire} from 'module';

const require = createRequire(import.meta.url);
const [model, input, samples, output] = process.argv.slice(2);
const name = require.resolve('@tensorflow/tfjs-tflite/wasm/tflite_web_api_cc_simd.js');
const module = await require(name)({wasmBinary: fs.readFileSync(name.replace(/js$/, 'wasm')), print() {}, printErr() {}});
const file = fs.readFileSync(model), place = module._malloc(file.length);
module.HEAPU8.set(file, place);
const options = {numThreads: 1, enableProfiling: false, maxProfilingBufferEntries: 1024};
const made = module.TFLiteWebModelRunner.CreateFromBufferAndOptions(place, file.length, options);
if (!made.ok()) throw new Error(made.errorMessage());
const runner = made.value();
const buffers = list => Array.from({length: list.size()}, (_, i) => list.get(i).data());
const codes = fs.readFileSync(input), size = codes.length / Number(samples);
const recorded = [];
for (let i = 0; i < Number(samples); ++i) {
  const [to] = buffers(runner.GetInputs());
  new Uint8Array(to.buffer, to.byteOffset, size).set(codes.subarray(i * size, (i + 1) * size));
  if (!runner.Infer()) throw new Error('the model does not run');
  for (const {buffer, byteOffset, byteLength} of buffers(runner.GetOutputs())) recorded.push(Buffer.from(buffer.slice(byteOffset, byteOffset + byteLength)));
}
fs.writeFileSync(output, Buffer.concat(recorded));
