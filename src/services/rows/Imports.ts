import { Context, Effect, Layer, Pull, Result, Stream } from "effect"
import { type Relation } from "../../domain/catalogue/Catalogue.ts"
import { type ClientError, DatabaseError, InvalidRequest } from "../../domain/errors.ts"
import { noTable, unknownColumn } from "../../domain/rows/Refusals.ts"
import { relationSql } from "../../domain/rows/sql/From.ts"
import { quoteLiteral, quoteName } from "../../domain/sql/Names.ts"
import { shorten } from "../../domain/text/Shorten.ts"
import { CsvHead, CsvNulls } from "../../domain/text/csv/Import.ts"
import { Catalogues } from "../catalogue/Catalogues.ts"
import { type RowRequest } from "./Rows.ts"
import { lookUp } from "./Lookup.ts"

/** Rows in CSV for one table. */
export interface Import extends Pick<RowRequest, "database" | "actor" | "schema" | "searchPath" | "table"> {
  /** The cells that are NULL, unless they are in quotes; undefined: `NULL` and empty cells, as in any other CSV. */
  readonly nullText: string | undefined
  /** Undefined: a row whose key exists is an error. */
  readonly conflict: ImportConflict | undefined
}

/** The handling of rows whose values in these columns exist. */
export interface ImportConflict {
  readonly columns: ReadonlyArray<string>
  readonly resolution: "merge" | "ignore"
}

/** Numbers of rows: those of the file and, with a `Conflict`, what became of them. */
export interface Imported {
  readonly rows: number
  readonly inserted?: number
  readonly updated?: number
  readonly skipped?: number
}

type Bytes<E> = Stream.Stream<Uint8Array, E>

/** Loads CSV of any size into tables by PostgreSQL's COPY: all of it, or nothing. */
export class Imports extends Context.Service<
  Imports,
  {
    /** The first record of the bytes has the column names. */
    readonly load: <E>(request: Import, bytes: Bytes<E>) => Effect.Effect<Imported, ClientError | E>
  }
>()("svc/services/Imports") {
  static readonly layer = Layer.effect(
    Imports,
    Effect.gen(function* () {
      const catalogues = yield* Catalogues

      const load = <E>(request: Import, bytes: Bytes<E>): Effect.Effect<Imported, ClientError | E> =>
        Effect.scoped(
          Effect.gen(function* () {
            const { database, actor, schema, searchPath, table, nullText, conflict } = request
            const { names, whole } = yield* headed(bytes)
            const all = nullText === undefined ? withoutNulls(whole) : whole
            const place = { database, schema, table, query: [] }
            const { value } = yield* lookUp(catalogues, place, (catalogue): Result.Result<Relation, ClientError> => {
              const relation = catalogue.relation(schema, table)
              if (relation === undefined) return Result.fail(noTable(catalogue.names(schema), schema, table))
              const unknown = [...names, ...(conflict?.columns ?? [])].find((name) => !relation.byName.has(name))
              if (unknown !== undefined) return Result.fail(unknownColumn(relation.name, unknown))
              const absent = conflict?.columns.find((name) => !names.includes(name))
              return absent === undefined ? Result.succeed(relation) : Result.fail(noKey(absent))
            })
            const session = yield* database.session(actor)
            yield* session.query("select pg_catalog.set_config('search_path', $1, false)", [searchPath], 1)
            const copy = (target: string) =>
              Effect.mapError(session.load(copySql(target, names, nullText ?? ""), all), (error) =>
                error instanceof DatabaseError ? withHint(error, nullText ?? "") : error
              )
            if (conflict === undefined) return { rows: yield* copy(relationSql(value)) }
            yield* session.script(`begin; ${holdSql(value, names)}`)
            const rows = yield* copy(held)
            const merged = yield* session.query(mergeSql(value, names, conflict), [], 1)
            yield* session.query("commit", [], 0, true)
            const [inserted = 0, updated = 0] = (merged.rows[0] ?? []).map(Number)
            return { rows, inserted, updated, skipped: rows - inserted - updated }
          })
        )

      return Imports.of({ load })
    })
  )
}

