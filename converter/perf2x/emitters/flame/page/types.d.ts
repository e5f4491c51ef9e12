// Types that the page's scripts share: the data as html.py and diff_page.py write it, and the page's own elements.
// Read only by tsc (tests/browser/tsconfig.json); not part of the page.

interface Moments {
  track: number[];
  start: number[]; // differences in the file, microseconds once prepare() has run
  duration: number[];
  node: number[];
  wait?: number[]; // a key of WAITS, 0: it ran
}

/** Microseconds by thread and part of the time, used if there are too many samples for moments. */
interface LaneSums {
  origin: string; // as of bursts
  length: number; // of a part
  parts: number;
  ran: number[];
  waited: number[];
}

interface BurstData {
  origin: string; // nanoseconds of the recording's clock
  time: number[]; // differences of microseconds
  row: number[]; // differences of rows of SampleRows
  value?: number[];
  latency?: number[];
  lasts?: number[];
  cpu?: number[]; // differences
}

/** Samples summed by thread, event and node. */
interface SampleRows {
  thread: number[];
  event: number[];
  node: number[];
  value: Column;
  count: Column;
  latency?: Column;
  off?: number[]; // 1: off the CPU
  beforeValue?: number[]; // before, in a difference of two profiles
  beforeCount?: number[];
}

type Column = number[] | Float64Array;
type Weight = "value" | "count" | "latency";
type Sums = Record<Weight, Column | null | undefined>;

interface Thread {
  name: string;
  process: string;
  pid: number; // −1: unknown, or threads are merged by name
  tid: number;
  label: string; // made by prepare()
}

/** A source line: number, text, and, if there are any, self and total costs by measure. */
type LineRow = [number, string, number[]?, number[]?];
/** An instruction: address, text, its target, the row that it jumps to, spot, and self and total costs by measure. */
type InstructionRow = [string, string, string, number, number, number[]?, number[]?];

interface CodeListing {
  object: string;
  symbol: string;
  reason: string;
  left: number; // number of rows left out
  spots: [string, number, string, string][]; // file, line, function, text
  rows: InstructionRow[];
}

interface Listings {
  measures: [number, "period" | "samples"][]; // event and number
  functions: {
    name: string;
    object: string;
    left: number; // number of places left out
    sources: { path: string; reason: string; rows: LineRow[] }[];
    code: CodeListing[];
  }[];
}

/** Another event, or two events whose ratio to show; exact: they were counted, not sampled. */
interface ColumnData {
  name: string;
  events: number[];
  factor: number;
  exact: boolean;
  shown: boolean;
}

/** A sum of weights, of their squares, and the weight of one sample. */
interface Side {
  value: number;
  squares: number;
  typical: number;
}

/** An event's costs by function number, within the choice, and in the whole recording. */
interface EventCosts {
  of: Map<number, { entry: FunctionCost; self: Side; total: Side }>;
  whole: Side;
  recorded: Side;
}

interface BesideColumn extends ColumnData {
  tables: EventCosts[];
}

interface PageData {
  title: string;
  facts: string[];
  advice?: [string, string][]; // topic and sentence
  elapsed?: number; // nanoseconds from the first sample to the last
  losses?: [string, number, string][]; // name, number, description
  direction: "icicle" | "flame";
  defaultEvent: number;
  compare?: { normalize: boolean; samples: boolean };
  runtimes?: Record<string, string>; // regular expressions of frames that show how a runtime works
  events: { name: string; unit: string; samples: number }[];
  threads: Thread[];
  frames: Record<"name" | "full" | "object" | "file" | "mode" | "inlined" | "resolved" | "jit", number[]>;
  nodes: { parent: number[]; frame: number[] };
  rows: SampleRows;
  moments: Moments | null;
  noMoments?: string;
  bursts?: BurstData;
  lanes?: LaneSums;
  listings?: Listings;
  columns: ColumnData[]; // absent if there are none
  strings: string[];
}

/** The constructor copies the data; prepare() adds where each thread's moments begin and when the last one ends. */
interface Profile extends PageData {
  firstMoment: Int32Array;
  runtimeTests: [string, RegExp][]; // created on first use
  duration: number;
}

/** Shares of columns of time: what ran by group of colours, waited, and had a marked function on its stack. */
interface LaneUse {
  ran: Map<string, Float64Array>;
  waited: Float64Array;
  when: Float64Array;
}

/** A row of boxes under one heading. */
interface Lane {
  label: string;
  frame: ArrayLike<number> & { slice(first: number): any }; // of each node that its boxes show
  levels: number[][]; // boxes from left to right
  top: number; // first level on screen
  side: number; // of the painter's ranges
  grows: "" | "up" | "down"; // "": as the view says
  track: number; // the thread of a lane over time, −1 for others
  use?: { asked: string } & LaneUse; // of a closed lane, as last drawn
  closed: boolean; // shows how much the thread ran instead of its stacks
  isTurned: boolean; // callers are further from the root
  first: number; // number of its first box if lanes are filled one by one, and one past its last box
  last: number;
  make: (() => void) | null; // fills the lane
}

/** A tree without some frames; nodeOf: old nodes + 1 to new nodes, DROPPED for stacks that are not shown. */
interface EditedTree {
  parent: Int32Array;
  frame: Int32Array;
  nodeOf: Int32Array;
}

/** A tree of functions, callers or callees first, with sums of one or more columns. */
interface FunctionTree {
  parent: Int32Array;
  function: Int32Array;
  columns: Float64Array[];
}

/** Columns by node that a layout needs; rank is by frame. */
interface PlacedTree {
  parent: Int32Array;
  frame: ArrayLike<number>;
  sum: Float64Array;
  own?: Float64Array;
  rank: Int32Array;
  place: Int32Array;
}

interface NodeChange {
  total: Change;
  self: Change;
}

/** A line of the table of functions. */
interface FunctionCost {
  name: string;
  object: string;
  frame: number;
  self: number;
  total: number;
  other?: number; // self cost in the number that does not determine the width
  was?: SelfAndTotal; // of two profiles; self and total are the differences
  now?: SelfAndTotal;
  wasCount?: SelfAndTotal; // samples
  nowCount?: SelfAndTotal;
  deviations?: SelfAndTotal; // of the samples, from before to after
  noisy?: Record<string, boolean>; // whether a change may be chance
}

interface SelfAndTotal {
  self: number;
  total: number;
}

/** What a box was before and is after. */
interface Change {
  before: number;
  after: number;
  noisy: boolean;
  strength: number;
}

/** Elements of page.html that are more than an HTMLElement. */
interface Elements {
  canvas: HTMLCanvasElement;
  ruler: HTMLCanvasElement;
  heat: HTMLCanvasElement;
  overview: HTMLCanvasElement;
  event: HTMLSelectElement;
  recording: HTMLSelectElement;
  column: HTMLSelectElement;
  hide: HTMLSelectElement;
  thread: HTMLInputElement;
  search: HTMLInputElement;
  keys: HTMLDialogElement;
  "burst-toggle": HTMLButtonElement;
}

interface ParentNode {
  querySelectorAll(selectors: string): NodeListOf<HTMLButtonElement>; // this page only selects buttons
}
