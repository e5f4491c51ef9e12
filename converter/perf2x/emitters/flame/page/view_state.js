"use strict";
// The view: everything that a link to this page contains, and the steps back and forward. Converts state to text, and uses the browser's history.

/**
 * A part of the view. `read` returns undefined for an invalid text; a part with its initial value is not in the address.
 * @typedef {{initial: any, read: (text: string) => any, write?: (value: any) => string}} Field
 */

/** A part that is one word out of a list. */
const oneOf = (initial, ...words) => ({ initial, read: (text) => (words.includes(text) ? text : undefined) });

/** A part that is any text. */
const anyText = (initial) => ({ initial, read: (text) => text });

/** A part that is a whole number from 0 to below a limit. */
const numberBelow = (initial, limit) => ({ initial, read: (text) => (/^\d{1,15}$/.test(text) && Number(text) < limit ? Number(text) : undefined) });

const textOf = (field, value) => (field.write ? field.write(value) : String(value));

/**
 * The view in a fragment; missing or invalid parts have their initial value.
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
 * The fragment of a view, without "#": only the parts that differ from the initial view, in the order of the fields.
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

/** Ranges of numbers as text: "0-30000", "0-1_5-9"; an empty one is a side that shows everything. */
const writeRanges = (ranges) => ranges.map((range) => (range ? range.map((end) => Number(end.toFixed(4))).join("-") : "")).join("_");

/** @returns {([number, number] | null)[] | undefined} */
function readRanges(text) {
  const ranges = text.split("_").map((part) => (part ? part.split("-").map(Number) : null));
  return ranges.every((range) => !range || (range.length === 2 && range[0] >= 0 && range[1] > range[0] && range[1] < Infinity)) ? ranges : undefined;
}

/** Steps through views: each change is a step; the changes of one gesture, such as typing or turning a wheel, are a single step. */
class ViewHistory {
  /** @param {() => string} fragment returns the current view; @param {(fragment: string) => void} show shows an earlier one. */
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

  /** Put the view into the address: as a step of its own, or as a continuation of the same gesture. */
  remember(gesture = "") {
    clearTimeout(this.timer);
    const fragment = `#${this.fragment()}`;
    const isMore = gesture !== "" && gesture === this.gesture;
    this.gesture = gesture;
    if (fragment === (location.hash || "#")) return;
    history[isMore ? "replaceState" : "pushState"](null, "", fragment);
  }

  /** Do the same once input pauses, because browsers limit how often an address changes. */
  rememberSoon(gesture) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.remember(gesture), 250);
  }

  /** The address of the current view. */
  link() {
    return `${location.href.split("#")[0]}#${this.fragment()}`;
  }
}
