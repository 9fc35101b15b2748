// Measured runs that stdin has, each with how the estimator understood its question, printed by the
// build: the page tells by that which are nearest. It has nothing to say beside those that it refuses.
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { BadInput, load } from '../module/vramfit.mjs';
import { axesOf, flagsOf } from './measured.mjs';

const vramfit = await load(readFile(process.argv[2]));
const { cases, configs } = JSON.parse(await text(process.stdin));

function understood(measured) {
  try {
    return [{ ...measured, axes: axesOf(JSON.parse(vramfit.estimate(flagsOf(measured, configs)))) }];
  } catch (error) {
    if (error instanceof BadInput) return [];
    throw error;
  }
}

console.log(JSON.stringify(cases.flatMap(understood)));
