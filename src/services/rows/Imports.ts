import { Context, Effect, Layer, Pull, Result, Stream } from "effect"
import { type Relation } from "../../domain/catalogue/Catalogue.ts"
import { type ClientError, DatabaseError, InvalidRequest } from "../../domain/errors.ts"
import { noTable, unknownColumn } from "../../domain/rows/Refusals.ts"
import { relationSql } from "../../domain/rows/sql/From.ts"
import { quoteLiteral, quoteName } from "../../domain/sql/Names.ts"
import { CsvHead } from "../../domain/text/CsvHead.ts"
import { Catalogues } from "../catalogue/Catalogues.ts"
import { type RowRequest } from "./Rows.ts"
import { lookUp } from "./Lookup.ts"

/** Rows in CSV for one table. */
export interface Import extends Pick<RowRequest, "database" | "actor" | "schema" | "searchPath" | "table"> {
  /** The cells that are NULL, unless they are in quotes. */
  readonly nullText: string
}

type Bytes<E> = Stream.Stream<Uint8Array, E>

/** Loads CSV of any size into tables by PostgreSQL's COPY: all of it, or nothing. */
export class Imports extends Context.Service<
  Imports,
  {
    /** The first record of the bytes has the column names. Returns the number of rows. */
    readonly load: <E>(request: Import, bytes: Bytes<E>) => Effect.Effect<number, ClientError | E>
  }
>()("svc/services/Imports") {
  static readonly layer = Layer.effect(
    Imports,
    Effect.gen(function* () {
      const catalogues = yield* Catalogues

      const load = <E>(request: Import, bytes: Bytes<E>): Effect.Effect<number, ClientError | E> =>
        Effect.scoped(
          Effect.gen(function* () {
            const { database, actor, schema, searchPath, table, nullText } = request
            const { names, all } = yield* headed(bytes)
            const place = { database, schema, table, query: [] }
            const { value } = yield* lookUp(catalogues, place, (catalogue): Result.Result<string, ClientError> => {
              const relation = catalogue.relation(schema, table)
              if (relation === undefined) return Result.fail(noTable(catalogue.names(schema), schema, table))
              const unknown = names.find((name) => !relation.byName.has(name))
              if (unknown !== undefined) return Result.fail(unknownColumn(relation.name, unknown))
              return Result.succeed(copySql(relation, names, nullText))
            })
            const session = yield* database.session(actor)
            yield* session.query("select pg_catalog.set_config('search_path', $1, false)", [searchPath], 1)
            return yield* Effect.mapError(session.load(value, all), (error) =>
              error instanceof DatabaseError ? withHint(error, nullText) : error
            )
          })
        )

      return Imports.of({ load })
    })
  )
}

const copySql = (relation: Relation, names: ReadonlyArray<string>, nullText: string) =>
  `copy ${relationSql(relation)} (${names.map(quoteName).join(", ")}) from stdin with (format csv, header true, encoding 'UTF8', null ${quoteLiteral(nullText)})`

/** Reads the bytes up to the end of the column names. `all` are all bytes, those read included. */
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
    return { names: head.names, all: Stream.concat(Stream.succeed<Uint8Array>(head.bytes), rest) }
  })

/** An empty cell is the empty text, which is no number and no date. */
const withHint = (error: DatabaseError, nullText: string) => {
  const { code, error: text, hint } = error
  if (hint !== null || nullText === "" || !/^22(P02|007|008)$/.test(code) || !text.endsWith(': ""')) return error
  return new DatabaseError({
    ...error,
    hint: "An empty cell is the empty text. To read empty cells as NULL, add ?null= to the URL"
  })
}
