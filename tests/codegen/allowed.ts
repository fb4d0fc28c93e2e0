/**
 * A plugin of `deno lint` that reports whatever a generated file may not contain.
 *
 * Deno's own parser reads the files, so that a text that escapes from a comment or a string is seen as what
 * it has become. What is allowed is listed; everything else is reported.
 */

// deno-lint-ignore no-explicit-any
type Node = any;

// deno-fmt-ignore
const TYPES = new Set([
  "TSAnyKeyword", "TSArrayType", "TSBooleanKeyword", "TSIndexSignature", "TSInterfaceBody", "TSLiteralType",
  "TSNullKeyword", "TSNumberKeyword", "TSPropertySignature", "TSStringKeyword", "TSTupleType",
  "TSTypeAnnotation", "TSTypeLiteral", "TSTypeParameterInstantiation", "TSTypeReference", "TSUndefinedKeyword",
  "TSUnionType", "TSUnknownKeyword",
]);
const KNOWN_TYPES = new Set(["JsonOrText", "Promise", "Record", "Resource", "_Prompt"]);
const RUNTIME = "../../satchel-runtime/index.ts";
const IMPORTED = new Set(["call", "JsonOrText", "readResource", "Resource", "getPrompt", "Prompt"]);
const CALLED = new Set(["call", "call_", "readResource", "_getPrompt"]);
const VERSION = new Set(["SERVER", "NAME", "VERSION", "PROTOCOL_VERSION", "CATALOG_HASH"]);
// What the last line of a comment tells the compiler about the line after it.
const DIRECTIVE = /(?:^|\n)[*\s/]*@ts-(ignore|expect-error)[^\n]*$/;

class Checker {
  readonly troubles: [Node, string][] = [];
  private readonly types = new Set(KNOWN_TYPES);

  constructor(private readonly file: string) {}

  program(program: Node, comments: Node[]): void {
    for (const node of program.body) {
      const name = node.declaration?.id?.name;
      if (name !== undefined) this.types.add(name);
    }
    for (const node of program.body) this.statement(node);
    // Comments before imports can tell Deno where to find types, and those at the top much else.
    const imports = program.body.filter((node: Node) => node.source);
    const last = Math.max(0, ...imports.map((node: Node) => node.range[1]));
    for (const comment of comments) {
      const isText = comment.type === "Block" && comment.range[0] >= last && !DIRECTIVE.test(comment.value);
      if (!isText) this.refuse(program, "a comment", comment.value);
    }
  }

  private statement(node: Node): void {
    const example = this.file === "example.ts";
    if (node.type === "ImportDeclaration") return this.imports(node, example);
    if (node.type === "ExportNamedDeclaration") return this.exports(node);
    const isMain = node.type === "IfStatement" && node.alternate === null &&
      node.test.type === "MemberExpression" && node.test.object.type === "MetaProperty" &&
      node.test.property.name === "main";
    if (!example || !isMain) return this.refuse(node, "a statement");
    for (const inner of node.consequent.body) this.printed(inner);
  }

  private imports(node: Node, example: boolean): void {
    const source = example ? "./index.ts" : RUNTIME;
    if (node.source.value !== source || node.attributes?.length) {
      this.refuse(node, "an import", node.source.value);
    }
    for (const one of node.specifiers) {
      const known = example ? one.type === "ImportNamespaceSpecifier" : IMPORTED.has(one.imported?.name);
      if (!known) this.refuse(one, "an imported name", one.imported?.name);
    }
  }

  private exports(node: Node): void {
    const made = node.declaration;
    if (made === null) {
      const names = node.specifiers.map((one: Node) => one.exported.name);
      const right = node.source === null ? names.length === 0 : node.source.value === `./${names[0]}.ts`;
      if (!right || (names.length > 1)) this.refuse(node, "an export", names);
    } else if (made.type === "TSInterfaceDeclaration") {
      if (made.extends?.length) this.refuse(made, "a base");
      this.type(made.body);
    } else if (made.type === "TSTypeAliasDeclaration") {
      this.type(made.typeAnnotation);
    } else if (made.type === "FunctionDeclaration") {
      this.wrapper(made);
    } else if (made.type === "VariableDeclaration" && this.file === "version.ts") {
      const [{ id, init }] = made.declarations;
      const right = made.kind === "const" && made.declarations.length === 1 && VERSION.has(id.name);
      if (!right || typeof init?.value !== "string") this.refuse(made, "a constant");
    } else {
      this.refuse(made, "a declaration");
    }
  }

