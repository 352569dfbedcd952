// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// usage: node onnxruntime.mjs [--level all|disabled] [--allow-signed] MODEL INPUT.npy... OUTPUT.npy
//
// Runs a model of one output on ONNX Runtime's CPU execution provider. INPUT.npy is named after the model's input.
// --level: graph optimisations, all (what sessions have by default) or disabled; --allow-signed: session.qdqisint8allowed.
import path from 'node:path';
import ort from 'onnxruntime-node';
import { readNpy, writeNpy } from './npy.mjs';

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
  for (const file of files) {
    const { type, data, shape } = readNpy(file);
    feeds[path.basename(file, '.npy')] = new ort.Tensor(type, data, shape);
  }
  const results = await session.run(feeds);
  const { type, dims, data } = results[session.outputNames[0]];
  writeNpy(output, { type, shape: dims, data });
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
