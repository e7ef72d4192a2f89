import { nameProblem, qualifiedName, quoteName, textLiteral, writtenSql } from "../names.ts"

export const argumentModes = ["in", "out", "inout", "variadic"] as const

export interface ArgumentDraft {
  /** Of the form. */
  readonly id: number
  readonly mode: (typeof argumentModes)[number]
  /** "": it has none. */
  readonly name: string
  readonly type: string
  /** An expression in SQL; "": none. */
  readonly default: string
}

export const volatilities = ["volatile", "stable", "immutable"] as const
export const parallels = ["unsafe", "restricted", "safe"] as const

export interface FunctionDraft {
  readonly kind: "function" | "procedure"
  readonly schema: string
  readonly name: string
  readonly arguments: ReadonlyArray<ArgumentDraft>
  /** A type, `setof` or `table (…)`, in SQL. */
  readonly returns: string
  readonly language: string
  readonly volatility: (typeof volatilities)[number]
  readonly parallel: (typeof parallels)[number]
  /** Returns NULL when an argument is NULL, without running. */
  readonly strict: boolean
  /** Runs with the rights of its owner. */
  readonly definer: boolean
  /** Its `search_path`; undefined: the caller's. */
  readonly path: ReadonlyArray<string> | undefined
  readonly body: string
  /** "": none. */
  readonly comment: string
}

let made = 0

export const newArgument = (part: Partial<ArgumentDraft> = {}): ArgumentDraft => ({
  id: ++made,
  mode: "in",
  name: "",
  type: "text",
  default: "",
  ...part
})

export const functionProblems = (draft: FunctionDraft): ReadonlyArray<string> => [
  ...[nameProblem(draft.name, `The ${draft.kind}`) ?? []].flat(),
  ...draft.arguments.flatMap(({ name, type }) => [
    ...(name === "" ? [] : [nameProblem(name, "An argument") ?? []].flat()),
    ...(type.trim() === "" ? ["An argument has no type"] : [])
  ]),
  ...(draft.kind === "function" && draft.returns.trim() === "" ? ["What it returns is missing"] : []),
  ...(draft.body.trim() === "" ? ["The body is empty"] : [])
]

/** The names of a `search_path`, as PostgreSQL writes one. */
export const pathOf = (text: string): ReadonlyArray<string> =>
  Array.from(text.matchAll(/"((?:[^"]|"")*)"|([^\s,"]+)/g), ([, quoted, plain]) =>
    plain === undefined ? (quoted ?? "").replaceAll('""', '"') : plain
  )

/** A `search_path` as it is typed. */
export const pathText = (path: ReadonlyArray<string>) =>
  path.map((name) => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : quoteName(name))).join(", ")

/** A mark for the body that is not in it. */
const dollarQuoted = (body: string) => {
  let mark = "$body$"
  for (let at = 1; body.includes(mark) || body.endsWith(mark.slice(0, -1)); at++) mark = `$body${at}$`
  return `${mark}${body}${mark}`
}

const argumentSql = ({ default: text, mode, name, type }: ArgumentDraft) =>
  [
    ...(mode === "in" ? [] : [mode]),
    ...(name === "" ? [] : [quoteName(name)]),
    writtenSql(type),
    ...(text.trim() === "" ? [] : [`default ${writtenSql(text)}`])
  ].join(" ")

interface Signature {
  readonly kind: FunctionDraft["kind"]
  readonly schema: string
  readonly name: string
  /** The types by which it is found, in SQL. */
  readonly identity: string
}

const signatureSql = ({ identity, kind, ...name }: Signature) => `${kind} ${qualifiedName(name)}(${identity})`

/** By which a draft is found: the types of what it is given. */
const identityOf = ({ arguments: all, kind }: FunctionDraft) =>
  all
    .filter(({ mode }) => kind === "procedure" || mode !== "out")
    .map(({ mode, type }) => `${mode === "variadic" || mode === "out" ? `${mode} ` : ""}${writtenSql(type)}`)
    .join(", ")

/** A function that is there already. */
export interface FunctionBefore {
  readonly identity: string
  readonly comment: string
}

/** The statements that make a function, or replace the one that is there, which keeps its grants. */
export const createFunctionSql = (draft: FunctionDraft, before: FunctionBefore | undefined): ReadonlyArray<string> => {
  const { arguments: all, body, comment, definer, kind, language, parallel, path, returns, strict, volatility } = draft
  const made = [
    `create ${before === undefined ? "" : "or replace "}${kind} ${qualifiedName(draft)}(${all.map(argumentSql).join(", ")})`,
    ...(kind === "function" ? [`  returns ${writtenSql(returns)}`] : []),
    `  language ${quoteName(language)}`,
    ...(kind === "function" ? [`  ${volatility}${strict ? " strict" : ""} parallel ${parallel}`] : []),
    ...(definer ? ["  security definer"] : []),
    ...(path === undefined
      ? []
      : [`  set search_path to ${path.length === 0 ? "''" : path.map(textLiteral).join(", ")}`]),
    `as ${dollarQuoted(body)}`
  ].join("\n")
  const signature = signatureSql({ ...draft, identity: before?.identity ?? identityOf(draft) })
  return [
    made,
    ...(comment === (before?.comment ?? "")
      ? []
      : [`comment on ${signature} is ${comment === "" ? "null" : textLiteral(comment)}`])
  ]
}

export const dropFunctionSql = (signature: Signature, cascade: boolean) =>
  `drop ${signatureSql(signature)}${cascade ? " cascade" : ""}`
