/**
 * Runs one program after another in the same scope: what one declares, the next has, and can declare again.
 *
 * Only V8's inspector evaluates so ("replMode"), and it takes scripts, not modules. So types are left out
 * first, imports become `await import(…)`, and `export` is dropped. Where those are is not looked for here: V8
 * complains about each, and says where.
 */
import { Session as Inspector } from "node:inspector";
import * as nodeModule from "node:module";
import { PREFIX } from "./telling.ts";

interface Remote {
  type: string;
  value?: unknown;
  unserializableValue?: string;
  objectId?: string;
}
interface Complaint {
  lineNumber: number;
  columnNumber: number;
  exception?: Remote & { description?: string };
}
interface Evaluated {
  result?: Remote;
  exceptionDetails?: Complaint;
}
type Strip = (text: string, options?: { mode: "strip" | "transform" }) => string;

const IMPORT =
  /import\s*(?:([^"'`;]*?)\s*from\s*)?(["'])([^"'\n]*)\2(?:\s*(?:with|assert)\s*(\{[^}]*\}))?[^\S\n]*;?/y;
const EXPORT_LIST = /export\s*(?:\{[^}]*\}|\*(?:\s*as\s+[\w$]+)?)(?:\s*from\s*(["'])[^"'\n]*\1)?[^\S\n]*;?/y;
const EXPORT_VALUE = // what is no declaration with a name
  /export\s+default\b(?!\s+(?:async\s+)?function\s*\*?\s*[\w$]|\s+class\s+(?!extends\b)[\w$])/y;
const EXPORT = /export(?:\s+default)?\b/y;
const TOP_LEVEL_CONST = /(?:^(?: {7})?|;[^\S\n]*)const\b/gm; // the spaces are where `export` was
const IMPORTED = /^[^\S\n]*import\s+(?!type\b)([^"'`;]*?)\s*from\b/gm;
const META = "satchelMeta"; // as long as import.meta, so that columns stay
const HANDOVER = "satchelHandover";

/** What a program imports, by the names that it has there. */
function importedNames(source: string): string[] {
  const clauses = Array.from(source.matchAll(IMPORTED), (match) => match[1].replace(/[{}*]/g, ","));
  const parts = clauses.join(",").split(",").map((part) => part.trim());
  const names = parts.filter((part) => !/^type\s/.test(part)).map((part) => part.split(/\s+|^as\s+/).pop()!);
  return names.filter((name) => /^[\w$]+$/.test(name));
}

export class Session {
  readonly #inspector = new Inspector();
  readonly #address: URL;
  #declaresResult = false;
  #assignedResult = false;
  #before: unknown;

  constructor(address: URL) {
    this.#address = address;
    this.#inspector.connect();
    define(META, { value: metaOf(address) });
    let kept: unknown;
    define("result", {
      get: () => kept,
      set: (value: unknown) => {
        kept = value;
        this.#assignedResult = true;
      },
    });
  }

  /** Run a program to its end. Rejects with what it throws. */
  async run(source: string): Promise<void> {
    this.#before = this.#current();
    this.#assignedResult = this.#declaresResult = false;
    const script = await this.#asScript(this.#withoutTypes(source));
    const text = await this.#withLet(script.text);
    this.#declaresResult = await this.#complaint(`${text}\n;let result`) !== null;
    if (script.imports !== "") await this.#evaluate(script.imports);
    await this.#evaluate(text);
  }

  /** What this program left as `result`, not what an earlier one did. */
  result(): unknown {
    const value = this.#current();
    return this.#declaresResult || this.#assignedResult || !Object.is(value, this.#before)
      ? value
      : undefined;
  }

  #withoutTypes(source: string): string {
    const strip = (nodeModule as unknown as { stripTypeScriptTypes: Strip }).stripTypeScriptTypes;
    try {
      return strip(source);
    } catch {
      // There is more than types to it, such as an enum; or an error, of which only this way tells the place.
      try {
        // Which leaves out what is imported and not used yet; so all of it is.
        return strip(`${source}\n;void [${importedNames(source)}];`, { mode: "transform" });
      } catch (error) {
        throw new SyntaxError(
          (error as Error).message.replaceAll("file:///stripTypeScriptTypes.ts", this.#address.href),
        );
      }
    }
  }

  /** The program without what only modules have, every line in its place, and its imports by themselves. */
  async #asScript(text: string): Promise<{ imports: string; text: string }> {
    const imports: string[] = [];
    text = text.replace(
      /\bimport\s*\(\s*(["'])(\.\.?\/[^"'\n]*)\1/g,
      (_, quote, name) => `import(${quote}${this.#resolve(name)}${quote}`,
    );
    for (let complaint; (complaint = await this.#complaint(text)) !== null;) {
      const lines = text.split("\n", complaint.lineNumber);
      const at = lines.join("\n").length + (complaint.lineNumber > 0 ? 1 : 0) + complaint.columnNumber;
      const rewritten = this.#rewrite(text, at, (statement) => {
        const line = complaint!.lineNumber;
        imports[line] = (imports[line] ?? "") + statement;
      });
      if (rewritten === text) throw asError(complaint, this.#address);
      text = rewritten;
    }
    return { imports: Array.from(imports, (line) => line ?? "").join("\n"), text };
  }

  /** The program with `let` for `const` at its top: only so a name can be declared again in another way. */
  async #withLet(text: string): Promise<string> {
    for (const { 0: found, index } of text.matchAll(TOP_LEVEL_CONST)) {
      const at = index + found.length;
      const withoutConst = (by: string) => text.slice(0, at - "const".length) + by + text.slice(at);
      // In a text or a comment, nobody would mind.
      if (await this.#complaint(withoutConst("c@nst")) !== null) text = withoutConst("let  ");
    }
    return text;
  }

  /** The text without what only modules have at that place; `keep` is given what imports instead. */
  #rewrite(text: string, at: number, keep: (statement: string) => void): string {
    const match = (pattern: RegExp) => {
      pattern.lastIndex = at;
      return pattern.exec(text);
    };
    const replaced = (old: string, by: string) =>
      text.slice(0, at) + by + blank(old.slice(by.length)) + text.slice(at + old.length);
    if (text.startsWith("meta", at) && text.slice(0, at).endsWith("import.")) {
      return text.slice(0, at - "import.".length) + META + text.slice(at + "meta".length);
    }
    const imported = match(IMPORT);
    if (imported !== null) {
      keep(this.#asDynamic(imported[1] ?? "", imported[3], imported[4]));
      return replaced(imported[0], "");
    }
    const value = match(EXPORT_VALUE);
    if (value !== null) return replaced(value[0], "void");
    const exported = match(EXPORT_LIST) ?? match(EXPORT);
    return exported === null ? text : replaced(exported[0], "");
  }

  /** `a, { b as c }` of "x" → `let { default: a, b: c } = await import("x");` */
  #asDynamic(clause: string, name: string, attributes: string | undefined): string {
    const options = attributes === undefined ? "" : `, { with: ${attributes} }`;
    const module = `await import(${JSON.stringify(this.#resolve(name))}${options})`;
    const space = /\*\s*as\s+([\w$]+)/.exec(clause)?.[1];
    const names = /\{([^}]*)\}/.exec(clause)?.[1].replace(/\s+as\s+/g, ": ").replace(/\s+/g, " ").trim() ??
      "";
    const first = /^[\w$]+/.exec(clause.trim())?.[0];
    const parts = [...(first === undefined ? [] : [`default: ${first}`]), ...(names === "" ? [] : [names])];
    if (space !== undefined) {
      return `let ${space} = ${module};` +
        (first === undefined ? "" : ` let { default: ${first} } = ${space};`);
    }
    return parts.length === 0 ? `${module};` : `let { ${parts.join(", ")} } = ${module};`;
  }

  #resolve(name: string): string {
    return /^\.{0,2}\//.test(name) ? new URL(name, this.#address).href : name;
  }

  /** What V8 has against a text. It is not run: only read, as the body of a function. */
  async #complaint(text: string): Promise<Complaint | null> {
    const { exceptionDetails: details } = await this.#post("Runtime.evaluate", {
      expression: `(async () => {\n${text}\n})`,
    });
    return details === undefined ? null : { ...details, lineNumber: details.lineNumber - 1 };
  }

  async #evaluate(expression: string): Promise<void> {
    const { exceptionDetails: details } = await this.#post("Runtime.evaluate", {
      expression: PREFIX + expression,
      replMode: true,
      awaitPromise: true,
      objectGroup: "program",
    });
    if (details === undefined) return;
    try {
      throw this.#valueOf(details.exception);
    } finally {
      this.#inspector.post("Runtime.releaseObjectGroup", { objectGroup: "program" });
    }
  }

  /** The `result` that a program would see now. */
  #current(): unknown {
    return this.#handedOver(() =>
      this.#inspector.post("Runtime.evaluate", { expression: `${HANDOVER}(result)`, silent: true })
    );
  }

  #valueOf(remote: Remote | undefined): unknown {
    const { objectId, unserializableValue, value } = remote ?? {};
    if (objectId === undefined) return unserializableValue ?? value;
    const functionDeclaration = `function () { ${HANDOVER}(this); }`;
    return this.#handedOver(() =>
      this.#inspector.post("Runtime.callFunctionOn", { objectId, functionDeclaration })
    );
  }

  /** What the inspector, which has values only by numbers, can be made to give to a function of that name. */
  #handedOver(ask: () => void): unknown {
    let got: unknown;
    define(HANDOVER, { value: (value: unknown) => got = value });
    ask(); // done when it returns, though the answer comes later
    delete (globalThis as Record<string, unknown>)[HANDOVER];
    return got;
  }

  #post(method: string, params: object): Promise<Evaluated> {
    return new Promise((resolve, reject) => {
      this.#inspector.post(method, params, (error: unknown, answer?: object) => {
        if (error) reject(error);
        else resolve(answer as Evaluated);
      });
    });
  }
}

function define(name: string, descriptor: PropertyDescriptor): void {
  Object.defineProperty(globalThis, name, { ...descriptor, configurable: true, enumerable: false });
}

function metaOf(address: URL): object {
  const filename = decodeURIComponent(address.pathname);
  const resolve = (name: string) => new URL(name, address).href;
  return { url: address.href, filename, dirname: filename.replace(/\/[^/]*$/, ""), main: true, resolve };
}

function blank(text: string): string {
  return text.replace(/[^\n]/g, " ");
}

/** A complaint as the error that it is, with the place in the program. */
function asError(complaint: Complaint, address: URL): SyntaxError {
  const [first] = (complaint.exception?.description ?? "").split("\n");
  const error = new SyntaxError(first.replace(/^SyntaxError: /, ""));
  const position = `${address.href}:${complaint.lineNumber + 1}:${complaint.columnNumber + 1}`;
  error.stack = `${error}\n    at ${position}`;
  return error;
}
