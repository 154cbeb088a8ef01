// check.mjs MODEL STATE STATES STEPS: whether a runtime that nobody here wrote makes of an ONNX file
// the states that the C program `rollout` made of the same networks (raw doubles, one state after the
// other). The batch has two rows, of which the second is the first one's negative.
import {readFileSync} from 'node:fs';
import ort from 'onnxruntime-node';

const [model, from, to, words] = process.argv.slice(2);
const doubles = name => {
  const bytes = readFileSync(name);
  return Float32Array.from(new Float64Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 8));
};
const session = await ort.InferenceSession.create(model);
const shape = session.inputMetadata.find(input => input.name === 'state').shape.slice(1);
const first = doubles(from), expected = doubles(to), n = first.length;
let state = Float32Array.from([...first, ...first.map(x => -x)]);
let worst = 0;
for (let step = 0; step < Number(words); ++step) {
  const feeds = {state: new ort.Tensor('float32', state, [2, ...shape])};
  if (session.inputNames.includes('step'))
    feeds.step = new ort.Tensor('float32', Float32Array.from([step, step]), [2]);
  const made = await session.run(feeds);
  state = Float32Array.from(made.next.data);
  const members = made.members.dims[0];
  let error = 0, size = 0, apart = 0;
  for (let v = 0; v < n; ++v) {
    const exact = expected[step * n + v];
    error += (state[v] - exact) ** 2;
    size += exact ** 2;
    let mean = 0;
    for (let m = 0; m < members; ++m) mean += made.members.data[2 * m * n + v] / members;
    apart = Math.max(apart, Math.abs(mean - state[v]) / (1 + Math.abs(mean)));
  }
  worst = Math.max(worst, Math.sqrt(error / size), apart);
}
console.log(`${model}: relative error ${worst.toExponential(2)} after ${words} steps`);
process.exit(worst <= 1e-5 ? 0 : 1);
