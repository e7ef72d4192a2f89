import { nameProblem } from "../../catalogue/names.ts"
import type { Column, ForeignKey, Table } from "../../catalogue/queries.ts"

export const onDeletes = ["no action", "restrict", "cascade", "set null", "set default"] as const
type OnDelete = (typeof onDeletes)[number]

export interface ReferenceDraft {
  readonly schema: string
  readonly table: string
  readonly column: string
  readonly onDelete: OnDelete
}

export interface ColumnDraft {
  /** Of the form: names can change. */
  readonly id: number
  /** As it is in the database; undefined: it is new. */
  readonly before: Column | undefined
  readonly name: string
  readonly type: string
  readonly nullable: boolean
  /** An expression in SQL; "": none. */
  readonly default: string
  /** Counts up by itself. */
  readonly identity: boolean
  readonly primary: boolean
  readonly unique: boolean
  readonly references: ReferenceDraft | undefined
  readonly comment: string
}

export interface TableDraft {
  readonly schema: string
  readonly name: string
  readonly comment: string
  /** Row-level security. */
  readonly security: boolean
  readonly columns: ReadonlyArray<ColumnDraft>
}

let made = 0

export const newColumn = (part: Partial<ColumnDraft> = {}): ColumnDraft => ({
  id: ++made,
  before: undefined,
  name: "",
  type: "text",
  nullable: true,
  default: "",
  identity: false,
  primary: false,
  unique: false,
  references: undefined,
  comment: "",
  ...part
})

/** What most tables begin with. Row-level security is on: a new table is otherwise open to every anon key. */
export const newTable = (schema: string): TableDraft => ({
  schema,
  name: "",
  comment: "",
  security: true,
  columns: [
    newColumn({ name: "id", type: "bigint", nullable: false, identity: true, primary: true }),
    newColumn({ name: "created_at", type: "timestamptz", nullable: false, default: "now()" })
  ]
})

/** The key by which one column alone refers to another table, if there is one. */
export const referenceOf = (table: Table, column: string): ForeignKey | undefined =>
  table.foreign_keys.find(({ columns }) => columns.length === 1 && columns[0] === column)

/** The constraint that makes one column alone unique. */
export const uniqueOf = (table: Table, column: string) =>
  table.unique_keys.find(({ columns }) => columns.length === 1 && columns[0] === column)

const referenceDraft = ({ on_delete, references }: ForeignKey): ReferenceDraft => ({
  schema: references.schema,
  table: references.table,
  column: references.columns[0] ?? "",
  onDelete: onDeletes.find((one) => one === on_delete.toLowerCase()) ?? "no action"
})

export const draftOf = (table: Table): TableDraft => ({
  schema: table.schema,
  name: table.name,
  comment: table.comment ?? "",
  security: table.row_level_security.enabled,
  columns: table.columns.map((column) => {
    const reference = referenceOf(table, column.name)
    return newColumn({
      before: column,
      name: column.name,
      type: column.type,
      nullable: column.nullable,
      default: column.default ?? "",
      identity: column.identity !== null,
      primary: table.primary_key.includes(column.name),
      unique: uniqueOf(table, column.name) !== undefined,
      references: reference === undefined ? undefined : referenceDraft(reference),
      comment: column.comment ?? ""
    })
  })
})

/** Words that are a default without quotes. */
const bareDefaults =
  /^(?:null|true|false|user|current_(?:catalog|date|role|schema|time|timestamp|user)|local(?:time|timestamp)|session_user)$/i

/** Columns whose default is a word without quotes, which PostgreSQL takes for the name of a column. */
export const unquotedDefaults = ({ columns }: TableDraft): ReadonlyArray<ColumnDraft> =>
  columns.filter(
    ({ default: text }) => /^\s*[\p{L}_][\p{L}\p{N}_-]*\s*$/u.test(text) && !bareDefaults.test(text.trim())
  )

const problemsOfNames = (names: ReadonlyArray<readonly [name: string, what: string]>) =>
  Array.from(new Set(names.flatMap(([name, what]) => nameProblem(name, what) ?? [])))

/** What must be mended before there are statements. */
export const problemsOf = ({ columns, name }: TableDraft): ReadonlyArray<string> => {
  const names = columns.map((column) => column.name)
  return [
    ...problemsOfNames([[name, "The table"], ...names.map((one) => [one, "A column"] as const)]),
    ...(columns.length === 0 ? ["The table has no columns"] : []),
    ...(columns.some(({ type }) => type.trim() === "") ? ["A column has no type"] : []),
    ...Array.from(
      new Set(names.filter((one, at) => one !== "" && names.indexOf(one) !== at)),
      (one) => `Two columns have the name ${one}`
    )
  ]
}
