// Sends what is drawn, one request at a time, and shows what comes back.

import {Pad} from './pad.js';

const LOOK_FOR_NEW_VERSION = 5000; // Milliseconds.
const MOST_IN_ONE_COLUMN = 12; // Classes.

const $ = (id) => document.getElementById(id);
const percent = new Intl.NumberFormat(
  'en', {style: 'percent', minimumFractionDigits: 1, maximumFractionDigits: 1});
const accuracy = new Intl.NumberFormat(
  'en', {style: 'percent', minimumFractionDigits: 2, maximumFractionDigits: 2});

const pad = new Pad($('pad'));
let outdated = false;

async function call(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error('The server does not answer.');
  }
  const answer = await response.json().catch(() => ({error: response.statusText}));
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

async function recognize() {
  outdated = true;
  if ($('result').ariaBusy === 'true') return;
  $('result').ariaBusy = 'true';
  while (outdated) {
    outdated = false;
    await recognizeOnce();
  }
  $('result').ariaBusy = 'false';
}

async function recognizeOnce() {
  if (pad.empty) {
    show(null);
    return;
  }
  try {
    show(await call('/recognize', {method: 'POST', body: await pad.file()}));
  } catch (error) {
    show(null, error.message);
  }
}

function show(answer, problem = '') {
  const best = answer?.class;
  const name = answer?.class_names[best] ?? '–';
  if ($('class').textContent !== name) $('class').textContent = name;
  $('class').classList.toggle('word', name.length > 2);
  [...$('bars').children].forEach((row, index) => {
    const probability = answer?.probabilities[index] ?? 0;
    row.classList.toggle('best', index === best);
    row.querySelector('i').style.setProperty('--probability', probability);
    row.querySelector('data').value = probability;
    row.querySelector('data').textContent = answer ? percent.format(probability) : '';
  });
  showReceived(answer?.image);
  $('message').textContent = problem || (pad.picture ? answer?.notes.join('; ') : '');
  if (answer) showVersion(answer);
}

function showReceived(rows) {
  const context = $('received').getContext('2d');
  context.clearRect(0, 0, 28, 28);
  if (!rows) return;
  const image = context.createImageData(28, 28);
  rows.flat().forEach((value, index) => image.data.set([value, value, value, 255], 4 * index));
  context.putImageData(image, 0, 0);
}

function showVersion(served) {
  const known = served.accuracy === null
    ? '' : ` · ${accuracy.format(served.accuracy)} of the test images right`;
  $('served').textContent = `Version ${served.version}${known}`;
}

function makeBars(names) {
  $('bars').classList.toggle('many', names.length > MOST_IN_ONE_COLUMN);
  $('bars').style.setProperty('--half', Math.ceil(names.length / 2));
  $('bars').style.setProperty('--longest', Math.max(...names.map((name) => name.length)));
  $('bars').replaceChildren(...names.map((name) => {
    const row = document.createElement('li');
    const track = document.createElement('span');
    track.append(document.createElement('i'));
    row.append(name, track, document.createElement('data'));
    return row;
  }));
}

async function lookForNewVersion() {
  try {
    const served = await call('/version');
    showVersion(served);
    if (!$('bars').children.length) makeBars(served.class_names);
  } catch (error) {
    $('served').textContent = error.message;
  }
}

pad.addEventListener('change', () => {
  $('hint').hidden = !pad.empty;
  $('clear').disabled = $('undo').disabled = pad.empty;
  recognize();
});
$('clear').addEventListener('click', () => pad.clear());
$('undo').addEventListener('click', () => pad.undo());
$('file').addEventListener('change', async () => {
  const [file] = $('file').files;
  $('file').value = '';
  try {
    if (file) await pad.open(file);
  } catch {
    show(null, `${file.name} is not a picture that this browser can read.`);
  }
});

await lookForNewVersion();
setInterval(lookForNewVersion, LOOK_FOR_NEW_VERSION);
