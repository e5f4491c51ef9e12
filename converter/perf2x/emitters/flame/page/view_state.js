"use strict";
// The view: everything that a link to this page says, and the steps back and forward. State ↔ text, and the browser's history.

/**
 * One part of the view. `read` gives undefined for a text that fits nothing; a part that has its initial value is not in the address.
 * @typedef {{initial: any, read: (text: string) => any, write?: (value: any) => string}} Field
 */

/** A part that is one of some words. */
const oneOf = (initial, ...words) => ({ initial, read: (text) => (words.includes(text) ? text : undefined) });

/** A part that is any text. */
const anyText = (initial) => ({ initial, read: (text) => text });

/** A part that is a whole number from 0 until before a limit. */
const numberBelow = (initial, limit) => ({ initial, read: (text) => (/^\d{1,15}$/.test(text) && Number(text) < limit ? Number(text) : undefined) });

const textOf = (field, value) => (field.write ? field.write(value) : String(value));

/**
 * The view that a fragment tells; what it does not tell, or tells wrongly, is as at the start.
 * @param {string} fragment
 * @param {Record<string, Field>} fields
 */
function readFragment(fragment, fields) {
  const view = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.initial]));
  for (const [name, text] of new URLSearchParams(fragment.replace(/^#/, ""))) {
    const value = Object.hasOwn(fields, name) ? fields[name].read(text) : undefined;
    if (value !== undefined) view[name] = value;
  }
  return view;
}

/**
 * The fragment of a view, without "#": only what differs from the start, in the order of the fields.
 * @param {Record<string, any>} view
 * @param {Record<string, Field>} fields
 */
function writeFragment(view, fields) {
  const words = new URLSearchParams();
  for (const [name, field] of Object.entries(fields)) {
    const text = textOf(field, view[name]);
    if (text !== textOf(field, field.initial)) words.set(name, text);
  }
  return words.toString();
}

/** Ranges of numbers as text: "0-30000", "0-1_5-9"; an empty one is a side that shows all. */
const writeRanges = (ranges) => ranges.map((range) => (range ? range.map((end) => Number(end.toFixed(4))).join("-") : "")).join("_");

/** @returns {([number, number] | null)[] | undefined} */
function readRanges(text) {
  const ranges = text.split("_").map((part) => (part ? part.split("-").map(Number) : null));
  return ranges.every((range) => !range || (range.length === 2 && range[0] >= 0 && range[1] > range[0] && range[1] < Infinity)) ? ranges : undefined;
}

/** Steps through views: each change is a step; changes of one gesture, as typing or turning a wheel, are one step together. */
class ViewHistory {
  /** @param {() => string} fragment tells the view as it is; @param {(fragment: string) => void} show takes one of the past. */
  constructor(fragment, show) {
    this.fragment = fragment;
    this.gesture = "";
    this.timer = 0;
    addEventListener("popstate", () => {
      clearTimeout(this.timer);
      this.gesture = "";
      show(location.hash);
    });
  }

  /** Put the view into the address: as a step of its own, or as more of the same gesture. */
  remember(gesture = "") {
    clearTimeout(this.timer);
    const fragment = `#${this.fragment()}`;
    const isMore = gesture !== "" && gesture === this.gesture;
    this.gesture = gesture;
    if (fragment === (location.hash || "#")) return;
    history[isMore ? "replaceState" : "pushState"](null, "", fragment);
  }

  /** The same when the hand rests: browsers count how often an address changes. */
  rememberSoon(gesture) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.remember(gesture), 250);
  }

  /** The address of the view as it is. */
  link() {
    return `${location.href.split("#")[0]}#${this.fragment()}`;
  }
}
