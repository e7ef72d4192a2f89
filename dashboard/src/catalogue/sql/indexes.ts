import { nameProblem, qualifiedName, quoteName, writtenSql } from "../names.ts"

/** A class of operators of an index, by its schema and name. */
export interface OperatorClass {
  readonly schema: string
  readonly name: string
  /** The method that it is of. */
  readonly method: string
}

export interface IndexPart {
  /** Of the form. */
  readonly id: number
  /** A column by its name, or an expression in SQL. */
  readonly kind: "column" | "expression"
  readonly text: string
  /** Undefined: the type's default. */
  readonly operators: OperatorClass | undefined
  readonly descending: boolean
  readonly nulls: "default" | "first" | "last"
}

export interface IndexDraft {
  readonly schema: string
  readonly table: string
  /** "": PostgreSQL makes one. */
  readonly name: string
  readonly method: string
  readonly unique: boolean
  readonly parts: ReadonlyArray<IndexPart>
  /** Columns that the index returns, but is not searched by. */
  readonly include: ReadonlyArray<string>
  /** A condition in SQL; "": all rows. */
  readonly where: string
  /** Without stopping writes. It can't run in a transaction. */
  readonly concurrently: boolean
}

let made = 0

export const newPart = (text = ""): IndexPart => ({
  id: ++made,
  kind: "column",
  text,
  operators: undefined,
  descending: false,
  nulls: "default"
})

/** Methods whose entries are in an order. */
export const isOrdered = (method: string) => method === "btree"

/** Methods that can return columns that they are not searched by. */
export const canInclude = (method: string) => ["btree", "gist", "spgist"].includes(method)

export const indexProblems = ({ include, name, parts }: IndexDraft): ReadonlyArray<string> => [
  ...(name === "" ? [] : [nameProblem(name, "The index") ?? []].flat()),
  ...(parts.length === 0 ? ["The index has no column"] : []),
  ...(parts.some(({ text }) => text.trim() === "") ? ["A part of the index is empty"] : []),
  ...include
    .filter((column) => parts.some(({ kind, text }) => kind === "column" && text === column))
    .map((column) => `The index has the column ${column} already`)
]

const partSql = ({ descending, kind, nulls, operators, text }: IndexPart, method: string) =>
  [
    kind === "column" ? quoteName(text) : `(${writtenSql(text)})`,
    ...(operators === undefined ? [] : [qualifiedName(operators)]),
    ...(isOrdered(method) && descending ? ["desc"] : []),
    ...(isOrdered(method) && nulls !== "default" ? [`nulls ${nulls}`] : [])
  ].join(" ")

export const createIndexSql = (draft: IndexDraft): string =>
  [
    `create ${draft.unique ? "unique " : ""}index${draft.concurrently ? " concurrently" : ""}`,
    ...(draft.name === "" ? [] : [quoteName(draft.name)]),
    `on ${qualifiedName({ schema: draft.schema, name: draft.table })}`,
    `using ${quoteName(draft.method)}`,
    `(${draft.parts.map((part) => partSql(part, draft.method)).join(", ")})`,
    ...(draft.include.length === 0 || !canInclude(draft.method)
      ? []
      : [`include (${draft.include.map(quoteName).join(", ")})`]),
    ...(draft.where.trim() === "" ? [] : [`where (${writtenSql(draft.where)})`])
  ].join(" ")

export const dropIndexSql = (index: { readonly schema: string; readonly name: string }, concurrently: boolean) =>
  `drop index ${concurrently ? "concurrently " : ""}${qualifiedName(index)}`
