// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// usage: node tflite_xnnpack.mjs [--profile] MODEL INPUT.npy... OUTPUT.npy
//
// Runs a model of one output in TensorFlow Lite with the XNNPACK delegate, as tfjs-tflite has it: WebAssembly with SIMD, one thread.
// INPUT.npy is named after the model's input. --profile: says on stderr which kernels ran; TfLiteXNNPackDelegate stands for all that it took.
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';
import { readNpy, types, writeNpy } from './npy.mjs';

async function createRunner(model, enableProfiling) {
  const require = createRequire(import.meta.url);
  const script = require.resolve('@tensorflow/tfjs-tflite/wasm/tflite_web_api_cc_simd.js');
  const wasmBinary = fs.readFileSync(script.replace(/js$/, 'wasm'));
  const module = await require(script)({ wasmBinary, print() {}, printErr() {} });
  const bytes = fs.readFileSync(model);
  const place = module._malloc(bytes.length);
  module.HEAPU8.set(bytes, place);
  const options = {
    numThreads: 1,
    enableWebNNDelegate: false,
    webNNDevicePreference: 0,
    enableProfiling,
    maxProfilingBufferEntries: 1024,
  };
  const made = module.TFLiteWebModelRunner.CreateFromBufferAndOptions(place, bytes.length, options);
  if (!made.ok()) throw new Error(made.errorMessage());
  return made.value();
}

const listed = (list) => Array.from({ length: list.size() }, (_, i) => list.get(i));

function setInput(tensors, file) {
  const name = path.basename(file, '.npy');
  const tensor = tensors.find((input) => input.name === name);
  if (!tensor) throw new Error(`${file}: the model's inputs are ${tensors.map((input) => input.name).join(', ')}`);
  const { data } = readNpy(file);
  const values = tensor.data();
  if (values.length !== data.length) throw new Error(`${file}: ${data.length} values, the model has ${values.length}`);
  values.set(data);
}

const words = process.argv.slice(2);
const profiles = words[0] === '--profile';
if (profiles) words.shift();
const [model, ...files] = words;
const output = files.pop();
try {
  const runner = await createRunner(model, profiles);
  const inputs = listed(runner.GetInputs());
  for (const file of files) setInput(inputs, file);
  if (!runner.Infer()) throw new Error('the model does not run');
  if (profiles) for (const kernel of listed(runner.GetProfilingResults())) console.error(kernel.nodeType);
  const [result] = listed(runner.GetOutputs());
  const data = result.data();
  const [type] = Object.entries(types).find(([, [, array]]) => data instanceof array);
  writeNpy(output, { type, shape: String(result.shape).split(',').filter(Boolean).map(Number), data });
} catch (error) {
  console.error(error.message ?? String(error));
  process.exit(1);
}
