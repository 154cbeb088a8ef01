// Whether a runtime that nobody here wrote makes the steps of `stap predict` of an ONNX file.
//
//   check.mjs states MODEL.onnx FILE.npy    three states for `stap predict --input`
//   check.mjs compare MODEL.onnx FILE.h5    its prediction, step by step: exit 1 beyond 1e-5
import {writeFileSync} from 'node:fs';
import h5wasm from 'h5wasm/node';
import ort from 'onnxruntime-node';

const [what, model, file] = process.argv.slice(2);
const session = await ort.InferenceSession.create(model);
const shape = session.inputMetadata.find(input => input.name === 'state').shape.slice(1);
const values = shape.reduce((a, b) => a * b);

// Smooth states of the size 1, which no solver has made: networks make a step of any.
function states(rows) {
  const points = shape.slice(1), last = points.at(-1), made = [];
  for (let row = 0; row < rows; ++row)
    for (let v = 0; v < values; ++v) {
      const x = v % last / last, y = Math.floor(v / last) % (points.length > 1 ? points[0] : 1);
      made.push(Math.fround(Math.sin(2 * Math.PI * (row + 1) * x + y / 7 + v / values)));
    }
  const header = `{'descr': '<f8', 'fortran_order': False, 'shape': (${[rows, ...shape].join(', ')}), }`;
  const text = '\x93NUMPY\x01\x00\x76\x00' + header.padEnd(117) + '\n';
  writeFileSync(file, Buffer.concat([Buffer.from(text, 'latin1'),
                                     Buffer.from(Float64Array.from(made).buffer)]));
}

async function compare() {
  await h5wasm.ready;
  const prediction = new h5wasm.File(file, 'r');
  const mean = prediction.get('mean'), [rows, times] = mean.shape, all = mean.value;
  const parameters = prediction.get('parameters');
  const state = (row, time) => {
    const at = (row * times + time) * values;
    return all.subarray(at, at + values);
  };
  let worst = 0;
  for (let step = 0; step + 1 < times; ++step) {
    const given = new Float32Array(rows * values);
    for (let row = 0; row < rows; ++row) given.set(state(row, step), row * values);
    const feeds = {state: new ort.Tensor('float32', given, [rows, ...shape])};
    if (session.inputNames.includes('step'))
      feeds.step = new ort.Tensor('float32', new Float32Array(rows).fill(step), [rows]);
    if (session.inputNames.includes('parameters'))
      feeds.parameters = new ort.Tensor('float32', Float32Array.from(parameters.value),
                                        parameters.shape);
    const made = await session.run(feeds), count = made.members.dims[0];
    for (let row = 0; row < rows; ++row) {
      let error = 0, size = 0, apart = 0;
      for (let v = 0; v < values; ++v) {
        const at = row * values + v, exact = state(row, step + 1)[v];
        let average = 0;
        for (let m = 0; m < count; ++m) average += made.members.data[m * rows * values + at] / count;
        error += (made.next.data[at] - exact) ** 2;
        apart += (made.next.data[at] - average) ** 2;
        size += exact ** 2;
      }
      worst = Math.max(worst, Math.sqrt(error / size), Math.sqrt(apart / size));
    }
  }
  console.log(`${worst <= 1e-5 ? 'ok    ' : 'FAILED'} ${worst.toExponential(2)} ${model}`);
  process.exit(worst <= 1e-5 ? 0 : 1);
}

if (what === 'states')
  states(3);
else
  await compare();
