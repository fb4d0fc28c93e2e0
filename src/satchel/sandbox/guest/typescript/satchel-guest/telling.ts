/** How a program ended: its error without Satchel's own lines, and what it leaves as `result`. */
import { hintFor } from "./hints.ts";
import { toJson } from "../satchel-runtime/json.ts";
import { encode, method } from "../satchel-runtime/intrinsics.ts";

const LARGEST_RESULT = 8_000_000; // bytes
const DEEPEST = 8; // of causes
/** Begins every script of a session: so it does not run inside of the inspector, where `exit` would fail. */
export const PREFIX = "await 0;";
const FRAME = /^\s+at (?:(.+) \()?(.+?):(\d+):(\d+)\)?$/;
const NOT_TOLD = /^(?:ext|node|https?|data|blob|wasm):/;
const DOWNLOADS = /--no-npm|--no-remote|not a dependency/;
const NO_DOWNLOADS =
  'hint: nothing can be downloaded here; there are "./servers/…", "satchel-runtime" and "node:…" to import';
const { inspect, stderr } = Deno;
const writeSync = method(stderr.writeSync);

/** Where a program is, and what beside it is not its own. */
export class Place {
  /** Where the program lies, and what it can import. */
  readonly files: { program: URL; folder: URL };
  readonly #program: string;
  readonly #folder: string;
  readonly #guest = new URL("..", import.meta.url).href;

  constructor(program: URL) {
    this.files = { program, folder: new URL(".", program) };
    this.#program = program.href;
    this.#folder = this.files.folder.href;
  }

  /** A file as the program's author knows it; null for what is Satchel's or Deno's. */
  shown(file: string): string | null {
    if (file === this.#program || file === "<anonymous>") return "main.ts"; // the latter in a session
    if (NOT_TOLD.test(file) || file.startsWith(this.#guest) || file.startsWith("file:///mnt/code-api/")) {
      return null;
    }
    if (/^(?:servers|tools|helpers|satchel-runtime)\//.test(this.#without(file))) return null;
    return this.#without(file);
  }

  /** A text without the addresses of the program's folder. */
  readable(text: string): string {
    return this.#without(text.replaceAll(this.#program, "main.ts"));
  }

  #without(text: string): string {
    return text.replaceAll(this.#folder, "").replaceAll("file:///", "/");
  }
}

/** Write the error to stderr; say which limit it is about, where it is about one. */
export function tellError(error: unknown, place: Place): string | undefined {
  try {
    write(`${describe(error, place)}\n`);
  } catch {
    write(`${nameOf(error)}\n`); // also what is told of an error must not be an error
  }
  try {
    const hint = isError(error) ? hintFor(error.name, place.readable(String(error.message)), place.files) : null;
    if (hint !== null) write(`hint: ${hint}\n`);
  } catch {
    // nothing is known of it
  }
  try {
    return limitOf(error);
  } catch {
    return undefined;
  }
}

function nameOf(error: unknown): string {
  try {
    return isError(error) ? `${error.name}: ${error.message}` : `${error}`;
  } catch {
    return "Error";
  }
}

/** As Deno prints it, but only with the program's own lines. */
export function describe(error: unknown, place: Place, seen: unknown[] = []): string {
  if (!isError(error)) return `Uncaught ${inspect(error)}`;
  if (seen.includes(error) || seen.length > DEEPEST) return `${error.name}: ${error.message}`;
  const inner = [...seen, error];
  const lines = [headOf(error, place), ...framesOf(error, place)];
  for (const other of Array.isArray(error.errors) ? error.errors : []) {
    lines.push(describe(other, place, inner).replace(/^/gm, "    "));
  }
  if (error.cause !== undefined) lines.push(`Caused by: ${describe(error.cause, place, inner)}`);
  return lines.join("\n");
}

interface Told {
  name: string;
  message: string;
  stack?: unknown;
  cause?: unknown;
  errors?: unknown;
  code?: unknown;
  kind?: unknown;
}

function isError(value: unknown): value is Told {
  return typeof value === "object" && value !== null && "message" in value && "stack" in value;
}

function headOf(error: Told, place: Place): string {
  let message = place.readable(String(error.message)).replace(/, run again with the --allow-\S+ flag/, "");
  if (DOWNLOADS.test(message)) {
    const [text, ...rest] = message.split("\n");
    message = [text, ...rest.filter((line) => !line.includes("hint:")), `  ${NO_DOWNLOADS}`].join("\n");
  }
  // What is wrong with a program's text arrives as a TypeError of its import, with the place in the message.
  if (message.startsWith("SyntaxError: ")) return message;
  return message ? `${error.name}: ${message}` : String(error.name);
}

function framesOf(error: Told, place: Place): string[] {
  const text = typeof error.stack === "string" ? error.stack : "";
  // What the stack begins with is the message, which may have lines that look like frames.
  const start = text.indexOf(error.message) + error.message.length;
  const frames: string[] = [];
  for (const line of text.slice(error.message && start > error.message.length ? start : 0).split("\n")) {
    const [, name, file, row, column] = FRAME.exec(line) ?? [];
    const shown = file === undefined ? null : place.shown(file.replace(/^async /, ""));
    if (shown === null) continue;
    const shift = file?.endsWith("<anonymous>") && row === "1" ? PREFIX.length : 0;
    const position = `${shown}:${row}:${Math.max(1, Number(column) - shift)}`;
    frames.push(name ? `    at ${name} (${position})` : `    at ${position}`);
  }
  return frames;
}

/** The limit that an error is about. What limits did not cause is the program's own matter. */
function limitOf(error: unknown): string | undefined {
  if (!isError(error)) return undefined;
  if (error.kind === "limit") return "calls";
  if (error.name === "RangeError" && error.message.includes("allocation failed")) return "memory";
  const limits: Record<string, string> = {
    EMFILE: "open_files",
    EFBIG: "file_size",
    "27": "file_size", // Deno has no word for this one
    ENOSPC: "disk",
    EDQUOT: "disk",
    "122": "disk",
    ENOMEM: "memory",
  };
  const code = error.code ?? /\(os error (\d+)\)/.exec(error.message)?.[1];
  return typeof code === "string" ? limits[code] : undefined;
}

/** `result` as JSON; undefined where there is none, or where it can't be sent, which is told. */
export function resultOf(value: unknown): string | undefined {
  let text: string | undefined;
  if (value instanceof Promise) {
    write("`result` was not returned, because it is a promise\nhint: write result = await …\n");
    return undefined;
  }
  try {
    text = toJson(value);
  } catch (error) {
    write(`\`result\` was not returned, because it is not JSON: ${isError(error) ? error.message : error}\n`);
    return undefined;
  }
  const size = text === undefined ? 0 : encode(text).length;
  if (size > LARGEST_RESULT) {
    write(`\`result\` was not returned: it has ${size.toLocaleString("en-US")} bytes\n`);
    return undefined;
  }
  return text;
}

function write(text: string): void {
  let bytes = encode(text);
  try {
    while (bytes.length > 0) bytes = bytes.subarray(writeSync(stderr, bytes));
  } catch {
    // the program closed it
  }
}
