// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// node onnxruntime_peer.js PACKAGE MODEL TYPE SIZES…: prints the seconds of one run of an ONNX model on one thread,
// processor time, the least of many.
const [package, file] = process.argv.slice(2);
const onnxruntime = require(package);

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
  const feeds = {x: new onnxruntime.Tensor(type, values, sizes)};
  let least = Infinity;
  for (const start = process.hrtime.bigint(); process.hrtime.bigint() - start < 1000000000n;) {
    const before = process.cpuUsage();
    await session.run(feeds);
    const used = process.cpuUsage(before);
    least = Math.min(least, (used.user + used.system) * 1e-6);
  }
  console.log(least);
}

main();