  private wrapper(node: Node): void {
    if (node.async || node.generator || node.params.length > 1) this.refuse(node, "a function");
    for (const each of node.params) {
      const parameter = each.type === "AssignmentPattern" ? each.left : each;
      if (each !== parameter && each.right.properties?.length !== 0) this.refuse(each, "a default");
      if (!["input", "uri"].includes(parameter.name)) this.refuse(parameter, "a parameter", parameter.name);
      this.type(parameter.typeAnnotation);
    }
    this.type(node.returnType);
    const [only] = node.body.body;
    const call = only?.type === "ReturnStatement" ? only.argument : null;
    if (node.body.body.length !== 1 || call?.type !== "CallExpression" || !CALLED.has(call.callee.name)) {
      return this.refuse(node, "a body");
    }
    for (const given of call.arguments) {
      const plain = given.type === "Literal" && ["string", "boolean"].includes(typeof given.value);
      const parameter = given.type === "Identifier" && ["input", "uri"].includes(given.name);
      const empty = given.type === "ObjectExpression" && given.properties.length === 0;
      if (!plain && !parameter && !empty) this.refuse(given, "an argument");
    }
  }

  /** `console.log(await server.tool(…));` or `console.log(server);` */
  private printed(node: Node): void {
    const call = node.type === "ExpressionStatement" ? node.expression : null;
    const callee = call?.type === "CallExpression" ? call.callee : null;
    if (callee?.object?.name !== "console" || callee.property.name !== "log" || call.arguments.length !== 1) {
      return this.refuse(node, "a statement of the example");
    }
    const [shown] = call.arguments;
    if (shown.type === "Identifier" && shown.name === "server") return;
    const tool = shown.type === "AwaitExpression" ? shown.argument : null;
    const of = tool?.callee;
    if (
      tool?.type !== "CallExpression" || of.type !== "MemberExpression" || of.computed ||
      of.object.name !== "server"
    ) {
      return this.refuse(shown, "an example");
    }
    tool.arguments.forEach((given: Node) => this.value(given));
  }

  private value(node: Node): void {
    if (node.type === "Literal" && node.regex === undefined) return;
    if (node.type === "ArrayExpression") return node.elements.forEach((part: Node) => this.value(part));
    if (node.type === "UnaryExpression" && node.operator === "-") return this.value(node.argument);
    if (node.type === "Identifier" && ["NaN", "Infinity"].includes(node.name)) return;
    if (node.type !== "ObjectExpression") return this.refuse(node, "a value");
    for (const one of node.properties) {
      const plain = one.type === "Property" && one.kind === "init" && !one.method && !one.shorthand;
      if (!plain || (one.computed && one.key.type !== "Literal")) this.refuse(one, "a property");
      else if (!one.computed && (one.key.name ?? one.key.value) === "__proto__") {
        this.refuse(one, "a prototype");
      } else this.value(one.value);
    }
  }

  private type(node: Node): void {
    if (node === null || node === undefined) return;
    if (!TYPES.has(node.type)) return this.refuse(node, "a type");
    if (node.type === "TSTypeReference") {
      if (!this.types.has(node.typeName.name)) this.refuse(node, "a type's name", node.typeName.name);
      return this.type(node.typeArguments);
    }
    if (node.type === "TSPropertySignature") {
      const kinds = node.computed ? ["Literal"] : ["Identifier", "Literal"];
      if (!kinds.includes(node.key.type)) this.refuse(node, "a key");
      return this.type(node.typeAnnotation);
    }
    if (node.type === "TSLiteralType") {
      const literal = node.literal.type === "UnaryExpression" ? node.literal.argument : node.literal;
      return literal.type === "Literal" ? undefined : this.refuse(node, "a literal");
    }
    if (node.type === "TSIndexSignature") return this.type(node.typeAnnotation);
    const parts = node.body ?? node.members ?? node.types ?? node.elementTypes ?? node.params ??
      node.elementType ?? node.typeAnnotation ?? [];
    for (const part of Array.isArray(parts) ? parts : [parts]) this.type(part);
  }

  private refuse(node: Node, what: string, detail: unknown = ""): void {
    this.troubles.push([
      node,
      `${what} that is not allowed: ${node.type} ${JSON.stringify(detail).slice(0, 200)}`,
    ]);
  }
}

export default {
  name: "satchel",
  rules: {
    allowed: {
      create(context: Node) {
        return {
          Program(node: Node) {
            const checker = new Checker(context.filename.split("/").at(-1));
            checker.program(node, context.sourceCode.getAllComments());
            for (const [where, message] of checker.troubles) context.report({ node: where, message });
          },
        };
      },
    },
  },
};
