/** What somebody can do about an error of a program: a line below it, where one helps. Only looks at what is there. */
import * as runtime from "../satchel-runtime/index.ts";
import { parse } from "../satchel-runtime/intrinsics.ts";

interface Files {
  program: URL;
  folder: URL;
}

const TOPS = ["servers", "tools"] as const;
const MOST_LINES = 3;
const BESIDE_TOOLS = /^(?:index|example|version|resources|prompts)\.ts$|\.(?:json|md)$/;
const ELSEWHERE: Record<string, string> = {
  print: "write console.log(…)",
  require: 'write import … from "node:…", or from "./servers/…"',
};
const SEEN = "a program sees /workspace, /mnt and /tmp, and what code_execution.sandbox.allow_read in" +
  " satchel.yaml names";
const WRITTEN = "only /workspace, /mnt/memory, /mnt/tasks and /tmp can be written to";
const NOT_AWAITED = /is not (?:a function|iterable)|of undefined|of null/;
const PYTHON = /^SyntaxError[^]*\d \| *(?:from [\w.]+ import|import \w+$|def \w+\()/m;
const { readDirSync, readTextFileSync } = Deno;

/** What to do next, in one line; null where nothing is known of it. */
export function hintFor(name: string, message: string, files: Files): string | null {
  const [, missing] = /^Module not found "((?:servers|tools)\/[^"]+)/.exec(message) ?? [];
  if (missing !== undefined) return unusable(missing, files) ?? pathLike(missing, files, "./");
  const [, outside] = /^Import "([^"]+)" not a dependency/.exec(message) ?? [];
  if (outside !== undefined) return folderCalled(outside, files);
  const [, module, wanted] =
    /requested module '\.\/((?:servers|tools)\/[^/']+)[^']*' does not provide an export named '([^']+)'/
      .exec(message) ?? [];
  if (module !== undefined) return exported(module, wanted, files);
  const [, undefinedName] = name === "ReferenceError" ? /^([\w$]+) is not defined/.exec(message) ?? [] : [];
  if (undefinedName !== undefined) return notImported(undefinedName, files);
  const [, path] = name === "NotFound" ? /'([^']+)'$/.exec(message) ?? [] : [];
  if (path !== undefined) {
    return pathLike(path.replace(/^(?:\/mnt\/code-api|\.)\//, ""), files, "") ?? (isOfProject(path) ? SEEN : null);
  }
  if (name === "NotCapable" && message.startsWith("Requires read access")) return SEEN;
  if (name === "NotCapable" && message.startsWith("Requires write access")) return WRITTEN;
  if (PYTHON.test(message)) return "Python needs language 'python'";
  return name === "TypeError" && NOT_AWAITED.test(message) ? notAwaited(files) : null;
}

/** Whether a path that is not there begins with nothing that a program sees: it may be one of the project. */
function isOfProject(path: string): boolean {
  const [top] = path.replace(/^\.\//, "").split("/");
  try {
    return top !== "" && ![...readDirSync(".")].some(({ name }) => name === top);
  } catch {
    return false;
  }
}

/** For a server that is configured: why it has no folder. */
function unusable(missing: string, files: Files): string | null {
  const wanted = letters(missing.split("/").slice(0, 2).join("/"));
  try {
    const rows = parse(readTextFileSync(new URL("servers/unusable.json", files.folder)));
    return (rows as { folder: string; note: string }[]).find((row) => letters(row.folder) === wanted)?.note ?? null;
  } catch {
    return null; // there is none
  }
}

/** For an import that has only a server's name. */
function folderCalled(name: string, { folder }: Files): string | null {
  for (const top of TOPS) {
    const named = namesIn(new URL(`${top}/`, folder)).find((each) => letters(each) === letters(name));
    if (named !== undefined) return `did you mean "./${top}/${named}"?`;
  }
  return null;
}

/** The file or folder that a path may mean, each part of it the one that looks alike. */
function pathLike(path: string, { folder }: Files, prefix: string): string | null {
  const [top, ...parts] = path.replace(/\/$/, "").split("/");
  if (!TOPS.some((each) => each === top)) return null;
  let place = top;
  for (const part of parts) {
    const near = closest(part, namesIn(new URL(`${place}/`, folder)));
    if (near === undefined) return null;
    place += `/${near}`;
  }
  const meant = prefix === "" ? place : place.replace(/\.ts$/, "");
  return meant === path ? null : `did you mean ${prefix === "" ? meant : `"${prefix}${meant}"`}?`;
}

/** What a server's folder exports instead. */
function exported(module: string, wanted: string, { folder }: Files): string | null {
  const tools = toolsIn(new URL(`${module}/`, folder));
  const near = closest(wanted, tools);
  if (near !== undefined) return `did you mean ${near}?`;
  return tools.length > 0 ? `there are ${tools.slice(0, 12).join(", ")}${tools.length > 12 ? ", …" : ""}` : null;
}

/** For what is used without an import, in whichever spelling: the line that imports it. */
function notImported(name: string, { folder }: Files): string | null {
  const meant = letters(name);
  const found = Object.keys(runtime).filter((each) => letters(each) === meant)
    .map((each) => `import { ${each} } from "satchel-runtime"`);
  for (const top of TOPS) {
    for (const server of namesIn(new URL(`${top}/`, folder))) {
      const place = `"./${top}/${server}"`;
      if (letters(server) === meant) found.push(`import * as ${name} from ${place}`);
      for (const tool of toolsIn(new URL(`${top}/${server}/`, folder))) {
        if ([letters(tool), letters(server + tool)].includes(meant)) found.push(`import { ${tool} } from ${place}`);
      }
    }
  }
  if (found.length === 0) return Object.hasOwn(ELSEWHERE, name) ? ELSEWHERE[name] : null;
  return `write ${found.slice(0, MOST_LINES).join(" or ")}`;
}

/** For an error that a promise in place of its value may have caused: a call whose result is not awaited. */
function notAwaited({ program }: Files): string | null {
  const text = readTextFileSync(program);
  const imported = [...text.matchAll(/import\s*\{([^}]*)\}\s*from\s*["']\.\/(?:servers|tools)\//g)];
  const names = imported.flatMap((found) => found[1].split(",").map((each) => each.trim().split(/\s+as\s+/).at(-1)!));
  for (const name of [...names.filter((each) => /^[\w$]+$/.test(each)), "callMCPTool", "searchTools", "search_tools"]) {
    const call = new RegExp(`(?:([\\w$]+)\\s*=|\\(|\\bof|^)\\s*${name.replaceAll("$", "\\$")}\\(`, "m").exec(text);
    const isAwaitedLater = call?.[1] !== undefined && new RegExp(`\\bawait\\b[^;\\n]*\\b${call[1]}\\b`).test(text);
    if (call !== null && !isAwaitedLater) return `write await ${name}(…)`;
  }
  return null;
}

function toolsIn(folder: URL): string[] {
  return namesIn(folder).filter((name) => name.endsWith(".ts") && !BESIDE_TOOLS.test(name))
    .map((name) => name.slice(0, -3));
}

function namesIn(folder: URL): string[] {
  try {
    return [...readDirSync(folder)].map((entry) => entry.name).sort();
  } catch {
    return [];
  }
}

/** Case and punctuation don't count: `get_issue` is `getIssue`. */
function letters(text: string): string {
  return text.replace(/\.ts$/, "").replace(/[^\p{L}\p{N}/]/gu, "").toLowerCase();
}

/** The one that looks most alike, with at most a third of its letters changed. */
function closest(name: string, known: string[], most = Math.floor(letters(name).length / 3)): string | undefined {
  let best: string | undefined;
  for (const each of known) {
    const changed = distance(letters(name), letters(each), most);
    if (changed <= most) {
      best = each;
      most = changed - 1;
    }
  }
  return best;
}

/** How many letters differ; no more is counted than can matter. */
function distance(one: string, other: string, most: number): number {
  if (Math.abs(one.length - other.length) > most) return most + 1;
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let at = 1; at <= one.length; at++) {
    const next = [at];
    for (let to = 1; to <= other.length; to++) {
      const swapped = row[to - 1] + (one[at - 1] === other[to - 1] ? 0 : 1);
      next.push(Math.min(row[to] + 1, next[to - 1] + 1, swapped));
    }
    row = next;
  }
  return row[other.length];
}
