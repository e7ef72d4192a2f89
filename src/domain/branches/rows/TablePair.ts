import { type DifferencePage, type TableChoice } from "./Comparison.ts"
import { keyFormOf } from "./KeyOrder.ts"
import { type TableColumn, type TableShape } from "./TableSql.ts"

/** Why two tables can't be compared. */
export interface PairRefusal {
  readonly code: "COMPARE_TABLE_MISSING" | "COMPARE_NOT_A_TABLE" | "COMPARE_NO_KEY" | "COMPARE_KEY_TYPE"
  readonly error: string
  readonly hint: string
}

/** A table of a branch and of the main database, with the key by which their rows are compared. */
export interface TablePair {
  readonly branch: TableShape
  readonly main: TableShape
  readonly key: TableShape["keys"][number]
  /** The key's columns, and all that are compared, as the main database has them. */
  readonly keyColumns: ReadonlyArray<TableColumn>
  readonly columns: ReadonlyArray<TableColumn>
  readonly notCompared: DifferencePage["not_compared"]
}

const isTable = ({ kind }: TableShape) => kind === "r" || kind === "p"

const columnOf = (table: TableShape, name: string) => table.columns.find((column) => column.name === name)

const sameColumns = (a: ReadonlyArray<string>, b: ReadonlyArray<string>) =>
  a.length === b.length && a.every((name) => b.includes(name))

/** The keys of the main database's table that are unique in the branch too. */
export const sharedKeys = (branch: TableShape, main: TableShape) =>
  main.keys.filter(({ columns }) => branch.keys.some((other) => sameColumns(columns, other.columns)))

const notComparedOf = (branch: TableShape, main: TableShape) =>
  [
    ...main.columns.flatMap(({ generated, name, type }) => {
      const other = columnOf(branch, name)
      const reason =
        other === undefined
          ? ("only_in_main" as const)
          : generated
            ? ("generated" as const)
            : other.type === type
              ? undefined
              : ("type" as const)
      return reason === undefined ? [] : [{ column: name, reason }]
    }),
    ...branch.columns.flatMap(({ name }) =>
      columnOf(main, name) === undefined ? [{ column: name, reason: "only_in_branch" as const }] : []
    )
  ] satisfies DifferencePage["not_compared"]

/** Pairs the tables that both databases have under this name. */
export const pairTables = (
  { key: wanted, schema = "public", table }: TableChoice,
  branch: TableShape | undefined,
  main: TableShape | undefined
): TablePair | PairRefusal => {
  const name = `${schema}.${table}`
  if (branch === undefined || main === undefined) {
    return {
      code: "COMPARE_TABLE_MISSING",
      error: `There is no table ${name} in the ${main === undefined ? "main database" : "branch"}`,
      hint: "GET /api/branches/{id}/tables lists the tables that can be compared"
    }
  }
  if (!isTable(branch) || !isTable(main)) {
    return {
      code: "COMPARE_NOT_A_TABLE",
      error: `${name} is not a table in the ${isTable(main) ? "branch" : "main database"}, but a view or foreign table`,
      hint: "Compare the tables that it reads"
    }
  }
  const keys = sharedKeys(branch, main)
  const key = wanted === undefined ? keys[0] : keys.find((one) => one.name === wanted)
  if (key === undefined) {
    return {
      code: "COMPARE_NO_KEY",
      error:
        wanted === undefined
          ? `The table ${name} has no primary key or unique index of columns that are not null, in both databases`
          : `The table ${name} has no unique index ${wanted} of columns that are not null, in both databases`,
      hint:
        keys.length === 0
          ? "Add a primary key to the table, in both databases"
          : `Choose one of: ${keys.map((one) => one.name).join(", ")}`
    }
  }
  const notCompared = notComparedOf(branch, main)
  const keyColumns = key.columns.flatMap((column) => columnOf(main, column) ?? [])
  for (const column of keyColumns) {
    const other = columnOf(branch, column.name)
    const differs = notCompared.some((one) => one.column === column.name)
    if (differs || other === undefined || keyFormOf(column) === undefined || keyFormOf(other) === undefined) {
      return {
        code: "COMPARE_KEY_TYPE",
        error: `The key ${key.name} of ${name} can't be compared: column ${column.name} has the type ${column.type}${
          differs ? " and is generated, or has another type in the branch" : ""
        }`,
        hint: "Keys are compared if their columns are whole numbers, numeric, texts of a deterministic collation, uuid, boolean, bytea, enums, dates, times or addresses"
      }
    }
  }
  const columns = main.columns.filter(({ name: column }) => !notCompared.some((one) => one.column === column))
  return { branch, main, key, keyColumns, columns, notCompared }
}

/** What a response says of a pair. */
export const shownPair = ({ columns, key, main, notCompared }: TablePair) => ({
  schema: main.schema,
  table: main.table,
  key,
  columns: columns.map(({ name }) => name),
  not_compared: notCompared
})
