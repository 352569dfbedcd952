// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// node onnxruntime_peer.js PACKAGE MODEL TYPE SIZES…: runs an ONNX model on one thread as often as each line of the standard input says, and
// answers with the seconds of it, processor time.
const [package, file] = process.argv.slice(2);
const onnxruntime = require(package);
const readline = require('readline');

function random_bytes(type, count) {
  const values = type === 'int8' ? new Int8Array(count) : new Uint8Array(count);
  for (let i = 0; i < count; ++i) values[i] = Math.floor(Math.random() * 256);
  return values;
}

async function main() {
  const session = await onnxruntime.InferenceSession.create(
      file, {intraOpNumThreads: 1, interOpNumThreads: 1, executionMode: 'sequential', graphOptimizationLevel: 'all'});
  const [type, ...shape] = process.argv.slice(4);
  const sizes = shape.map(Number);
  const values = random_bytes(type, sizes.reduce((product, size) => product * size, 1));
  const feeds = {[session.inputNames[0]]: new onnxruntime.Tensor(type, values, sizes)};
  for await (const line of readline.createInterface({input: process.stdin})) {
    const before = process.cpuUsage();
    for (let i = 0; i < Number(line); ++i) await session.run(feeds);
    const used = process.cpuUsage(before);
    console.log((used.user + used.system) * 1e-6);
  }
}

main();
