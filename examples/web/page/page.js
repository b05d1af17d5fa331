// What is drawn, and what is asked of the kernels. Everything that is computed is in WebAssembly or on the GPU: see
// examples/web/page/src.
//
//   ?cpu       does without WebGPU
//   ?test=N    takes N steps on the GPU and on the CPU, looks at a test image, posts what came out to /result, and
//              only then lets the page be loaded: whoever waits for that may take a picture of it

import init, { Training, check, classes, side } from "./digits.js";

const STEPS_AT_A_TIME = 5;
const BAR_WIDTH = 200;
const BRUSH = 22;

const query = new URLSearchParams(location.search);
const at = (id) => document.getElementById(id);
const picture = at("picture").getContext("2d", { willReadFrequently: true });
const gradient = at("gradient").getContext("2d");
const chart = at("losses").getContext("2d");

const losses = [];
let accuracy = 0;
let isPaused = false;
let isNew = true; // whether the picture has changed since it was looked at

function clear() {
  picture.fillStyle = "white";
  picture.fillRect(0, 0, 256, 256);
  isNew = true;
}

// The ink of each pixel of the data set, 0 to 1: the mean over its square on the canvas.
function pixels() {
  const cell = 256 / side();
  const { data } = picture.getImageData(0, 0, 256, 256);
  const ink = new Float32Array(side() * side());
  for (let y = 0; y < 256; y++) {
    for (let x = 0; x < 256; x++) {
      ink[Math.floor(y / cell) * side() + Math.floor(x / cell)] += (255 - data[4 * (256 * y + x)]) / 255;
    }
  }
  return ink.map((sum) => sum / (cell * cell));
}

function show(image) {
  const cell = 256 / side();
  for (let i = 0; i < side() * side(); i++) {
    const gray = 255 - Math.round(255 * image[i]);
    picture.fillStyle = `rgb(${gray}, ${gray}, ${gray})`;
    picture.fillRect((i % side()) * cell, Math.floor(i / side()) * cell, cell, cell);
  }
  isNew = true;
}

function makeBars() {
  for (let digit = 0; digit < classes(); digit++) {
    const bar = document.createElement("div");
    bar.className = "bar";
    bar.innerHTML = `<b>${digit}</b><i></i><output></output>`;
    at("bars").append(bar);
  }
}

function showSeen(seen) {
  const probabilities = seen.slice(0, classes());
  const most = Math.max(...probabilities);
  probabilities.forEach((p, digit) => {
    const bar = at("bars").children[digit];
    bar.classList.toggle("most", p === most);
    bar.children[1].style.width = `${p * BAR_WIDTH}px`;
    bar.children[2].textContent = `${(100 * p).toFixed(1)} %`;
  });
  const slopes = seen.slice(classes());
  const largest = Math.max(1e-9, ...slopes.map(Math.abs));
  const cell = 256 / side();
  slopes.forEach((slope, i) => {
    const pale = Math.round(255 * (1 - Math.abs(slope) / largest));
    gradient.fillStyle = slope > 0 ? `rgb(${pale}, ${pale}, 255)` : `rgb(255, ${pale}, ${pale})`;
    gradient.fillRect((i % side()) * cell, Math.floor(i / side()) * cell, cell, cell);
  });
}

// The loss of each step on a logarithmic scale from 0.001 to 10.
function showLosses() {
  const { width, height } = chart.canvas;
  chart.clearRect(0, 0, width, height);
  chart.strokeStyle = "#1e5aaa";
  chart.beginPath();
  losses.forEach((loss, step) => {
    const y = height * (1 - (Math.log10(Math.max(loss, 1e-3)) + 3) / 4);
    chart.lineTo((step / Math.max(1, losses.length - 1)) * width, y);
  });
  chart.stroke();
  if (losses.length > 0) {
    at("progress").textContent = `${losses.length} steps, loss ${losses.at(-1).toFixed(4)}, ` +
      `${(100 * accuracy).toFixed(1)} % of the test images are read rightly`;
  }
}

function showDevice(training) {
  at("device").textContent = training.device();
  at("device").className = training.device().startsWith("WebGPU") ? "gpu" : "cpu";
  at("note").textContent = training.note();
}

function draw(event) {
  if (event.buttons === 0) return;
  picture.strokeStyle = "black";
  picture.lineWidth = BRUSH;
  picture.lineCap = "round";
  picture.beginPath();
  picture.moveTo(event.offsetX - event.movementX, event.offsetY - event.movementY);
  picture.lineTo(event.offsetX, event.offsetY);
  picture.stroke();
  isNew = true;
}

// Asks the kernels one thing after the other, and lets the browser draw in between.
async function work(training) {
  for (;;) {
    if (!isPaused) {
      losses.push(...(await training.train(STEPS_AT_A_TIME)));
      if (losses.length % (20 * STEPS_AT_A_TIME) === 0) accuracy = await training.accuracy();
      showLosses();
    }
    if (!isPaused || isNew) {
      isNew = false;
      showSeen(await training.look(pixels()));
    }
    await new Promise(requestAnimationFrame);
  }
}

// See the head of this file.
async function test(training, steps) {
  const began = performance.now();
  losses.push(...(await training.train(steps)));
  const milliseconds = performance.now() - began;
  accuracy = await training.accuracy();
  showLosses();
  const image = training.example(0);
  show(image);
  const seen = await training.look(pixels());
  showSeen(seen);
  const onCpu = await Training.begin(true);
  const place = (id) => {
    const { left, top, width, height } = at(id).getBoundingClientRect();
    return [left, top, width, height].map(Math.round);
  };
  const begunOnCpu = performance.now();
  const cpuLosses = Array.from(await onCpu.train(steps));
  return {
    device: training.device(),
    note: training.note(),
    milliseconds,
    cpuMilliseconds: performance.now() - begunOnCpu,
    losses: Array.from(losses),
    cpuLosses,
    accuracy,
    label: image.at(-1),
    seen: Array.from(seen),
    cpuSeen: Array.from(await onCpu.look(pixels())),
    check: training.device().startsWith("WebGPU") ? await check() : "there is no WebGPU",
    bars: Array.from(at("bars").children, (bar) => {
      const { left, top, height } = bar.children[1].getBoundingClientRect();
      return [Math.round(left), Math.round(top + height / 2)];
    }),
    places: { picture: place("picture"), gradient: place("gradient"), device: place("device"), losses: place("losses") },
  };
}

function fail(error) {
  at("device").textContent = `It failed: ${error.message ?? error}`;
  at("device").className = "failed";
}

async function main() {
  await init();
  makeBars();
  clear();
  at("clear").onclick = clear;
  let shown = 0;
  at("picture").onpointermove = draw;
  at("picture").onpointerdown = draw;
  at("pause").onclick = () => {
    isPaused = !isPaused;
    at("pause").textContent = isPaused ? "Go on" : "Pause";
  };
  const training = await Training.begin(query.has("cpu"));
  showDevice(training);
  at("example").onclick = () => show(training.example(shown++));
  if (query.has("test")) {
    return test(training, Number(query.get("test")));
  }
  await work(training);
}

if (query.has("test")) {
  // The server answers this when it has the result, and until then the page is not loaded.
  const held = new Image();
  held.src = "held.png";
  held.style.display = "none";
  document.body.append(held);
  main().then((result) => result, (error) => ({ error: `${error.message ?? error}` })).then((result) =>
    fetch("result", { method: "POST", body: JSON.stringify(result) }));
} else {
  main().catch(fail);
}