const noKey = (column: string) =>
  new InvalidRequest({
    error: `on_conflict has the column ${shorten(column)}, which the first line of the CSV lacks`,
    hint: "The values of all columns of on_conflict must be in the CSV"
  })

const listOf = (names: ReadonlyArray<string>) => names.map(quoteName).join(", ")

/** A table for the rows of an upsert until all have arrived, because COPY does not support ON CONFLICT. */
const held = "pg_temp.svc_import"
const holdSql = (relation: Relation, names: ReadonlyArray<string>) =>
  `create temp table svc_import on commit drop as select ${listOf(names)} from ${relationSql(relation)} limit 0`

/** Counts the rows that were inserted and those that were updated. COPY, too, writes the values of identities. */
const mergeSql = (relation: Relation, names: ReadonlyArray<string>, { columns, resolution }: ImportConflict) => {
  const set = names
    .filter((name) => !columns.includes(name) && relation.byName.get(name)?.generated === false)
    .map((name) => `${quoteName(name)} = excluded.${quoteName(name)}`)
  const action = resolution === "ignore" || set.length === 0 ? "nothing" : `update set ${set.join(", ")}`
  const insert = `insert into ${relationSql(relation)} as t (${listOf(names)}) overriding system value
    select ${listOf(names)} from ${held} on conflict (${listOf(columns)}) do ${action}`
  if (relation.kind !== "partitioned") {
    return `with written as (${insert} returning t.xmax = 0 as inserted)
      select count(*) filter (where inserted), count(*) filter (where not inserted) from written`
  }
  // A partitioned table has no xmax: the rows that are updated are those that the statement's snapshot has.
  const known = `select from ${relationSql(relation)} t where ${columns.map((name) => `t.${quoteName(name)} = h.${quoteName(name)}`).join(" and ")}`
  const updated = action === "nothing" ? "0" : `(select count(*) from ${held} h where exists (${known}))`
  return `with written as (${insert} returning 1) select count(*) - ${updated}, ${updated} from written`
}

const copySql = (target: string, names: ReadonlyArray<string>, nullText: string) =>
  `copy ${target} (${listOf(names)}) from stdin with (format csv, header true, encoding 'UTF8', null ${quoteLiteral(nullText)})`

/** Cells that are NULL without quotes are empty, the one form that COPY is given. */
const withoutNulls = <E>(bytes: Bytes<E>): Bytes<E> =>
  Stream.suspend(() => {
    const nulls = new CsvNulls()
    return Stream.concat(
      Stream.map(bytes, (piece) => nulls.add(piece)),
      Stream.sync(() => nulls.end())
    )
  })

/** Reads the bytes up to the end of the column names. `whole`: all bytes, those read included. */
const headed = <E>(bytes: Bytes<E>) =>
  Effect.gen(function* () {
    const pull = yield* Stream.toPull(bytes)
    const head = new CsvHead()
    for (let complete = false; !complete;) {
      const pieces = yield* Pull.catchDone(pull, () => Effect.succeed(undefined))
      complete = pieces === undefined || head.add(Buffer.concat(pieces))
      if (pieces === undefined) head.add(Buffer.alloc(0), true)
    }
    if (head.problem !== undefined || head.names === undefined) {
      const why = head.problem ?? "the line with the column names is missing"
      return yield* new InvalidRequest({ error: `The body is not valid CSV: ${why}`, code: "PGRST102" })
    }
    const rest = Stream.fromPull(Effect.succeed(pull))
    return { names: head.names, whole: Stream.concat(Stream.succeed<Uint8Array>(head.bytes), rest) }
  })

/** An empty cell is the empty text, which is no number and no date. */
const withHint = (error: DatabaseError, nullText: string) => {
  const { code, error: text, hint } = error
  if (hint !== null || !/^22(P02|007|008)$/.test(code) || !text.endsWith(': ""')) return error
  return new DatabaseError({
    ...error,
    hint:
      nullText === ""
        ? 'An empty cell in quotes ("") is the empty text. Leave out the quotes for NULL'
        : "An empty cell is the empty text. To read empty cells as NULL, leave out null= in the URL"
  })
}
